"""Makes the rows of a report: what the statements say, in the words and the order of its table."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from contract.limits import REPORT_ROWS_MAX
from contract.vocabulary import ActivityType, ReportColumnType, ReportKind, TargetMetric
from reports.narrowing import LISTS, Narrowing
from reports.table import Cell, Column, Table
from storage.base import JsonDict
from storage.queries import paging, records, sales_targets
from storage.queries import reports as statements
from storage.queries.exact import amount_of, average, weighed
from storage.queries.listables import PEOPLE, STAGES
from storage.queries.sales_targets import Asked
from storage.rows import Row
from storage.tenancy.sessions import TenantSession

_TEXT, _NUMBER, _AMOUNT = ReportColumnType.TEXT, ReportColumnType.INTEGER, ReportColumnType.DECIMAL
_RATIO, _DATE = ReportColumnType.RATIO, ReportColumnType.DATE
_Rows = Sequence[Any]
"""Rows of an aggregate. Any: each has the parts that were asked for."""
_Made = tuple[list[Column], list[list[Cell]]]

COLUMNS: Final[Mapping[ReportKind, Sequence[Column]]] = {
    ReportKind.PIPELINE_BY_STAGE: (
        Column("stage", "Stage", _TEXT),
        Column("currency", "Currency", _TEXT),
        Column("deals", "Deals", _NUMBER),
        Column("value", "Value", _AMOUNT),
        Column("weighted", "Weighted value", _AMOUNT),
    ),
    ReportKind.ACTIVITY_BY_OWNER: (
        Column("owner", "Owner", _TEXT),
        Column("meetings", "Meetings", _NUMBER),
        Column("tasks", "Tasks", _NUMBER),
        Column("notes", "Notes", _NUMBER),
        Column("calls", "Calls", _NUMBER),
        Column("emails", "E-mails", _NUMBER),
        Column("activities", "All", _NUMBER),
    ),
    ReportKind.WON_LOST_BY_MONTH: (
        Column("month", "Month", _DATE, is_month=True),
        Column("currency", "Currency", _TEXT),
        Column("won", "Won", _NUMBER),
        Column("won_value", "Won value", _AMOUNT),
        Column("lost", "Lost", _NUMBER),
        Column("lost_value", "Lost value", _AMOUNT),
        Column("win_rate", "Win rate", _RATIO),
    ),
    ReportKind.TARGET_ATTAINMENT: (
        Column("owner", "Owner", _TEXT),
        Column("metric", "Metric", _TEXT),
        Column("starts_on", "From", _DATE),
        Column("ends_on", "To", _DATE),
        Column("currency", "Currency", _TEXT),
        Column("target", "Target", _AMOUNT),
        Column("actual", "Reached", _AMOUNT),
        Column("ratio", "Attainment", _RATIO),
        Column("remaining", "Remaining", _AMOUNT),
        Column("open_pipeline", "Open pipeline", _AMOUNT),
    ),
}
_METRICS: Final = {TargetMetric.WON_VALUE.value: "Won value", TargetMetric.WON_DEALS.value: "Won deals"}
NO_OWNER, NO_STAGE, WHOLE = "Nobody", "No stage", "Whole organization"


async def lead_nowhere(session: TenantSession, definitions: Sequence[JsonDict]) -> list[str | None]:
    """Say of each what it is narrowed to and is not there any more; None where everything is (decision 474).

    It takes as many statements for many definitions as for one.
    """
    named = {name: list(dict.fromkeys(value for d in definitions for value in d[name] or ())) for name in LISTS}
    lost = await statements.lost(session, {name: values for name, values in named.items() if values})
    gone = {name: {named[name][place] for each, place in lost if each == name} for name in LISTS}
    return [_words([name for name in LISTS if not gone[name].isdisjoint(d[name] or ())]) for d in definitions]


def _words(gone: Sequence[str]) -> str | None:
    return f"The report is narrowed to {' and '.join(_GONE[name] for name in gone)}" if gone else None


_GONE: Final = {
    "owner_ids": "an owner whom the organization does not know",
    "account_ids": "an account that does not exist any more",
    "stage_ids": "a stage that does not exist any more",
    "tags": "a tag that does not exist any more",
}


async def table_of(session: TenantSession, kind: ReportKind, parameters: JsonDict, moment: datetime) -> Table:
    """The table of a report at this moment, by what its definition keeps."""
    narrowing = Narrowing.of(parameters, moment)
    found = await _ROWS[kind](session, narrowing)
    rows = found[:REPORT_ROWS_MAX]
    columns = [_in_currency(column, narrowing.currency) for column in COLUMNS[kind]]
    totals, sums = (None, []) if kind is ReportKind.TARGET_ATTAINMENT else _sums(columns, rows, narrowing.currency)
    return Table(columns, rows, totals, sums, moment, len(found) > REPORT_ROWS_MAX)


def _in_currency(column: Column, currency: str | None) -> Column:
    if currency is None or column.type is not _AMOUNT:
        return column
    return Column(column.key, column.title, column.type, currency, column.is_month)


async def _pipeline(session: TenantSession, narrowing: Narrowing) -> list[list[Cell]]:
    found = await statements.by_stage(session, narrowing.condition(ReportKind.PIPELINE_BY_STAGE))
    names = {stage.id: stage.name for stage in await records.all_of(session, STAGES)}
    dialect = session.dialect
    return [
        [
            names.get(row.key0, NO_STAGE),
            row.currency,
            int(row.count),
            amount_of(dialect, row.high, row.low),
            weighed(amount_of(dialect, row.weighed_high, row.weighed_low)) if row.weighed else None,
        ]
        for row in _listed(found)
    ]


async def _won_and_lost(session: TenantSession, narrowing: Narrowing) -> list[list[Cell]]:
    condition = narrowing.condition(ReportKind.WON_LOST_BY_MONTH)
    found = await statements.by_month(session, condition, narrowing.time_zone)
    dialect = session.dialect
    return [
        [
            row.key0,
            row.currency,
            int(row.won),
            amount_of(dialect, row.won_high, row.won_low),
            int(row.lost),
            amount_of(dialect, row.lost_high, row.lost_low),
            average(Decimal(int(row.won)), int(row.won) + int(row.lost)),
        ]
        for row in _listed(found)
    ]


async def _activities(session: TenantSession, narrowing: Narrowing) -> list[list[Cell]]:
    found = _listed(await statements.by_owner(session, narrowing.condition(ReportKind.ACTIVITY_BY_OWNER)))
    names = await _names(session, [row.key0 for row in found])
    types = [kind.value for kind in ActivityType]
    return [
        [names.get(row.key0, NO_OWNER), *(int(getattr(row, name)) for name in types), int(row.count)] for row in found
    ]


async def _targets(session: TenantSession, narrowing: Narrowing) -> list[list[Cell]]:
    found = await statements.targets(session, narrowing.condition(ReportKind.TARGET_ATTAINMENT))
    names = await _names(session, [target.owner_id for target in found])
    asked = Asked(is_whole=False)
    counted: dict[str, list[Any]] = {target.id: [] for target in found}  # Any: rows of the statement
    if found:
        for row in await sales_targets.reached(session, list(counted), asked):
            counted[row.target_id].append(row)
    rows: list[list[Cell]] = []
    for target in found:
        reached = sales_targets.reached_of(target, counted[target.id])
        owner = WHOLE if target.owner_id is None else names[target.owner_id]
        days = (target.starts_on, target.ends_on)
        amounts = (target.amount, reached.actual, reached.ratio, reached.remaining, reached.open_pipeline)
        rows.append([owner, _METRICS[target.metric], *days, target.currency, *amounts])
    return rows


_ROWS: Final = {
    ReportKind.PIPELINE_BY_STAGE: _pipeline,
    ReportKind.ACTIVITY_BY_OWNER: _activities,
    ReportKind.WON_LOST_BY_MONTH: _won_and_lost,
    ReportKind.TARGET_ATTAINMENT: _targets,
}


def _listed(rows: _Rows) -> _Rows:
    """The rows of the groups, without those of all together, and without what only stands for an empty total."""
    return [row for row in rows if row.place is not None and row.count]


async def _names(session: TenantSession, subjects: Sequence[str | None]) -> dict[str, str]:
    """Finds the names of these subjects: the name, else the address, else the subject itself."""
    wanted = list(dict.fromkeys(subject for subject in subjects if subject is not None))
    people = await paging.by_ids(session, PEOPLE, wanted) if wanted else {}
    return {subject: _called(people.get(subject), subject) for subject in wanted}


def _called(person: Row | None, subject: str) -> str:
    return subject if person is None else person.name or person.email or subject  # type: ignore[attr-defined]  # a PersonRow


def _sums(
    columns: Sequence[Column], rows: Sequence[Sequence[Cell]], currency: str | None
) -> tuple[list[Cell], list[list[Cell]]]:
    """The sums of all rows, and of each currency apart where there are several (decision 473)."""
    places = [n for n, column in enumerate(columns) if column.key == "currency"]
    found = sorted({str(row[place]) for place in places for row in rows})
    if len(found) < 2:
        return _added(columns, rows, currency or next(iter(found), None)), []
    apart = [_added(columns, [row for row in rows if row[places[0]] == one], one) for one in found]
    return _added(columns, rows, None), apart


def _added(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], currency: str | None) -> list[Cell]:
    """The sums of rows that are of one currency; without one there are no sums of amounts."""
    sums: list[Cell] = []
    for number, column in enumerate(columns):
        cells: Any = [row[number] for row in rows if row[number] is not None]  # Any: of the column's type
        if column.key == "currency":
            sums.append(currency)
        elif column.type is _NUMBER:
            sums.append(sum(cells))
        elif column.type is _AMOUNT and currency is not None:
            sums.append(sum(cells, Decimal(0)))
        else:
            sums.append(None)
    return sums
