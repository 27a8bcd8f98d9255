"""Writes a statement anew, each table walled to the organization; only that is ever sent.

What comes out is made of names of the catalogue, of literals and of forms that stand in this folder: nothing of the
caller's text is passed on as it is, but what its quotes hold (decisions 266 and 267).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NoReturn

from sqlglot import exp

from contract.guard_layers import GuardLayer
from contract.limits import ANALYTICS_ROWS_MAX, SQL_COLUMNS_MAX, SQL_TABLES_MAX
from storage.analytics import aggregates, functions  # noqa: F401  # which write their forms
from storage.analytics.expressions import Expressions
from storage.analytics.refusals import refuse
from storage.analytics.scopes import Names, Scope
from storage.analytics.sources import Sources, Written
from storage.analytics.typed import Held, Typed, Untyped, united

NAMES, SYNTAX, JOINS = GuardLayer.NAMES, GuardLayer.SYNTAX, GuardLayer.JOINS
_SETS: Mapping[type[exp.Expr], str] = {exp.Union: "UNION", exp.Intersect: "INTERSECT", exp.Except: "EXCEPT"}
_UNSHOWN = {
    Held.SPAN: "EXTRACT(EPOCH FROM …) makes seconds of it",
    Held.LOCAL: "CAST(… AS date) makes a day of it, to_char a text",
}
_OFFSET_MAX = 100_000
_COMPOUNDS_MAX = 4


class Rewriting:
    """Writes one statement. Raises AnalyticsRefused."""

    def __init__(self, names: Names, dialect: str) -> None:
        self.names = names
        self.dialect = dialect
        self.expressions = Expressions(names, dialect, self)
        self.sources = Sources(names, dialect, self.expressions, self.query)
        self._within = 0

    def whole(self, tree: exp.Query) -> Written:
        """The statement: its rows end by one more than an answer has."""
        common = []
        for one in tree.args["with_"].expressions if tree.args.get("with_") else ():
            name = self.names.alias(one, one.alias)
            if name in self.sources.common:
                self._refuse(NAMES, f"there are two queries named {name}", one)
            self.sources.common[name] = self.query(one.this, None)
            common.append(f'"{name}" AS ({self.sources.common[name].sql})')
        found = self.query(tree, None)
        if len(found.columns) > SQL_COLUMNS_MAX:
            self._refuse(SYNTAX, f"an answer has at most {SQL_COLUMNS_MAX} columns", tree)
        for name, value in found.columns:
            if value.held in _UNSHOWN:
                self._refuse(SYNTAX, f"{name} is {value.held.value}: {_UNSHOWN[value.held]}", tree)
        start = f"WITH {', '.join(common)} " if common else ""
        sql = f'{start}SELECT * FROM ({found.sql}) AS "answer" LIMIT {ANALYTICS_ROWS_MAX + 1}'  # noqa: S608  # made of what is written here
        return replace(found, sql=sql)

    def within(self, node: exp.Expr, scope: Scope) -> tuple[str, list[Typed]]:
        """A query within an expression, which may use the columns around it."""
        inner = node.this if isinstance(node, exp.Subquery) else node
        if isinstance(node, exp.Subquery) and node.alias:
            self._refuse(SYNTAX, "a query that stands for a value has no name", node)
        found = self.query(inner, scope)
        self._count(found.tables, node)
        self._within += found.tables
        return f"({found.sql})", [value for _, value in found.columns]

    def query(self, node: exp.Expr, outer: Scope | None) -> Written:
        """A SELECT, or a set operation."""
        if isinstance(node, exp.Subquery) and not node.alias:
            return self.query(node.this, outer)
        if type(node) in _SETS:
            return self._set(node, outer)
        if not isinstance(node, exp.Select):
            self._refuse(SYNTAX, "a SELECT belongs here", node)
        return self._select(node, outer)

    def _refuse(self, layer: GuardLayer, reason: str, node: exp.Expr) -> NoReturn:
        refuse(layer, reason, self.names.text, node)

    def _count(self, tables: int, node: exp.Expr) -> None:
        if tables > SQL_TABLES_MAX:
            self._refuse(JOINS, f"at most {SQL_TABLES_MAX} tables are read, each time counted", node)

    def _set(self, node: exp.Expr, outer: Scope | None) -> Written:
        if sum(type(one) in _SETS for one in node.walk()) > _COMPOUNDS_MAX:
            self._refuse(SYNTAX, f"at most {_COMPOUNDS_MAX} queries are put together", node)
        sides = [self.query(side, outer) for side in (node.this, node.expression)]
        if len(sides[0].columns) != len(sides[1].columns):
            self._refuse(SYNTAX, "the queries have different numbers of columns", node)
        columns = []
        for (name, one), (_, other) in zip(sides[0].columns, sides[1].columns, strict=True):
            try:
                held, sqls = united([one, other], self.dialect)
            except Untyped as error:
                self._refuse(SYNTAX, str(error), node)
            if sqls != [one.sql, other.sql]:
                self._refuse(SYNTAX, f"the queries give different things as {name}", node)
            value = self.expressions.one_of("", held, [one, other])
            columns.append((name, value))
        word = _SETS[type(node)] + ("" if node.args.get("distinct") else " ALL")
        left, right = (f'SELECT {_passed_on(side)} FROM ({side.sql}) AS "part"' for side in sides)  # noqa: S608  # as above
        sql = f"{left} {word} {right}{self._order(node, columns, None)}{self._limits(node)}"
        return Written(sql, tuple(columns), sides[0].tables + sides[1].tables)

    def _select(self, node: exp.Select, outer: Scope | None) -> Written:
        scope, before = Scope(outer), self._within
        self._within = 0
        conditions = self.sources.joined(node, scope)
        where = node.args.get("where")
        clause = f" WHERE {self.expressions.condition(where.this, scope)}" if where is not None else ""
        scope.may_aggregate = True
        columns, nodes = self._columns(node, scope)
        keys = self._keys(node, scope, columns, nodes)
        having = node.args.get("having")
        after = f" GROUP BY {', '.join(keys)}" if keys else ""
        after += f" HAVING {self.expressions.condition(having.this, scope)}" if having is not None else ""
        after += self._order(node, columns, scope)
        if keys or having is not None or scope.aggregates:
            order = node.args.get("order")
            checked = [*nodes, *([] if having is None else [having.this])]
            checked += [] if order is None else self._terms(order, columns)
            for one in checked:
                self._grouped(one, frozenset(keys), scope)
        distinct = "DISTINCT " if node.args.get("distinct") is not None else ""
        if distinct and node.args["distinct"].args.get("expressions"):
            self._refuse(SYNTAX, "DISTINCT ON may not be used", node)
        listed = ", ".join(f'{value.sql} AS "{name}"' for name, value in columns)
        sql = f"SELECT {distinct}{listed}{self.sources.written(scope, conditions)}{clause}{after}{self._limits(node)}"
        tables = sum(source.tables for source in scope.sources) + self._within
        self._within = before
        self._count(tables, node)
        return Written(sql, tuple(columns), tables, bool(keys or scope.aggregates))

    def _columns(self, node: exp.Select, scope: Scope) -> tuple[list[tuple[str, Typed]], list[exp.Expr]]:
        """The columns of the answer, each with a name of its own, and the nodes that they are of."""
        found: list[tuple[str, Typed]] = []
        nodes: list[exp.Expr] = []
        for one in node.expressions:
            for expression, label in self._spread(one, scope):
                value = self.expressions.of(expression, scope)
                name = self.names.label(one, label or f"column_{len(found) + 1}")
                taken, number = {other for other, _ in found}, 2
                while name in taken:
                    name, number = f"{name.removesuffix(f'_{number - 1}')}_{number}", number + 1
                found.append((name, value))
                nodes.append(expression)
        return found, nodes

    def _spread(self, node: exp.Expr, scope: Scope) -> Iterator[tuple[exp.Expr, str]]:
        """A term of the list, or the columns that its star stands for, with their names."""
        is_star = isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star))
        if not is_star:
            inner = node.this if isinstance(node, exp.Alias) else node
            bare = inner.unnest()
            yield inner, node.alias if isinstance(node, exp.Alias) else _label_of(bare)
            return
        alias = node.table.lower() if isinstance(node, exp.Column) else ""
        sources = [one for one in scope.sources if not alias or one.alias == alias]
        if not sources:
            self._refuse(NAMES, f"there is no table or alias {alias}" if alias else "* needs a table", node)
        for source in sources:
            for name in source.columns:
                yield exp.column(name, table=source.alias), name

    def _keys(
        self, node: exp.Select, scope: Scope, columns: Sequence[tuple[str, Typed]], nodes: Sequence[exp.Expr]
    ) -> list[str]:
        group = node.args.get("group")
        if group is None:
            return []
        scope.may_aggregate, keys = False, []
        for one in group.expressions:
            place = self._place(one, columns, None if self._is_input(one, scope) else one)
            if place is None:
                keys.append(self.expressions.of(one, scope).sql)
            else:
                if any(nodes[place] is at or at in nodes[place].walk() for at in scope.aggregates):
                    self._refuse(SYNTAX, "an aggregate is no group", one)
                keys.append(columns[place][1].sql)
        scope.may_aggregate = True
        return [f"({key})" if key.isdigit() or key.startswith("'") else key for key in keys]

    @staticmethod
    def _is_input(node: exp.Expr, scope: Scope) -> bool:
        return isinstance(node, exp.Column) and any(node.name.lower() in one.columns for one in scope.sources)

    def _place(self, node: exp.Expr, columns: Sequence[tuple[str, Typed]], named: exp.Expr | None) -> int | None:
        """Says which column of the answer is meant, by its number or its name; None for an expression."""
        if isinstance(node, exp.Literal) and not node.is_string:
            if "." in node.this or not 0 < int(node.this) <= len(columns):
                self._refuse(SYNTAX, f"there is no column {node.this}", node)
            return int(node.this) - 1
        if isinstance(named, exp.Column) and not named.table:
            return next((n for n, (name, _) in enumerate(columns) if name == named.name.lower()), None)
        return None

    def _terms(self, order: exp.Expr, columns: Sequence[tuple[str, Typed]]) -> list[exp.Expr]:
        return [one.this for one in order.expressions if self._place(one.this, columns, one.this) is None]

    def _order(self, node: exp.Expr, columns: Sequence[tuple[str, Typed]], scope: Scope | None) -> str:
        order = node.args.get("order")
        if order is None:
            return ""

        def term(one: exp.Expr) -> Typed:
            place = self._place(one, columns, one)
            if place is not None:
                return replace(columns[place][1], sql=str(place + 1))
            if scope is None:
                self._refuse(SYNTAX, "this is ordered by names or numbers of columns alone", one)
            return self.expressions.of(one, scope)

        return f" ORDER BY {self.expressions.order(order, scope or Scope(None), term)}"

    def _limits(self, node: exp.Expr) -> str:
        found = ""
        for name, most in (("limit", ANALYTICS_ROWS_MAX), ("offset", _OFFSET_MAX)):
            part = node.args.get(name)
            if part is None:
                continue
            number = part.expression
            if not isinstance(number, exp.Literal) or number.is_string or not number.this.isdigit():
                self._refuse(SYNTAX, f"{name.upper()} takes a whole number", part)
            if name == "offset" and int(number.this) > most:
                self._refuse(SYNTAX, f"OFFSET is at most {most:,}", part)
            found += f" {name.upper()} {int(number.this)}"
        return found if not found.startswith(" OFFSET") or self.dialect != "sqlite" else f" LIMIT -1{found}"

    def _grouped(self, node: exp.Expr, keys: frozenset[str], scope: Scope) -> None:
        """Refuse a column that has many values in a group: SQLite would take any of them."""
        written = self.expressions.written.get(id(node), "")
        if written in keys or isinstance(node, (*aggregates.AGGREGATES, exp.Filter)):
            return
        if isinstance(node, exp.Column) and id(node) in scope.columns:
            self._refuse(SYNTAX, f"{node.name} is neither in GROUP BY nor in an aggregate", node)
        inner = node.this.iter_expressions() if isinstance(node, exp.Window) else ()
        for child in (*inner, *node.iter_expressions()):
            if not (isinstance(node, exp.Window) and child is node.this):
                self._grouped(child, keys, scope)


def _passed_on(side: Written) -> str:
    """The columns of a side, null as what it is put together with: to PostgreSQL one of a query is a text."""
    return ", ".join(f'NULL AS "{name}"' if one.held is Held.NOTHING else f'"{name}"' for name, one in side.columns)


def _label_of(node: exp.Expr) -> str:
    """The name of a column that was given none."""
    if isinstance(node, exp.Column):
        return node.name
    if isinstance(node, exp.Filter | exp.Window):
        return _label_of(node.this)
    return node.sql_name().lower() if isinstance(node, exp.Func) and not isinstance(node, exp.Anonymous) else ""
