"""Statements as callers are shown them: in the words of ad-hoc SQL, to be edited and run (decision 274)."""

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

import sqlglot
from sqlglot import exp

from storage.base import plain_decimal
from storage.bounded_cache import BoundedCache
from storage.expressions import AnySelect
from storage.queries.dialects import AdHoc
from storage.tenancy import guard

_KEPT = 500
_CHARACTERS = 2_000_000
_PLACE = re.compile(r"%\((\w+)\)s|:(\w+)")


@dataclass(frozen=True, slots=True)
class Shown:
    """A statement without the wall around the organization: its text, and the tables that it reads."""

    text: str
    tables: Sequence[str]


@dataclass(frozen=True, slots=True)
class _Template:
    """The text between the places of values, and the names of these."""

    pieces: tuple[str, ...]
    names: tuple[str, ...]
    tables: tuple[str, ...]


_templates: BoundedCache[tuple[Hashable, str], _Template] = BoundedCache(entries=_KEPT, size=_CHARACTERS)


def shown(key: Hashable, build: Callable[[], AnySelect], dialect: str, values: Mapping[str, object]) -> Shown:
    """The statement of this key with its values in their places. `build` is asked where the key is not known."""
    known = _templates.get((key, dialect))
    if known is None:
        known = _template(build(), dialect)
        _templates.put((key, dialect), known, sum(map(len, known.pieces)))
    parts = [known.pieces[0]]
    for name, piece in zip(known.names, known.pieces[1:], strict=True):
        parts += _literal(values[name]), piece
    return Shown("".join(parts), known.tables)


def _template(statement: AnySelect, dialect: str) -> _Template:
    grammar = guard.GRAMMARS[dialect]
    tree = sqlglot.parse_one(str(statement.compile(dialect=AdHoc(dialect))), dialect=grammar)
    for equality in list(tree.find_all(exp.EQ)):
        if any(
            isinstance(side, exp.Column) and side.name == guard.KEY for side in (equality.this, equality.expression)
        ):
            _remove(equality)
    for node in reversed(list(tree.walk())):
        node.replace(_as_written(node))
    _unnumber(tree)
    tables = tuple(dict.fromkeys(table.name for table in tree.find_all(exp.Table, bfs=False)))
    found = _PLACE.split(tree.sql(dialect=grammar, pretty=True))
    names = tuple(one or other for one, other in zip(found[1::3], found[2::3], strict=True))
    return _Template(tuple(found[::3]), names, tables)


def _remove(condition: exp.Expr) -> None:
    """Take a condition out of what it is in."""
    parent = condition.parent
    while isinstance(parent, exp.Paren):
        condition, parent = parent, parent.parent
    if isinstance(parent, exp.Where):
        parent.pop()
    elif isinstance(parent, exp.And):
        parent.replace(parent.expression if parent.this is condition else parent.this)
    else:
        condition.replace(exp.true())


def _as_written(node: exp.Expr) -> exp.Expr:
    """A form as people write it, where the statement has it in other words; its parts are that already."""
    match node:
        case exp.Paren(this=exp.Column() as inner) | exp.Paren(this=inner, parent=exp.Where() | exp.If()):
            return inner
        case exp.NullSafeNEQ():
            return exp.paren(exp.or_(exp.NEQ(**node.args), exp.Is(this=node.this.copy(), expression=exp.null())))
        case exp.Or() if not isinstance(node.parent, exp.Or):
            return _list_of(node) or node
        case exp.Cast(this=exp.Null()):
            return exp.null()
        case exp.Coalesce(this=exp.Sum(this=exp.Case() as case)) if _counts(case):
            where = exp.Where(this=case.args["ifs"][0].this)
            return exp.Filter(this=exp.Count(this=exp.Star()), expression=where)
    return node


def _unnumber(tree: exp.Expr) -> None:
    """Take the numbered alias from a table that is there once."""
    tables = list(tree.find_all(exp.Table))
    for table in tables:
        if table.alias and sum(one.name == table.name for one in tables) == 1:
            for column in tree.find_all(exp.Column):
                if column.table == table.alias:
                    column.set("table", exp.to_identifier(table.name))
            table.set("alias", None)


def _list_of(node: exp.Or) -> exp.Expr | None:
    """`IN` for one thing that is equal to the one or the other."""
    sides = list(node.flatten())
    if not all(isinstance(side, exp.EQ) and side.left == sides[0].this for side in sides):
        return None
    return exp.In(this=sides[0].this, expressions=[side.expression for side in sides])


def _counts(case: exp.Case) -> bool:
    """Says whether it is 1 where one condition holds, and else 0."""
    found = [one.args["true"] for one in case.args["ifs"]]
    return [*found, case.args.get("default")] == [exp.Literal.number(1), exp.Literal.number(0)]


def _literal(value: object) -> str:
    """The value as a text of SQL."""
    match value:
        case None:
            return "NULL"
        case Decimal():
            return format(plain_decimal(value), "f")
        case int():
            return str(value)
        case datetime():
            value = value.isoformat().replace("+00:00", "Z")
        case date():
            value = value.isoformat()
    return "'" + str(value).replace("'", "''") + "'"
