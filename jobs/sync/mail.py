"""E-mail by its headers: which of it is kept, as activities on the contacts that it was written with.

A message never changes, so what was kept once stays as it is, and stays when it is moved or deleted at the provider
(decision 924). What has no contact in it leaves nothing but its time (decision 925).
"""

import hmac
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import orjson

from contract.integrations import IntegrationItemOutcome, IntegrationStreamKind
from contract.vocabulary import ActivityDirection, ActivityType
from jobs.sync.identity import address_key
from jobs.sync.mail_leaving import MESSAGE, as_shown
from jobs.sync.mail_rules import WORDS, Reason, addresses_of, judged, key_of, links_of, shown
from jobs.sync.match import Known, external, matched
from jobs.sync.meetings import Connection
from jobs.sync.pages import Done, Pass
from jobs.sync.records import known_of
from jobs.sync.writing import Outcome, as_changed
from providers.accounts.ports import Guest, Mail
from storage.base import JsonDict, new_id
from storage.new_rows import new_row
from storage.queries import sync
from storage.tables import Activity, SyncItem, SyncOccurrence
from storage.tenancy.sessions import TenantSession

_TAKEN, _SKIPPED = IntegrationItemOutcome.TAKEN.value, IntegrationItemOutcome.SKIPPED.value
R = TypeVar("R", SyncItem, SyncOccurrence)
_KIND = IntegrationStreamKind.MAIL.value


@dataclass(frozen=True, slots=True)
class _Letter:
    """A message of the page with what is known of it."""

    mail: Mail
    key: str
    mark: str
    item: SyncItem | None
    there: SyncOccurrence | None


@dataclass(slots=True)
class _Writes:
    """The rows that a page makes and changes."""

    activities: list[Activity] = field(default_factory=list)
    changed: list[Activity] = field(default_factory=list)
    items: list[SyncItem] = field(default_factory=list)
    occurrences: list[SyncOccurrence] = field(default_factory=list)


async def keep_mail(
    session: TenantSession, connection: Connection, going: Pass, page: Sequence[Mail], source: str
) -> Done:
    """Keep a page of messages; the caller holds the lock of synchronisation."""
    mails = {each.external_id: each for each in page}
    done = Done(processed=len(mails))
    items = await sync.items(session, going.stream_id, mails)
    marks = {key: _mark(mail, connection, going) for key, mail in mails.items()}
    kept = await sync.occurrences(session, "item_id", [item.id for item in items.values()]) if items else []
    by_item = {row.item_id: row for row in kept}
    same = {key for key, item in items.items() if item.hash == marks[key] and not _is_open(by_item.get(item.id))}
    if same:
        await sync.touch(session, [items[key].id for key in same], going.generation)
    fresh = [mail for key, mail in mails.items() if key not in same]
    if not fresh:
        return done
    letters = []
    for mail in fresh:
        item = items.get(mail.external_id)
        there = None if item is None else by_item.get(item.id)
        letters.append(_Letter(mail, key_of(mail, going.stream_id), marks[mail.external_id], item, there))
    known = await known_of(session, {address_key(each) for mail in fresh for each in addresses_of(mail)})
    found = await _found(session, letters)
    writes = _Writes()
    for letter in letters:
        _settle(session, connection, going, letter, known, found, source, writes)
    before = {row.id for row in kept if row.outcome == _SKIPPED}
    done.skipped = sum(row.outcome == _SKIPPED and row.id not in before for row in writes.occurrences)
    done.outcome = Outcome([each.id for each in writes.activities], [each.id for each in writes.changed])
    await _write(session, writes, letters)
    return done


def _is_open(row: SyncOccurrence | None) -> bool:
    """Says whether another look may find what this one did not: a contact who was made since."""
    return row is None or row.reason == Reason.NO_CONTACT


async def _found(session: TenantSession, letters: Sequence[_Letter]) -> dict[str, Activity]:
    """The messages that are there already, by their keys: those that were brought, and those logged by hand."""
    by_name = {letter.mail.message_id: letter.key for letter in letters if letter.mail.message_id is not None}
    rows = await sync.mails(session, by_name, [letter.key for letter in letters])
    found = {by_name[row.message_id]: row for row in rows if row.message_id in by_name}
    return found | {row.external_id: row for row in rows if row.external_id is not None}


def _mark(mail: Mail, connection: Connection, going: Pass) -> str:
    """Digest the message and all that decides what becomes of it."""
    rules = going.rules
    deciding = [connection.visibility, sorted(rules.internal), sorted(rules.own)]
    content = orjson.dumps([deciding, mail], default=str)
    return hmac.digest(going.pepper, content, "sha256").hex()


