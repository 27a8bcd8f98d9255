"""Lists of records as questions ask for them: which columns they have, in which order, and how many of them."""

from typing import Final

from contract.analytics_queries import Operator
from contract.analytics_results import ChartKind
from contract.catalog import ColumnKind, Entity
from resolvers.analytics_checks import name_of
from resolvers.questions.slots import Slots

_FIRST: Final = 10
"""How many of the largest are listed where no number is said."""
_RANKED_BY: Final = {"deals": "value", "research_results": "score"}
_COLUMNS: Final = {
    "deals": ("value", "close_date"),
    "accounts": ("industry",),
    "meetings": ("account", "due_at"),
    "contacts": ("account", "email"),
    "leads": ("company", "status"),
    "campaigns": ("status", "created_at"),
    "enrollments": ("campaign", "status"),
    "research_results": ("status", "score"),
}
"""The columns that records have beside their names."""
_ORDERED: Final = {"deals": ("created_at", True), "meetings": ("due_at", False), "leads": ("created_at", True)}
_HEALTH: Final = frozenset({"health_trend", "health_score"})


class Unmade(Exception):
    """The slots make no query together; its arguments are the words that are in the way."""


def first_of(slots: Slots) -> int:
    """Says how many of the first are asked for: as many as was said, one of a singular, else ten, which is told."""
    if slots.first is None and not slots.is_one:
        slots.assume(f"the first {_FIRST} are shown")
    return slots.first or (1 if slots.is_one else _FIRST)


def listed(slots: Slots, entity: Entity) -> tuple[list[str], list[tuple[str, bool]], int | None]:
    """The columns of a list beside those of its conditions, its order, and how many records it has at most."""
    order = _ranked(slots)
    if slots.first is not None and order is None:
        raise Unmade("first")
    if order is not None and order[0] not in entity.dimensions:
        raise Unmade(order[0])
    if order is not None and order[0] == "value" and slots.condition("currency") is None:
        slots.assume("amounts of every currency are compared as numbers")
    columns, natural = _columns(slots, order)
    order = order or natural
    missing = {one.field for one in slots.conditions if one.op is Operator.IS_NULL}
    orders = _orders(slots, entity, order)
    if order is not None and order[0] == "health_score" and slots.ranks is not None:
        slots.add("health_score", Operator.IS_NOT_NULL)
        slots.chart = slots.chart or ChartKind.BAR
    first = slots.first if slots.ranks is None else first_of(slots)
    return [n for n in columns if n in entity.dimensions and n not in missing][:2], orders, first


def _ranked(slots: Slots) -> tuple[str, bool] | None:
    """The order that was said; or what the largest of such records have most of."""
    if slots.ranks is None or slots.order is not None:
        return slots.order
    name = _RANKED_BY.get(slots.entity)
    vague = {"most", "fewest", "least"} | (set() if name == "score" else {"best", "worst"})
    if name is None or slots.rank_word in vague:
        raise Unmade(slots.rank_word or "top")
    return name, slots.ranks


def _columns(slots: Slots, order: tuple[str, bool] | None) -> tuple[tuple[str, ...], tuple[str, bool] | None]:
    """The columns that belong to what the question is about, and the order that goes with them."""
    told = {one.field for one in slots.conditions if one.op is not Operator.IS_NULL}
    if order is not None:
        told.add(order[0])
    if slots.entity == "accounts" and _HEALTH & told:
        return ("health_score", "health_trend"), ("health_score", False)
    is_met = any(one.field == "meetings" and one.op is Operator.MISSING and one.where for one in slots.conditions)
    if slots.entity == "accounts" and is_met:
        return ("last_meeting_at",), ("last_meeting_at", False)
    if order is not None and order[0] == "value":
        return ("account",), None
    return _COLUMNS[slots.entity], None


def _orders(slots: Slots, entity: Entity, order: tuple[str, bool] | None) -> list[tuple[str, bool]]:
    """By what was said; else by the date of a condition, or as such records are listed; then by name."""
    dimensions, name = entity.dimensions, name_of(entity.name)
    held = [one.field for one in slots.conditions if one.op is not Operator.IS_NULL and one.field in dimensions]
    dated = [field for field in held if dimensions[field].is_date]
    found = order or ((dated[0], False) if dated else _ORDERED.get(entity.name))
    if found is None:
        return [(name, False)]
    is_fine = found[0] == name or dimensions[found[0]].kind in (ColumnKind.DECIMAL, ColumnKind.DATE)
    return [found] if is_fine else [found, (name, False)]
