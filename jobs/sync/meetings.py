"""The meetings of a page: which there are, who shows each, and what it becomes of all who do.

A meeting has one identity in all calendars. The first connection that shows it has taken it, others are its duplicates;
when the first is gone the oldest of the others takes it over. Without any it goes, unless a member has worked on it.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from contract.integrations import (
    IntegrationItemOutcome,
    IntegrationSkipReason,
    IntegrationStreamKind,
    SyncVisibility,
)
from contract.vocabulary import ActivitySource
from jobs.sync.judge import Rules, Verdict, skipped
from jobs.sync.kept_back import keep_less
from jobs.sync.match import Match
from jobs.sync.merge import Shown, from_document, merged
from jobs.sync.writing import Outcome, Plan, apply, as_changed
from providers.accounts.ports import Occurrence, Said
from storage.base import new_id
from storage.new_rows import new_row
from storage.queries import sync
from storage.tables import Activity, Integration, SyncedMeeting, SyncItem, SyncOccurrence
from storage.tenancy.sessions import TenantSession

TAKEN, SKIPPED = IntegrationItemOutcome.TAKEN.value, IntegrationItemOutcome.SKIPPED.value
DUPLICATE = IntegrationSkipReason.DUPLICATE.value
_Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Connection:
    """The connection whose page it is. `own` has the addresses of each member who has connections, by subject."""

    id: str
    owner_id: str | None
    visibility: SyncVisibility
    auto_create: bool
    own: Mapping[str, frozenset[str]] = field(default_factory=dict)
    source: ActivitySource = ActivitySource.CALENDAR


@dataclass(frozen=True, slots=True)
class Slot:
    """An occurrence that the page shows, as it was kept before if it was, and the verdict on it."""

    item_id: str
    uid: str
    uid_hash: str
    stream_id: str
    occurrence: Occurrence
    said: Said
    kept: Said
    there: SyncOccurrence | None
    verdict: Verdict
    match: Match = field(default_factory=Match)
    is_recurring: bool = False
    has_time: bool = True
    kind: str = IntegrationStreamKind.CALENDAR.value

    @property
    def key(self) -> _Key:
        return self.uid_hash, self.occurrence.recurrence


class Meetings:
    """Settles the meetings of one transaction, whose caller holds the lock of synchronisation."""

    def __init__(self, session: TenantSession, connection: Connection, rules: Rules, present: datetime) -> None:
        self._session = session
        self._connection = connection
        self._rules = rules
        self._present = present
        self._synced: dict[_Key, SyncedMeeting] = {}
        self._before: dict[str, SyncedMeeting] = {}
        self._meetings: dict[str, Activity] = {}
        self._rows: dict[str, SyncOccurrence] = {}
        self._old: dict[str, SyncOccurrence] = {}
        self._slots: dict[str, Slot] = {}

    async def find(self, uid_hashes: Collection[str], before: Iterable[SyncOccurrence]) -> None:
        """Look up what is known of the meetings that the page may be about, and lock them."""
        ids = {each.meeting_id for each in before if each.meeting_id is not None}
        named = await sync.synced(self._session, "uid_hash", uid_hashes) if uid_hashes else []
        ids |= {each.meeting_id for each in named if each.meeting_id is not None}
        if ids:
            self._meetings = await sync.meetings(self._session, ids)
            also = await sync.synced(self._session, "meeting_id", ids)
            named = [*(each for each in named if each.meeting_id is None), *also]
            for occurrence in await sync.occurrences(self._session, "meeting_id", ids):
                self._rows[occurrence.id] = self._old[occurrence.id] = occurrence
        self._synced = {(each.uid_hash, each.recurrence): each for each in named}
        self._before = {each.id: each for each in named}

    def is_removed(self, key: _Key) -> bool:
        """Says whether a member deleted the meeting here."""
        there = self._synced.get(key)
        return there is not None and there.meeting_id is None

    async def settle(
        self, slots: Sequence[Slot], lost: Sequence[SyncOccurrence], *, keeps_worked_on: bool = True
    ) -> Outcome:
        """Link each occurrence to its meeting, and make the meetings what all who show them say.

        A meeting that nobody shows any more goes, unless a member has worked on it and those are kept.
        """
        let_go = [*lost, *(slot.there for slot in slots if slot.there is not None)]
        affected = {each.meeting_id for each in let_go if each.meeting_id is not None}
        for each in let_go:
            self._old.setdefault(each.id, each)
            self._rows.pop(each.id, None)
        taken = {row.meeting_id for row in self._rows.values() if row.outcome == TAKEN}
        new: dict[str, Slot] = {}
        for slot in sorted(slots, key=lambda each: each.there is None or each.there.outcome != TAKEN):
            row = self._linked(slot, taken, new)
            self._rows[row.id], self._slots[row.id] = row, slot
            if row.meeting_id is not None:
                affected.add(row.meeting_id)
                taken.add(row.meeting_id)
        self._hand_on(affected - taken)
        plan = await self._plan(affected, new)
        plan.keeps_worked_on = keeps_worked_on
        private = (slot.there for slot in slots if slot.verdict.reason is IntegrationSkipReason.PRIVATE)
        plan.private = frozenset(each.meeting_id for each in private if each is not None and each.meeting_id)
        plan.lost = [each.id for each in lost]
        plan.occurrences = [row for row in self._rows.values() if self._old.get(row.id) != row]
        plan.known_occurrences = frozenset(self._old)
        outcome = await apply(self._session, plan, self._present)
        if self._connection.visibility is not SyncVisibility.EVERYTHING and keeps_worked_on:
            await self._keep_back(plan, outcome)
        return outcome

    async def _keep_back(self, plan: Plan, outcome: Outcome) -> None:
        """Have what stays, as a member worked on it, show no more than the connection does by now (decision 1165)."""
        ids = [each.meeting_id for each in plan.without if each.overridden and each.meeting_id is not None]
        if ids:
            known = await sync.synced(self._session, "meeting_id", ids)
            less = await keep_less(self._session, known, self._connection.visibility, self._present)
            outcome.updated += [each for each in less if each not in outcome.updated]

    def _linked(self, slot: Slot, taken: Collection[str | None], new: dict[str, Slot]) -> SyncOccurrence:
        """The row of an occurrence, with the meeting that it is: one that is there, or a new one."""
        verdict, meeting_id = slot.verdict, None
        if verdict.reason is None:
            meeting_id = self._meeting_of(slot, new)
            if meeting_id in taken:
                verdict = skipped(IntegrationSkipReason.DUPLICATE)
        there, occurrence = slot.there, slot.occurrence
        return new_row(
            SyncOccurrence,
            org_id=self._session.org_id,
            id=new_id() if there is None else there.id,
            integration_id=self._connection.id,
            stream_id=slot.stream_id,
            item_id=slot.item_id,
            kind=slot.kind,
            recurrence=occurrence.recurrence,
            subject=slot.kept.subject,
            starts_at=occurrence.starts_at if slot.has_time else None,
            ends_at=occurrence.ends_at if slot.has_time else None,
            all_day=occurrence.all_day,
            is_recurring=slot.is_recurring,
            outcome=TAKEN if verdict.reason is None else SKIPPED,
            reason=None if verdict.reason is None else verdict.reason.value,
            explanation=verdict.explanation,
            decision=None if there is None else there.decision,
            meeting_id=meeting_id,
            seen_at=self._present,
            made_at=self._present if there is None else there.made_at,
        )

    def _meeting_of(self, slot: Slot, new: dict[str, Slot]) -> str:
        there = self._synced.get(slot.key)
        if there is not None and there.meeting_id is not None:
            return there.meeting_id
        meeting_id = new_id()
        new[meeting_id] = slot
        if there is None:
            there = new_row(
                SyncedMeeting,
                org_id=self._session.org_id,
                uid=slot.uid,
                uid_hash=slot.uid_hash,
                recurrence=slot.occurrence.recurrence,
            )
        self._synced[slot.key] = as_changed(there, meeting_id=meeting_id, overridden=[], cancelled_at=None)
        return meeting_id

    def _hand_on(self, orphans: Collection[str | None]) -> None:
        """The oldest duplicate of a meeting takes it, where whoever had taken it is gone."""
        by_age = sorted(self._rows.values(), key=lambda row: (row.made_at, row.id))
        for row in by_age:
            if row.meeting_id in orphans and row.reason == DUPLICATE:
                self._rows[row.id] = as_changed(row, outcome=TAKEN, reason=None, explanation=None)
                orphans = {each for each in orphans if each != row.meeting_id}

    async def _plan(self, affected: Collection[str], new: dict[str, Slot]) -> Plan:
        """Plan what the meetings are to be, of all that show them."""
        showing: dict[str, list[SyncOccurrence]] = {}
        for row in self._rows.values():
            if row.meeting_id is not None and row.meeting_id in affected:
                showing.setdefault(row.meeting_id, []).append(row)
        others = [row for rows in showing.values() for row in rows if row.id not in self._slots]
        items = await sync.items_by_id(self._session, {row.item_id for row in others}) if others else {}
        owners = await sync.connections(self._session, {row.integration_id for row in others}) if others else {}
        by_meeting = {each.meeting_id: each for each in self._synced.values() if each.meeting_id is not None}
        plan = Plan(self._connection.owner_id, self._before, self._meetings, source=self._connection.source)
        for meeting_id in affected:
            synced = by_meeting.get(meeting_id)
            if synced is None:
                continue
            rows = showing.get(meeting_id, [])
            if not rows:
                plan.without.append(synced)
                continue
            shown = [self._shown(row, items, owners) for row in rows]
            slot = new.get(meeting_id) or next((self._slots[r.id] for r in rows if r.id in self._slots), None)
            plan.wanted.append((synced, merged(shown), Match() if slot is None else slot.match, meeting_id in new))
            self._hand_over(plan, meeting_id, rows, owners)
        return plan

    def _hand_over(
        self, plan: Plan, meeting_id: str, rows: Sequence[SyncOccurrence], owners: Mapping[str, Integration]
    ) -> None:
        """Says who has taken the meeting over from a connection that is gone owns it from now on."""
        taker = next((row for row in rows if row.outcome == TAKEN), None)
        before = None if taker is None else self._old.get(taker.id)
        if taker is not None and before is not None and before.outcome != TAKEN and taker.id not in self._slots:
            plan.owners[meeting_id] = owners[taker.integration_id].owner_id

    def _shown(self, row: SyncOccurrence, items: Mapping[str, SyncItem], owners: Mapping[str, Integration]) -> Shown:
        if (slot := self._slots.get(row.id)) is not None:
            said, visibility, subject = slot.kept, self._connection.visibility, self._connection.owner_id
        else:
            item, owner = items[row.item_id], owners[row.integration_id]
            said = from_document(item.body["single"].get(row.recurrence, item.body["said"]))
            visibility, subject = SyncVisibility(owner.shown), owner.owner_id
        start = row.starts_at or self._present
        own = self._connection.own.get(subject or "", frozenset())
        first = row.outcome == TAKEN
        return Shown(said, start, row.ends_at or start, row.all_day, visibility, own, first, row.made_at)
