"""Token buckets, each of which is one number: the moment at which it will be full again (decision 100).

What is taken puts that moment off, what is given back brings it nearer, and the passing of time does the rest. A full
bucket is one that is not kept. Moments are whole microseconds, so that nothing is lost by rounding.
"""

import time
from collections import OrderedDict
from collections.abc import Callable
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


class Taken(NamedTuple):
    """Whether the points were there, when the bucket will be full again in microseconds, and where it is kept."""

    granted: bool
    missing: int
    source: "Buckets"


class Buckets(Protocol):
    """Buckets of one size, by name."""

    size: Size

    async def take(self, name: str, points: int) -> Taken:
        """Take the points if they are there. Whoever asks for more than a bucket holds needs a full one, and owes."""
        ...

    async def give(self, name: str, points: int) -> int:
        """Give points back, or below zero take them whatever is there; the microseconds until it is full."""
        ...


def microseconds() -> int:
    """A clock that nobody sets back."""
    return time.monotonic_ns() // 1000


class MemoryBuckets:
    """Buckets of this process. Of more than `most`, the one that was used the longest ago is taken for full."""

    def __init__(self, size: Size, *, most: int = _MOST, clock: Callable[[], int] = microseconds) -> None:
        self.size = size
        self._most = most
        self._clock = clock
        self._full_at: OrderedDict[str, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._full_at)

    async def take(self, name: str, points: int) -> Taken:
        """Take the points if they are there."""
        now = self._clock()
        missing = max(0, self._full_at.get(name, 0) - now)
        if points and self.size.wait(missing, points):
            return Taken(False, missing, self)
        missing += points * self.size.point
        self._keep(name, now, missing)
        return Taken(True, missing, self)

    async def give(self, name: str, points: int) -> int:
        """Give points back, or take them."""
        now = self._clock()
        missing = max(0, max(0, self._full_at.get(name, 0) - now) - points * self.size.point)
        self._keep(name, now, missing)
        return missing

    def _keep(self, name: str, now: int, missing: int) -> None:
        if not missing:
            self._full_at.pop(name, None)
            return
        self._full_at[name] = now + missing
        self._full_at.move_to_end(name)
        if len(self._full_at) > self._most:
            self._full_at.popitem(last=False)
