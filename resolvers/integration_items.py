"""Reads the ledger of what a connection showed and what became of each piece, and keeps its owner's decisions."""

from collections.abc import Sequence
from datetime import datetime

from contract.criteria import All, Compare, Condition, ListQuery, Op, Selection
from contract.errors import InvalidState, NotFound
from contract.integrations import (
    IntegrationItemDecision,
    IntegrationItemOutcome,
    IntegrationSkipReason,
    IntegrationStatus,
    IntegrationStreamKind,
)
from contract.scopes import ScopeGroup
from jobs.queue import hasten
from jobs.sync.again import decide
from jobs.sync.events import IDS_MAX
from jobs.sync.mail_leaving import leave_out
from jobs.sync.notices import KIND
from jobs.sync.rules import rules_of
from jobs.sync.writing import Outcome
from resolvers.integrations import is_own, visible_of
from resolvers.shared import changes
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.lists import PageResult, page_of
from storage.base import as_uuid, now
from storage.queries import listables, sync, sync_shown
from storage.rows import SyncOccurrenceRow
from storage.tables import Integration, SyncOccurrence
from storage.tenancy.sessions import TenantSession

Item = SyncOccurrence | SyncOccurrenceRow
"""An item as it was read, alone or in a list."""
_FIXED = {
    IntegrationSkipReason.UNREADABLE: "The item cannot be understood, so no meeting can be made of it",
    IntegrationSkipReason.DUPLICATE: "The item is a meeting already, by another connection",
    IntegrationSkipReason.OUTSIDE_WINDOW: "The item lies outside of the days that are followed",
    IntegrationSkipReason.TOO_MANY: "The series is not followed, so there is no single meeting to take",
}
_MAY_BE_PRIVATE = (IntegrationSkipReason.PRIVATE.value, IntegrationSkipReason.REMOVED_HERE.value)
_NOT_KEPT = "Nothing of the e-mail is kept: it is taken with a full synchronisation once somebody in it is a contact"


@requires(ScopeGroup.MEETINGS_READ)
async def list_items(
    ctx: Context, integration_id: str, listing: ListQuery, selection: Selection | None = None
) -> PageResult[SyncOccurrenceRow]:
    """A page of what a connection that the caller sees showed, newest start first. Raises NotFound.

    Who is not its owner finds skipped items by nothing that their titles say.
    """
    canonical = as_uuid(integration_id)
    found = [] if canonical is None else await _listed(ctx, canonical)
    if not found:
        raise NotFound(field=("integration_id",))
    own: Condition = Compare("integration_id", Op.EQ, canonical)
    parts = [own, listing.condition]
    if not is_own(ctx, found[0]) and _asks_of(listing.condition, "subject"):
        parts.append(Compare("outcome", Op.EQ, IntegrationItemOutcome.TAKEN.value))
    return await page_of(ctx, listables.INTEGRATION_ITEMS, ListQuery(All(tuple(parts)), None, listing.page))


async def _listed(ctx: Context, integration_id: str) -> list[Integration]:
    async def load(ids: list[str]) -> list[list[Integration]]:
        found = {each.id: each for each in await visible_of(ctx, ids)}
        return [[found[i]] if i in found else [] for i in ids]

    return await ctx.loader("integrations_of_items", load).load(integration_id)


def _asks_of(condition: Condition, name: str) -> bool:
    """Says whether the condition says something of this field."""
    if isinstance(condition, Compare):
        return condition.field == name
    parts = getattr(condition, "parts", None)
    if parts is None:
        parts = (getattr(condition, "part", All()),)
    return any(_asks_of(part, name) for part in parts)


async def item_of(ctx: Context, item_id: str) -> SyncOccurrence | None:
    """An item of a connection that the caller sees; None for others."""
    canonical = as_uuid(item_id)
    if canonical is None:
        return None

    async def load(ids: list[str]) -> list[SyncOccurrence | None]:
        found = {each.id: each for each in await items_of(ctx, ids)}
        return [found.get(i) for i in ids]

    return await ctx.loader("integration_items", load).load(canonical)


async def items_of(ctx: Context, ids: Sequence[str]) -> list[SyncOccurrence]:
    """Those of these items that belong to connections that the caller sees."""
    async with ctx.reading() as session:
        found = await sync.occurrences_by_id(session, ids)
    seen = {each.id for each in await visible_of(ctx, [row.integration_id for row in found])} if found else set()
    return [row for row in found if row.integration_id in seen]


