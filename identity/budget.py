"""What a caller has to spend on operations: charged before one runs, given back what it did not use (decision 86)."""

from typing import NamedTuple, Protocol

from contract.errors import RateLimited
from contract.limits import BUDGET_MAX, BUDGET_PER_SECOND
from identity.buckets import MICROSECONDS, Buckets, Size, Taken
from identity.principal import Principal

SIZE = Size(BUDGET_MAX, MICROSECONDS // BUDGET_PER_SECOND)


class Throttle(NamedTuple):
    """The state of a budget in points: the most that it holds, what is in it, and what comes back each second.

    `reset` is the number of seconds until it is full again.
    """

    maximum: int
    available: int
    restore_rate: int
    reset: int = 0


FULL = Throttle(BUDGET_MAX, BUDGET_MAX, BUDGET_PER_SECOND)


class Budget(Protocol):
    """The budgets of all callers."""

    is_metered: bool

    async def charge(self, principal: Principal, points: int) -> Taken:
        """Take the points that an operation asks for. Raises RateLimited where the caller has not got them."""
        ...

    async def settle(self, taken: Taken, actual: int) -> Throttle:
        """Give back what was charged and not used, or take what was used beyond it; and tell the state."""
        ...


class Unmetered:
    """A budget that is always full."""

    is_metered = False

    async def charge(self, principal: Principal, points: int) -> Taken:
        """Take nothing."""
        return _NOTHING

    async def settle(self, taken: Taken, actual: int) -> Throttle:
        """Give nothing back."""
        return FULL


_NOTHING = Taken(True, 0, None, "", 0)


class Metered:
    """A bucket for each credential in each organization that it acts in (decision 100)."""

    is_metered = True

    def __init__(self, buckets: Buckets) -> None:
        self._buckets = buckets

    async def charge(self, principal: Principal, points: int) -> Taken:
        """Take the points; what is free is never refused."""
        taken = await self._buckets.take(bucket_of(principal), points)
        if not taken.granted:
            wait = SIZE.wait(taken.missing, points)
            raise RateLimited(points, throttle(taken.missing).available, -(-wait // MICROSECONDS))
        return taken

    async def settle(self, taken: Taken, actual: int) -> Throttle:
        """Give back to where the points were taken from; where nothing changes, nothing is asked."""
        unused = taken.points - actual
        if not unused or taken.buckets is None:
            return throttle(taken.missing)
        return throttle(await taken.buckets.give(taken.name, unused))


def bucket_of(principal: Principal) -> str:
    """The bucket's name. All sessions of a member share one, as a key shares its own with its access tokens."""
    organization = principal.organization
    caller = principal.credential_id or f"session:{principal.subject}"
    return f"{caller}:{organization.id}" if organization is not None else caller


def throttle(missing: int) -> Throttle:
    """The state of a bucket that is full again in so many microseconds; what is owed is not shown as points."""
    available = BUDGET_MAX - -(-missing // _POINT)
    return Throttle(BUDGET_MAX, available if available > 0 else 0, BUDGET_PER_SECOND, -(-missing // MICROSECONDS))


_POINT = SIZE.point
