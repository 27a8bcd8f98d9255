"""Says in an answer's extensions what it cost (decision 86)."""

from typing import Any

from contract.errors import RateLimited, StrangersLimited
from contract.limits import STRANGER_POINTS_MAX, STRANGER_POINTS_PER_SECOND
from identity.budget import FULL, Throttle


def spent(requested: int, actual: int, throttle: Throttle) -> dict[str, Any]:
    """The extensions of an answer: the points it asked for, those it cost, and what its caller has left."""
    return {
        "cost": {
            "requested": requested,
            "actual": actual,
            "throttle": {
                "maximum": throttle.maximum,
                "available": throttle.available,
                "restoreRate": throttle.restore_rate,
            },
        }
    }


def costless() -> dict[str, Any]:
    """The extensions of an answer that cost nothing, for which nobody's budget was looked at."""
    return spent(0, 0, FULL)


def refused(error: RateLimited) -> dict[str, Any]:
    """The extensions of an answer that its caller's budget does not reach for: it cost nothing."""
    if isinstance(error, StrangersLimited):
        return spent(error.requested, 0, Throttle(STRANGER_POINTS_MAX, error.available, STRANGER_POINTS_PER_SECOND))
    return spent(error.requested, 0, FULL._replace(available=error.available))
