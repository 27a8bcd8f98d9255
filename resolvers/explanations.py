"""Explanations of answers: templates filled from the rows, with no figure that is not there (decision 284)."""

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from typing import Final

from contract.analytics_results import Result, ResultColumn, Value
from contract.catalog import CATALOG, ColumnKind
from resolvers.analytics_checks import name_of
from resolvers.analytics_inputs import AnalyticsQuery
from resolvers.charts import main_figure

_NUMBERS: Final = frozenset({ColumnKind.INTEGER, ColumnKind.DECIMAL, ColumnKind.FLOAT})
_UNITS: Final = {"percent": " %", "days": " days", "minutes": " minutes"}
_CURRENCIES_MAX: Final = 5


def explain(query: AnalyticsQuery, result: Result) -> str:
    """The answer in a few sentences; an empty one names its conditions, since what is not found may be elsewhere."""
    text = _sentences(query, result)
    return f"{text} There is more than is shown here." if result.truncated else text


def explain_statement(result: Result) -> str:
    """The answer of a statement, of which nothing is known but its columns: the figure where there is one alone."""
    if not result.rows:
        return "No rows were found."
    if len(result.rows) == len(result.columns) == 1 and result.rows[0][0] is not None:
        return f"{result.columns[0].label}: {_shown(result.columns[0], result.rows[0], result.columns)}."
    more = " There is more than is shown here." if result.truncated else ""
    return f"The rows have {_listed([c.label.lower() for c in result.columns])}.{more}"


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _sentences(query: AnalyticsQuery, result: Result) -> str:
    records = query.entity.replace("_", " ")
    if not result.rows:
        return f"No {records} were found{_where(result.sql.filters)}."
    if not query.measures:
        return _first_record(query, result)
    figure = main_figure([c for c in result.columns if c.name in query.measures])
    keys = [c for c in result.columns if c.name in query.by]
    if not keys:
        return _whole(query, result)
    return (
        " ".join(
            _of_groups(figure, keys, rows, result.columns, currency) for currency, rows in _by_currency(figure, result)
        )
        or f"None of these {records} has a {figure.label.lower()}{_where(result.sql.filters)}."
    )


def _where(filters: Sequence[str]) -> str:
    return f" where {' and '.join(filters)}" if filters else ""


def _whole(query: AnalyticsQuery, result: Result) -> str:
    """All records together: each figure, amounts by currency."""
    records = query.entity.replace("_", " ")
    found = [
        f"{c.label}: {_shown(c, row, result.columns)}."
        for c in result.columns
        if c.name in query.measures
        for row in result.rows[:_CURRENCIES_MAX]
        if row[_place(c, result.columns)] is not None
    ]
    return " ".join(found) if found else f"Nothing is known of these {records}{_where(result.sql.filters)}."


def _by_currency(figure: ResultColumn, result: Result) -> list[tuple[str | None, list[Sequence[Value]]]]:
    """The rows that have the figure, by its currency; amounts of several are never compared."""
    place = _place(figure, result.columns)
    rows = [row for row in result.rows if row[place] is not None]
    if figure.currency_column is None:
        return [(None, rows)] if rows else []
    of_currency = [c.name for c in result.columns].index(figure.currency_column)
    codes = dict.fromkeys(str(row[of_currency]) for row in rows)
    return [(code, [row for row in rows if str(row[of_currency]) == code]) for code in [*codes][:_CURRENCIES_MAX]]


def _of_groups(
    figure: ResultColumn,
    keys: Sequence[ResultColumn],
    rows: Sequence[Sequence[Value]],
    columns: Sequence[ResultColumn],
    currency: str | None,
) -> str:
    place = _place(figure, columns)
    most, least = (how(rows, key=lambda row: Decimal(str(row[place]))) for how in (max, min))
    said = figure.label if currency is None else f"{figure.label} in {currency}"
    if len(rows) == 1 or most[place] == least[place]:
        each = "" if len(rows) == 1 else " each"
        return f"{said}: {_named(most, keys, columns)} with {_shown(figure, most, columns)}{each}."
    return (
        f"{said}: the highest is {_named(most, keys, columns)} with {_shown(figure, most, columns)}, "
        f"the lowest {_named(least, keys, columns)} with {_shown(figure, least, columns)}."
    )


def _named(row: Sequence[Value], keys: Sequence[ResultColumn], columns: Sequence[ResultColumn]) -> str:
    parts = []
    for key in keys:
        value = row[_place(key, columns)]
        parts.append(f"no {key.label.lower()}" if value is None else str(value))
    return ", ".join(parts)


def _first_record(query: AnalyticsQuery, result: Result) -> str:
    """Of a list its first record, and what it is ordered by."""
    columns, row = result.columns, result.rows[0]
    by_name = next(c for c in columns if c.name == name_of(query.entity))
    name = row[_place(by_name, columns)]
    shown = [c for c in columns if c.name in [one.field for one in query.order_by] and c is not by_name]
    known = [f"{c.label.lower()} {_shown(c, row, columns)}" for c in shown if row[_place(c, columns)] is not None]
    of = f", {' and '.join(known)}" if known else ""
    kind = CATALOG[query.entity].name.replace("_", " ")
    begins = "There is one alone" if len(result.rows) == 1 else "The list begins with"
    said = name if name is not None else f"one without a {by_name.label.lower()}"
    return f"{kind.capitalize()}: {begins}{':' if len(result.rows) == 1 else ''} {said}{of}."


def _place(column: ResultColumn, columns: Sequence[ResultColumn]) -> int:
    return [c.name for c in columns].index(column.name)


def _shown(column: ResultColumn, row: Sequence[Value], columns: Sequence[ResultColumn]) -> str:
    """A figure, rounded to two decimals, with its unit; an amount with its currency."""
    value = row[_place(column, columns)]
    if column.kind not in _NUMBERS or value is None:
        return str(value)
    number = Decimal(str(value))
    if number != number.to_integral_value():
        number = number.quantize(Decimal("0.01"), ROUND_HALF_UP)
    text = format(number, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    if column.unit == "money" and column.currency_column is not None:
        return f"{text} {row[[c.name for c in columns].index(column.currency_column)]}"
    return f"{text}{_UNITS.get(column.unit or '', '')}"
