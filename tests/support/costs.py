"""What answers say of their cost."""

from __future__ import annotations

from typing import Any


def cost(requested: int, actual: int) -> dict[str, Any]:
    """The extensions of an answer whose caller's budget is full."""
    throttle = {"maximum": 2000, "available": 2000, "restoreRate": 100}
    return {"cost": {"requested": requested, "actual": actual, "throttle": throttle}}
