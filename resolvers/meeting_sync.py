"""Reads what synchronisation knows of a meeting: who takes part, where it is from, and which fields are a member's."""

from asyncio import gather
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from contract.errors import InvalidState, NotFound
from contract.integrations import IntegrationProvider, ParticipantResponse, SyncedField
from contract.scopes import ScopeGroup
from jobs.queue import hasten
from jobs.sync.identity import domain_key, is_within
from jobs.sync.notices import KIND
from jobs.sync.rules import internal_domains
from resolvers.shared import changes
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.lists import by_id
from storage.base import as_uuid
from storage.queries import integrations as statements
from storage.queries import listables, records, sync, sync_shown
from storage.rows import ActivityRow, DealRow
from storage.tables import Activity, SyncedMeeting
from storage.tenancy.sessions import TenantSession


@dataclass(frozen=True, slots=True)
class Participant:
    """Somebody who takes part."""

    name: str | None
    email: str
    response: ParticipantResponse
    is_organizer: bool


@dataclass(frozen=True, slots=True)
class SyncSource:
    """A connection that shows a meeting."""

    integration_id: str
    provider: IntegrationProvider
    owner_id: str | None
    seen_at: datetime
    url: str | None


@requires(ScopeGroup.MEETINGS_READ)
async def sync_of_meeting(ctx: Context, meeting_id: str) -> SyncedMeeting | None:
    """Find what synchronisation knows of the meeting; None for one that was logged by hand."""
    return await _known(ctx, meeting_id)


async def _known(ctx: Context, meeting_id: str) -> SyncedMeeting | None:
    async def load(ids: list[str]) -> list[SyncedMeeting | None]:
        async with ctx.reading() as session:
            found = {each.meeting_id: each for each in await sync.synced(session, "meeting_id", ids)}
        return [found.get(i) for i in ids]

    return await ctx.loader("synced_meetings", load).load(meeting_id)


@requires(ScopeGroup.MEETINGS_READ)
async def participants_of_meeting(ctx: Context, meeting_id: str) -> list[Participant]:
    """Says who takes part."""
    known = await _known(ctx, meeting_id)
    return [
        Participant(each["name"], each["email"], ParticipantResponse(each["response"]), each["organizer"])
        for each in (known.participants if known else ())
    ]


async def is_internal(ctx: Context, address: str) -> bool:
    """Says whether the address is of an internal domain, for who has a meeting with it."""
    return is_within(domain_key(address), await ctx.loader("internal_domains", partial(_internal, ctx)).load(""))


async def contact_of(ctx: Context, address: str) -> str | None:
    """Find the contact with this address, for who has a meeting with it and may see contacts."""
    return await ctx.loader("contacts_by_address", partial(_contacts, ctx)).load(address)


async def _internal(ctx: Context, _: list[str]) -> list[frozenset[str]]:
    async with ctx.reading() as session:
        policy = await statements.policy(session)
        people = {} if policy.internal_domains is not None else await statements.addresses(session)
    return [frozenset(internal_domains(policy, people.values()))]


async def _contacts(ctx: Context, addresses: list[str]) -> list[str | None]:
    async with ctx.reading() as session:
        found = await sync.contacts(session, addresses)
    return [found[each][0] if each in found else None for each in addresses]


@requires(ScopeGroup.CRM_READ)
async def candidates_of_meeting(ctx: Context, meeting_id: str) -> list[DealRow]:
    """The open deals that fit a meeting equally well, those that are gone left out."""
    known = await _known(ctx, meeting_id)
    ids = [] if known is None else known.deal_candidates
    found = await gather(*(by_id(ctx, listables.DEALS, deal_id) for deal_id in ids))
    return [deal for deal in found if deal is not None]


@requires(ScopeGroup.MEETINGS_READ)
async def sources_of_meeting(ctx: Context, meeting_id: str) -> list[SyncSource]:
    """The connections that show the meeting, the first one first."""

    async def load(ids: list[str]) -> list[list[SyncSource]]:
        async with ctx.reading() as session:
            rows = await sync_shown.sources(session, ids)
        found: dict[str, list[SyncSource]] = {i: [] for i in ids}
        for row in rows:
            kept = {} if row.body is None else row.body["single"].get(row.recurrence, row.body["said"])
            url = kept.get("url") if row.owner_id == ctx.caller.subject else None
            provider = IntegrationProvider(row.provider)
            found[row.meeting_id].append(SyncSource(row.integration_id, provider, row.owner_id, row.seen_at, url))
        return [found[i] for i in ids]

    return await ctx.loader("sync_sources", load).load(meeting_id)


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def release_meeting(
    ctx: Context, meeting_id: str, fields: Sequence[SyncedField] | None = None
) -> ActivityRow | None:
    """Give fields back to the provider, which fills them again: all of them unless named.

    Raises NotFound, and InvalidState for a meeting that is not synchronised.
    """
    canonical = as_uuid(meeting_id)
    async with ctx.writing() as session:
        for integration_id in await _showing(session, canonical):  # their places in the queue come before the lock
            await hasten(session, KIND, integration_id)
        await sync.lock(session)
        meeting = await records.lock_for_update(session, Activity, canonical, Activity.type == "meeting")
        if meeting is None:
            raise NotFound(field=("id",))
        known = await session.find(SyncedMeeting, meeting_id=meeting.id)
        if known is None:
            raise InvalidState("The meeting is not synchronised", field=("id",))
        given = {field.value for field in (SyncedField if fields is None else fields)}
        kept = [name for name in known.overridden if name not in given]
        if kept != known.overridden:
            await session.update(known, overridden=kept)
            await sync.want_again(session, meeting.id)
            told = {"meeting_id": meeting.id, "changed": ["sync"]}
            await changes.append_event(ctx, session, "meeting_updated", told)
        row = await records.one(session, listables.MEETINGS, meeting.id)
    ctx.forget()
    return row


async def _showing(session: TenantSession, meeting_id: str | None) -> list[str]:
    """The connections that show the meeting."""
    rows = [] if meeting_id is None else await sync_shown.sources(session, [meeting_id])
    return sorted({row.integration_id for row in rows})
