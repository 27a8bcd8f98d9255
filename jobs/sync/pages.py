"""A page of changes, kept in one transaction: items and occurrences, and the meetings that follow from them.

Everything is found by its key and written in a statement for each table, so a page that comes again writes nothing
twice, and costs as many statements as any other.
"""

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from datetime import datetime

import orjson

from contract.integrations import IntegrationItemDecision, IntegrationStreamKind
from contract.vocabulary import SYSTEM_ACTOR
from jobs.sync.identity import address_key, normal_uid, uid_hash
from jobs.sync.judge import Rules, judged
from jobs.sync.leaving import drop_items, is_left_out
from jobs.sync.match import external, linked, matched
from jobs.sync.meetings import Connection, Meetings, Slot
from jobs.sync.merge import as_document, restricted
from jobs.sync.records import known_of, make_contacts
from jobs.sync.writing import Outcome
from providers.accounts.ports import Gone, Occurrence, Said, Seen
from storage.base import JsonDict, new_id
from storage.new_rows import new_row
from storage.queries import sync
from storage.tables import Event, SyncItem, SyncOccurrence
from storage.tenancy.sessions import TenantSession

_RULES = 8
"""The characters of an item's hash that stand for the rules."""


@dataclass(slots=True)
class Done:
    """The outcome of a page: the meetings, how many items it showed and left out, and the events on contacts."""

    outcome: Outcome = field(default_factory=Outcome)
    processed: int = 0
    skipped: int = 0
    events: list[Event] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Pass:
    """One pass over a stream: what its items are kept with. `pepper` keys what stands for their content.

    `about` are the account and the deal that a member linked the stream to.
    """

    stream_id: str
    generation: int
    pepper: bytes
    rules: Rules
    present: datetime
    request_id: str
    kind: str = IntegrationStreamKind.CALENDAR.value
    about: tuple[str | None, str | None] | None = None


@dataclass(frozen=True, slots=True)
class _Piece:
    """An item of the page with its identity, and its occurrences as they were kept."""

    seen: Seen
    id: str
    uid: str
    mark: str
    known: Mapping[str, SyncOccurrence]


async def keep(session: TenantSession, connection: Connection, going: Pass, page: Sequence[Seen | Gone]) -> Done:
    """Keep a page; the caller holds the lock of synchronisation."""
    seen = {each.external_id: each for each in page if isinstance(each, Seen)}
    gone = [each.external_id for each in page if isinstance(each, Gone)]
    there = await sync.items(session, going.stream_id, [*seen, *gone])
    done = Done(processed=len(seen))
    marks = {key: _mark(each, connection, going) for key, each in seen.items()}
    same = {key for key in seen if key in there and _is_as_it_was(there[key], seen[key], marks[key])}
    if same:
        await sync.touch(session, [there[key].id for key in same], going.generation)
    removed = [there[key].id for key in gone if key in there]
    changed = [key for key in seen if key not in same]
    if not changed and not removed:
        return done
    before: dict[str, dict[str, SyncOccurrence]] = {}
    ids = [*(there[key].id for key in changed if key in there), *removed]
    for kept in await sync.occurrences(session, "item_id", ids) if ids else ():
        before.setdefault(kept.item_id, {})[kept.recurrence] = kept
    pieces = []
    for key in changed:
        item_id = there[key].id if key in there else new_id()
        pieces.append(_Piece(seen[key], item_id, normal_uid(seen[key].uid), marks[key], before.get(item_id, {})))
    meetings = Meetings(session, connection, going.rules, going.present)
    await meetings.find({uid_hash(p.uid) for p in pieces}, [o for known in before.values() for o in known.values()])
    slots, lost = await _slots(session, connection, going, pieces, meetings, done)
    by_item: dict[str, list[Slot]] = {piece.id: [] for piece in pieces}
    for slot in slots:
        by_item[slot.item_id].append(slot)
    await _write_items(session, [_row(piece, by_item[piece.id], going) for piece in pieces], there)
    left = [each for item_id in removed for each in before.get(item_id, {}).values()]
    lost += [each for each in left if not is_left_out(each)]
    done.outcome = await meetings.settle(slots, lost)
    if removed:
        await drop_items(session, removed, left)
    return done


def _is_as_it_was(item: SyncItem, seen: Seen, mark: str) -> bool:
    """Says whether there is nothing new: the same content, or a state that is older than the one that is kept."""
    if item.hash == mark:
        return True
    older = seen.sequence < item.sequence
    if seen.sequence == item.sequence and seen.changed_at is not None and item.changed_at is not None:
        older = seen.changed_at < item.changed_at
    return older and item.hash[:_RULES] == mark[:_RULES]


def _mark(seen: Seen, connection: Connection, going: Pass) -> str:
    """Digest an item and all that decides what becomes of it: it is kept again where any of that changes."""
    rules = going.rules
    domains, addresses = sorted(rules.internal), sorted(rules.own)
    deciding = [connection.visibility, connection.auto_create, rules.take_internal, domains, addresses]
    places = [(o.starts_at > rules.window_until) - (o.starts_at < rules.window_from) for o in seen.occurrences]
    content = orjson.dumps([_plain(seen), places], default=str)
    digests = (hmac.digest(going.pepper, each, "sha256").hex() for each in (orjson.dumps(deciding), content))
    return next(digests)[:_RULES] + next(digests)


