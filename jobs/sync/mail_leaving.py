"""E-mail that goes, is handed on to another connection, or shows less than before."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from contract.integrations import (
    IntegrationItemDecision,
    IntegrationItemOutcome,
    IntegrationSkipReason,
    SyncVisibility,
)
from jobs.sync.identity import address_key
from jobs.sync.judge import skipped
from jobs.sync.mail_rules import CONTENT, addresses_of, links_of, shown
from jobs.sync.meetings import Connection
from jobs.sync.records import known_of
from jobs.sync.writing import Outcome, as_changed
from providers.accounts.ports import Mail
from storage.base import JsonDict, now, with_copies
from storage.queries import sync
from storage.tables import Activity, SyncItem, SyncOccurrence
from storage.tenancy.sessions import TenantSession

_REMOVED = IntegrationSkipReason.REMOVED_HERE
_TAKEN, _SKIPPED = IntegrationItemOutcome.TAKEN.value, IntegrationItemOutcome.SKIPPED.value
MESSAGE = (*CONTENT, "folded_subject", "version", "updated_at")
"""The columns of an e-mail that change with what may be shown of it."""


def as_shown(activity: Activity, columns: JsonDict, present: datetime) -> Activity | None:
    """The e-mail as it may be shown by now; None where it is so already."""
    if all(getattr(activity, name) == value for name, value in columns.items()):
        return None
    moved = {**columns, "version": activity.version + 1, "updated_at": present}
    return as_changed(activity, **with_copies(Activity, moved))


async def let_go(
    session: TenantSession, rows: Sequence[SyncOccurrence], *, deletes: bool, keeps_worked_on: bool = True
) -> Outcome:
    """Hand the messages of these items on to the oldest connection that shows them, too, or have them stay or go.

    One on whose links a member has worked stays, where those are kept.
    """
    taken = {row.meeting_id: row for row in rows if row.meeting_id is not None and row.outcome == _TAKEN}
    if not taken:
        return Outcome()
    mine = {row.id for row in rows}
    heirs: dict[str, SyncOccurrence] = {}
    for row in await sync.occurrences(session, "meeting_id", taken):  # the oldest first
        if row.id not in mine and row.meeting_id is not None:
            heirs.setdefault(row.meeting_id, row)
    there = await sync.meetings(session, taken)
    items = await sync.items_by_id(session, {row.item_id for row in (*taken.values(), *heirs.values())})
    links = {key: items[row.item_id].body.get("links") for key, row in taken.items()}
    untouched = {key for key, each in there.items() if links[key] == links_of(each)}
    updated = await _hand_on(session, heirs, there, items, links, untouched) if heirs else []
    gone = [key for key in taken if key not in heirs and (key in untouched or not keeps_worked_on)] if deletes else []
    if gone:
        await sync.delete_meetings(session, gone)
    return Outcome(updated=updated, removed=gone)


async def _hand_on(
    session: TenantSession,
    heirs: Mapping[str, SyncOccurrence],
    there: Mapping[str, Activity],
    items: Mapping[str, SyncItem],
    links: Mapping[str, object],
    untouched: Collection[str],
) -> list[str]:
    """Have the heirs' items be the ones that are taken, and their connections' owners own what nobody worked on."""
    values = {"outcome": _TAKEN, "reason": None, "explanation": None}
    await session.update_each([as_changed(row, **values) for row in heirs.values()], *values)
    owners = await sync.connections(session, {row.integration_id for row in heirs.values()})
    changed, bodies = [], []
    for key, row in heirs.items():
        activity, owner = there[key], owners[row.integration_id].owner_id
        if key in untouched and activity.owner_id != owner:
            owned = {"owner_id": owner, "version": activity.version + 1, "updated_at": now()}
            activity = as_changed(activity, **with_copies(Activity, owned))
            changed.append(activity)
        item = items[row.item_id]
        kept = links_of(activity) if key in untouched else links[key]
        bodies.append(as_changed(item, body={**item.body, "links": kept}))
    await session.update_each(bodies, "body")
    if changed:
        await session.update_each(changed, "owner_id", "folded_owner_id", "version", "updated_at")
    return [each.id for each in changed]


async def leave_out(session: TenantSession, row: SyncOccurrence) -> Outcome:
    """Leave a message out for good: it goes, unless another connection shows it."""
    outcome = await let_go(session, [row], deletes=True, keeps_worked_on=False)
    left = {
        "outcome": _SKIPPED,
        "reason": _REMOVED.value,
        "explanation": skipped(_REMOVED).explanation,
        "decision": IntegrationItemDecision.IGNORE.value,
        "subject": None,
        "folded_subject": None,
        "meeting_id": None,
    }
    await session.update_each([as_changed(row, **left)], *left)
    return outcome


async def narrow_mail(
    session: TenantSession, connection: Connection, stream_id: str, after: str, present: datetime
) -> tuple[str | None, Outcome]:
    """Show less of a batch of messages behind this one; the last of the batch, if there is one."""
    items = await sync.items_behind(session, stream_id, after)
    if not items:
        return None, Outcome()
    rows = await sync.occurrences(session, "item_id", [item.id for item in items])
    taken = [row.meeting_id for row in rows if row.meeting_id is not None and row.outcome == _TAKEN]
    there = await sync.meetings(session, taken) if taken else {}
    mails = {each.id: _as_mail(each) for each in there.values()}
    known = await known_of(session, {address_key(each) for mail in mails.values() for each in addresses_of(mail)})
    shown_now = (
        as_shown(each, shown(mails[each.id], connection.visibility, known.contacts), present) for each in there.values()
    )
    changed = [each for each in shown_now if each is not None]
    if changed:
        await session.update_each(changed, *MESSAGE)
    if connection.visibility is SyncVisibility.NOTHING:
        await sync.forget_subjects(session, [item.id for item in items])
    return items[-1].id, Outcome(updated=[each.id for each in changed])


def _as_mail(activity: Activity) -> Mail:
    return Mail(
        activity.id,
        activity.due_at or activity.created_at,
        activity.message_id,
        activity.thread_id,
        activity.subject,
        activity.from_address,
        tuple(activity.to_addresses),
        tuple(activity.cc_addresses),
    )
