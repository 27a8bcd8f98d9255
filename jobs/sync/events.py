"""Makes the change log's events of synchronisation: one for a batch, so that receivers are not flooded."""

from collections.abc import Sequence

from contract.integrations import IntegrationStreamKind
from contract.vocabulary import SYSTEM_ACTOR
from jobs.sync.writing import Outcome
from storage.base import JsonDict
from storage.new_rows import new_row
from storage.queries.records import append_events
from storage.tables import Event, Integration
from storage.tenancy.sessions import TenantSession

IDS_MAX = 250
"""The identifiers of a kind in one event."""


def draft(integration: Integration, type: str, request_id: str, **data: object) -> Event:
    """An event of a connection, by its owner, without its number."""
    told: JsonDict = {"integration_id": integration.id, **data}
    actor = integration.owner_id or SYSTEM_ACTOR
    return new_row(Event, sequence=0, type=type, area="crm", actor=actor, request_id=request_id, data=told)


async def happened(
    session: TenantSession, integration: Integration, type: str, request_id: str, **data: object
) -> None:
    """Append an event of a connection."""
    await append_events(session, [draft(integration, type, request_id, **data)])


async def synchronised(
    session: TenantSession,
    integration: Integration,
    request_id: str,
    outcome: Outcome,
    others: Sequence[Event] = (),
    *,
    kind: str = IntegrationStreamKind.CALENDAR,
) -> None:
    """Append the events on the meetings or messages that a transaction made, changed, removed, after those others."""
    type = "emails_synced" if kind == IntegrationStreamKind.MAIL else "meetings_synced"
    events = list(others)
    kinds = {"created": outcome.created, "updated": outcome.updated, "removed": outcome.removed}
    for place in range(0, max(map(len, kinds.values())), IDS_MAX):
        part = {name: ids[place : place + IDS_MAX] for name, ids in kinds.items()}
        events.append(draft(integration, type, request_id, **part))
    if events:
        await append_events(session, events)