def _plain(value: object) -> object:
    """The value as JSON has it."""
    if is_dataclass(value):
        return [_plain(getattr(value, each.name)) for each in fields(value)]
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


async def _slots(
    session: TenantSession,
    connection: Connection,
    going: Pass,
    pieces: Sequence[_Piece],
    meetings: Meetings,
    done: Done,
) -> tuple[list[Slot], list[SyncOccurrence]]:
    """Judge and match what the page shows; return that, and the occurrences that are there no more."""
    slots: list[Slot] = []
    lost: list[SyncOccurrence] = []
    for piece in pieces:
        shown, left = _judged(piece, meetings, going)
        slots += shown
        lost += left
    done.skipped = sum(slot.verdict.reason is not None for slot in slots)
    said = [each for piece in pieces for each in _all_said(piece.seen)]
    known = await known_of(session, {address_key(guest.email) for each in said for guest in each.guests})
    rules = going.rules
    if connection.auto_create:
        taken = [slot.said.guests for slot in slots if slot.verdict.reason is None]
        owner = connection.owner_id or SYSTEM_ACTOR
        known, done.events = await make_contacts(
            session, known, taken, rules.own, rules.internal, owner, going.request_id
        )
    finished = []
    for slot in slots:
        wanted = slot.there is not None and slot.there.decision == IntegrationItemDecision.TAKE
        kept = restricted(slot.said, connection.visibility, known.contacts, wanted=wanted)
        match = linked(matched(external(slot.said.guests, rules.own, rules.internal), known), going.about)
        finished.append(replace(slot, kept=kept, match=match))
    return finished, lost


def _all_said(seen: Seen) -> list[Said]:
    return [seen.said, *(each.said for each in seen.occurrences if each.said is not None)]


def _judged(piece: _Piece, meetings: Meetings, going: Pass) -> tuple[list[Slot], list[SyncOccurrence]]:
    """The occurrences of one item with their verdicts; and those that are there no more, but for the old ones."""
    seen, left, rules = piece.seen, dict(piece.known), going.rules
    occurrences = seen.occurrences
    if seen.problem is not None:
        at = seen.starts_at or going.present
        occurrences = (Occurrence("", at, at),)
    shown = []
    for occurrence in occurrences:
        said = occurrence.said or seen.said
        there = piece.known.get(occurrence.recurrence)
        slot_key = (uid_hash(piece.uid), occurrence.recurrence)
        verdict = judged(
            said,
            None if seen.problem else occurrence.starts_at,
            replace(rules, is_linked=True) if seen.is_part else rules,
            problem=seen.problem,
            note=seen.note,
            decision=None if there is None else there.decision,
            is_removed=meetings.is_removed(slot_key),
            was_taken=there is not None and there.meeting_id is not None,
        )
        if verdict.is_gone:
            continue
        left.pop(occurrence.recurrence, None)
        slot = Slot(piece.id, piece.uid, slot_key[0], going.stream_id, occurrence, said, said, there, verdict)
        has_time = seen.problem is None or seen.starts_at is not None
        shown.append(replace(slot, is_recurring=seen.is_recurring, has_time=has_time, kind=going.kind))
    named = {occurrence.recurrence for occurrence in occurrences}
    gone = (each for each in left.values() if not is_left_out(each))
    return shown, [each for each in gone if each.recurrence in named or not _is_old(each, rules)]


def _is_old(occurrence: SyncOccurrence, rules: Rules) -> bool:
    """Says whether it lies before the days that are followed, which the provider need not show."""
    return occurrence.starts_at is not None and occurrence.starts_at < rules.window_from


def _row(piece: _Piece, slots: Sequence[Slot], going: Pass) -> SyncItem:
    """The item as it is kept: of each occurrence what its visibility allows."""
    usual = Said(is_private=piece.seen.said.is_private)
    common = as_document(next((slot.kept for slot in slots if slot.occurrence.said is None), usual))
    each = {slot.occurrence.recurrence: as_document(slot.kept) for slot in slots}
    body: JsonDict = {"said": common, "single": {name: kept for name, kept in each.items() if kept != common}}
    return new_row(
        SyncItem,
        id=piece.id,
        stream_id=going.stream_id,
        external_id=piece.seen.external_id,
        uid=piece.uid,
        body=body,
        hash=piece.mark,
        sequence=piece.seen.sequence,
        changed_at=piece.seen.changed_at,
        generation=going.generation,
        seen_at=going.present,
    )


async def _write_items(session: TenantSession, items: Sequence[SyncItem], there: Mapping[str, SyncItem]) -> None:
    new = [item for item in items if item.external_id not in there]
    old = [item for item in items if item.external_id in there]
    if new:
        await session.insert(*new)
    if old:
        own = [item._replace(org_id=session.org_id) for item in old]  # type: ignore[attr-defined]  # a named tuple
        await session.update_each(own, "uid", "body", "hash", "sequence", "changed_at", "generation", "seen_at")
