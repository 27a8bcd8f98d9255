"""The schema, put together from the nouns."""

from collections.abc import Sequence
from typing import Any

from graphql import GraphQLError
from strawberry.schema.config import StrawberryConfig
from strawberry.tools import merge_types

from schema.accounts import AccountMutations, AccountQueries
from schema.adapters import strawberry as adapter
from schema.adapters.graphql_core import mend_is_one_of
from schema.campaigns import CampaignMutations, CampaignQueries
from schema.competitors import CompetitorMutations, CompetitorQueries
from schema.contacts import ContactMutations, ContactQueries
from schema.costs import CostQueries, declare_costs
from schema.credentials import CredentialMutations, CredentialQueries, OrganizationKey, UserToken
from schema.cx_reports import CXReportMutations
from schema.deals import DealMutations, DealQueries
from schema.enrollments import EnrollmentMutations
from schema.events import EventQueries, EventSubscriptions
from schema.execution.known import refuse_unsupported
from schema.feedback import FeedbackMutations
from schema.filters import IntFilter
from schema.health import HealthFactor, HealthSnapshot
from schema.jobs import JobQueries, JobSubscriptions
from schema.leads import LeadMutations, LeadQueries
from schema.mailboxes import MailboxMutations, MailboxQueries
from schema.meetings import MeetingMutations, MeetingQueries
from schema.outreach_domains import OutreachDomainMutations, OutreachDomainQueries
from schema.pipeline_stages import PipelineStageMutations, PipelineStageQueries
from schema.research import ResearchMutations, ResearchQueries
from schema.scalars import SCALARS
from schema.search import SearchQueries
from schema.viewer import ViewerQueries
from schema.webhooks import WebhookMutations, WebhookQueries

Query = merge_types(
    "Query",
    (
        ViewerQueries,
        MeetingQueries,
        AccountQueries,
        ContactQueries,
        DealQueries,
        CompetitorQueries,
        PipelineStageQueries,
        LeadQueries,
        CampaignQueries,
        OutreachDomainQueries,
        MailboxQueries,
        CredentialQueries,
        ResearchQueries,
        JobQueries,
        EventQueries,
        WebhookQueries,
        SearchQueries,
        CostQueries,
    ),
)
Mutation = merge_types(
    "Mutation",
    (
        MeetingMutations,
        AccountMutations,
        ContactMutations,
        DealMutations,
        CompetitorMutations,
        PipelineStageMutations,
        LeadMutations,
        CampaignMutations,
        EnrollmentMutations,
        OutreachDomainMutations,
        MailboxMutations,
        CredentialMutations,
        FeedbackMutations,
        ResearchMutations,
        CXReportMutations,
        WebhookMutations,
    ),
)

Subscription = merge_types("Subscription", (EventSubscriptions, JobSubscriptions))


class Schema(adapter.Schema):
    """The library's schema, silent: the endpoint writes one line per internal error and none for a client's.

    Raises Unsupported for what nothing here would ask, such as schema extensions (decision 151).
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        refuse_unsupported(self.graphql)

    @property
    def sdl(self) -> str:
        """The printed schema, as it is served and committed."""
        return self.as_str() + "\n"

    def process_errors(self, errors: Sequence[GraphQLError], execution_context: Any = None) -> None:
        """Leave reporting to `schema.errors.formatted`."""


def build() -> Schema:
    """A new schema; one per process is enough."""
    schema = Schema(
        query=Query,
        mutation=Mutation,
        subscription=Subscription,
        types=[HealthFactor, HealthSnapshot, OrganizationKey, UserToken, IntFilter],
        config=StrawberryConfig(scalar_map=SCALARS),
    )
    declare_costs(schema.graphql)
    mend_is_one_of(schema.graphql)
    return schema
