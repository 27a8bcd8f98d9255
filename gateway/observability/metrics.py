"""Counts what `/metrics` shows: of this process, or of all that share its socket (decision 123).

Labels are words of the service, never of a client, and none of them names an organization.
"""

import os
from collections import Counter as Numbers
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from gateway.observability import processes, tallies
from gateway.observability.shared_folder import SHARED_FOLDER
from providers.notifications import Fate
from storage.bounded_cache import BoundedCache
from storage.connection_pool import PoolState
from storage.replicas import Place, Reason
from transport.request_log import RequestLog

"""The variable that names the folder through which processes add up; the library reads it when it is loaded."""

REGISTRY = tallies.Registry()
REQUESTS = Counter("crm_requests_total", "Requests answered.", ["surface", "operation", "status"], registry=REGISTRY)
SECONDS = Histogram(
    "crm_request_seconds",
    "Seconds from request to answer.",
    ["surface", "operation"],
    buckets=(0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10),
    registry=REGISTRY,
)
REFUSALS = Counter("crm_refusals_total", "Requests refused or failed, by why.", ["surface", "code"], registry=REGISTRY)
FALLBACKS = Counter(
    "crm_graphql_fallbacks_total", "Operations that the GraphQL library ran, by why.", ["reason"], registry=REGISTRY
)
COST = Histogram(
    "crm_request_cost",
    "Points that an operation cost.",
    ["surface"],
    buckets=(1, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_000, 5_000),
    registry=REGISTRY,
)
STATEMENTS = Counter(
    "crm_sql_queries_total", "Statements of callers, by what became of them.", ["outcome", "layer"], registry=REGISTRY
)
STATEMENT_SECONDS = Histogram(
    "crm_statement_seconds",
    "Seconds of a statement at the database.",
    ["access"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5),
    registry=REGISTRY,
)
READS = Counter(
    "crm_reads_total", "Reads of records where there are replicas, by who answered.", ["place"], registry=REGISTRY
)
READ_FALLBACKS = Counter(
    "crm_read_fallbacks_total", "Reads that a replica did not answer, by why.", ["reason"], registry=REGISTRY
)
STREAMS = Gauge("crm_streams", "Subscriptions that run.", registry=REGISTRY, multiprocess_mode="livesum")
POOL = Gauge("crm_pool_connections", "Database connections.", ["state"], registry=REGISTRY, multiprocess_mode="livesum")
POOL_WAITING = Gauge(
    "crm_pool_waiting", "Who waits for a database connection.", registry=REGISTRY, multiprocess_mode="livesum"
)
POOL_WAITS = Counter("crm_pool_waits_total", "Times that someone had to wait for a connection.", registry=REGISTRY)
POOL_TIMEOUTS = Counter("crm_pool_timeouts_total", "Times that someone waited in vain.", registry=REGISTRY)
IN_FLIGHT = Gauge(
    "crm_requests_in_flight", "Requests whose answer has not begun.", registry=REGISTRY, multiprocess_mode="livesum"
)
LOOP_LAG = Gauge(
    "crm_loop_lag_seconds",
    "By how much the event loop is late: of several processes the latest one.",
    registry=REGISTRY,
    multiprocess_mode="livemax",
)
NOTIFICATIONS = Counter(
    "crm_notifications_total", "Notification events, by what became of them.", ["type", "fate"], registry=REGISTRY
)
JOBS = Counter(
    "crm_job_attempts_total", "Attempts at jobs, by what became of them.", ["kind", "outcome"], registry=REGISTRY
)
JOB_SECONDS = Histogram(
    "crm_job_seconds",
    "Seconds of an attempt at a job.",
    ["kind"],
    buckets=(0.01, 0.05, 0.25, 1, 5, 15, 60, 300, 600),
    registry=REGISTRY,
)
JOBS_RUNNING = Gauge("crm_jobs_running", "Jobs that run.", ["kind"], registry=REGISTRY, multiprocess_mode="livesum")
CALLS = Counter("crm_provider_calls_total", "Calls to the outside.", ["provider", "outcome"], registry=REGISTRY)
CALL_SECONDS = Histogram(
    "crm_provider_seconds",
    "Seconds of a call to the outside.",
    ["provider"],
    buckets=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15),
    registry=REGISTRY,
)

