"""Charts of answers: made of the kinds of their columns, never of what a caller or a model writes (decision 274)."""

from collections.abc import Sequence
from typing import Any, Final

from contract.analytics_results import Chart, ChartKind, ResultColumn, Value
from contract.catalog import ColumnKind

GROUPS_MAX: Final = 30
"""Bars that can be told apart."""
_SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v6.json"
_NUMBERS = frozenset({ColumnKind.INTEGER, ColumnKind.DECIMAL, ColumnKind.FLOAT})
_TIMES = frozenset({ColumnKind.DATE, ColumnKind.DATETIME})
_Json = dict[str, Any]  # Any: JSON


def chart_of(
    columns: Sequence[ResultColumn],
    rows: Sequence[Sequence[Value]],
    *,
    is_list: bool = False,
    label: str = "name",
    wanted: ChartKind | None = None,
) -> Chart:
    """How these rows can be drawn; `wanted` where that can be drawn of them, else as their columns say.

    A list of records is a table, unless it is wanted as bars of its `label`.
    """
    figures = [c for c in columns if c.kind in _NUMBERS]
    if is_list:
        bars = [c for c in figures if c.unit != "money"]
        if wanted is ChartKind.BAR and bars and 0 < len(rows) <= GROUPS_MAX and any(c.name == label for c in columns):
            return _drawn(ChartKind.BAR, columns, rows, [c for c in columns if c.name == label], bars[0])
        return Chart(ChartKind.TABLE, None)
    currencies = {c.currency_column for c in figures}
    keys = [c for c in columns if c.kind not in _NUMBERS and c.kind is not ColumnKind.ID and c.name not in currencies]
    if wanted is ChartKind.TABLE or not figures:
        return Chart(ChartKind.TABLE, None)
    kind = _kind(keys, rows)
    if wanted is ChartKind.BAR and kind is ChartKind.LINE and len(rows) <= GROUPS_MAX:
        kind = ChartKind.BAR
    if kind in (ChartKind.NUMBER, ChartKind.TABLE):
        return Chart(kind, None)
    return _drawn(kind, columns, rows, keys, figures[0])


def _kind(keys: Sequence[ResultColumn], rows: Sequence[Sequence[Value]]) -> ChartKind:
    times = [c for c in keys if c.kind in _TIMES]
    if not keys:
        return ChartKind.NUMBER if len(rows) <= 1 else ChartKind.TABLE
    if len(keys) == 1:
        if times:
            return ChartKind.LINE
        return ChartKind.BAR if len(rows) <= GROUPS_MAX else ChartKind.TABLE
    return ChartKind.STACKED_BAR if len(times) == 1 and len(keys) == 2 else ChartKind.TABLE


def _drawn(
    kind: ChartKind,
    columns: Sequence[ResultColumn],
    rows: Sequence[Sequence[Value]],
    keys: Sequence[ResultColumn],
    figure: ResultColumn,
) -> Chart:
    times = [c for c in keys if c.kind in _TIMES]
    texts = [c for c in keys if c.kind not in _TIMES]
    parse = {c.name: "number" for c in columns if c.kind is ColumnKind.DECIMAL} | {
        c.name: "utc:'%Y-%m-%d'" for c in times
    }
    encoding: _Json = {"y": _axis(figure, "quantitative")}
    if times and kind is not ChartKind.BAR:
        encoding["x"] = _axis(times[0], "temporal") | {"scale": {"type": "utc"}}
        if texts:
            encoding["color"] = _axis(texts[0], "nominal")
    elif times:
        encoding["x"] = _axis(times[0], "ordinal") | {"sort": None, "timeUnit": "utcyearmonthdate"}
    else:
        encoding["x"] = _axis(texts[0], "nominal") | {"sort": None}
    spec: _Json = {
        "$schema": _SCHEMA,
        "data": {"name": "rows", "format": {"parse": parse}},
        "mark": "line" if kind is ChartKind.LINE else "bar",
        "encoding": encoding,
        "title": figure.label,
    }
    if _currencies(columns, rows, figure) > 1:
        encoding["row"] = {"field": figure.currency_column, "type": "nominal", "title": "Currency"}
        spec["resolve"] = {"scale": {"y": "independent"}}
    return Chart(kind, spec)


def _currencies(columns: Sequence[ResultColumn], rows: Sequence[Sequence[Value]], figure: ResultColumn) -> int:
    """How many currencies the figure is in: amounts of several never share an axis."""
    if figure.currency_column is None:
        return 0
    place = [c.name for c in columns].index(figure.currency_column)
    return len({row[place] for row in rows})


def _axis(column: ResultColumn, kind: str) -> _Json:
    return {"field": column.name, "type": kind, "title": column.label}
