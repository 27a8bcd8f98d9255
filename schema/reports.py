"""Reports on the GraphQL surface."""

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any

import strawberry
from strawberry import UNSET
from strawberry.scalars import JSON

from contract.criteria import EVERYTHING
from contract.vocabulary import ReportColumnType, ReportFormat, ReportFrequency, ReportKind, Weekday
from reports.table import Cell, Column, Table
from resolvers import report_inputs, report_runs, reports
from resolvers.shared.inputs import parse
from schema.connections import After, Before, Connection, First, Last, Node, Offset, listing
from schema.declare import Info, argument, clearing, computed_field, enum, field, guarded_field, operation_field
from schema.errors import UserError
from schema.execution.selections import selected, selected_nodes
from schema.inputs import DeletePayload, change, deletion, given
from schema.members import Member, owner_link
from schema.records import record
from schema.report_runs import ReportRun
from storage import tables as t
from storage.base import JsonDict
from storage.rows import ReportRow as StoredReport

enum(
    ReportKind,
    "A question that a report may ask.",
    PIPELINE_BY_STAGE="Open deals by stage: number, value and weighted value per currency.",
    ACTIVITY_BY_OWNER="Activities by owner and type; needs MEETINGS_READ too.",
    WON_LOST_BY_MONTH="Deals won and lost by month: number, value per currency, win rate.",
    TARGET_ATTAINMENT="Targets and how far they are reached.",
)
enum(
    ReportFrequency,
    "How often a report is mailed by itself.",
    DAILY="Each day.",
    WEEKLY="Once a week.",
    MONTHLY="Once a month.",
)
enum(
    Weekday,
    "A day of the week.",
    MONDAY="The first day of the week.",
    TUESDAY="The second day.",
    WEDNESDAY="The third day.",
    THURSDAY="The fourth day.",
    FRIDAY="The fifth day.",
    SATURDAY="The sixth day.",
    SUNDAY="The seventh day.",
)
enum(
    ReportColumnType,
    "What the cells of a report's column hold.",
    TEXT="Text.",
    INTEGER="A whole number.",
    DECIMAL="An exact decimal, as a string.",
    RATIO="A share, 1 being all.",
    DATE="A day.",
)


@strawberry.type(description="What the question is narrowed to.")
class ReportParameters:
    from_: date | None = field("The first day; null for no beginning.", name="from")
    to: date | None = field("The last day, included; null for no end.")
    last_days: int | None = field("Days back from the day of the run; excludes from and to.")
    owner_ids: list[strawberry.ID] | None = field("Only records of these members.")
    account_ids: list[strawberry.ID] | None = field("Only records on these accounts.")
    stage_ids: list[strawberry.ID] | None = field("Only deals in these stages.")
    tags: list[str] | None = field("Names of tags.")
    currency: str | None = field("Only amounts in this currency.")
    time_zone: str = field("An IANA time zone.")


@strawberry.type(description="When a report is mailed by itself.")
class ReportSchedule:
    frequency: ReportFrequency = field("How often.")
    at: str = field("The local time, HH:MM.")
    weekday: Weekday | None = field("On which day, for WEEKLY.")
    day_of_month: int | None = field("1 to 31; a shorter month uses its last day.")
    time_zone: str = field("An IANA time zone.")
    to: list[str] = field("The addresses.")
    formats: list[ReportFormat] = field("Which files, each once.")
    next_at: datetime | None = field("The next moment; null while it is off.")
    paused_reason: str | None = field("Why it is off.")


@strawberry.type(description="A column of a report.")
class ReportColumn:
    key: str = field("A name that does not change.")
    title: str = field("A title for people.")
    type: ReportColumnType = field("What its cells hold.")
    currency: str | None = field("The currency of the amounts; null where the row says it.")


@strawberry.type(description="A row of a report; decimals are strings.")
class ReportRow:
    cells: list[JSON | None] = field("One for each column.")


@strawberry.type(description="The rows of a report.")
class ReportTable:
    columns: list[ReportColumn] = field("The columns, in their order.")
    rows: list[ReportRow] = field("The rows, at most 5,000.")
    totals: list[JSON | None] | None = field("Sums, cell for cell; null where a sum means nothing.")
    generated_at: datetime = field("The moment of which the data is.")
    truncated: bool = field("Whether there were more than 5,000 rows.")


