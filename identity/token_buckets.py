"""Token buckets, each of which is one number: the moment at which it will be full again (decision 100).

What is taken puts that moment off, and the passing of time does the rest. A full bucket is one that is not kept.
Moments are whole microseconds, so that nothing is lost by rounding.
"""

from collections import OrderedDict
from collections.abc import Callable
from time import monotonic_ns
from typing import NamedTuple, Protocol

MICROSECONDS = 1_000_000
_MOST = 50_000


class Size(NamedTuple):
    """The most points that a bucket holds, and the microseconds in which one comes back."""

    maximum: int
    point: int

    @property
    def span(self) -> int:
        """The microseconds in which an empty bucket fills."""
        return self.maximum * self.point

    def available(self, missing: int) -> int:
        """The whole points in a bucket that is full again in so many microseconds; below zero they are owed."""
        return self.maximum - -(-missing // self.point)

    def wait(self, missing: int, points: int) -> int:
        """The microseconds until the points may be taken out of it."""
        return max(0, missing + min(points * self.point, self.span) - self.span)


class Charge(NamedTuple):
    """Says whether the points were there, and in how many microseconds the bucket is full again."""

    granted: bool
    missing: int


class Buckets(Protocol):
    """Buckets of one size, by name."""

    size: Size

    async def take(self, name: str, points: int) -> Charge:
        """Take the points if they are there. Asking for more than a bucket holds takes a full one, and owes."""


class MemoryBuckets:
    """Buckets of this process. Of more than `most`, the one that was used the longest ago is taken for full."""

    def __init__(self, size: Size, *, most: int = _MOST, clock: Callable[[], int] = monotonic_ns) -> None:
        self.size = size
        self._most = most
        self._clock = clock
        self._full_at: OrderedDict[str, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._full_at)

    async def take(self, name: str, points: int) -> Charge:
        now = self._clock() // 1000
        missing = max(0, self._full_at.get(name, now) - now)
        wanted, span = points * self.size.point, self.size.span
        if wanted and missing + min(wanted, span) > span:
            return Charge(False, missing)
        self._keep(name, now, missing + wanted)
        return Charge(True, missing + wanted)

    def _keep(self, name: str, now: int, missing: int) -> None:
        if not missing:
            self._full_at.pop(name, None)
            return
        self._full_at[name] = now + missing
        self._full_at.move_to_end(name)
        if len(self._full_at) > self._most:
            self._full_at.popitem(last=False)