@requires(ScopeGroup.MEETINGS_READ)
async def subject_of_item(ctx: Context, item_id: str) -> str | None:
    """The title; of what was skipped, and of what is private, for its owner alone, and for nobody."""
    item = await item_of(ctx, item_id)
    if item is None or item.reason == IntegrationSkipReason.PRIVATE.value:
        return None
    if item.outcome == IntegrationItemOutcome.TAKEN.value:
        return item.subject
    found = await _listed(ctx, item.integration_id)
    return item.subject if found and is_own(ctx, found[0]) else None


async def seen_at_of_item(ctx: Context, item: Item) -> datetime:
    """Says when the provider last showed an item, for who has it (decision 1012)."""

    async def load(ids: list[str]) -> list[datetime | None]:
        async with ctx.reading() as session:
            found = await sync_shown.last_shown(session, ids)
        return [found.get(i) for i in ids]

    return await ctx.loader("integration_items_shown", load).load(item.id) or item.seen_at


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def take_item(ctx: Context, item_id: str, integration_id: str | None = None) -> SyncOccurrence:
    """Take an item of the caller's own connection anyway, now and in every later run.

    Raises NotFound, and InvalidState for what no meeting can be made of.
    """
    return await _decided(ctx, item_id, integration_id, IntegrationItemDecision.TAKE)


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def ignore_item(ctx: Context, item_id: str, integration_id: str | None = None) -> SyncOccurrence:
    """Leave an item of the caller's own connection out, now and in every later run. Raises NotFound."""
    return await _decided(ctx, item_id, integration_id, IntegrationItemDecision.IGNORE)


async def _decided(
    ctx: Context, item_id: str, integration_id: str | None, decision: IntegrationItemDecision
) -> SyncOccurrence:
    canonical = as_uuid(item_id)
    if canonical is None or (integration_id is not None and as_uuid(integration_id) is None):
        raise NotFound(field=("id",))
    async with ctx.writing() as session:
        seen = await session.find(SyncOccurrence, id=canonical)
        if seen is None or (integration_id is not None and seen.integration_id != as_uuid(integration_id)):
            raise NotFound(field=("id",))
        if decision is IntegrationItemDecision.TAKE and seen.reason in _MAY_BE_PRIVATE:
            await hasten(session, KIND, seen.integration_id)  # which brings the title
        policy = await sync.lock(session)
        integration = await session.find(Integration, id=seen.integration_id, lock=True)
        item = await session.find(SyncOccurrence, id=canonical)
        if integration is None or item is None or not is_own(ctx, integration):
            raise NotFound(field=("id",))
        if integration.status == IntegrationStatus.DISCONNECTING.value:
            raise InvalidState("The connection is being removed", field=("id",))
        _check(item, decision)
        if item.kind == IntegrationStreamKind.MAIL:
            if decision is IntegrationItemDecision.IGNORE and item.decision != decision.value:
                await _log(ctx, session, integration, await leave_out(session, item), item.kind)
                item = await session.find(SyncOccurrence, id=canonical) or item
        elif item.decision != decision.value:
            connection, rules = await rules_of(session, integration, policy, now())
            outcome = await decide(session, connection, rules, item, decision, now())
            await _log(ctx, session, integration, outcome)
            item = await session.find(SyncOccurrence, id=canonical) or item
    ctx.forget()
    return item


def _check(item: SyncOccurrence, decision: IntegrationItemDecision) -> None:
    """Raise InvalidState where the item cannot be taken (decision 366)."""
    words = _FIXED.get(IntegrationSkipReason(item.reason)) if item.reason is not None else None
    if item.kind == IntegrationStreamKind.MAIL and item.reason is not None:
        words = _NOT_KEPT
    if decision is IntegrationItemDecision.TAKE and words is not None:
        raise InvalidState(words, field=("id",))


async def _log(
    ctx: Context, session: TenantSession, integration: Integration, outcome: Outcome, kind: str | None = None
) -> None:
    kinds = {"created": outcome.created, "updated": outcome.updated, "removed": outcome.removed}
    if any(kinds.values()):
        data = {"integration_id": integration.id, **{name: ids[:IDS_MAX] for name, ids in kinds.items()}}
        type = "emails_synced" if kind == IntegrationStreamKind.MAIL else "meetings_synced"
        await changes.append_event(ctx, session, type, data)