def _settle(
    session: TenantSession,
    connection: Connection,
    going: Pass,
    letter: _Letter,
    known: Known,
    found: dict[str, Activity],
    source: str,
    writes: _Writes,
) -> None:
    """Settle one message: what becomes of it, and the rows that say so."""
    mail, there = letter.mail, letter.there
    links: JsonDict = {} if letter.item is None else {"links": letter.item.body.get("links")}
    own = there.meeting_id if there is not None and there.outcome == _TAKEN else None
    reason = None if own is not None else judged(mail, going.rules, known.contacts)
    if there is not None and there.reason == Reason.REMOVED_HERE:
        reason = Reason.REMOVED_HERE
    activity_id = None
    columns = shown(mail, connection.visibility, known.contacts)
    if reason is None:
        activity = found.get(letter.key)
        activity_id = new_id() if activity is None else activity.id
        if activity is None:
            activity = _activity(session, connection, going, letter, columns, known, source, activity_id)
            writes.activities.append(activity)
            found[letter.key] = activity
            links = {"links": links_of(activity)}
        elif own == activity.id:
            changed = as_shown(activity, columns, going.present)
            writes.changed += [] if changed is None else [changed]
        else:
            reason = Reason.DUPLICATE
    item_id = letter.item.id if letter.item is not None else new_id()
    writes.items.append(_item(letter, item_id, going, links))
    writes.occurrences.append(
        new_row(
            SyncOccurrence,
            org_id=session.org_id,
            id=new_id() if there is None else there.id,
            integration_id=connection.id,
            stream_id=going.stream_id,
            item_id=item_id,
            kind=_KIND,
            subject=columns["subject"] if reason in (None, Reason.DUPLICATE) else None,
            starts_at=mail.sent_at,
            outcome=_TAKEN if reason is None else _SKIPPED,
            reason=None if reason is None else reason.value,
            explanation=WORDS.get(reason) if reason is not None else None,
            decision=None if there is None else there.decision,
            meeting_id=activity_id,
            seen_at=going.present,
            made_at=going.present if there is None else there.made_at,
        )
    )


def _activity(
    session: TenantSession,
    connection: Connection,
    going: Pass,
    letter: _Letter,
    columns: JsonDict,
    known: Known,
    source: str,
    activity_id: str,
) -> Activity:
    mail, rules = letter.mail, going.rules
    is_own = mail.sender is not None and address_key(mail.sender) in rules.own
    match = matched(external([Guest(each) for each in addresses_of(mail)], rules.own, rules.internal), known)
    return new_row(
        Activity,
        org_id=session.org_id,
        id=activity_id,
        type=ActivityType.EMAIL.value,
        source=source,
        external_id=letter.key,
        owner_id=connection.owner_id,
        due_at=mail.sent_at,
        completed_at=mail.sent_at,
        direction=(ActivityDirection.OUTBOUND if is_own else ActivityDirection.INBOUND).value,
        contact_id=match.contact_id,
        account_id=match.account_id,
        deal_id=match.deal_id,
        **columns,
    )


def _item(letter: _Letter, item_id: str, going: Pass, links: JsonDict) -> SyncItem:
    """The item as it is kept: nothing that the message says."""
    return new_row(
        SyncItem,
        id=item_id,
        stream_id=going.stream_id,
        external_id=letter.mail.external_id,
        uid=letter.key,
        body={"said": {}, "single": {}, **links},
        hash=letter.mark,
        generation=going.generation,
        seen_at=going.present,
    )


_OCCURRENCE = ("subject", "folded_subject", "outcome", "reason", "explanation", "meeting_id", "seen_at")


async def _write(session: TenantSession, writes: _Writes, letters: Sequence[_Letter]) -> None:
    """Write the rows: messages before what names them."""
    if writes.activities:
        await session.insert(*writes.activities)
    if writes.changed:
        await session.update_each(writes.changed, *MESSAGE)
    items = {letter.item.id for letter in letters if letter.item is not None}
    rows = {letter.there.id for letter in letters if letter.there is not None}
    fresh, old = _parted(writes.items, items)
    if fresh:
        await session.insert(*fresh)
    if old:
        own = [as_changed(item, org_id=session.org_id) for item in old]
        await session.update_each(own, "body", "hash", "generation", "seen_at")
    new, kept = _parted(writes.occurrences, rows)
    if new:
        await session.insert(*new)
    if kept:
        await session.update_each(kept, *_OCCURRENCE)


def _parted(rows: Sequence[R], there: Collection[str]) -> tuple[list[R], list[R]]:
    return [row for row in rows if row.id not in there], [row for row in rows if row.id in there]
