"""Statements as callers are shown them: as they are sent, without the wall that pins them to the organization."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import sqlglot
from sqlglot import exp

from storage.bounded_cache import BoundedCache
from storage.tenancy import guard

_KEPT = 500
_CHARACTERS = 2_000_000
_PLACES = re.compile(r"%\(p(\d+)\)s|:p(\d+)")


@dataclass(frozen=True, slots=True)
class Shown:
    """A statement without its wall: its text, its parameters in order, and the tables that it reads."""

    text: str
    parameters: Sequence[Any]  # Any: texts, numbers, and null
    tables: Sequence[str]


_texts: BoundedCache[tuple[str, str], tuple[str, tuple[int, ...], tuple[str, ...]]] = BoundedCache(
    entries=_KEPT, size=_CHARACTERS
)


def shown(text: str, parameters: Sequence[object], dialect: str) -> Shown:
    """The statement without each condition on a key that is the organization's, and without the values of these."""
    known = _texts.get((text, dialect))
    if known is None:
        known = _bare(text, dialect)
        _texts.put((text, dialect), known, len(text) + len(known[0]))
    bare, places, tables = known
    return Shown(bare, [_plain(parameters[place]) for place in places], tables)


def _bare(text: str, dialect: str) -> tuple[str, tuple[int, ...], tuple[str, ...]]:
    grammar = guard.GRAMMARS[dialect]
    tree = sqlglot.parse_one(guard.numbered(text, dialect), dialect=grammar)
    for equality in list(tree.find_all(exp.EQ)):
        if any(
            isinstance(side, exp.Column) and side.name == guard.KEY for side in (equality.this, equality.expression)
        ):
            _remove(equality)
    tables = tuple(dict.fromkeys(table.name for table in tree.find_all(exp.Table, bfs=False)))
    places: list[int] = []

    def numbered(found: re.Match[str]) -> str:
        place = int(found[1] or found[2])
        if dialect == "sqlite":
            places.append(place)
            return "?"
        if place not in places:
            places.append(place)
        return f"${places.index(place) + 1}"

    return _PLACES.sub(numbered, tree.sql(dialect=grammar, pretty=True)), tuple(places), tables


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


def _plain(value: object) -> object:
    """The value as JSON has it."""
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    return format(value, "f") if isinstance(value, Decimal) else value
