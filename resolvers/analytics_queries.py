"""Semantic queries: figures and rows by names of the catalogue (docs/analytics.md, decisions 272 to 274)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from hashlib import sha256
from time import monotonic

import orjson

from contract.analytics_results import ChartKind, Result, ResultColumn, Statement, Value, label_of
from contract.catalog import ColumnKind
from contract.limits import ANALYTICS_BYTES_MAX
from contract.scopes import ScopeGroup
from resolvers.analytics_checks import Checked, check, name_of
from resolvers.analytics_inputs import AnalyticsQuery
from resolvers.charts import chart_of
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from storage.base import now
from storage.queries.analytics_facts import FACTS
from storage.queries.analytics_queries import CURRENCY, fetch
from storage.queries.analytics_texts import written
from storage.tenancy.sessions import TenantSession


@dataclass(frozen=True, slots=True)
class Prepared:
    """A query that can be run: its statement and its columns are known before there are rows."""

    checked: Checked
    columns: Sequence[ResultColumn]

    def statement(self, dialect: str) -> Statement:
        """The statement of ad-hoc SQL that gives the same rows."""
        shown = written(self.checked.shape, self.checked.values, dialect)
        digest = sha256(shown.text.encode()).hexdigest()
        return Statement(shown.text, [], dialect, shown.tables, tuple(self.checked.filters), digest)

    async def rows(self, session: TenantSession) -> tuple[list[list[Value]], bool]:
        """The rows, and whether there are more of them, or more bytes, than an answer has."""
        found = await fetch(session, self.checked.shape, self.checked.values)
        first = self.checked.values["rows"] - 1
        rows = [self._row(row, session.dialect) for row in found[:first]]
        left = ANALYTICS_BYTES_MAX
        for index, row in enumerate(rows):
            left -= len(orjson.dumps(row)) + 1
            if left < 0:
                return rows[:index], True
        return rows, len(found) > first

    def _row(self, row: object, dialect: str) -> list[Value]:
        measures = FACTS[self.checked.entity.name].measures if self.checked.shape.measures else {}
        return [
            _shown(column.kind, measures[column.name].value(row, dialect))
            if column.name in self.checked.shape.measures
            else _shown(column.kind, getattr(row, column.name))
            for column in self.columns
        ]


def prepare(query: AnalyticsQuery, scopes: frozenset[str], present: datetime | None = None) -> Prepared:
    """Returns the query as it can be run. Raises Problems, and Forbidden (resolvers/analytics_checks.py)."""
    checked = check(query, scopes, present or now())
    return Prepared(checked, _columns(checked))


@requires(ScopeGroup.DATA_ACCESS)
async def run_query(ctx: Context, query: AnalyticsQuery) -> Result:
    """The rows of a semantic query. Raises Problems, and Forbidden for what needs more scopes."""
    prepared = prepare(query, frozenset(ctx.caller.scopes))
    async with ctx.reading() as session:
        return await answer(prepared, session, prepared.statement(session.dialect))


async def answer(
    prepared: Prepared, session: TenantSession, statement: Statement, wanted: ChartKind | None = None
) -> Result:
    """The rows of a query whose statement is known, and how they can be drawn."""
    query = prepared.checked.query
    began = monotonic()
    rows, truncated = await prepared.rows(session)
    duration = int((monotonic() - began) * 1000)
    label = name_of(query.entity)
    chart = chart_of(prepared.columns, rows, is_list=not query.measures, label=label, wanted=wanted)
    return Result(prepared.columns, rows, truncated, statement, chart, duration)


def _columns(checked: Checked) -> list[ResultColumn]:
    entity, shape = checked.entity, checked.shape
    found: list[ResultColumn] = []
    facts = FACTS[entity.name]
    of_amounts = "currency" if shape.has_currency or "currency" in shape.by else None
    for name in shape.by:
        kind = entity.dimensions[name].kind
        is_period = bool(shape.measures) and entity.dimensions[name].is_date
        column = ResultColumn(name, label_of(name), ColumnKind.DATE if is_period else kind)
        if kind is ColumnKind.DECIMAL:
            column = replace(column, unit="money", currency_column=of_amounts)
        found.append(column)
        if facts.dimensions[name].id is not None:
            found.append(ResultColumn(f"{name}_id", label_of(f"{name}_id"), ColumnKind.ID))
    if shape.has_currency:
        found.append(ResultColumn(CURRENCY, label_of(CURRENCY), ColumnKind.TEXT))
    for name in shape.measures:
        unit = facts.measures[name].unit
        money = of_amounts if unit == "money" else None
        found.append(ResultColumn(name, label_of(name), entity.measures[name].kind, unit, money))
    return found


def _shown(kind: ColumnKind, value: object) -> Value:
    """The value as answers have it: exact decimals, days and moments as texts."""
    match value:
        case None | bool() | str():
            return value
        case Decimal():
            return format(value, "f") if kind is ColumnKind.DECIMAL else float(value)
        case datetime():
            return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case date():
            return value.isoformat()
        case int() | float():
            return value
    raise TypeError(f"no value of an answer: {type(value).__name__}")
