"""Token buckets, each of which is one number: the moment at which it will be full again (decision 100).

What is taken puts that moment off, what is given back brings it nearer, and the passing of time does the rest. A full
bucket is one that is not kept. Moments are whole microseconds, so that nothing is lost by rounding.
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
    """Whether the points were there, and in how many microseconds the bucket is full again; and what it was all about.

    `buckets` is where points are to be given back to.
    """

    granted: bool
    missing: int
    buckets: "Buckets | None"
    name: str
    points: int


class Buckets(Protocol):
    """Buckets of one size, by name."""

    size: Size

    async def take(self, name: str, points: int) -> Charge:
        """Take the points if they are there. Whoever asks for more than a bucket holds needs a full one, and owes."""
        ...

    async def give(self, name: str, points: int) -> int:
        """Give points back, or below zero take them whatever is there; the microseconds until it is full."""
        ...


class MemoryBuckets:
    """Buckets of this process. Of more than `most`, the one that was used the longest ago is taken for full."""

    def __init__(self, size: Size, *, most: int = _MOST, clock: Callable[[], int] = monotonic_ns) -> None:
        """`clock` counts nanoseconds, and is not set back."""
        self.size = size
        self._point, self._span = size.point, size.span
        self._most = most
        self._clock = clock
        self._full_at: OrderedDict[str, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._full_at)

    async def take(self, name: str, points: int) -> Charge:
        """Take the points if they are there."""
        now = self._clock() // 1000
        missing = self._full_at.get(name, now) - now
        if missing < 0:
            missing = 0
        wanted = points * self._point
        if wanted and missing + (wanted if wanted < self._span else self._span) > self._span:
            return Charge(False, missing, self, name, points)
        return Charge(True, self._keep(name, now, missing + wanted), self, name, points)

    async def give(self, name: str, points: int) -> int:
        """Give points back, or take them."""
        now = self._clock() // 1000
        missing = self._full_at.get(name, now) - now
        return self._keep(name, now, (missing if missing > 0 else 0) - points * self._point)

    def _keep(self, name: str, now: int, missing: int) -> int:
        full_at = self._full_at
        if missing <= 0:
            full_at.pop(name, None)
            return 0
        full_at[name] = now + missing
        full_at.move_to_end(name)
        if len(full_at) > self._most:
            full_at.popitem(last=False)
        return missing
