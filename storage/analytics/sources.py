"""Reads what a statement reads from: tables and queries, their joins, the wall around each (layers JOINS and TENANT).

A table is read through a query of the organization's rows alone, and a join needs an equality of two columns that come
from tables (decisions 267 and 269).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NoReturn

from sqlglot import exp
from sqlmodel import SQLModel

from contract.guard_layers import GuardLayer
from storage.analytics.expressions import Expressions
from storage.analytics.refusals import refuse
from storage.analytics.scopes import Names, Scope, Source, of_table
from storage.analytics.typed import Typed
from storage.queries.stored_order import AS_STORED, is_beyond_indexes

NAMES, SYNTAX, JOINS = GuardLayer.NAMES, GuardLayer.SYNTAX, GuardLayer.JOINS
PLACE = {"sqlite": "?", "postgresql": "$1"}
"""The parameter that stands for the organization."""
_SIDES = {"sqlite": ("", "LEFT"), "postgresql": ("", "LEFT", "RIGHT", "FULL")}


@dataclass(frozen=True, slots=True)
class Written:
    """A query as it is sent: the names of its columns with what they hold, and how many tables are in it."""

    sql: str
    columns: tuple[tuple[str, Typed], ...]
    tables: int
    groups: bool = False


class Sources:
    """Reads the FROM of each query of one statement. Raises AnalyticsRefused."""

    def __init__(
        self,
        names: Names,
        dialect: str,
        expressions: Expressions,
        query: Callable[[exp.Expr, Scope | None], Written],
    ) -> None:
        self._names = names
        self._dialect = dialect
        self._expressions = expressions
        self._query = query
        self.common: dict[str, Written] = {}
        """The queries of WITH, by name."""
        self.read: dict[str, None] = {}
        """The tables of the catalogue, in the order in which they are met."""

    def joined(self, node: exp.Select, scope: Scope) -> list[tuple[str, str]]:
        """Fill the scope; give the word and the condition of each join."""
        start = node.args.get("from_")
        if start is None:
            return []
        self._source(start.this, scope)
        conditions = []
        for join in node.args.get("joins") or ():
            side, kind, on = str(join.args.get("side") or ""), str(join.args.get("kind") or ""), join.args.get("on")
            if kind not in ("", "INNER", "OUTER") or side not in _SIDES[self._dialect]:
                self._refuse(JOINS, f"{(side + ' ' + kind).strip()} JOIN may not be used", join)
            if on is None:
                self._refuse(JOINS, "each join has ON with an equality of two columns", join)
            added = self._source(join.this, scope)
            condition = self._expressions.condition(on, scope)
            if not any(self._links(one, added, scope) for one in _conjuncts(on)):
                self._refuse(JOINS, f"{added.alias} is joined by no equality of its column with another's", on)
            conditions.append((f"{side} JOIN".strip(), condition))
        return conditions

    def _links(self, condition: exp.Expr, added: Source, scope: Scope) -> bool:
        """Says whether it equates a column of this source with one of another, both passed on from tables."""
        if not isinstance(condition, exp.EQ):
            return False
        sides = [condition.this, condition.expression]
        if not all(isinstance(side, exp.Column) and id(side) in scope.columns for side in sides):
            return False
        owners = [self._owner(side, scope) for side in sides]
        return (
            added in owners
            and owners[0] is not owners[1]
            and all(owner.columns[side.name.lower()].origin for owner, side in zip(owners, sides, strict=True))
        )

    @staticmethod
    def _owner(column: exp.Expr, scope: Scope) -> Source:
        alias, name = str(column.args["table"].name if column.args.get("table") else "").lower(), column.name.lower()
        return next(one for one in scope.sources if (one.alias == alias if alias else name in one.columns))

    def _source(self, node: exp.Expr, scope: Scope) -> Source:
        if isinstance(node, exp.Subquery):
            if not node.alias:
                self._refuse(NAMES, "a query that is read from has a name", node)
            found = self._query(node.this, None)
            source = self._derived(self._names.alias(node.args["alias"], node.alias), found, f"({found.sql})")
        elif isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            source = self._named(node)
        else:
            self._refuse(SYNTAX, "a table or a query belongs here", node)
        if any(one.alias == source.alias for one in scope.sources):
            self._refuse(NAMES, f"there are two sources named {source.alias}", node)
        scope.sources.append(source)
        return source

    def _named(self, node: exp.Table) -> Source:
        name = node.name.lower()
        alias = self._names.alias(node.args.get("alias"), node.alias or name, own=name)
        if name in self.common:
            return self._derived(alias, self.common[name], f'"{name}"')
        table = self._names.table(node)
        self.read[table.name] = None
        return of_table(table, alias)

    @staticmethod
    def _derived(alias: str, found: Written, sql: str) -> Source:
        columns = {name: replace(value, sql=f'"{alias}"."{name}"', literal=None) for name, value in found.columns}
        return Source(alias, columns, sql=sql, tables=found.tables)

    def written(self, scope: Scope, conditions: Sequence[tuple[str, str]]) -> str:
        """The FROM of what is sent."""
        if not scope.sources:
            return ""
        parts = [f" FROM {self._walled(scope.sources[0], is_alone=len(scope.sources) == 1)}"]
        for source, (word, condition) in zip(scope.sources[1:], conditions, strict=True):
            parts.append(f" {word} {self._walled(source)} ON {condition}")
        return "".join(parts)

    def _walled(self, source: Source, *, is_alone: bool = False) -> str:
        """A source as it is sent: of a table the columns that are used, and the organization's rows alone.

        One that is joined with none is read as it lies where it has to be read (decision 1201).
        """
        if source.table is None:
            return f'{source.sql} AS "{source.alias}"'
        table = source.table.name
        columns = ", ".join(f'"{table}"."{name}"' for name in source.columns if name in source.used) or '1 AS "one"'
        wall = f'"{table}"."org_id" = {PLACE[self._dialect]}'
        if is_alone and self._dialect == "sqlite":
            stored = SQLModel.metadata.tables.get(table)  # which a process has that serves
            if stored is not None and is_beyond_indexes(stored, source.used):
                wall += " AND " + AS_STORED.format(f'"{table}"."id"')
        return f'(SELECT {columns} FROM "{table}" WHERE {wall}) AS "{source.alias}"'  # noqa: S608  # as above

    def _refuse(self, layer: GuardLayer, reason: str, node: exp.Expr) -> NoReturn:
        refuse(layer, reason, self._names.text, node)


def _conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    """The conditions that all have to hold."""
    if isinstance(node, exp.Paren):
        yield from _conjuncts(node.this)
    elif isinstance(node, exp.And):
        yield from _conjuncts(node.this)
        yield from _conjuncts(node.expression)
    else:
        yield node