@record(t.Report, "A saved question with a fixed shape.", hidden=("parameters", "schedule", "next_at", "scheduled_by"))
class Report(Node):
    @computed_field("What the question is narrowed to.", "parameters")
    def parameters(root: strawberry.Parent[StoredReport]) -> ReportParameters:
        return _parameters(root.parameters)

    @computed_field("When it is mailed by itself; null for never.", "schedule")
    def schedule(root: strawberry.Parent[StoredReport]) -> ReportSchedule | None:
        return None if root.schedule is None else _schedule(root.schedule)

    owner: Member | None = owner_link()

    @guarded_field(reports.table_of_report, "What it says now.")
    async def table(root: strawberry.Parent[StoredReport], info: Info) -> ReportTable:
        return _table(await reports.table_of_report(info.context, root.id))

    @guarded_field(report_runs.runs_of_report, "The runs of the last 90 days, newest first.")
    async def runs(
        root: strawberry.Parent[StoredReport], info: Info, first: First = UNSET, after: After = UNSET
    ) -> Connection[ReportRun]:
        question = listing(first=first, after=after)
        return await report_runs.runs_of_report(info.context, root.id, question, selected_nodes(info))


@strawberry.input(description="What the question is narrowed to.")
class ReportParametersInput:
    first: date | None = field("The first day; excludes lastDays.", name="from", default=UNSET)
    last: date | None = field("The last day, included.", name="to", default=UNSET)
    last_days: int | None = field("Days back from the day of the run, 1 to 3,660; excludes from and to.", default=UNSET)
    owner_ids: list[strawberry.ID] | None = field("Only records of these members.", default=UNSET)
    account_ids: list[strawberry.ID] | None = field("Only records on these accounts.", default=UNSET)
    stage_ids: list[strawberry.ID] | None = field("Only deals in these stages.", default=UNSET)
    tags: list[str] | None = field("Names of tags.", default=UNSET)
    currency: str | None = field("Only amounts in this currency.", default=UNSET)
    time_zone: str = field("An IANA time zone.", default="UTC")


@strawberry.input(description="When a report is mailed by itself.")
class ReportScheduleInput:
    frequency: ReportFrequency = field("How often.")
    at: str = field(
        "The local time, HH:MM; one that a clock change skips is the next that exists, one that comes twice counts "
        "once.",
        default="07:00",
    )
    weekday: Weekday | None = field("For WEEKLY.", default=UNSET)
    day_of_month: int | None = field("For MONTHLY.", default=UNSET)
    time_zone: str = field("An IANA time zone.", default="UTC")
    to: list[str] = field("At most 20 addresses.")
    formats: list[ReportFormat] = field("Which files, each once.", default_factory=lambda: [ReportFormat.PDF])


@strawberry.input(description="A new report.")
class ReportCreateInput:
    name: str = field("The name, 1 to 200 characters.")
    description: str | None = field("What it is for, at most 2,000 characters.", default=UNSET)
    kind: ReportKind = field("What it is.")
    parameters: ReportParametersInput | None = field("What the question is narrowed to.", default=UNSET)
    schedule: ReportScheduleInput | None = field("When it is mailed by itself; null for never.", default=UNSET)


@clearing
@strawberry.input(description="Changes to a report; schedule null takes it off.")
class ReportUpdateInput:
    name: str | None = field("The name, 1 to 200 characters.", default=UNSET)
    description: str | None = field("What it is for, at most 2,000 characters.", default=UNSET)
    parameters: ReportParametersInput | None = field("What the question is narrowed to.", default=UNSET)
    schedule: ReportScheduleInput | None = field("When it is mailed by itself; null for never.", default=UNSET)
    owner_id: str | None = field("The subject of the owning member.", default=UNSET)
    expected_version: int | None = field(
        "The version that the caller saw; PRECONDITION_FAILED where it is another by now.", default=UNSET
    )


@strawberry.type(description="What came of a change to a report.")
class ReportPayload:
    report: Report | None = field("The report; null where it is gone, or where nothing was done.")
    user_errors: list[UserError] = field("Problems that the client can act on.")


ReportId = Annotated[strawberry.ID, argument("The report's identifier.")]


