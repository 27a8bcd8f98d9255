"""The order of a list in SQL: its terms, and the ranges of its index that lie behind a cursor."""

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import BindParameter, ColumnElement, and_, bindparam, or_, true

from contract.criteria import Order
from storage.expressions import AnyColumn
from storage.queries.along_tags import Columns
from storage.queries.dialects import AnyParameter
from storage.queries.listable import Listable, Terms
from storage.rows import Row

Place = Callable[[BindParameter[Any]], AnyParameter]
"""The function that places a parameter in a statement. Any: it is of any type."""


def seen(parameter: AnyParameter) -> AnyParameter:
    """The parameter as it is, so that the planner sees its value."""
    return parameter


def order_by(columns: Columns, terms: Terms, *, reverse: bool = False) -> list[AnyColumn]:
    """The order's terms; nulls come last, and so first when the list is read backwards (specification 4.1)."""
    clauses = []
    for key, descending in terms:
        column = columns(key.name)[0]
        clause = column.desc() if descending is not reverse else column.asc()
        if key.nullable:
            clause = clause.nulls_first() if reverse else clause.nulls_last()
        clauses.append(clause)
    return clauses


def phases_of(listable: Listable[Row], order: Order, at: Sequence[object] | None, *, reverse: bool) -> Sequence[str]:
    """The ranges of the order's index that lie behind the cursor, to be read one after the other.

    `all` without a cursor. The first term may be null, and nulls are a range of their own at the end: `beyond` is what
    follows among the values, `values` all of them, `nulls` all nulls, `beyond_null` those that follow a null.
    """
    if at is None:
        return ("all",)
    if not listable.orders[order.field][0].nullable:
        return ("beyond",)
    if at[0] is None:
        return ("beyond_null", "values") if reverse else ("beyond_null",)
    return ("beyond",) if reverse else ("beyond", "nulls")


def of_phase(columns: Columns, terms: Terms, phase: str, place: Place, *, reverse: bool) -> ColumnElement[bool]:
    directions = [
        (
            columns(key.name)[0],
            descending is not reverse,
            place(bindparam(f"c{index}", type_=columns(key.name)[0].type)),
        )
        for index, (key, descending) in enumerate(terms)
    ]
    first = directions[0][0]
    match phase:
        case "beyond":
            # Each index that is merged into the list starts where the page does.
            others = [bound(column, *directions[0][1:]) for column in columns(terms[0][0].name)[1:]]
            return and_(_beyond(directions), *others)
        case "values":
            return and_(first.is_not(None))
        case "nulls":
            return and_(first.is_(None))
        case "beyond_null":
            return and_(first.is_(None), _beyond(directions[1:]))
    return true()


def _beyond(directions: Sequence[tuple[AnyColumn, bool, AnyParameter]]) -> ColumnElement[bool]:
    """Lexicographically behind the cursor; the bound on the first column is what an index can start from."""
    column, descending, value = directions[0]
    strictly: ColumnElement[bool] = column < value if descending else column > value
    if len(directions) == 1:
        return strictly
    return and_(bound(column, descending, value), or_(strictly, _beyond(directions[1:])))


def bound(column: AnyColumn, descending: bool, value: AnyParameter) -> ColumnElement[bool]:
    """Says that the column is not before the value in this direction."""
    clause: ColumnElement[bool] = column <= value if descending else column >= value
    return clause
