"""Expressions of a statement, written anew with what they hold; what is not known is refused (decision 268)."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import ClassVar, NoReturn, Protocol

from sqlglot import exp

from contract.guard_layers import GuardLayer
from storage.analytics.refusals import refuse
from storage.analytics.scopes import Names, Scope
from storage.analytics.typed import EXACT, NUMBERS, Held, Typed, Untyped, compared, is_exact, ordered, taken, united

SYNTAX = GuardLayer.SYNTAX
WIDTH_MAX = 20
"""Fields that are put together in a text: more would make texts that no memory has room for."""
_WILDCARDS_MAX = 4
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")
_SIGNS: Mapping[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_WORKED_OUT: Mapping[type[exp.Expr], tuple[str, str]] = {
    exp.Add: ("+", "crm_add"),
    exp.Sub: ("-", "crm_sub"),
    exp.Mul: ("*", "crm_mul"),
    exp.Div: ("/", "crm_div"),
}


class Queries(Protocol):
    """Writes queries within expressions."""

    def within(self, node: exp.Expr, scope: Scope) -> tuple[str, list[Typed]]:
        """A query within an expression, and what its columns hold."""


class Expressions:
    """Writes the expressions of one statement. Raises AnalyticsRefused."""

    def __init__(self, names: Names, dialect: str, queries: Queries) -> None:
        self.names = names
        self.dialect = dialect
        self.queries = queries
        self.written: dict[int, str] = {}
        """The text that each node was written as, by the node's identity."""

    @property
    def is_sqlite(self) -> bool:
        """Says whether SQLite is spoken."""
        return self.dialect == "sqlite"

    def of(self, node: exp.Expr, scope: Scope) -> Typed:
        """An expression, written anew."""
        write = self._FORMS.get(type(node))
        if write is None:
            self.refuse(f"the form {type(node).__name__} may not be used here", node)
        try:
            found: Typed = write(self, node, scope)
        except Untyped as error:
            self.refuse(str(error), node)
        if found.width > WIDTH_MAX:
            self.refuse(f"at most {WIDTH_MAX} texts are put together", node)
        self.written[id(node)] = found.sql
        return found

    def refuse(self, reason: str, node: exp.Expr) -> NoReturn:
        """Refuse an expression."""
        refuse(SYNTAX, reason, self.names.text, node)

    def condition(self, node: exp.Expr, scope: Scope) -> str:
        """A condition."""
        found = self.of(node, scope)
        if found.held not in (Held.FLAG, Held.NOTHING):
            self.refuse(f"{found.held.value} is no condition", node)
        return found.sql

    def must(self, node: exp.Expr, scope: Scope, *kinds: Held) -> Typed:
        """An expression that holds one of these, or null."""
        found = self.of(node, scope)
        if found.held not in (*kinds, Held.NOTHING):
            self.refuse(f"{kinds[0].value} belongs here, not {found.held.value}", node)
        return found

    def order(self, order: exp.Expr, scope: Scope, term: Callable[[exp.Expr], Typed] | None = None) -> str:
        """The terms of an order, with the place of nulls said."""
        terms = []
        for one in order.expressions:
            value = term(one.this) if term is not None else self.of(one.this, scope)
            direction = "DESC" if one.args.get("desc") else "ASC"
            nulls = "FIRST" if one.args.get("nulls_first") else "LAST"
            terms.append(f"{ordered(value, value.sql, self.dialect)} {direction} NULLS {nulls}")
        return ", ".join(terms)

    def _column(self, node: exp.Column, scope: Scope) -> Typed:
        if isinstance(node.this, exp.Star):
            self.refuse("* stands in a list of columns alone", node)
        return self.names.column(node, scope)

    def _literal(self, node: exp.Literal, _scope: Scope) -> Typed:
        if node.is_string:
            text = str(node.this)
            return Typed("'" + text.replace("'", "''") + "'", Held.TEXT, text)
        if _NUMBER.fullmatch(str(node.this)) is None:  # such as a point and a number, which the parser puts together
            self.refuse("a number is written in digits, with a point at most", node)
        number = Decimal(str(node.this))
        return Typed(f"{number:f}", Held.WHOLE if "." not in str(node.this) else Held.NUMBER, number)

    def _boolean(self, node: exp.Boolean, _scope: Scope) -> Typed:
        return Typed("TRUE" if node.this else "FALSE", Held.FLAG)

    def _null(self, _node: exp.Null, _scope: Scope) -> Typed:
        return Typed("NULL", Held.NOTHING)

    def _paren(self, node: exp.Paren, scope: Scope) -> Typed:
        found = self.of(node.this, scope)
        return replace(found, sql=f"({found.sql})")

    def _neg(self, node: exp.Neg, scope: Scope) -> Typed:
        found = self.must(node.this, scope, Held.WHOLE, Held.NUMBER, *EXACT, Held.SPAN)
        if isinstance(found.literal, Decimal):
            return replace(found, sql=f"(-{found.sql})", literal=-found.literal)
        if found.held in EXACT:
            sql = f"crm_neg({found.sql})" if self.is_sqlite else f"(-{found.sql})"
            return Typed(sql, Held.DECIMAL, is_money=found.is_money)
        return Typed(f"(-{found.sql})", found.held)

    def _not(self, node: exp.Not, scope: Scope) -> Typed:
        return Typed(f"(NOT {self.condition(node.this, scope)})", Held.FLAG)

    def _connected(self, node: exp.Expr, scope: Scope) -> Typed:
        word = "AND" if isinstance(node, exp.And) else "OR"
        sides = self.condition(node.this, scope), self.condition(node.expression, scope)
        return Typed(f"({sides[0]} {word} {sides[1]})", Held.FLAG)

    def _compare(self, node: exp.Expr, scope: Scope) -> Typed:
        one, other = self.of(node.this, scope), self.of(node.expression, scope)
        return Typed(compared(one, _SIGNS[type(node)], other, self.dialect), Held.FLAG)

    def _between(self, node: exp.Between, scope: Scope) -> Typed:
        value, low, high = (self.of(node.args[part], scope) for part in ("this", "low", "high"))
        sides = compared(value, ">=", low, self.dialect), compared(value, "<=", high, self.dialect)
        return Typed(f"({sides[0]} AND {sides[1]})", Held.FLAG)

    def _in(self, node: exp.In, scope: Scope) -> Typed:
        value = self.of(node.this, scope)
        query = node.args.get("query")
        if query is None:
            sides = [compared(value, "=", self.of(one, scope), self.dialect) for one in node.expressions]
            start = f"({value.sql} = "
            if all(side.startswith(start) for side in sides):
                return Typed(f"({value.sql} IN ({', '.join(side[len(start) : -1] for side in sides)}))", Held.FLAG)
            return Typed(f"({' OR '.join(sides)})", Held.FLAG)
        sql, columns = self.queries.within(query, scope)
        if len(columns) != 1 or columns[0].held is not value.held:
            self.refuse(f"a list of {value.held.value} belongs here", node)
        return Typed(f"({value.sql} IN {sql})", Held.FLAG)

    def _exists(self, node: exp.Exists, scope: Scope) -> Typed:
        return Typed(f"(EXISTS {self.queries.within(node.this, scope)[0]})", Held.FLAG)

    def _subquery(self, node: exp.Subquery, scope: Scope) -> Typed:
        sql, columns = self.queries.within(node, scope)
        if len(columns) != 1:
            self.refuse("a query that stands for a value has one column", node)
        return replace(columns[0], sql=sql, literal=None, origin=None)

    def _is(self, node: exp.Is, scope: Scope) -> Typed:
        right, word = node.expression, "IS NOT" if node.args.get("negate") else "IS"
        if isinstance(right, exp.Null):
            return Typed(f"({self.of(node.this, scope).sql} {word} NULL)", Held.FLAG)
        if not isinstance(right, exp.Boolean):
            self.refuse("IS goes with NULL, TRUE and FALSE alone", node)
        return Typed(f"({self.condition(node.this, scope)} {word} {'TRUE' if right.this else 'FALSE'})", Held.FLAG)

    def _like(self, node: exp.Expr, scope: Scope) -> Typed:
        value, pattern = self.must(node.this, scope, Held.TEXT), self.of(node.expression, scope)
        if not isinstance(pattern.literal, str):
            self.refuse("a pattern is a text in quotes", node)
        if pattern.literal.count("%") > _WILDCARDS_MAX or len(pattern.literal) > 100:
            self.refuse(f"a pattern has at most 100 characters, and {_WILDCARDS_MAX} of them %", node)
        word = ("NOT " if node.args.get("negate") else "") + ("ILIKE" if isinstance(node, exp.ILike) else "LIKE")
        return Typed(f"({value.sql} {word} {pattern.sql})", Held.FLAG)

    def _case(self, node: exp.Case, scope: Scope) -> Typed:
        subject = None if node.this is None else self.of(node.this, scope)
        tests, values = [], []
        for one in node.args["ifs"]:
            if subject is None:
                tests.append(self.condition(one.this, scope))
            else:
                tests.append(compared(subject, "=", self.of(one.this, scope), self.dialect))
            values.append(self.of(one.args["true"], scope))
        default = node.args.get("default")
        values.append(Typed("NULL", Held.NOTHING) if default is None else self.of(default, scope))
        return self._alternatives(tests, values)

    def _if(self, node: exp.If, scope: Scope) -> Typed:
        default = node.args.get("false")
        last = Typed("NULL", Held.NOTHING) if default is None else self.of(default, scope)
        return self._alternatives([self.condition(node.this, scope)], [self.of(node.args["true"], scope), last])

    def _alternatives(self, tests: Sequence[str], values: Sequence[Typed]) -> Typed:
        held, sqls = united(values, self.dialect)
        parts = "".join(f" WHEN {test} THEN {sql}" for test, sql in zip(tests, sqls, strict=False))
        return self.one_of(f"CASE{parts} ELSE {sqls[-1]} END", held, values)

    @staticmethod
    def one_of(sql: str, held: Held, values: Sequence[Typed]) -> Typed:
        """One of several values."""
        return Typed(sql, held, width=max(one.width for one in values), is_money=any(one.is_money for one in values))

    def _joined(self, node: exp.DPipe, scope: Scope) -> Typed:
        sides = [self.must(side, scope, Held.TEXT, Held.WHOLE) for side in (node.this, node.expression)]
        return Typed(f"({sides[0].sql} || {sides[1].sql})", Held.TEXT, width=sides[0].width + sides[1].width)

    def _worked_out(self, node: exp.Expr, scope: Scope) -> Typed:
        one, other = self.of(node.this, scope), self.of(node.expression, scope)
        sign, function = _WORKED_OUT[type(node)]
        if is_exact(one, other):
            return self._exactly(one, sign, function, other)
        if {one.held, other.held} <= {*NUMBERS, Held.NOTHING}:
            held = Held.WHOLE if Held.NUMBER not in (one.held, other.held) else Held.NUMBER
            if sign == "/" and self.is_sqlite:
                return Typed(f"crm_quotient({one.sql}, {other.sql})", held)
            return Typed(f"({one.sql} {sign} {other.sql})", held)
        return self._of_times(one, sign, other)

    def _exactly(self, one: Typed, sign: str, function: str, other: Typed) -> Typed:
        money = one.is_money != other.is_money if sign in "*/" else one.is_money or other.is_money
        if sign == "/" and isinstance(other.literal, Decimal) and (times := _reciprocal(other.literal)) is not None:
            other, sign, function = Typed(f"{times:f}", Held.NUMBER, times), "*", "crm_mul"
        if self.is_sqlite:
            return Typed(
                f"{function}({taken(one, self.dialect)}, {taken(other, self.dialect)})", Held.DECIMAL, is_money=money
            )
        if sign == "/":
            return Typed(f"ROUND(CAST({one.sql} AS numeric(50, 20)) / {other.sql}, 4)", Held.DECIMAL, is_money=money)
        return Typed(f"({one.sql} {sign} {other.sql})", Held.DECIMAL, is_money=money)

    def _of_times(self, one: Typed, sign: str, other: Typed) -> Typed:
        """Days, moments and lengths of time, which PostgreSQL alone works out."""
        sql = f"({one.sql} {sign} {other.sql})"
        times = {
            (Held.MOMENT, "-", Held.MOMENT): Held.SPAN,
            (Held.MOMENT, "-", Held.SPAN): Held.MOMENT,
            (Held.MOMENT, "+", Held.SPAN): Held.MOMENT,
            (Held.SPAN, "+", Held.SPAN): Held.SPAN,
            (Held.SPAN, "-", Held.SPAN): Held.SPAN,
            (Held.DATE, "-", Held.DATE): Held.WHOLE,
            (Held.DATE, "-", Held.WHOLE): Held.DATE,
            (Held.DATE, "+", Held.WHOLE): Held.DATE,
            (Held.DATE, "-", Held.SPAN): Held.MOMENT,
            (Held.DATE, "+", Held.SPAN): Held.MOMENT,
        }
        held = times.get((one.held, sign, other.held))
        if held is None or self.is_sqlite:
            hint = "; julianday() makes numbers of them" if self.is_sqlite and held is not None else ""
            raise Untyped(f"{one.held.value} {sign} {other.held.value} cannot be worked out{hint}")
        if one.held is Held.DATE and held is Held.MOMENT:
            sql = f"CAST({sql} AS timestamptz)"
        return Typed(sql, held)

    def _mod(self, node: exp.Mod, scope: Scope) -> Typed:
        one, other = self.must(node.this, scope, Held.WHOLE), self.must(node.expression, scope, Held.WHOLE)
        if self.is_sqlite:
            return Typed(f"crm_remainder({one.sql}, {other.sql})", Held.WHOLE)
        return Typed(f"({one.sql} % {other.sql})", Held.WHOLE)

    _FORMS: ClassVar[dict[type[exp.Expr], Callable[..., Typed]]] = {
        exp.Column: _column,
        exp.Literal: _literal,
        exp.Boolean: _boolean,
        exp.Null: _null,
        exp.Paren: _paren,
        exp.Neg: _neg,
        exp.Not: _not,
        exp.And: _connected,
        exp.Or: _connected,
        **dict.fromkeys(_SIGNS, _compare),
        **dict.fromkeys(_WORKED_OUT, _worked_out),
        exp.Mod: _mod,
        exp.Between: _between,
        exp.In: _in,
        exp.Exists: _exists,
        exp.Subquery: _subquery,
        exp.Is: _is,
        exp.Like: _like,
        exp.ILike: _like,
        exp.Case: _case,
        exp.If: _if,
        exp.DPipe: _joined,
    }

    @classmethod
    def form(cls, *kinds: type[exp.Expr]) -> Callable[[Callable[..., Typed]], Callable[..., Typed]]:
        """Registers what writes these forms: functions stand in a module of their own."""

        def registered(write: Callable[..., Typed]) -> Callable[..., Typed]:
            cls._FORMS.update(dict.fromkeys(kinds, write))
            return write

        return registered


def _reciprocal(number: Decimal) -> Decimal | None:
    """One divided by a number, where that has an end: then a quotient is an exact product."""
    if not number:
        return None
    _, digits, _ = number.normalize().as_tuple()
    whole = int("".join(map(str, digits)))
    for prime in (2, 5):
        while whole % prime == 0:
            whole //= prime
    found = Decimal(1) / number
    return found if whole == 1 and found * number == 1 else None