@strawberry.type
class ReportQueries:
    @operation_field(reports.get_report, "A report by its id.")
    async def report(self, info: Info, id: ReportId) -> Report | None:
        return await reports.get_report(info.context, id, selected(info))

    @operation_field(reports.preview_report, "What a report would say, without saving it.")
    async def report_preview(
        self,
        info: Info,
        kind: Annotated[ReportKind, argument("What it is.")],
        parameters: Annotated[ReportParametersInput | None, argument("What the question is narrowed to.")] = UNSET,
    ) -> ReportTable:
        wanted = None
        if parameters:
            wanted = parse(report_inputs.ReportParameters, _read(parameters), at=("parameters",))
        return _table(await reports.preview_report(info.context, kind, wanted))

    @operation_field(reports.list_reports, "Saved reports, by name.")
    async def reports(
        self,
        info: Info,
        kind: Annotated[ReportKind | None, argument("Only reports of this kind.")] = UNSET,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
        offset: Offset = UNSET,
    ) -> Connection[Report]:
        condition = reports.of_kind(kind or None) or EVERYTHING
        question = listing(condition, first=first, after=after, last=last, before=before, offset=offset)
        return await reports.list_reports(info.context, question, selected_nodes(info))


@strawberry.type
class ReportMutations:
    @operation_field(
        reports.create_report,
        "Saves a report; the caller owns it. A schedule needs an owner who may read what it tells.",
    )
    async def report_create(
        self, info: Info, input: Annotated[ReportCreateInput, argument("The report.")]
    ) -> ReportPayload:
        made = await change(info, reports.create_report, model=report_inputs.ReportCreate, input=_read(input))
        return _payload(made)

    @operation_field(reports.update_report, "Changes what is named.")
    async def report_update(
        self,
        info: Info,
        id: ReportId,
        input: Annotated[ReportUpdateInput, argument("What changes; what is left out stays.")],
    ) -> ReportPayload:
        changed = await change(info, reports.update_report, id, model=report_inputs.ReportUpdate, input=_read(input))
        return _payload(changed)

    @operation_field(reports.delete_report, "Deletes the report with its schedule; files of its runs stay.")
    async def report_delete(self, info: Info, id: ReportId) -> DeletePayload:
        return await deletion(info, reports.delete_report, id)


_DAYS = {"first": "from", "last": "to"}
"""The names of the contract for what an input's class cannot call so."""


def _read(input: object) -> JsonDict:
    """Reads what the client wrote of an input, with days under the names that problems are told at."""
    fields: Any = given(input)  # Any: JSON
    return _renamed(fields)


def _renamed(fields: JsonDict) -> JsonDict:
    return {_DAYS.get(n, n): _renamed(v) if isinstance(v, dict) else v for n, v in fields.items()}


def _payload(changed: tuple[Any, list[UserError]]) -> ReportPayload:  # Any: a row stands for its type
    report, problems = changed
    return ReportPayload(report=report, user_errors=problems)


def _parameters(kept: JsonDict) -> ReportParameters:
    days: Mapping[str, Any] = {  # Any: a day, or none
        name: None if kept[name] is None else date.fromisoformat(kept[name]) for name in ("from", "to")
    }
    others = {name: value for name, value in kept.items() if name not in days}
    return ReportParameters(from_=days["from"], to=days["to"], **others)


def _schedule(kept: JsonDict) -> ReportSchedule:
    next_at, weekday = kept["next_at"], kept["weekday"]
    return ReportSchedule(
        frequency=ReportFrequency(kept["frequency"]),
        at=kept["at"],
        weekday=None if weekday is None else Weekday(weekday),
        day_of_month=kept["day_of_month"],
        time_zone=kept["time_zone"],
        to=kept["to"],
        formats=[ReportFormat(each) for each in kept["formats"]],
        next_at=None if next_at is None else datetime.fromisoformat(next_at),
        paused_reason=kept["paused_reason"],
    )


def _table(table: Table) -> ReportTable:
    return ReportTable(
        columns=[_column(column) for column in table.columns],
        rows=[ReportRow(cells=[_cell(cell) for cell in row]) for row in table.rows],
        totals=None if table.totals is None else [_cell(cell) for cell in table.totals],
        generated_at=table.generated_at,
        truncated=table.truncated,
    )


def _column(column: Column) -> ReportColumn:
    return ReportColumn(key=column.key, title=column.title, type=column.type, currency=column.currency)


def _cell(cell: Cell) -> Any:  # Any: JSON
    if isinstance(cell, Decimal):
        return format(cell, "f")
    return cell.isoformat() if isinstance(cell, date) else cell


QUERIES, MUTATIONS = ReportQueries, ReportMutations
