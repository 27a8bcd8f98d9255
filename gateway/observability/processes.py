"""Reads off the system what processes take: memory, processor, open files, in the names that Prometheus knows.

One process has these metrics without a label. Of several on one socket each has its own, with its number: sums would
fall when one is replaced, which Prometheus takes for a start from zero (decision 870).
"""

from collections.abc import Sequence

from prometheus_client import CollectorRegistry
from prometheus_client.metrics_core import Metric
from prometheus_client.process_collector import ProcessCollector

from gateway.observability.families import written

_LABEL = "process"


def of_this_process() -> bytes:
    """The lines of this process; none where the system does not tell."""
    return written(list(ProcessCollector(registry=CollectorRegistry()).collect()))


def of_several(processes: Sequence[int]) -> bytes:
    """The lines of these processes, each family once, with a sample for each that still runs."""
    families: dict[str, Metric] = {}
    for number in processes:
        for found in _collector(number).collect():
            family = families.setdefault(found.name, Metric(found.name, found.documentation, found.type))
            for sample in found.samples:
                family.add_sample(sample.name, sample.labels | {_LABEL: str(number)}, sample.value)
    return written(list(families.values()))


def _collector(number: int) -> ProcessCollector:
    return ProcessCollector(pid=lambda: number, registry=CollectorRegistry())
