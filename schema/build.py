"""The schema, put together from the modules of the record types."""

from collections.abc import Sequence
from typing import Any

from graphql import GraphQLError
from strawberry.schema.config import StrawberryConfig
from strawberry.tools import merge_types

from schema import (
    account_aggregates,
    accounts,
    activities,
    analytics,
    analytics_queries,
    analytics_runs,
    calls,
    campaign_aggregates,
    campaigns,
    chat,
    chat_approvals,
    chat_runs,
    chat_threads,
    chat_usage,
    competitors,
    contacts,
    costs,
    credentials,
    cx_reports,
    deal_aggregates,
    deals,
    duplicates,
    emails,
    enrollments,
    events,
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
    jobs,
    lead_aggregates,
    leads,
    mailboxes,
    mails,
    meeting_aggregates,
    meeting_sync,
    meetings,
    members,
    merging,
    notes,
    notifications,
    outreach_domains,
    pipeline_stages,
    report_runs,
    reports,
    research,
    sales_targets,
    saved_queries,
    search,
    sql_queries,
    tags,
    tasks,
    upserts,
    viewer,
    webhooks,
)
from schema.adapters import strawberry as adapter
from schema.adapters.graphql_core import mend_is_one_of
from schema.execution.known import refuse_unsupported
from schema.filters import IntFilter
from schema.scalars import SCALARS

MODULES = (
    *(viewer, meetings, accounts, contacts, deals, competitors, pipeline_stages, leads, campaigns, enrollments),
    *(
        outreach_domains,
        mailboxes,
        credentials,
        feedback,
        research,
        cx_reports,
        jobs,
        events,
        webhooks,
        search,
        costs,
        members,
        tags,
        report_runs,
        mails,
        reports,
        imports,
        exports,
        sales_targets,
        saved_queries,
        files,
        folders,
        activities,
        tasks,
        notes,
        calls,
        emails,
        deal_aggregates,
        forecast,
        funnel,
        meeting_aggregates,
        lead_aggregates,
        account_aggregates,
        campaign_aggregates,
        analytics,
        analytics_queries,
        analytics_runs,
        sql_queries,
        chat_threads,
        chat_runs,
        chat_approvals,
        chat,
        integrations,
        integration_consent,
        integration_channels,
        integration_items,
        integration_policy,
        meeting_sync,
        chat_usage,
        duplicates,
        merging,
        upserts,
        notifications,
    ),
)
"""Every module with fields of Query or Mutation, its `QUERIES` and `MUTATIONS`; the printed schema has their order."""


def _root(name: str, part: str) -> type:
    return merge_types(name, tuple(getattr(module, part) for module in MODULES if hasattr(module, part)))


Query, Mutation = _root("Query", "QUERIES"), _root("Mutation", "MUTATIONS")
Subscription = merge_types(
    "Subscription",
    (
        events.EventSubscriptions,
        jobs.JobSubscriptions,
        analytics_runs.AnalyticsRunSubscriptions,
        integrations.IntegrationSubscriptions,
        chat_runs.ChatRunSubscriptions,
    ),
)


_ABOUT = (
    "A multi-tenant sales CRM. A request carries a session token, an organization key or a user token as Bearer, and "
    "acts in one organization, which a session or a user token names by the header X-Service-Org. Lists are "
    "connections with cursors. A change answers with `userErrors` for what the caller can mend."
)
_OF_ROOTS = {
    "Query": "What can be read. Each field names the scope group that it needs.",
    "Mutation": "What can be changed. Payloads have `userErrors`; under an Idempotency-Key a change is made once.",
    "Subscription": "What can be watched, over a WebSocket (graphql-transport-ws) or server-sent events.",
}
_HEAD = f'"""\n{_ABOUT}\n"""\nschema {{\n  query: Query\n  mutation: Mutation\n  subscription: Subscription\n}}\n\n'


class Schema(adapter.Schema):
    """The library's schema, silent: the endpoint writes one line per internal error and none for a client's.

    Raises Unsupported for what nothing here would ask, such as schema extensions (decision 151).
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # Any: the library's own
        super().__init__(*args, **kwargs)
        refuse_unsupported(self.graphql)

    @property
    def sdl(self) -> str:
        """The printed schema, as it is served and committed."""
        lines = f"{_HEAD}{self.as_str()}".splitlines()
        return "".join(f"{line.rstrip()}\n" for line in lines)  # an empty line of a description is printed indented

    def process_errors(self, errors: Sequence[GraphQLError], execution_context: object = None) -> None:
        """Leave reporting to `schema.errors.formatted`."""


def build() -> Schema:
    """A new schema; one per process is enough. Raises TypeError for a Node that `node` would not find."""
    schema = Schema(
        query=Query,
        mutation=Mutation,
        subscription=Subscription,
        types=[
            health.HealthFactor,
            health.HealthSnapshot,
            credentials.OrganizationKey,
            credentials.UserToken,
            IntFilter,
            *analytics_runs.TYPES,
        ],
        config=StrawberryConfig(scalar_map=SCALARS),
    )
    schema.graphql.description = _ABOUT
    for name, about in _OF_ROOTS.items():
        schema.graphql.type_map[name].description = about
    costs.declare_costs(schema.graphql)
    mend_is_one_of(schema.graphql)
    viewer.refuse_unfindable(schema.graphql)
    viewer.name_operations(schema.graphql)
    return schema
