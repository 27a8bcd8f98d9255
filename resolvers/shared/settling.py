"""Settles what a request costs in the end: its price, or the time that the database worked for it (decision 141)."""

from contract.costs import TIME_FORGIVEN, TIME_FORGIVEN_PER_SECOND, time_points
from identity.principal import Principal
from identity.token_buckets import MICROSECONDS, Buckets, MemoryBuckets, Size

_FORGIVEN = Size(TIME_FORGIVEN, MICROSECONDS // TIME_FORGIVEN_PER_SECOND)


class Settling:
    """Charges a request for the time it takes beyond what its price allows for.

    A statement takes long now and then because the machine was busy with something else. So a little is forgiven each
    member in each organization, and comes back with time: who is unlucky does not notice, who asks for what takes long
    again and again soon pays for all of it.
    """

    def __init__(self, forgiven: Buckets | None = None) -> None:
        self._forgiven = forgiven or MemoryBuckets(_FORGIVEN)

    async def cost(self, principal: Principal, price: int, seconds: float) -> int:
        """The points of a request of this price for which the database worked so long."""
        beyond = time_points(seconds) - price
        if beyond <= 0:
            return price
        if beyond <= TIME_FORGIVEN:
            organization = principal.organization
            name = f"{principal.subject}:{organization.id if organization else ''}"
            if (await self._forgiven.take(name, beyond)).granted:
                return price
        return price + beyond
