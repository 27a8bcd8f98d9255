"""Research runs and their results on the GraphQL surface (specification 4.3)."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from contract.vocabulary import ResearchResultStatus, ResearchRunStatus
from resolvers import cx_reports, research
from schema.connections import After, Before, Connection, First, Last, Node, Offset, listing
from schema.cx_parts import CXSignal, signals_of
from schema.cx_reports import CXReport
from schema.declare import Info, argument, computed_field, enum, field, guarded_field, operation_field
from schema.errors import UserError
from schema.execution.selections import selected, selected_nodes
from schema.inputs import change
from schema.records import record
from storage import tables as t
from storage.rows import ResearchResultRow, ResearchRunRow

enum(
    ResearchRunStatus,
    "How far a research run has come.",
    QUEUED="No company has been looked at yet.",
    RUNNING="Companies are being looked at.",
    COMPLETED="Every company is scored.",
    PARTIAL="Some companies are scored, others could not be looked at.",
    FAILED="No company could be looked at.",
    CANCELLED="Somebody stopped it; what was scored before stays.",
)
enum(
    ResearchResultStatus,
    "What has become of one company of a run.",
    PENDING="It has not been looked at to the end.",
    SCORED="It has a score and a report.",
    FAILED="It could not be looked at; `error` says why.",
)


@record(t.ResearchResult, "What was found of one company.", hidden=("position", "job_id"))
class ResearchResult(Node):
    @computed_field("What `factors` says, each with its type; empty until it is scored.", "factors")
    def signals(root: strawberry.Parent[ResearchResultRow]) -> list[CXSignal]:
        return signals_of(root.factors)

    @guarded_field(cx_reports.report_of_result, "The report; null until the company is scored.")
    async def cx_report(root: strawberry.Parent[ResearchResultRow], info: Info) -> CXReport | None:
        return await cx_reports.report_of_result(info.context, root.id)


@record(t.ResearchRun, "A list of companies whose public web sites are looked at and scored.")
class ResearchRun(Node):
    @guarded_field(research.results_of_run, "What was found, in the order of the targets.")
    async def results(
        root: strawberry.Parent[ResearchRunRow], info: Info, first: First = UNSET, after: After = UNSET
    ) -> Connection[ResearchResult]:
        question = listing(first=first, after=after)
        return await research.results_of_run(info.context, root.id, question, selected_nodes(info))


@strawberry.input(description="A company to look at.")
class ResearchTargetInput:
    company_name: str = field("Its name, 1 to 200 characters.")
    domain: str | None = field(
        "Where its web site is, such as example.com; a company without one fails, since none is guessed.",
        default=UNSET,
    )


@strawberry.input(description="A new research run.")
class ResearchRunInput:
    name: str = field("What to call it, 1 to 200 characters.")
    targets: list[ResearchTargetInput] = field("The companies, 1 to 200.")


@strawberry.type(description="What became of a research run.")
class ResearchRunPayload:
    run: ResearchRun | None = field("The run after the change.")
    user_errors: list[UserError] = field("What stood in the way; empty when it worked.")


RunId = Annotated[strawberry.ID, argument("The run's identifier.")]


@strawberry.type
class ResearchQueries:
    @operation_field(research.get_run, "One research run; null where there is none.")
    async def research_run(self, info: Info, id: RunId) -> ResearchRun | None:
        return await research.get_run(info.context, id, selected(info))

    @operation_field(research.list_runs, "The organization's research runs, newest first.")
    async def research_runs(
        self,
        info: Info,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
        offset: Offset = UNSET,
    ) -> Connection[ResearchRun]:
        question = listing(first=first, after=after, last=last, before=before, offset=offset)
        return await research.list_runs(info.context, question, selected_nodes(info))

    @operation_field(research.get_result, "What was found of one company; null where there is none.")
    async def research_result(
        self, info: Info, id: Annotated[strawberry.ID, argument("The result's identifier.")]
    ) -> ResearchResult | None:
        return await research.get_result(info.context, id, selected(info))


@strawberry.type
class ResearchMutations:
    @operation_field(research.create_run, "Begins a research run, which works through its companies in the background.")
    async def research_run_create(
        self, info: Info, input: Annotated[ResearchRunInput, argument("The run.")]
    ) -> ResearchRunPayload:
        made, problems = await change(info, research.create_run, model=research.ResearchRunCreate, input=input)
        return ResearchRunPayload(run=made, user_errors=problems)

    @operation_field(research.cancel_run, "Stops a research run; what is scored already stays.")
    async def research_run_cancel(self, info: Info, id: RunId) -> ResearchRunPayload:
        run, problems = await change(info, research.cancel_run, id)
        return ResearchRunPayload(run=run, user_errors=problems)


QUERIES, MUTATIONS = ResearchQueries, ResearchMutations
