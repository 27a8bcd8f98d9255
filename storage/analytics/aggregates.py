"""Aggregates and window functions of statements; over amounts they are exact on both databases (decision 268)."""

from collections.abc import Mapping
from typing import Final

from sqlglot import exp

from storage.analytics.expressions import Expressions
from storage.analytics.scopes import Scope
from storage.analytics.typed import EXACT, NUMBERS, Held, Typed, taken

AGGREGATES: Final = (exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max)
_RANKS: Final[Mapping[type[exp.Expr], str]] = {
    exp.RowNumber: "ROW_NUMBER",
    exp.Rank: "RANK",
    exp.DenseRank: "DENSE_RANK",
}
_BESIDE: Final[Mapping[type[exp.Expr], str]] = {exp.Lead: "LEAD", exp.Lag: "LAG"}
_OFFSET_MAX: Final = 1_000


@Expressions.form(*AGGREGATES)
def _alone(self: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    return _of_a_group(self, node, scope, "")


@Expressions.form(exp.Filter)
def _filtered(self: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    if type(node.this) not in AGGREGATES or not isinstance(node.expression, exp.Where):
        self.refuse("FILTER goes with an aggregate", node)
    return _of_a_group(self, node.this, scope, node.expression.this)


def _of_a_group(self: Expressions, node: exp.Expr, scope: Scope, condition: exp.Expr | str) -> Typed:
    if not scope.may_aggregate:
        self.refuse("an aggregate cannot stand here", node)
    scope.aggregates.append(node)
    scope.may_aggregate = False
    try:
        tail = "" if isinstance(condition, str) else f" FILTER (WHERE {self.condition(condition, scope)})"
        return _added_up(self, node, scope, tail)
    finally:
        scope.may_aggregate = True


def _added_up(self: Expressions, node: exp.Expr, scope: Scope, tail: str) -> Typed:
    """An aggregate with what follows it: a filter, or a window."""
    if isinstance(node, exp.Count):
        return Typed(f"COUNT({_counted(self, node, scope)}){tail}", Held.WHOLE)
    value = self.of(node.this, scope)
    money, name = value.is_money, type(node).__name__.lower()
    if value.held in EXACT and (value.held is Held.DECIMAL or name in ("sum", "avg")):
        if self.is_sqlite:
            if name in ("min", "max") and "OVER" in tail:
                self.refuse(f"{name} of worked-out amounts has no window", node)
            return Typed(f"crm_{name}({taken(value, self.dialect)}){tail}", Held.DECIMAL, is_money=money)
        if name == "avg":
            sql = f"ROUND(CAST(SUM({value.sql}){tail} AS numeric(50, 20)) / NULLIF(COUNT({value.sql}){tail}, 0), 4)"
            return Typed(sql, Held.DECIMAL, is_money=money)
        return Typed(f"{name.upper()}({value.sql}){tail}", Held.DECIMAL, is_money=money)
    if name in ("min", "max"):
        if value.held is Held.FLAG or (value.held is Held.ID and not self.is_sqlite):
            self.refuse(f"{name} does not go with {value.held.value}", node)
        return Typed(f"{name.upper()}({value.sql}){tail}", value.held, is_money=money, width=value.width)
    if value.held not in (*NUMBERS, Held.SPAN):
        self.refuse(f"{name} does not go with {value.held.value}", node)
    held = Held.NUMBER if name == "avg" and value.held is Held.WHOLE else value.held
    return Typed(f"{name.upper()}({value.sql}){tail}", held)


def _counted(self: Expressions, node: exp.Expr, scope: Scope) -> str:
    if isinstance(node.this, exp.Star):
        return "*"
    if not isinstance(node.this, exp.Distinct):
        return self.of(node.this, scope).sql
    if len(node.this.expressions) != 1:
        self.refuse("COUNT(DISTINCT …) takes one value", node)
    return f"DISTINCT {self.of(node.this.expressions[0], scope).sql}"


@Expressions.form(exp.Window)
def _window(self: Expressions, node: exp.Expr, scope: Scope) -> Typed:
    if not scope.may_aggregate:
        self.refuse("a window cannot stand here", node)
    if str(node.args.get("over") or "").upper() != "OVER":
        self.refuse("a window cannot have a name", node)
    over, order = [], node.args.get("order")
    if keys := node.args.get("partition_by"):
        over.append(f"PARTITION BY {', '.join(self.of(one, scope).sql for one in keys)}")
    if order is not None:
        over.append(f"ORDER BY {self.order(order, scope)}")
    tail, function = f" OVER ({' '.join(over)})", node.this
    if type(function) in _RANKS:
        return Typed(f"{_RANKS[type(function)]}(){tail}", Held.WHOLE)
    if type(function) in _BESIDE:
        return _beside(self, function, scope, tail)
    if type(function) not in AGGREGATES or (isinstance(function.this, exp.Distinct)):
        self.refuse("this has no window", node)
    return _added_up(self, function, scope, tail)


def _beside(self: Expressions, node: exp.Expr, scope: Scope, tail: str) -> Typed:
    """The value of a row before or behind."""
    value, offset = self.of(node.this, scope), node.args.get("offset")
    number = 1
    if offset is not None:
        if not isinstance(offset, exp.Literal) or not offset.this.isdigit() or int(offset.this) > _OFFSET_MAX:
            self.refuse(f"a number from 0 to {_OFFSET_MAX:,} belongs here", node)
        number = int(offset.this)
    return Typed(
        f"{_BESIDE[type(node)]}({value.sql}, {number}){tail}", value.held, width=value.width, is_money=value.is_money
    )
