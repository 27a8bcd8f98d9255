"""Says in an answer's extensions what it cost (decision 86)."""

from contract.errors import AnonymousLimited, RateLimited
from contract.limits import ANONYMOUS_POINTS_MAX, ANONYMOUS_POINTS_PER_SECOND
from identity.budget import FULL, Throttle
from storage.base import JsonDict


def spent(requested: int, actual: int, throttle: Throttle) -> JsonDict:
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


def costless() -> JsonDict:
    """The extensions of an answer that cost nothing, for which nobody's budget was looked at."""
    return spent(0, 0, FULL)


def refused(error: RateLimited) -> JsonDict:
    """The extensions of an answer that its caller's budget does not reach for: it cost nothing."""
    if isinstance(error, AnonymousLimited):
        return spent(error.requested, 0, Throttle(ANONYMOUS_POINTS_MAX, error.available, ANONYMOUS_POINTS_PER_SECOND))
    return spent(error.requested, 0, FULL._replace(available=error.available))
