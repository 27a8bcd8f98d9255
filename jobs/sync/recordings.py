"""Recordings are put on the meetings that they belong to: those of the same number at the same time (decision 980)."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from jobs.sync.identity import uid_hash
from providers.accounts.ports import Gone, Seen
from storage.queries import recordings, sync
from storage.queries.recordings import SEPARATORS, Held, Near
from storage.tables import Integration, SyncedMeeting
from storage.tenancy.sessions import TenantSession

NEAR = timedelta(minutes=15)
"""How far a recording's start may lie from that of its meeting."""
_NUMBER = re.compile(r"/j/([0-9]{5,20})$")


async def placed(
    session: TenantSession, integration: Integration, stream_id: str, page: Sequence[Seen | Gone]
) -> list[Seen | Gone]:
    """The page, each recording with the identity of the meeting that it belongs to, where that is a single one.

    One that was put on a meeting stays there. What was recorded while the owner's calendar shows something private is
    private, too.
    """
    seen = [each for each in page if isinstance(each, Seen)]
    if not seen:
        return list(page)
    before = await recordings.identities(session, stream_id, [each.external_id for each in seen])
    known = await sync.synced(session, "uid_hash", {uid_hash(uid) for uid, _ in before.values()})
    there = {(each.uid, each.recurrence) for each in known}
    held = [Held(number, _start(each)) for each in seen if (number := _number_of(each)) is not None]
    near = await recordings.near(session, held, NEAR)
    starts = [_start(each) for each in seen]
    private = await recordings.private_starts(session, integration.owner_id, min(starts) - NEAR, max(starts) + NEAR)
    found: list[Seen | Gone] = []
    for each in page:
        if isinstance(each, Gone):
            found.append(each)
            continue
        kept = before.get(each.external_id)
        if kept is not None and kept in there and kept[0] != each.uid:
            found.append(_put(each, *kept))
        else:
            found.append(_placed(each, near, private))
    return found


def _start(seen: Seen) -> datetime:
    [occurrence] = seen.occurrences
    return occurrence.starts_at


def _number_of(seen: Seen) -> str | None:
    found = _NUMBER.search(seen.said.conference_url or "")
    return found and found.group(1)


def _put(seen: Seen, uid: str, recurrence: str) -> Seen:
    [occurrence] = seen.occurrences
    return replace(seen, uid=uid, occurrences=(replace(occurrence, recurrence=recurrence),), is_part=True)


def _placed(seen: Seen, there: Sequence[Near], private: Sequence[datetime]) -> Seen:
    start, number = _start(seen), _number_of(seen)
    at = [each for each in there if abs(each.starts_at - start) <= NEAR]
    fits = [each for each in at if number is not None and _names(each, number)]
    if len(fits) == 1:
        [meeting] = fits
        return _put(seen, meeting.uid, meeting.recurrence)
    if any(abs(moment - start) <= NEAR for moment in private):
        return replace(seen, said=replace(seen.said, is_private=True))
    return seen


def _names(meeting: Near, number: str) -> bool:
    """Whether the meeting's link, place or text has the number, written in groups or not, and no longer one."""
    digits = f"[{re.escape(SEPARATORS)}]?".join(number)
    whole = re.compile(rf"(?<![0-9]){digits}(?![0-9])")
    return any(whole.search(text) for text in meeting.texts)


async def keep_as_own(session: TenantSession, meeting_ids: Sequence[str]) -> None:
    """Have the recordings of these meetings stay, now that nobody shows them any more: no run writes them from now on.

    They are like what a member has written, until they are released.
    """
    ids = list(meeting_ids)
    if not ids:
        return
    meetings = await sync.meetings(session, ids)
    changed: list[SyncedMeeting] = []
    for known in await sync.synced(session, "meeting_id", ids):
        details = meetings[known.meeting_id].details if known.meeting_id in meetings else None
        brought = {name for name in ("recording_url", "transcript") if (details or {}).get(name) is not None}
        overridden = sorted({*known.overridden, *brought})
        if overridden != sorted(known.overridden):
            changed.append(known._replace(overridden=overridden))  # type: ignore[attr-defined]  # a named tuple
    if changed:
        await session.update_each(changed, "overridden")
