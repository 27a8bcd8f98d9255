"""Says no to statements, with the layer, the reason and the place (docs/analytics.md)."""

from typing import NoReturn

from sqlglot import exp

from contract.errors import AnalyticsRefused
from contract.guard_layers import GuardLayer


def place_at(text: str, offset: int) -> tuple[int, int]:
    """The line and the column of an offset, each counted from 1."""
    before = text[:offset]
    return before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1


def refuse_at(layer: GuardLayer, reason: str, text: str, offset: int) -> NoReturn:
    """Refuse what begins at an offset. Raises AnalyticsRefused."""
    raise AnalyticsRefused(layer, reason, *place_at(text, offset))


def refuse(layer: GuardLayer, reason: str, text: str, node: exp.Expr | None) -> NoReturn:
    """Refuse a part of the tree: at its first word that is known to stand in the text. Raises AnalyticsRefused."""
    while node is not None:
        starts = [one.meta["start"] for one in node.walk() if "start" in one.meta]
        if starts:
            refuse_at(layer, reason, text, min(starts))
        node = node.parent
    refuse_at(layer, reason, text, 0)
