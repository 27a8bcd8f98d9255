"""What is counted, for `/metrics`."""

from functools import cache

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.requests import Request
from starlette.responses import Response

from providers.notifications import Fate

REGISTRY = CollectorRegistry()
REQUESTS = Counter("crm_requests_total", "Requests answered.", ["door", "status"], registry=REGISTRY)
SECONDS = Histogram(
    "crm_request_seconds",
    "Seconds from request to answer.",
    ["door"],
    buckets=(0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10),
    registry=REGISTRY,
)
STREAMS = Gauge("crm_streams", "Subscriptions that run.", registry=REGISTRY)
IN_FLIGHT = Gauge("crm_requests_in_flight", "Requests whose answer has not begun.", registry=REGISTRY)
NOTIFICATIONS = Counter(
    "crm_notifications_total", "Notification events, by what became of them.", ["type", "fate"], registry=REGISTRY
)
JOBS = Counter(
    "crm_job_attempts_total", "Attempts at jobs, by what became of them.", ["kind", "outcome"], registry=REGISTRY
)


@cache
def _of(door: str, status: int) -> tuple[Counter, Histogram]:
    return REQUESTS.labels(door, status), SECONDS.labels(door)


def count_request(door: str, status: int, seconds: float) -> None:
    """Note an answer; doors and statuses are few, so each pair is looked up once."""
    requests, duration = _of(door, status)
    requests.inc()
    duration.observe(seconds)


def count_notification(type: str, fate: Fate) -> None:
    """Note the fate of a notification event (specification part 6)."""
    NOTIFICATIONS.labels(type, fate.value).inc()


def count_job(kind: str, outcome: str) -> None:
    """Note what became of an attempt at a job."""
    JOBS.labels(kind, outcome).inc()


async def metrics(_request: Request) -> Response:
    """GET /metrics, in the Prometheus text format."""
    return Response(generate_latest(REGISTRY), media_type=CONTENT_TYPE_LATEST)
