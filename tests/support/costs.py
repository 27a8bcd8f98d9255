"""What answers say of their cost."""

from __future__ import annotations

from typing import Any


def cost(requested: int, actual: int) -> dict[str, Any]:
    """The extensions of an answer whose caller's budget is full."""
    throttle = {"maximum": 2000, "available": 2000, "restoreRate": 100}
    return {"cost": {"requested": requested, "actual": actual, "throttle": throttle}}


def uncosted(body: dict[str, Any]) -> dict[str, Any]:
    """The answer without what it says of its cost, which has to be there, and of the position of a write."""
    rest = dict(body)
    extensions = dict(rest.pop("extensions"))
    extensions.pop("position", None)
    [(name, cost)] = extensions.items()
    assert name == "cost"
    assert cost.keys() == {"requested", "actual", "throttle"}
    assert 0 <= cost["actual"] <= cost["requested"]
    return rest
