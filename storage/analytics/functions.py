"""The functions of statements, each written anew with what it takes and gives (contract/catalog_tables.py)."""

import re
from collections.abc import Mapping
from typing import Final

from sqlglot import exp

from contract.time_zones import time_zones
from storage.analytics.expressions import Expressions
from storage.analytics.scopes import Scope
from storage.analytics.typed import EXACT, NUMBERS, Held, Typed, Untyped, compared, read_as, taken, united

_TEXT_FUNCTIONS: Final[Mapping[type[exp.Expr], str]] = {exp.Lower: "LOWER", exp.Upper: "UPPER", exp.Trim: "TRIM"}
_CASTS: Final[Mapping[str, tuple[Held, str, frozenset[Held]]]] = {
    **dict.fromkeys(("INT", "BIGINT", "SMALLINT"), (Held.WHOLE, "bigint", frozenset({Held.TEXT, *NUMBERS, Held.FLAG}))),
    **dict.fromkeys(("TEXT", "VARCHAR"), (Held.TEXT, "text", frozenset({Held.TEXT, Held.WHOLE, Held.ID, Held.DATE}))),
    **dict.fromkeys(("FLOAT", "DOUBLE"), (Held.NUMBER, "double precision", NUMBERS)),
    "DECIMAL": (Held.NUMBER, "numeric", NUMBERS),
    "DATE": (Held.DATE, "date", frozenset({Held.DATE, Held.MOMENT, Held.LOCAL})),
    "TIMESTAMPTZ": (Held.MOMENT, "timestamptz", frozenset({Held.MOMENT, Held.DATE})),
}
_TIMES: Final = (Held.MOMENT, Held.DATE, Held.LOCAL)
_GRAINS: Final = frozenset(["YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE"])
_PARTS: Final = _GRAINS | {"ISOYEAR", "DOW", "ISODOW", "DOY"}
_SPANS: Final = re.compile(r"(?:DAY|WEEK|MONTH|YEAR|HOUR|MINUTE)S?")
_MODIFIER: Final = re.compile(
    r"[+-]?\d{1,5} (?:day|month|year|hour|minute)s?|start of (?:day|month|year)|weekday [0-6]"
)
_FORMATS: Final = {"Y": "YYYY", "m": "MM", "d": "DD", "H": "HH24", "M": "MI", "S": "SS", "G": "IYYY", "V": "IW"}
_OF_SQLITE: Final = frozenset("YmdHMSwWj")
_BETWEEN: Final = re.compile(r'[-/:. TQ]|"[A-Za-z ]{1,10}"')
_MOMENT_NOW: Final = "strftime('%Y-%m-%d %H:%M:%f000', 'now')"


