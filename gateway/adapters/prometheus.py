"""prometheus_client below its documented surface: observations that are added to a histogram many at a time.

Its own way takes a lock for the sum and one for the bucket of each, and in a process that shares its numbers two writes
into a file. tests/adapters/test_prometheus.py says what is relied on.
"""

from collections.abc import Sequence

from prometheus_client import Histogram


def bounds_of(histogram: Histogram) -> Sequence[float]:
    """The upper bounds of its buckets, the last of which is infinite."""
    return histogram._upper_bounds


def add(histogram: Histogram, counts: Sequence[int], total: float) -> None:
    """Add so many observations to each bucket, which come to so much together."""
    histogram._sum.inc(total)
    for bucket, count in zip(histogram._buckets, counts, strict=True):
        if count:
            bucket.inc(count)
