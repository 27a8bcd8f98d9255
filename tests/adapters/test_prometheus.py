"""What is relied on of prometheus_client below its documented surface (gateway/adapters/prometheus.py)."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Histogram

from gateway.adapters.prometheus import add, bounds_of
from gateway.observability import tallies


def _samples(registry: CollectorRegistry) -> list[tuple[str, str | None, float]]:
    found = (s for m in registry.collect() for s in m.samples if not s.name.endswith("_created"))
    return [(s.name, s.labels.get("le"), s.value) for s in found]


def test_what_is_added_at_once_is_what_the_library_observes_one_by_one() -> None:
    seen = (0.0, 0.5, 1, 1.5, 2.0, 2.0, 99.0)
    one, other = CollectorRegistry(), tallies.Registry()
    each, together = (Histogram("h", "h", registry=registry, buckets=(0.5, 1, 2)) for registry in (one, other))
    tally = tallies.Observed(together)
    for amount in seen:
        each.observe(amount)
        tally.note(amount)
    assert _samples(other) == _samples(one)
    assert _samples(other) == _samples(one)  # once
    tally.note(0.7)
    each.observe(0.7)
    assert _samples(other) == _samples(one)


def test_a_histogram_has_its_bounds_and_a_value_for_each() -> None:
    histogram = Histogram("h", "h", registry=CollectorRegistry(), buckets=(1, 2))
    assert [*bounds_of(histogram)] == [1, 2, float("inf")]
    add(histogram, [0, 2, 1], 12.0)
    assert [(s.name, s.value) for m in histogram.collect() for s in m.samples][:5] == [
        ("h_bucket", 0),
        ("h_bucket", 2),
        ("h_bucket", 3),
        ("h_count", 3),
        ("h_sum", 12),
    ]
