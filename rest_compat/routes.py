"""The table of the documented paths. Serving it and describing it both read it from here."""

from __future__ import annotations

from typing import Final

from starlette.routing import Route

from resolvers.context import Services
from rest_compat import (
    campaigns,
    competitors,
    credentials,
    cx_reports,
    deals,
    exchange,
    feedback,
    health,
    jobs,
    leads,
    liveness,
    media,
    meetings,
    outreach_domains,
    serving,
)
from rest_compat.operations import Operation
from transport.readiness import Readiness

_MODULES: Final = (
    *(meetings, deals, competitors, health, cx_reports, jobs, campaigns, outreach_domains, leads, credentials),
    *(feedback, exchange, media, liveness),
)
"""Every module with paths, in the order of the description."""

OPERATIONS: Final[tuple[Operation, ...]] = tuple(operation for m in _MODULES for operation in m.OPERATIONS)


def liveness_routes(services: Services, readiness: Readiness) -> list[Route]:
    """Makes those of the routes that an operator looks at."""
    return serving.routes(liveness.OPERATIONS, services, readiness)


def rest_routes(services: Services, readiness: Readiness) -> list[Route]:
    """The routes of all the paths, to be mounted at the root."""
    return serving.routes(OPERATIONS, services, readiness)
