"""CX reports on the GraphQL surface (specification 4.3)."""

from datetime import datetime
from typing import Annotated

import strawberry
from strawberry import UNSET
from strawberry.scalars import JSON

from reports.content import ArtifactKind
from resolvers import cx_reports, jobs
from schema.cx_parts import CXLook, look_of
from schema.declare import Info, argument, computed_field, enum, field, guarded_field, operation_field
from schema.errors import UserError
from schema.inputs import change
from schema.jobs import Job
from storage.joined_rows import CXContentRow

enum(
    ArtifactKind,
    "The files of a report.",
    PDF="The report to read and to send.",
    SPREADSHEET="The review spreadsheet.",
    DECK="The slides.",
)


@strawberry.type(description="A file that was rendered of a report.")
class Artifact:
    kind: ArtifactKind = field("Which of the files it is.")
    revision: int = field("The revision of the report that it shows.")
    url: str = field("Where it is served, from this service's address on; whoever knows it may read it.")
    bytes: int = field("Its size.")
    sha256: str = field("The SHA-256 of its content, in hexadecimal.")
    content_type: str = field("Its media type.")
    rendered_at: datetime = field("When it was rendered.")


@strawberry.type(description="The customer-experience report of one company, which may be edited by hand.")
class CXReport:
    revision: int = field("Grows with each edit.")
    copy_blobs: JSON = field(
        "The narrative slots by name: a text or a list of texts, and whatever else is told as text."
    )
    analysis: JSON = field("The analysis: findings, benchmarks, and whatever else was put there.")
    brand: JSON = field("How the report looks: company, colors and logo.")
    bpo_prefix: str | None = field("What stands before the title.")
    updated_at: datetime = field("When it was last edited.")

    @computed_field("What `brand` says under the documented keys, each with its type.", "brand")
    def look(root: strawberry.Parent[CXContentRow]) -> CXLook:
        return look_of(root.brand)

    @guarded_field(cx_reports.artifacts_of, "The files of the newest finished revision; empty until the first render.")
    async def artifacts(root: strawberry.Parent[CXContentRow], info: Info) -> list[Artifact]:
        return await cx_reports.artifacts_of(info.context, root.id)

    @guarded_field(jobs.get_job, "The job that renders the newest revision.")
    async def render(root: strawberry.Parent[CXContentRow], info: Info) -> Job | None:
        return await jobs.get_job(info.context, root.render_job_id)


@strawberry.input(description="JSON merge patch: objects merge by key, null removes. At least one field.")
class CXReportEditInput:
    copy_blobs: JSON | None = field("Changes to the narrative slots.", default=UNSET)
    analysis_patch: JSON | None = field("Changes to the analysis.", default=UNSET)
    brand_patch: JSON | None = field("Changes to company, colors and logo.", default=UNSET)
    bpo_prefix: str | None = field("What stands before the title; null removes it.", default=UNSET)


@strawberry.type(description="What became of an edit.")
class CXReportEditPayload:
    report: CXReport | None = field("The report after the edit.")
    job: Job | None = field("The job that renders it.")
    user_errors: list[UserError] = field("What stood in the way; empty when it worked.")


@strawberry.type
class CXReportMutations:
    @operation_field(
        cx_reports.edit_report, "Edits a report by hand and has its files rendered again; nothing else is run."
    )
    async def cx_report_edit(
        self,
        info: Info,
        run_id: Annotated[strawberry.ID, argument("The run's identifier.")],
        result_id: Annotated[strawberry.ID, argument("The result's identifier.")],
        input: Annotated[CXReportEditInput, argument("The changes.")],
    ) -> CXReportEditPayload:
        edited, problems = await change(
            info, cx_reports.edit_report, run_id, result_id, model=cx_reports.CXReportEdit, input=input
        )
        if edited is None:
            return CXReportEditPayload(report=None, job=None, user_errors=problems)
        return CXReportEditPayload(report=edited.report, job=edited.job, user_errors=problems)


MUTATIONS = CXReportMutations
