"""Settling what is stored once more, without the provider: what a member decided, and what is to be shown less."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from contract.integrations import IntegrationItemDecision, IntegrationSkipReason, SyncVisibility
from jobs.sync.identity import address_key, uid_hash
from jobs.sync.judge import Rules, Verdict, skipped
from jobs.sync.match import external, linked, matched
from jobs.sync.meetings import TAKEN, Connection, Meetings, Slot
from jobs.sync.merge import as_document, from_document, restricted
from jobs.sync.records import known_of
from jobs.sync.writing import Outcome, as_changed
from providers.accounts.ports import Occurrence
from storage.base import JsonDict
from storage.queries import sync
from storage.tables import SyncItem, SyncOccurrence
from storage.tenancy.sessions import TenantSession


async def decide(
    session: TenantSession,
    connection: Connection,
    rules: Rules,
    occurrence: SyncOccurrence,
    decision: IntegrationItemDecision,
    present: datetime,
) -> Outcome:
    """Take an occurrence anyway, or leave it out, from what is stored; the caller holds the lock.

    What is private is taken with its times, and the next run brings the rest; left out again, it leaves no word.
    """
    item = (await sync.items_by_id(session, [occurrence.item_id]))[occurrence.item_id]
    there = as_changed(occurrence, decision=decision.value)
    is_taken = decision is IntegrationItemDecision.TAKE
    verdict = Verdict() if is_taken else skipped(IntegrationSkipReason.REMOVED_HERE)
    meetings = Meetings(session, connection, rules, present)
    await meetings.find([uid_hash(item.uid)], [occurrence])
    slot = _slot(item, there, verdict)
    known = await known_of(session, {address_key(guest.email) for guest in slot.said.guests})
    about = await sync.about(session, item.stream_id)
    slot = replace(slot, match=linked(matched(external(slot.said.guests, rules.own, rules.internal), known), about))
    if slot.said.is_private and not is_taken:
        slot = replace(slot, kept=restricted(slot.said, connection.visibility, ()))
        rows = await sync.occurrences(session, "item_id", [item.id])
        bare = _body_without(item.body, [row.recurrence for row in rows], occurrence.recurrence, as_document(slot.kept))
        await session.update_each([as_changed(item, body=bare)], "body")
    outcome = await meetings.settle([slot], [], keeps_worked_on=False)
    if slot.said.is_private and outcome.created:
        await sync.want_again(session, outcome.created[0])  # what was private was not kept
    return outcome


def _body_without(body: JsonDict, recurrences: Sequence[str], left_out: str, bare: JsonDict) -> JsonDict:
    """Takes the words of one occurrence out of what is kept of its item."""
    if left_out in body["single"]:
        return {**body, "single": {**body["single"], left_out: bare}}
    others = {each: body["single"].get(each, body["said"]) for each in recurrences if each != left_out}
    return {"said": bare, "single": {each: said for each, said in others.items() if said != bare}}


async def narrow(
    session: TenantSession, connection: Connection, rules: Rules, stream_id: str, after: str, present: datetime
) -> tuple[str | None, Outcome]:
    """Keep less of a batch of items behind this one, and of their meetings; the last of the batch, if there is one."""
    items = await sync.items_behind(session, stream_id, after)
    if not items:
        return None, Outcome()
    addresses = {address_key(email) for item in items for email in _addresses(item)}
    known = await known_of(session, addresses)

    def less(kept: dict[str, object]) -> dict[str, object]:
        return as_document(restricted(from_document(kept), connection.visibility, known.contacts, wanted=True))

    narrowed = [
        as_changed(
            item,
            body={"said": less(item.body["said"]), "single": {k: less(v) for k, v in item.body["single"].items()}},
        )
        for item in items
    ]
    await session.update_each(narrowed, "body")
    by_id = {item.id: item for item in narrowed}
    rows = await sync.occurrences(session, "item_id", by_id)
    meetings = Meetings(session, connection, rules, present)
    await meetings.find([], rows)
    slots = [_slot(by_id[row.item_id], row, _verdict(row)) for row in rows if row.meeting_id is not None]
    outcome = await meetings.settle(slots, [])
    if connection.visibility is SyncVisibility.NOTHING:
        await sync.forget_subjects(session, list(by_id))
    return items[-1].id, outcome


async def fill(
    session: TenantSession, connection: Connection, rules: Rules, after: str, present: datetime
) -> tuple[str | None, Outcome]:
    """Link a batch of meetings without a contact to who is one by now; the last of the batch, if there is one."""
    rows = await sync.without_contact(session, connection.id, after)
    if not rows:
        return None, Outcome()
    items = await sync.items_by_id(session, {row.item_id for row in rows})
    known = await known_of(session, {address_key(email) for item in items.values() for email in _addresses(item)})
    slots = []
    for row in rows:
        slot = _slot(items[row.item_id], row, _verdict(row))
        match = matched(external(slot.said.guests, rules.own, rules.internal), known)
        if match.contact_id is not None:
            slots.append(replace(slot, match=match))
    outcome = Outcome()
    if slots:
        meetings = Meetings(session, connection, rules, present)
        await meetings.find([], [slot.there for slot in slots if slot.there is not None])
        outcome = await meetings.settle(slots, [])
    return rows[-1].id, outcome


def _addresses(item: SyncItem) -> Sequence[str]:
    kept = [item.body["said"], *item.body["single"].values()]
    return [guest[0] for each in kept for guest in each.get("guests", ())]


def _verdict(row: SyncOccurrence) -> Verdict:
    """Make the verdict from the one that was kept: a duplicate is one again."""
    return Verdict(explanation=row.explanation if row.outcome == TAKEN else None)


def _slot(item: SyncItem, row: SyncOccurrence, verdict: Verdict) -> Slot:
    said = from_document(item.body["single"].get(row.recurrence, item.body["said"]))
    starts_at = row.starts_at or item.seen_at
    occurrence = Occurrence(row.recurrence, starts_at, row.ends_at or starts_at, row.all_day)
    slot = Slot(item.id, item.uid, uid_hash(item.uid), row.stream_id, occurrence, said, said, row, verdict)
    return replace(slot, is_recurring=row.is_recurring, has_time=row.starts_at is not None, kind=row.kind)
