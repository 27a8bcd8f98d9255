"""The layer SYNTAX: the forms, functions and types that a statement may be made of; anything else is refused by name.

Each form is listed with the parts that it may have, so that a part which a parser adds some day is refused too
(decision 266).
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from sqlglot import exp

from contract.catalog_tables import SQL_FUNCTIONS
from contract.guard_layers import GuardLayer
from storage.analytics.refusals import refuse, refuse_at
from storage.analytics.words import Word

SYNTAX = GuardLayer.SYNTAX
_PAIR: Final = "this expression"
_BOTH: Final[Mapping[type[exp.Expr], str]] = {
    exp.Select: "expressions from_ joins where group having order limit offset distinct with_",
    exp.Union: f"{_PAIR} distinct order limit offset with_",
    exp.Intersect: f"{_PAIR} distinct order limit offset with_",
    exp.Except: f"{_PAIR} distinct order limit offset with_",
    exp.With: "expressions",
    exp.CTE: "this alias",
    exp.From: "this",
    exp.Join: "this side kind on",
    exp.Where: "this",
    exp.Group: "expressions",
    exp.Having: "this",
    exp.Order: "expressions",
    exp.Ordered: "this desc nulls_first",
    exp.Limit: "expression",
    exp.Offset: "expression",
    exp.Distinct: "expressions",
    exp.Table: "this alias",
    exp.TableAlias: "this",
    exp.Subquery: "this alias",
    exp.Alias: "this alias",
    exp.Column: "this table",
    exp.Identifier: "this quoted",
    exp.Star: "",
    exp.Literal: "this is_string",
    exp.Boolean: "this",
    exp.Null: "",
    exp.Paren: "this",
    exp.Neg: "this",
    exp.Not: "this",
    exp.And: _PAIR,
    exp.Or: _PAIR,
    exp.EQ: _PAIR,
    exp.NEQ: _PAIR,
    exp.LT: _PAIR,
    exp.LTE: _PAIR,
    exp.GT: _PAIR,
    exp.GTE: _PAIR,
    exp.Add: _PAIR,
    exp.Sub: _PAIR,
    exp.Mul: _PAIR,
    exp.Div: f"{_PAIR} typed safe",
    exp.Mod: _PAIR,
    exp.DPipe: f"{_PAIR} safe",
    exp.Like: f"{_PAIR} negate",
    exp.Is: f"{_PAIR} negate",
    exp.In: "this expressions query",
    exp.Between: "this low high",
    exp.Exists: "this",
    exp.Case: "this ifs default",
    exp.If: "this true false",
    exp.Cast: "this to",
    exp.DataType: "this nested",
    exp.Window: "this partition_by order over",
    exp.Filter: _PAIR,
    exp.Count: "this big_int",
    exp.Sum: "this",
    exp.Avg: "this",
    exp.Min: "this",
    exp.Max: "this",
    exp.RowNumber: "",
    exp.Rank: "",
    exp.DenseRank: "",
    exp.Lead: "this offset",
    exp.Lag: "this offset",
    exp.Abs: "this",
    exp.Round: "this decimals",
    exp.Coalesce: "this expressions",
    exp.Nullif: _PAIR,
    exp.Length: "this",
    exp.Lower: "this",
    exp.Upper: "this",
    exp.Trim: "this",
    exp.Substring: "this start length",
    exp.CurrentDate: "",
    exp.CurrentTimestamp: "",
    exp.TimeToStr: "this format",
    exp.Var: "this",
}
_OWN: Final[Mapping[str, Mapping[type[exp.Expr], str]]] = {
    "sqlite": {exp.TsOrDsToTimestamp: "this", exp.Date: "this", exp.Anonymous: "this expressions"},
    "postgresql": {
        exp.Extract: _PAIR,
        exp.TimestampTrunc: "this unit",
        exp.AtTimeZone: "this zone",
        exp.Interval: "this unit",
        exp.ILike: f"{_PAIR} negate",
    },
}
_FORMS: Final = {
    dialect: {kind: frozenset(parts.split()) for kind, parts in {**_BOTH, **own}.items()}
    for dialect, own in _OWN.items()
}
_ANONYMOUS: Final = frozenset({"julianday", "date", "local_date"})
_SETS: Final[Mapping[type[exp.Expr], str]] = {exp.Intersect: "INTERSECT", exp.Except: "EXCEPT"}
_WORDS: Final[Mapping[type[exp.Expr], str]] = {
    exp.Lock: "FOR UPDATE and FOR SHARE",
    exp.Into: "INTO",
    exp.TableSample: "TABLESAMPLE",
    exp.Lateral: "LATERAL",
    exp.Values: "VALUES",
    exp.WindowSpec: "a window's frame",
    exp.Placeholder: "a parameter",
    exp.Parameter: "a parameter",
    exp.Glob: "GLOB",
    exp.Dot: "a whole row",
    exp.ObjectIdentifier: "this type",
}

_PARTS: Final = {
    "db": "a schema before a table",
    "columns": "names of columns behind an alias",
    "using": "USING",
    "method": "NATURAL",
}


_BEFORE_BRACKETS: Final = frozenset(
    {"all", "and", "as", "between", "by", "case", "cast", "distinct", "else", "except", "exists", "filter", "from"}
    | {"having", "ilike", "in", "intersect", "is", "join", "like", "limit", "not", "offset", "on", "or", "over"}
    | {"select", "then", "union", "when", "where", "with"}
)
"""Words of the language that a bracket may follow; of any other name it makes a call."""


def check(tree: exp.Expr, text: str, dialect: str, words: Sequence[Word]) -> None:
    """Let a tree through whose every form is listed, of words that call nothing else. Raises AnalyticsRefused."""
    _check_forms(tree, text, dialect)
    for word, following in pairwise(words):
        is_call = word.kind in ("name", "quoted") and following.text == "("
        if is_call and word.text.lower() not in (*SQL_FUNCTIONS[dialect], *_BEFORE_BRACKETS):
            refuse_at(SYNTAX, f"the function {word.text} may not be used", text, word.start)


def _check_forms(tree: exp.Expr, text: str, dialect: str) -> None:
    forms = _FORMS[dialect]
    waiting: list[exp.Expr] = [tree]
    while waiting:
        node = waiting.pop()
        parts = forms.get(type(node))
        if parts is None:
            refuse(SYNTAX, f"{_words(node)} may not be used", text, node)
        for name, value in node.args.items():
            if name not in parts and value not in (None, False, []) and not _is_known(node, name):
                refuse(SYNTAX, f"{_part(name, value)} may not be used", text, _first(value) or node)
        if isinstance(node, exp.Anonymous) and node.name.lower() not in _ANONYMOUS:
            refuse(SYNTAX, f"the function {node.name} may not be used", text, node)
        if isinstance(node, exp.With) and node.parent is not tree:
            refuse(SYNTAX, "WITH stands at the beginning of a statement alone", text, node)
        if type(node) in _SETS and not node.args.get("distinct"):
            refuse(SYNTAX, f"{_SETS[type(node)]} ALL may not be used", text, node)
        if isinstance(node, exp.Select) and not node.expressions:
            refuse(SYNTAX, "a SELECT has columns", text, node)
        waiting.extend(node.iter_expressions())


def _is_known(node: exp.Expr, name: str) -> bool:
    """Says whether a part adds nothing: a cast's type is kept twice, and SQLite's old name of a part is no other."""
    return isinstance(node, exp.Cast) and name == "_type"


def _first(value: object) -> exp.Expr | None:
    found = value[0] if isinstance(value, list) and value else value
    return found if isinstance(found, exp.Expr) else None


def _part(name: str, value: object) -> str:
    first = _first(value)
    if name in _PARTS or first is None:
        return _PARTS.get(name) or name.strip("_").replace("_", " ").upper()
    return _words(first)


def _words(node: exp.Expr) -> str:
    if type(node) in _WORDS:
        return _WORDS[type(node)]
    if isinstance(node, exp.Anonymous | exp.AnonymousAggFunc):
        return f"the function {node.name}"
    if isinstance(node, exp.Func):
        return f"the function {node.sql_name().lower()}"
    return f"the form {type(node).__name__}"
