"""Writes figures that are no counts of this process, such as those that the database has, as lines of `/metrics`.

The library's own gauges would go through the files that processes of one socket share, and be there once for each.
"""

from collections.abc import Iterator, Mapping, Sequence

from prometheus_client import generate_latest
from prometheus_client.metrics_core import Metric

Sample = tuple[Mapping[str, str], float]


def gauge(name: str, words: str, *samples: Sample) -> Metric:
    """A family with its samples, each with its labels."""
    family = Metric(name, words, "gauge")
    for labels, value in samples:
        family.add_sample(name, dict(labels), value)
    return family


class _Written:
    """A collector of families that are there already."""

    def __init__(self, families: Sequence[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        yield from self._families


def written(families: Sequence[Metric]) -> bytes:
    """The families in the Prometheus text format."""
    return generate_latest(_Written(families))