BREAKERS = Gauge(
    "crm_provider_left_alone",
    "Processes in which a provider is left alone after failures.",
    ["provider"],
    registry=REGISTRY,
    multiprocess_mode="livesum",
)

CHAT_RUNS = Counter(
    "crm_chat_runs_total", "Runs of chats that ended, by how.", ["provider", "outcome"], registry=REGISTRY
)
CHAT_TOKENS = Counter(
    "crm_chat_tokens_total", "Tokens of runs that ended.", ["provider", "direction"], registry=REGISTRY
)
CHAT_FIRST_TEXT = Histogram(
    "crm_chat_first_text_seconds",
    "Seconds from a message to the first text of its answer.",
    ["provider"],
    buckets=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120),
    registry=REGISTRY,
)
CHAT_STREAMS = Gauge("crm_chat_streams", "Runs that are followed.", registry=REGISTRY, multiprocess_mode="livesum")


SYNC_RUNS = Counter(
    "crm_integration_runs_total", "Runs of connections that ended, by how.", ["provider", "outcome"], registry=REGISTRY
)
SYNC_ITEMS = Counter(
    "crm_integration_items_total", "Items that providers showed to these runs.", ["provider"], registry=REGISTRY
)
RENEWALS = Counter(
    "crm_integration_renewals_total",
    "Renewals of tokens at providers, by what became of them.",
    ["provider", "outcome"],
    registry=REGISTRY,
)
LOGINS = Counter(
    "crm_logins_total",
    "Attempts to sign in at the embedded identity provider, by way and what became of them.",
    ["way", "outcome"],
    registry=REGISTRY,
)


class CacheMetrics(NamedTuple):
    """The metrics of one cache of each process."""

    hits: Counter
    misses: Counter
    entries: Gauge
    size: Gauge


def _cache(name: str, what: str, unit: str) -> CacheMetrics:
    return CacheMetrics(
        Counter(f"crm_{name}_cache_hits_total", f"{what} that were there already.", registry=REGISTRY),
        Counter(f"crm_{name}_cache_misses_total", f"{what} that had to be made.", registry=REGISTRY),
        Gauge(f"crm_{name}_cache_entries", f"{what} that are kept.", registry=REGISTRY, multiprocess_mode="livesum"),
        Gauge(f"crm_{name}_cache_{unit}", f"Their {unit}.", registry=REGISTRY, multiprocess_mode="livesum"),
    )


# Of both: decision 150.
DOCUMENT_CACHE = _cache("document", "GraphQL documents", "bytes")
STATEMENT_CACHE = _cache("statement", "SQL statements", "characters")


@cache
def _of(surface: str, operation: str, status: int) -> tuple[tallies.Times, tallies.Observed]:
    name = operation or "none"
    return tallies.Times(REQUESTS.labels(surface, name, status)), _seconds(surface, name)


@cache
def _seconds(surface: str, name: str) -> tallies.Observed:
    return tallies.Observed(SECONDS.labels(surface, name))


@cache
def _cost(surface: str) -> tallies.Observed:
    return tallies.Observed(COST.labels(surface))


def count_request(record: RequestLog, status: int, seconds: float) -> None:
    """Note an answer; surfaces, operations and statuses are few, so each combination is looked up once."""
    requests, duration = _of(record.surface, record.operation, status)
    with tallies.lock:
        requests.number += 1
        duration.note(seconds)
        if record.cost is not None:
            _cost(record.surface).note(record.cost)
    if record.code:
        REFUSALS.labels(record.surface, record.code).inc()


def count_fallback(reason: str) -> None:
    """Count an operation that the GraphQL library ran, for this reason."""
    FALLBACKS.labels(reason).inc()


def count_notification(type: str, fate: Fate) -> None:
    """Note the fate of a notification event (specification part 6)."""
    NOTIFICATIONS.labels(type, fate.value).inc()


def count_statement(outcome: str, layer: str) -> None:
    """Note what became of a caller's statement, and the layer that refused it."""
    STATEMENTS.labels(outcome, layer).inc()


