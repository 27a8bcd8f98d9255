"""Exports on the GraphQL surface: a list becomes a file, by a job."""

import re
from dataclasses import replace
from typing import Annotated, Any

import strawberry
from strawberry import UNSET

from contract.bulk_vocabulary import ExportFormat, ExportKind
from contract.criteria import Condition
from contract.criteria_json import to_json
from contract.errors import Problems
from resolvers import export_jobs, files, jobs
from resolvers.export_jobs import DataExportInput as Input
from resolvers.shared.inputs import parse
from schema.accounts import AccountFilter
from schema.activities import ActivityFilter
from schema.campaigns import CampaignFilter
from schema.connections import Node
from schema.contacts import ContactFilter
from schema.deals import DealFilter
from schema.declare import Info, argument, enum, field, guarded_field, operation_field
from schema.errors import UserError, outcome
from schema.execution.selections import field_of, selected
from schema.files import File
from schema.filters import condition_of
from schema.inputs import given
from schema.jobs import Job
from schema.leads import LeadFilter
from schema.meetings import MeetingFilter
from schema.records import record
from storage import tables as t
from storage.rows import DataExportRow

enum(
    ExportKind,
    "The kinds of records that are exported.",
    ACCOUNT="Accounts.",
    CONTACT="Contacts.",
    DEAL="Deals.",
    LEAD="Leads.",
    MEETING="Meetings.",
    ACTIVITY="Activities of every type.",
    CAMPAIGN="Campaigns; needs OUTREACH_READ too.",
)
enum(
    ExportFormat,
    "The forms of an export.",
    CSV="Comma-separated values in UTF-8 with a heading; cells that a spreadsheet would run are neutralised.",
    JSONL="One JSON object in each line, exact.",
)


@strawberry.input(description="Which records, with the filter of their kind and no other.")
class DataExportInput:
    kind: ExportKind = field("What it is.")
    format: ExportFormat = field("The kind of file.", default=ExportFormat.CSV)
    columns: list[str] | None = field(
        "Names of fields, in the order of the columns; all plain ones unless told.", default=UNSET
    )
    accounts: AccountFilter | None = field("Which accounts; for ACCOUNT only.", default=UNSET)
    contacts: ContactFilter | None = field("Which contacts; for CONTACT only.", default=UNSET)
    deals: DealFilter | None = field("Which deals; for DEAL only.", default=UNSET)
    leads: LeadFilter | None = field("Which leads; for LEAD only.", default=UNSET)
    meetings: MeetingFilter | None = field("Which meetings; for MEETING only.", default=UNSET)
    activities: ActivityFilter | None = field("Which activities; for ACTIVITY only.", default=UNSET)
    campaigns: CampaignFilter | None = field("Which campaigns; for CAMPAIGN only.", default=UNSET)


@record(
    t.DataExport,
    "A list as a file. A file that is not complete is never told as one.",
    hidden=("file_id", "job_id", "needs", "definition", "last_id", "after_id", "total", "pieces"),
)
class DataExport(Node):
    @guarded_field(files.get_file, "The file, once it is complete; kept for seven days.", "file_id")
    async def file(root: strawberry.Parent[DataExportRow], info: Info) -> File | None:
        return None if root.file_id is None else await files.get_file(info.context, root.file_id, selected(info))

    @guarded_field(jobs.get_job, "The job that does it.", "job_id")
    async def job(root: strawberry.Parent[DataExportRow], info: Info) -> Job | None:
        return await jobs.get_job(info.context, root.job_id)


@strawberry.type(description="What came of an export's start.")
class DataExportPayload:
    data_export: DataExport | None = field("The export; null where nothing was done.")
    user_errors: list[UserError] = field("Problems that the client can act on.")


_CAPITAL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def _condition(input: DataExportInput) -> Condition:
    """Make the condition of the filter. Raises Problems for the filter of another kind, at its field."""
    noun = export_jobs.NOUNS[input.kind]
    export_jobs.check_filters(input.kind, [n for n in export_jobs.NOUNS.values() if getattr(input, n)])
    try:
        return condition_of(getattr(input, noun))
    except Problems as error:
        raise Problems([replace(each, path=("input", noun, *each.path[1:])) for each in error.problems]) from None


def _column(name: str) -> str:
    """The name of a column in the file: that of the field in small letters, its words parted."""
    return _CAPITAL.sub("_", name).lower()


@strawberry.type
class ExportQueries:
    @operation_field(export_jobs.get_export, "An export by its id, for seven days.")
    async def data_export(
        self, info: Info, id: Annotated[strawberry.ID, argument("The export's identifier.")]
    ) -> DataExport | None:
        return await export_jobs.get_export(info.context, id, selected(info))


@strawberry.type
class ExportMutations:
    @operation_field(
        export_jobs.create_export, "Starts an export as a job; the caller also needs the group that reads the list."
    )
    async def data_export_create(
        self, info: Info, input: Annotated[DataExportInput, argument("Which records, and how they are written.")]
    ) -> DataExportPayload:
        async def work() -> Any:  # the row stands for its type, as in every resolver
            asked: dict[str, object] = {"kind": input.kind.value, "format": input.format.value}
            columns = given(input.columns)
            if isinstance(columns, list):
                asked |= {"columns": [_column(name) for name in columns]}
            parsed = parse(Input, asked, at=("input",))
            if info.context.key is not None:
                info.context.key.enter(field_of(info).key)
            return await export_jobs.create_export(info.context, parsed, to_json(_condition(input)))

        made, problems = await outcome(work())
        return DataExportPayload(data_export=made, user_errors=problems)


QUERIES, MUTATIONS = ExportQueries, ExportMutations
