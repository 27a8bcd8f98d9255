"""What a caller has to spend on operations: charged before one runs, given back what it did not use (decision 86)."""

from typing import NamedTuple, Protocol

from contract.errors import RateLimited
from contract.limits import BUDGET_MAX, BUDGET_PER_SECOND
from identity.buckets import MICROSECONDS, Buckets, Size
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


class Charge(NamedTuple):
    """Points that were taken for an operation: by which bucket of which store, how many, and what that left."""

    buckets: Buckets | None
    bucket: str
    points: int
    missing: int


class Budget(Protocol):
    """The budgets of all callers."""

    is_metered: bool

    async def charge(self, principal: Principal, points: int) -> Charge:
        """Take the points that an operation asks for. Raises RateLimited where the caller has not got them."""
        ...

    async def settle(self, charge: Charge, actual: int) -> Throttle:
        """Give back what was charged and not used, or take what was used beyond it; and tell the state."""
        ...


class Unmetered:
    """A budget that is always full."""

    is_metered = False

    async def charge(self, principal: Principal, points: int) -> Charge:
        """Take nothing."""
        return _NOTHING

    async def settle(self, charge: Charge, actual: int) -> Throttle:
        """Give nothing back."""
        return FULL


_NOTHING = Charge(None, "", 0, 0)


class Metered:
    """A bucket for each credential in each organization that it acts in (decision 100)."""

    is_metered = True

    def __init__(self, buckets: Buckets) -> None:
        self._buckets = buckets

    async def charge(self, principal: Principal, points: int) -> Charge:
        """Take the points; what is free is never refused."""
        bucket = bucket_of(principal)
        taken = await self._buckets.take(bucket, points)
        if not taken.granted:
            wait = SIZE.wait(taken.missing, points)
            raise RateLimited(points, throttle(taken.missing).available, -(-wait // MICROSECONDS))
        return Charge(taken.source, bucket, points, taken.missing)

    async def settle(self, charge: Charge, actual: int) -> Throttle:
        """Give back to where the points were taken from; where nothing changes, nothing is asked."""
        unused = charge.points - actual
        if charge.buckets is None or not unused:
            return throttle(charge.missing)
        return throttle(await charge.buckets.give(charge.bucket, unused))


def bucket_of(principal: Principal) -> str:
    """The bucket's name. All sessions of a member share one, as a key shares its own with its access tokens."""
    organization = "" if principal.organization is None else principal.organization.id
    return f"{principal.credential_id or f'session:{principal.subject}'}:{organization}"


def throttle(missing: int) -> Throttle:
    """The state of a bucket that is full again in so many microseconds; what is owed is not shown as points."""
    return Throttle(BUDGET_MAX, max(0, SIZE.available(missing)), BUDGET_PER_SECOND, -(-missing // MICROSECONDS))
