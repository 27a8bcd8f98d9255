"""Charts of answers: made of the kinds of their columns, never of what a caller or a model writes (decision 304)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from contract.analytics_results import Chart, ChartKind, ResultColumn, Value
from contract.catalog import ColumnKind

GROUPS_MAX: Final = 30
"""Bars, or parts of bars, that can be told apart."""
_SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v6.json"
_NUMBERS = frozenset({ColumnKind.INTEGER, ColumnKind.DECIMAL, ColumnKind.FLOAT})
_DAY: Final = "%Y-%m-%d"
_PARSED = {ColumnKind.DECIMAL: "number", ColumnKind.DATE: f"utc:'{_DAY}'", ColumnKind.DATETIME: "date"}
_UNITS = {"percent": "%", "days": "days", "minutes": "minutes"}
_Json = dict[str, Any]  # Any: JSON


def chart_of(
    columns: Sequence[ResultColumn],
    rows: Sequence[Sequence[Value]],
    *,
    is_list: bool = False,
    label: str = "name",
    wanted: ChartKind | None = None,
) -> Chart:
    """Says how these rows can be drawn; `wanted` where that can be drawn of them, else as their columns say.

    A list of records is a table, unless it is wanted as bars of its `label`.
    """
    figures = [c for c in columns if c.kind in _NUMBERS]
    if is_list:
        figures = [c for c in figures if c.unit != "money"] if wanted is ChartKind.BAR else []
        keys = [c for c in columns if c.name == label]
    else:
        of_figures = {c.currency_column for c in figures}
        keys = [c for c in columns if c.kind not in _NUMBERS | {ColumnKind.ID} and c.name not in of_figures]
    if wanted is ChartKind.TABLE or not figures:
        return Chart(ChartKind.TABLE, None)
    if not keys:
        return Chart(ChartKind.NUMBER if len(rows) <= 1 else ChartKind.TABLE, None)
    drawable = [c for c in figures if c.unit != "money" or c.currency_column is not None]
    if not drawable:  # of whatever currencies that is the sum
        return Chart(ChartKind.TABLE, None)
    drawn = _Drawn(columns, rows, keys, main_figure(drawable))
    kind = drawn.kind(wanted)
    return Chart(kind, None if kind is ChartKind.TABLE else drawn.spec(kind))


def main_figure(figures: Sequence[ResultColumn]) -> ResultColumn:
    """The figure that an answer is about: an amount first, else the last one, which the others lead to."""
    return next((c for c in figures if c.unit == "money"), figures[-1])


@dataclass(frozen=True, slots=True)
class _Drawn:
    """One figure of the rows by what they are grouped by."""

    columns: Sequence[ResultColumn]
    rows: Sequence[Sequence[Value]]
    keys: Sequence[ResultColumn]
    figure: ResultColumn

    def kind(self, wanted: ChartKind | None) -> ChartKind:
        """The kind that shows every row beside the others; a table where none does."""
        times, texts = self._times_and_texts()
        few = len(set(self._values(texts))) <= GROUPS_MAX
        if len(times) > 1 or len(texts) > 1 or not few or self._is_hidden():
            return ChartKind.TABLE
        if times and texts:
            return ChartKind.STACKED_BAR
        if times and not (wanted is ChartKind.BAR and len(self.rows) <= GROUPS_MAX):
            return ChartKind.LINE
        return ChartKind.BAR

    def spec(self, kind: ChartKind) -> _Json:
        """The specification, in Vega-Lite 6, over the data named `rows`."""
        times, texts = self._times_and_texts()
        currencies = self._currencies()
        title = _title(self.figure, currencies)
        axis: _Json = {"title": None}  # which the chart's title says
        if self.figure.kind is ColumnKind.INTEGER:
            axis["tickMinStep"] = 1
        figure = _channel(self.figure, "quantitative") | {"axis": axis}
        encoding: _Json
        if not times:  # names are read from left to right
            encoding = {"x": figure, "y": _channel(texts[0], "nominal") | {"sort": None}}
        elif kind is ChartKind.LINE:
            encoding = {"x": _channel(times[0], "temporal") | {"scale": {"type": "utc"}}, "y": figure}
            if self._are_months(times[0]):  # a mark for each, instead of one every two weeks
                encoding["x"]["axis"] = {"format": _DAY, "tickCount": "month"}
        else:
            period = {"sort": None, "timeUnit": "utcyearmonthdate", "axis": {"format": _DAY}}
            encoding = {"x": _channel(times[0], "ordinal") | period, "y": figure}
            if texts:
                encoding["color"] = _channel(texts[0], "nominal") | {"sort": None}
        spec: _Json = {
            "$schema": _SCHEMA,
            "data": {"name": "rows", "format": {"parse": self._parsed()}},
            "mark": {"type": "line", "point": {"size": 36}} if kind is ChartKind.LINE else "bar",
            "encoding": encoding,
            "title": title,
        }
        if len(currencies) > 1:
            header = {"title": None, "labelAngle": 0, "labelOrient": "top", "labelAnchor": "start"}
            encoding["row"] = {"field": self.figure.currency_column, "type": "nominal", "header": header}
            spec["resolve"] = {"scale": {"y" if times else "x": "independent"}}
        return spec

    def _times_and_texts(self) -> tuple[list[ResultColumn], list[ResultColumn]]:
        times = [c for c in self.keys if c.kind in (ColumnKind.DATE, ColumnKind.DATETIME)]
        return times, [c for c in self.keys if c not in times]

    def _currency(self) -> list[ResultColumn]:
        return [c for c in self.columns if c.name == self.figure.currency_column]

    def _currencies(self) -> list[str]:
        """Those of the amounts that are there, in the order of the rows."""
        found = self._values([*self._currency(), self.figure])
        return list(dict.fromkeys(str(code) for code, *amount in found if amount and amount[0] is not None))

    def _values(self, columns: Sequence[ResultColumn]) -> list[tuple[Value, ...]]:
        """Of each row what it has in these columns."""
        places = [self.columns.index(c) for c in columns]
        return [tuple(row[place] for place in places) for row in self.rows]

    def _are_months(self, time: ResultColumn) -> bool:
        found = {str(day) for (day,) in self._values([time])}
        return len(found) <= GROUPS_MAX and all(re.fullmatch(r"\d{4}-\d\d-01", day) for day in found)

    def _is_hidden(self) -> bool:
        """Says whether a row would be drawn upon another, or a name with a dot or a bracket would be a path there."""
        used = [*self.keys, *self._currency()]
        places = self._values(used)
        return len(set(places)) < len(places) or not all(c.name.isidentifier() for c in (*used, self.figure))

    def _parsed(self) -> dict[str, str]:
        return {c.name: _PARSED[c.kind] for c in (*self.keys, self.figure) if c.kind in _PARSED}


def _channel(column: ResultColumn, kind: str) -> _Json:
    return {"field": column.name, "type": kind, "title": column.label}


def _title(figure: ResultColumn, currencies: Sequence[str]) -> str:
    unit = currencies[0] if len(currencies) == 1 else _UNITS.get(figure.unit or "")
    return f"{figure.label} ({unit})" if unit else figure.label
