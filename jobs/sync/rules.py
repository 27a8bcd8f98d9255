"""The rules of a connection: whose addresses are its owner's, which domains are internal, which days count."""

from collections.abc import Collection
from datetime import datetime, timedelta

from contract.integrations import (
    BY_PROVIDER,
    FREE_MAIL,
    WINDOW_AHEAD,
    WINDOW_BACK,
    IntegrationOwnership,
    IntegrationProvider,
    SyncVisibility,
    narrower,
)
from contract.vocabulary import ActivitySource
from jobs.sync.identity import address_key, domain_key
from jobs.sync.judge import Rules
from jobs.sync.meetings import Connection
from storage.queries import integrations
from storage.tables import Integration, IntegrationPolicy
from storage.tenancy.sessions import TenantSession


def window_of(present: datetime) -> tuple[datetime, datetime]:
    """The days that are followed: they move at midnight, so that what was read is read again once a day."""
    midnight = present.replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight - WINDOW_BACK, midnight + WINDOW_AHEAD + timedelta(days=1)


def effective(integration: Integration, policy: IntegrationPolicy) -> SyncVisibility:
    """Return the visibility of the connection: what its owner chose, and no more than the policy allows."""
    return narrower(SyncVisibility(integration.visibility), SyncVisibility(policy.widest_visibility))


async def rules_of(
    session: TenantSession,
    integration: Integration,
    policy: IntegrationPolicy,
    present: datetime,
    also: Collection[str] = (),
) -> tuple[Connection, Rules]:
    """The connection as meetings are settled with it, and the rules of its items. `also` are its owner's as well."""
    people = await integrations.addresses(session)
    own = {subject: frozenset({address_key(email)}) for subject, email in people.items()}
    subject = integration.owner_id or ""
    own[subject] = own.get(subject, frozenset()) | {address_key(each) for each in also}
    window_from, window_until = window_of(present)
    rules = Rules(
        own[subject],
        frozenset(internal_domains(policy, people.values())),
        integration.take_internal,
        window_from,
        window_until,
        is_linked=BY_PROVIDER[IntegrationProvider(integration.provider)].ownership is IntegrationOwnership.ORGANIZATION,
    )
    shown = effective(integration, policy)
    source = source_of(integration.provider)
    return Connection(integration.id, integration.owner_id, shown, integration.auto_create, own, source), rules


_SOURCES = {"slack": ActivitySource.SLACK, "zoom": ActivitySource.ZOOM}


def source_of(provider: str) -> ActivitySource:
    """Name the source of the meetings that a connection to this provider brings."""
    return _SOURCES.get(provider, ActivitySource.CALENDAR)


def internal_domains(policy: IntegrationPolicy, addresses: Collection[str]) -> list[str]:
    """The domains of colleagues: those that an administrator set, else those of the members' addresses.

    A domain whose addresses are anybody's is no organization's own (decision 367).
    """
    if policy.internal_domains is not None:
        return sorted(policy.internal_domains)
    return sorted({domain_key(each) for each in addresses} - FREE_MAIL - {""})