@Expressions.form(*_TEXT_FUNCTIONS)
def _of_text(self: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value = self.must(node.this, scope, Held.TEXT)
    return Typed(f"{_TEXT_FUNCTIONS[type(node)]}({value.sql})", Held.TEXT, width=value.width)


@Expressions.form(exp.Length)
def _length(self: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    return Typed(f"LENGTH({self.must(node.this, scope, Held.TEXT).sql})", Held.WHOLE)


@Expressions.form(exp.Substring)
def _substring(self: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value = self.must(node.this, scope, Held.TEXT)
    places = [self.must(node.args[name], scope, Held.WHOLE).sql for name in ("start", "length") if node.args.get(name)]
    if not places:
        self.refuse("substr takes a text, a place and a length", node)
    return Typed(f"SUBSTR({', '.join([value.sql, *places])})", Held.TEXT, width=value.width)


@Expressions.form(exp.Coalesce)
def _coalesce(self: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    values = [self.of(one, scope) for one in (node.this, *node.expressions)]
    held, sqls = united(values, self.dialect)
    sql = f"COALESCE({', '.join(sqls)})" if len(sqls) > 1 else sqls[0]
    return self.one_of(sql, held, values)


@Expressions.form(exp.Nullif)
def _nullif(self: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    one, other = self.of(node.this, scope), self.of(node.expression, scope)
    test = compared(one, "=", other, self.dialect)
    return self.one_of(f"CASE WHEN {test} THEN NULL ELSE {one.sql} END", one.held, [one])


@Expressions.form(exp.Abs)
def _abs(self: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value = self.must(node.this, scope, *NUMBERS, *EXACT)
    if value.held in EXACT:
        sql = f"crm_abs({taken(value, self.dialect)})" if self.is_sqlite else f"ABS({value.sql})"
        return Typed(sql, Held.DECIMAL, is_money=value.is_money)
    return Typed(f"ABS({value.sql})", value.held)


@Expressions.form(exp.Round)
def _round(self: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value, digits = self.must(node.this, scope, *NUMBERS, *EXACT), node.args.get("decimals")
    number = 0 if digits is None else _small(self, digits, 15)
    if value.held in EXACT and self.is_sqlite:
        return Typed(f"crm_round({taken(value, self.dialect)}, {number})", Held.DECIMAL, is_money=value.is_money)
    held = Held.DECIMAL if value.held in EXACT else Held.NUMBER
    sql = value.sql if self.is_sqlite or value.held in EXACT else f"CAST({value.sql} AS numeric)"
    return Typed(f"ROUND({sql}, {number})", held, is_money=value.is_money)


def _small(self: Expressions, node: exp.Expr, most: int) -> int:
    if not isinstance(node, exp.Literal) or node.is_string or "." in node.this or int(node.this) > most:
        self.refuse(f"a number from 0 to {most} belongs here", node)
    return int(node.this)


@Expressions.form(exp.Cast)
def _cast(self: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value = self.of(node.this, scope)
    name = str(getattr(node.args["to"].this, "name", ""))
    if name not in _CASTS:
        self.refuse("this type may not be used", node.args["to"])
    held, sql, kinds = _CASTS[name]
    value = read_as(value, held, self.dialect)
    if value.held in EXACT and name == "DECIMAL":
        return value
    if value.held not in kinds and value.held is not Held.NOTHING:
        raise Untyped(f"{value.held.value} cannot be made {held.value}")
    if not self.is_sqlite:
        return Typed(f"CAST({value.sql} AS {sql})", held, width=value.width)
    forms = {Held.WHOLE: "CAST({} AS INTEGER)", Held.NUMBER: "CAST({} AS REAL)", Held.DATE: "date({})"}
    if held is Held.WHOLE and value.held is Held.TEXT:
        return Typed(f"crm_whole({value.sql})", held)
    if held is Held.WHOLE and value.held in NUMBERS:
        return Typed(f"crm_nearest({value.sql})", held)
    if held is Held.MOMENT:
        raise Untyped("this type may not be used")
    return Typed(forms.get(held, "CAST({} AS TEXT)").format(value.sql), held, width=value.width)


@Expressions.form(exp.CurrentDate)
def _today(_self: Expressions, _node: exp.Expr, _scope: Scope) -> Typed:
    return Typed("CURRENT_DATE", Held.DATE)


@Expressions.form(exp.CurrentTimestamp)
def _now(self: Expressions, _node: exp.Expr, _scope: Scope) -> Typed:
    return Typed(_MOMENT_NOW if self.is_sqlite else "CURRENT_TIMESTAMP", Held.MOMENT)


def _time(self: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """A day or a moment; on SQLite also the text `now`."""
    if isinstance(node, exp.TsOrDsToTimestamp):
        node = node.this
    value = self.of(node, scope)
    if self.is_sqlite and value.literal == "now":
        return Typed("'now'", Held.MOMENT)
    if isinstance(value.literal, str):
        value = read_as(value, Held.MOMENT if len(value.literal) > len("2026-01-01") else Held.DATE, self.dialect)
    if value.held not in (Held.DATE, Held.MOMENT, Held.LOCAL, Held.NOTHING):
        self.refuse(f"a day or a moment belongs here, not {value.held.value}", node)
    return value


@Expressions.form(exp.TimeToStr)
def _written(self: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    value, given = _time(self, node.this, scope), node.args["format"]
    if not isinstance(given, exp.Literal) or not given.is_string or len(given.this) > 40:
        self.refuse("a format is a short text in quotes", node)
    parts, rest, known = [], str(given.this), _OF_SQLITE if self.is_sqlite else _FORMATS
    while rest:
        between = _BETWEEN.match(rest)
        if rest[0] == "%" and rest[1:2] in known and rest[1:2]:
            parts.append(rest[:2] if self.is_sqlite else _FORMATS[rest[1]])
            rest = rest[2:]
        elif between is not None and not (self.is_sqlite and '"' in between[0]):
            parts.append(between[0])
            rest = rest[between.end() :]
        else:
            self.refuse("this format may not be used", given)
    written = "".join(parts)
    return Typed(
        f"strftime('{written}', {value.sql})" if self.is_sqlite else f"to_char({value.sql}, '{written}')", Held.TEXT
    )


@Expressions.form(exp.Date)
def _date(self: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    return Typed(f"date({_time(self, node.this, scope).sql})", Held.DATE)


@Expressions.form(exp.Anonymous)
def _of_sqlite(self: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    name, given = node.name.lower(), node.expressions
    if name == "local_date":
        return _day_there(self, node, scope)
    if not given or name not in ("date", "julianday") or (name == "julianday" and len(given) > 1):
        self.refuse(f"{node.name} takes a day or a moment", node)
    parts = [_time(self, given[0], scope).sql]
    for one in given[1:]:
        if not isinstance(one, exp.Literal) or not one.is_string or not _MODIFIER.fullmatch(one.this):
            self.refuse("such a change of a day may not be used", one)
        parts.append(f"'{one.this}'")
    return Typed(f"{name}({', '.join(parts)})", Held.DATE if name == "date" else Held.NUMBER)


def _day_there(self: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    """The day that a moment falls on in a zone (decision 295)."""
    if len(node.expressions) != 2:
        self.refuse("local_date takes a moment and a time zone", node)
    moment, zone = self.must(node.expressions[0], scope, Held.MOMENT), _zone(self, node.expressions[1])
    return Typed(f"crm_local_date({moment.sql}, '{zone}')", Held.DATE)


def _zone(self: Expressions, node: exp.Expr) -> str:
    if not isinstance(node, exp.Literal) or node.this not in time_zones():
        self.refuse("a time zone is a name such as 'Europe/Berlin', in quotes", node)
    return str(node.this)


@Expressions.form(exp.AtTimeZone)
def _there(self: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    moment = self.must(node.this, scope, Held.MOMENT)
    return Typed(f"({moment.sql} AT TIME ZONE '{_zone(self, node.args['zone'])}')", Held.LOCAL)


@Expressions.form(exp.Extract)
def _extract(self: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    part, value = node.this.name.upper(), self.must(node.expression, scope, *_TIMES, Held.SPAN)
    if part == "EPOCH":
        return Typed(f"EXTRACT(EPOCH FROM {value.sql})", Held.NUMBER)
    if part not in _PARTS or (value.held is Held.SPAN and part != "DAY"):
        self.refuse(f"the part {part} may not be used", node)
    return Typed(f"CAST(EXTRACT({part} FROM {value.sql}) AS integer)", Held.WHOLE)


@Expressions.form(exp.TimestampTrunc)
def _cut(self: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    grain, value = node.args["unit"].name.upper(), self.must(node.this, scope, *_TIMES)
    if grain not in _GRAINS:
        self.refuse(f"the part {grain} may not be used", node)
    if value.held is Held.LOCAL:
        return Typed(f"date_trunc('{grain.lower()}', {value.sql})", Held.LOCAL)
    return Typed(f"date_trunc('{grain.lower()}', CAST({value.sql} AS timestamptz))", Held.MOMENT)


@Expressions.form(exp.Interval)
def _span(self: Expressions, node: exp.Expr, _scope: Scope) -> Typed:
    number, unit = node.this, node.args.get("unit")
    is_number = isinstance(number, exp.Literal) and re.fullmatch(r"\d{1,5}", number.this)
    if not is_number or unit is None or not _SPANS.fullmatch(unit.name.upper()):
        self.refuse("a length of time is a number of minutes, hours, days, weeks, months or years", node)
    return Typed(f"INTERVAL '{number.this} {unit.name.lower()}'", Held.SPAN)
