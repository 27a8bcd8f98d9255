"""Keeps a caller's points for operations: charged before one runs, what it did not use given back (decision 86)."""

from typing import NamedTuple, Protocol

from contract.errors import RateLimited
from contract.limits import BUDGET_MAX, BUDGET_PER_SECOND, ORGANIZATION_BUDGET_MAX
from identity.pairs import Drawn, Pairs, Sizes
from identity.principal import Principal
from identity.token_buckets import MICROSECONDS, Size

SIZE = Size(BUDGET_MAX, MICROSECONDS // BUDGET_PER_SECOND)


def sizes_of(organization: int = ORGANIZATION_BUDGET_MAX) -> Sizes:
    """The sizes where an organization has so many points, which come back in the same time as a member's."""
    return Sizes(SIZE, Size(organization, SIZE.span // organization))


class Throttle(NamedTuple):
    """The state of a budget in points: the most that it holds, what is in it, and what comes back each second.

    `reset` is the number of seconds until it is full again. A member of an organization has no more than that has.
    """

    maximum: int
    available: int
    restore_rate: int
    reset: int = 0


FULL = Throttle(BUDGET_MAX, BUDGET_MAX, BUDGET_PER_SECOND)


class Budget(Protocol):
    """The budgets of all callers."""

    is_metered: bool

    async def charge(self, principal: Principal, points: int) -> Drawn:
        """Take the points that an operation asks for. Raises RateLimited where the caller has not got them."""

    async def settle(self, taken: Drawn, actual: int) -> Throttle:
        """Give back what was charged and not used, or take what was used beyond it; and tell the state."""


class Unmetered:
    """A budget that is always full."""

    is_metered = False

    async def charge(self, principal: Principal, points: int) -> Drawn:
        return _NOTHING

    async def settle(self, taken: Drawn, actual: int) -> Throttle:
        return FULL


_NOTHING = Drawn(True, 0, 0, 0, None, None)


class Metered:
    """A bucket for each member in each organization, and one for each organization as a whole (decision 100)."""

    is_metered = True

    def __init__(self, pairs: Pairs) -> None:
        self._buckets = pairs
        self._sizes = pairs.sizes

    async def charge(self, principal: Principal, points: int) -> Drawn:
        """Take the points; what is free is never refused."""
        organization = principal.organization
        name = "" if organization is None else organization.id
        taken = await self._buckets.take(name, principal.subject, points)
        if not taken.granted:
            raise self._refusal(taken)
        return taken

    async def settle(self, taken: Drawn, actual: int) -> Throttle:
        """Give back to where the points were taken from; where nothing changes, nothing is asked."""
        unused = taken.points - actual
        if not unused or taken.pairs is None:
            return throttle(taken.missing, taken.shared, self._sizes)
        missing, shared = await taken.pairs.give(taken, unused)
        return throttle(missing, shared, self._sizes)

    def _refusal(self, taken: Drawn) -> RateLimited:
        """Makes the refusal, which says of the organization's bucket only what the member may take of it, and when."""
        member, organization = self._sizes
        own, shared = member.wait(taken.missing, taken.points), organization.wait(taken.shared, taken.points)
        available = throttle(taken.missing, taken.shared, self._sizes).available
        return RateLimited(taken.points, available, -(-max(own, shared) // MICROSECONDS), of_organization=shared > own)


def throttle(missing: int, shared: int, sizes: Sizes) -> Throttle:
    """The state of buckets that are full again in so many microseconds; what is owed is not shown as points.

    The points are those that both hold. The most of them, and what comes back, are those of the member's, which is the
    smaller one: a limit that changed from one answer to the next would be of no use to a client.
    """
    if not missing and not shared:
        return FULL
    available = BUDGET_MAX - -(-missing // _POINT)
    if shared:
        available = min(available, sizes.organization.available(shared))
        missing = max(missing, shared)
    return Throttle(BUDGET_MAX, available if available > 0 else 0, BUDGET_PER_SECOND, -(-missing // MICROSECONDS))


_POINT = SIZE.point
