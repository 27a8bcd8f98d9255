"""Lists the operations of all documented paths; serving and describing them both read this list."""

from __future__ import annotations

from typing import Final

from starlette.routing import Route

from resolvers.shared.context import Services
from rest_compat import (
    account_aggregates,
    activities,
    analytics,
    analytics_queries,
    analytics_runs,
    campaign_aggregates,
    chat,
    chat_approvals,
    chat_runs,
    chat_threads,
    chat_usage,
    competitors,
    credentials,
    cx_reports,
    deal_aggregates,
    deals,
    events,
    exchange,
    export_jobs,
    exports,
    feedback,
    files,
    folders,
    forecast,
    funnel,
    health,
    imports,
    integration_channels,
    integration_consent,
    integration_items,
    integration_policy,
    integrations,
    lead_aggregates,
    leads,
    liveness,
    media,
    meeting_aggregates,
    meetings,
    members,
    merging,
    notifications,
    record_types,
    report_runs,
    reports,
    sales_targets,
    saved_queries,
    serving,
    sql_queries,
    tags,
    timeline,
    uploads,
    upserts,
    viewer,
)
from rest_compat.integration_callback import callback_route
from rest_compat.integration_hooks import hook_route
from rest_compat.operations import RestOperation
from transport.readiness import Readiness
from transport.streams import Streams

_MODULES: Final = (
    *(
        meetings,
        activities,
        meeting_aggregates,
        deal_aggregates,
        forecast,
        funnel,
        upserts,
        exports,
        lead_aggregates,
        account_aggregates,
        campaign_aggregates,
        deals,
        competitors,
        health,
        cx_reports,
        record_types,
        leads,
        tags,
        report_runs,
        reports,
        imports,
        export_jobs,
        merging,
        sales_targets,
        saved_queries,
        timeline,
        notifications,
        uploads,  # before the paths of one file, which would take its word for an identifier
        files,
        folders,
        events,
        credentials,
        analytics,
        analytics_queries,
        analytics_runs,
        sql_queries,
        chat,
        integration_policy,
        integrations,
        integration_consent,
        integration_channels,
        integration_items,
        chat_threads,
        chat_runs,
        chat_approvals,
        chat_usage,
    ),
    *(members, viewer, feedback, exchange, media, liveness),
)
"""Every module with paths, in the order of the description."""

OPERATIONS: Final[tuple[RestOperation, ...]] = tuple(operation for m in _MODULES for operation in m.OPERATIONS)


def liveness_routes(services: Services, readiness: Readiness) -> list[Route]:
    """Makes the routes of liveness and readiness."""
    return serving.routes(liveness.OPERATIONS, services, readiness)


def rest_routes(services: Services, readiness: Readiness, streams: Streams | None = None) -> list[Route]:
    """Makes the routes of all paths, to be mounted at the root."""
    return [callback_route(services), hook_route(services), *serving.routes(OPERATIONS, services, readiness, streams)]
