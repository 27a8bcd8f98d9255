"""What is counted for each request and statement, added up here and given to the metrics once a second.

One lock for all, which another thread takes only to read the metrics: each metric has one of its own, or a file, and a
request would take nine.
"""

from bisect import bisect_left
from collections.abc import Iterable
from threading import Lock

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.metrics_core import Metric

from gateway.adapters.prometheus import add, bounds_of

lock = Lock()
"""To be held by whoever counts."""


class Times:
    """A counter, and how often it was counted since it was last given on."""

    __slots__ = ("_counter", "number")

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self.number = 0
        _all.append(self)

    def give(self) -> None:
        """Give on what was counted."""
        if self.number:
            self._counter.inc(self.number)
            self.number = 0


class Observed:
    """A histogram, and what was observed since it was last given on."""

    __slots__ = ("_bounds", "_counts", "_histogram", "_total")

    def __init__(self, histogram: Histogram) -> None:
        self._histogram = histogram
        self._bounds = bounds_of(histogram)
        self._counts = [0] * len(self._bounds)
        self._total = 0.0
        _all.append(self)

    def note(self, amount: float) -> None:
        """Count an observation."""
        self._counts[bisect_left(self._bounds, amount)] += 1
        self._total += amount

    def give(self) -> None:
        """Give on what was observed."""
        if any(self._counts):
            add(self._histogram, self._counts, self._total)
            self._counts, self._total = [0] * len(self._bounds), 0.0


_all: list[Times | Observed] = []


def give_all() -> None:
    """Give on all that was counted."""
    with lock:
        for one in _all:
            one.give()


class Registry(CollectorRegistry):
    """A registry that is read as of now."""

    def collect(self) -> Iterable[Metric]:
        """Give all metrics, with what was counted up to now."""
        give_all()
        return super().collect()
