"""Limits what may be asked at one address without a credential: a bucket of points each (decision 147)."""

from contract.errors import AnonymousLimited
from contract.limits import ANONYMOUS_POINTS_MAX, ANONYMOUS_POINTS_PER_SECOND
from identity.auth_failures import origin
from identity.token_buckets import MICROSECONDS, Buckets, Size

SIZE = Size(ANONYMOUS_POINTS_MAX, MICROSECONDS // ANONYMOUS_POINTS_PER_SECOND)


class AnonymousBudget:
    """The buckets of all addresses, which processes may share. Members never look at them."""

    def __init__(self, buckets: Buckets) -> None:
        self._buckets = buckets

    async def charge(self, address: str, points: int) -> None:
        """Take the points. Raises AnonymousLimited where the address has not got them."""
        taken = await self._buckets.take(origin(address), points)
        if not taken.granted:
            wait = SIZE.wait(taken.missing, points)
            raise AnonymousLimited(points, max(0, SIZE.available(taken.missing)), -(-wait // MICROSECONDS))