def count_read(place: Place) -> None:
    """Count a read of records by who answered it."""
    READS.labels(place).inc()


def count_read_fallback(reason: Reason) -> None:
    """Count a read that a replica did not answer."""
    READ_FALLBACKS.labels(reason).inc()


def count_job(kind: str, outcome: str, seconds: float) -> None:
    """Note what became of an attempt at a job."""
    JOBS.labels(kind, outcome).inc()
    JOB_SECONDS.labels(kind).observe(seconds)


def count_call(provider: str, outcome: str, seconds: float) -> None:
    """Note a call to the outside."""
    CALLS.labels(provider, outcome).inc()
    CALL_SECONDS.labels(provider).observe(seconds)


def count_chat_run(provider: str, outcome: str, read: int, written: int) -> None:
    """Note how a run of a chat ended, and the tokens that it had."""
    CHAT_RUNS.labels(provider, outcome).inc()
    CHAT_TOKENS.labels(provider, "read").inc(read)
    CHAT_TOKENS.labels(provider, "written").inc(written)


def note_first_text(provider: str, seconds: float) -> None:
    """Note how long a member waited for the first text of an answer."""
    CHAT_FIRST_TEXT.labels(provider).observe(seconds)


def note_breaker(provider: str, is_open: bool) -> None:
    """Note that a provider is left alone, or asked again."""
    BREAKERS.labels(provider).set(is_open)


def count_sync(provider: str, outcome: str, items: int) -> None:
    """Note how a run of a connection ended, and the items that it was shown."""
    SYNC_RUNS.labels(provider, outcome).inc()
    SYNC_ITEMS.labels(provider).inc(items)


def count_renewal(provider: str, outcome: str) -> None:
    """Note what became of a renewal of tokens."""
    RENEWALS.labels(provider, outcome).inc()


class Sampled:
    """The metrics that are looked at from time to time, because noting every change would cost more."""

    def __init__(self) -> None:
        self._pool = PoolState(0, 0, 0, 0, 0)
        self._kinds: set[str] = set()
        self._looked_up: dict[CacheMetrics, tuple[int, int]] = {}

    def pool(self, state: PoolState) -> None:
        POOL.labels("in_use").set(state.in_use)
        POOL.labels("free").set(state.size - state.in_use)
        POOL_WAITING.set(state.waiting)
        POOL_WAITS.inc(state.waits - self._pool.waits)
        POOL_TIMEOUTS.inc(state.timeouts - self._pool.timeouts)
        self._pool = state

    def cache(self, metrics: CacheMetrics, kept: BoundedCache[Any, Any]) -> None:  # of any kind
        hits, misses = self._looked_up.get(metrics, (0, 0))
        metrics.hits.inc(kept.hits - hits)
        metrics.misses.inc(kept.misses - misses)
        metrics.entries.set(len(kept))
        metrics.size.set(kept.used)
        self._looked_up[metrics] = (kept.hits, kept.misses)

    def lag(self, seconds: float) -> None:
        LOOP_LAG.set(seconds)

    def places(self, taken: int) -> None:
        IN_FLIGHT.set(taken)

    def jobs(self, running: Numbers[str]) -> None:
        self._kinds |= running.keys()
        for kind in self._kinds:
            JOBS_RUNNING.labels(kind).set(running[kind])


def exposition() -> bytes:
    """Everything in the Prometheus text format; takes milliseconds where processes share it."""
    folder = os.environ.get(SHARED_FOLDER)
    if not folder or not Path(folder).is_dir():  # a cleaner of temporary files may take it
        return generate_latest(REGISTRY) + processes.of_this_process()
    tallies.give_all()
    living = set()
    for file in Path(folder).glob("gauge_live*_*.db"):
        process = int(file.stem.rpartition("_")[2])
        if _lives(process):
            living.add(process)
        else:
            file.unlink(missing_ok=True)
    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=folder)  # type: ignore[no-untyped-call]  # the library left its types out
    return generate_latest(registry) + processes.of_several(sorted(living))


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def count_login(way: str, outcome: str) -> None:
    """Note an attempt to sign in; nothing of it says whose it was."""
    LOGINS.labels(way, outcome).inc()
