"""Recordings of a Zoom account: past meetings with where their recording is, what was said, and who took part.

Zoom lists them by days, and says nowhere what has changed: those of the latest days are listed again, since transcripts
are there later than recordings, and what is as it was asks for nothing more.
"""

import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from urllib.parse import quote, urlsplit

import orjson

from contract.integrations import (
    PARTICIPANTS_MAX,
    PASS_PAGES_MAX,
    SUBJECT_KEPT,
    TRANSCRIPT_KEPT,
    IntegrationProblemCode,
    ParticipantResponse,
)
from contract.web_address import is_web_address
from providers.accounts.asking import Asker
from providers.accounts.calls import AccountApi, Json, Refused
from providers.accounts.consents import Access
from providers.accounts.ports import AccountError, Asked, Change, Cursor, Guest, More, Occurrence, Said, Seen, Told
from providers.accounts.shown import People, changed, identifier_of, objects, text_of

PAGE, RANGE = 300, timedelta(days=30)
"""The meetings of a page, and the days that Zoom lists at a time."""
AGAIN = timedelta(days=3)
"""How far back is looked again."""
_AT_ONCE, _CHARACTERS = 50, 2_000_000
"""The recordings of one transaction, and the characters of what was said in them."""
_MINUTES_MAX, _LINK_MAX, _FILES_MAX = 10_080, 2_000, 100
_CODE = IntegrationProblemCode
_HOST = "zoom.us"
_TEXT = "TRANSCRIPT"
_WITHOUT = " -"
"""The end of a mark of a recording whose transcript could not be had."""
_HEAD = "WEBVTT"
_TIMES = re.compile(r"^\d[\d:.]* --> \d")
_TAG = re.compile(r"<[^<>]{0,200}>")


@dataclass(slots=True)
class _Seeing:
    """One pass: what is known of the latest recordings by now, and what was known of them before."""

    told: Told
    known: Mapping[str, str]
    marks: dict[str, str] = field(default_factory=dict)


class RecordingReader:
    """Reads the recordings of one account: of all the days that are followed, or of the latest."""

    def __init__(self, api: AccountApi, base: str, files: str, label: str, access: Access) -> None:
        """`files` is where transcripts may lie: on Zoom's hosts, or at this very origin."""
        self._asker = Asker(api, access)
        self._base = base
        self._files = urlsplit(files)
        self._label = label

    async def read(self, asked: Asked, told: Told) -> AsyncIterator[Sequence[Change]]:
        """The recordings, some at a time. Raises AccountError."""
        told.addresses |= {self._label} if "@" in self._label else set()
        today = datetime.now(UTC).date()
        since, known = _state(asked.cursor)
        first = asked.window_from.date() if since is None else max(asked.window_from.date(), since - AGAIN)
        seeing = _Seeing(told, known)
        is_unchanged = asked.cursor is not None
        while first <= today:
            last = min(first + RANGE - timedelta(days=1), today)
            changes: list[Seen] = []
            async for meeting in self._listed(first, last, told):
                seen = await self._changed(meeting, seeing)
                changes += [] if seen is None else [seen]
                if _is_enough(changes):
                    yield [More(), *changes]
                    changes, is_unchanged = [], False
            if changes:
                yield [More(), *changes]
                is_unchanged = False
            first = last + timedelta(days=1)
        recent = {key: mark for key, mark in seeing.marks.items() if mark.partition(" ")[0] >= f"{today - AGAIN}"}
        yield [Cursor(orjson.dumps([f"{today}", recent]).decode(), is_unchanged=is_unchanged)]

    async def _listed(self, first: date, last: date, told: Told) -> AsyncIterator[Json]:
        params = {"from": f"{first}", "to": f"{last}", "page_size": str(PAGE)}
        been: set[str] = set()
        while True:
            answer = await self._asker.get(f"{self._base}/users/me/recordings", told, params)
            for meeting in objects(answer.get("meetings")):
                yield meeting
            following = _following(answer, been)
            if following is None:
                return
            params["next_page_token"] = following

    async def _changed(self, meeting: Json, seeing: _Seeing) -> Seen | None:
        """The recording of a meeting, unless it is as it was; None for what is none."""
        uuid, start = identifier_of(meeting.get("uuid")), changed(meeting.get("start_time"))
        if uuid is None or start is None:
            return None
        files = objects(meeting.get("recording_files"))[:_FILES_MAX]
        mark = " ".join([f"{start.date()}", *sorted(f"{f.get('id')}:{f.get('status')}" for f in files)])[:8_000]
        before = seeing.known.get(uuid)
        seeing.marks[uuid] = mark
        if before == mark:
            return None
        transcripts = [each for each in files if each.get("file_type") == _TEXT and each.get("status") == "completed"]
        text = await self._transcript(transcripts, seeing.told)
        if text is None and transcripts:
            seeing.marks[uuid] = mark + _WITHOUT  # it is asked for again
            if before == mark + _WITHOUT:
                return None
        return _seen(meeting, uuid, start, text or None, await self._guests(uuid, seeing.told))

    async def _transcript(self, files: Sequence[Json], told: Told) -> str | None:
        """What was said, where Zoom wrote it down and shows it; one that it does not show holds up nothing."""
        for each in files:
            url = each.get("download_url")
            if not isinstance(url, str) or not self._is_own(url):
                continue
            try:
                text = await self._asker.text(url, told, self._is_own)
            except AccountError as error:
                if error.code is _CODE.RATE_LIMITED:
                    raise
                continue
            if text.lstrip("\ufeff").startswith(_HEAD):  # who may not see it gets a page that says so
                return spoken(text)
        return None

    def _is_own(self, url: str) -> bool:
        """Whether the address is one of Zoom's, or of where Zoom's interfaces lie instead (decision 981)."""
        if not is_web_address(url):
            return False
        parts, own = urlsplit(url), self._files
        if own.netloc != _HOST:
            return (parts.scheme, parts.netloc) == (own.scheme, own.netloc)
        host = parts.hostname or ""
        is_zooms = host == _HOST or host.endswith(f".{_HOST}")
        return is_zooms and parts.scheme == "https" and "@" not in parts.netloc and parts.port in (None, 443)

    async def _guests(self, uuid: str, told: Told) -> tuple[Guest, ...]:
        """Who took part, as far as Zoom says it; of a meeting of one person it says nothing."""
        url = f"{self._base}/past_meetings/{quote(quote(uuid, safe=''), safe='')}/participants"
        params = {"page_size": str(PAGE)}
        people, been = People(), set[str]()
        while True:
            try:
                answer = await self._asker.get(url, told, params)
            except Refused as error:
                if error.status not in (400, 404):
                    raise
                return people.guests
            for each in objects(answer.get("participants")):
                people.add(each.get("user_email"), each.get("name"), ParticipantResponse.ACCEPTED, is_organizer=False)
            following = _following(answer, been)
            if following is None or len(people.guests) >= PARTICIPANTS_MAX:
                return people.guests
            params["next_page_token"] = following


def _following(answer: Json, been: set[str]) -> str | None:
    """The next page's token; None behind the last one. Raises AccountError for one that comes again."""
    token = answer.get("next_page_token")
    if not isinstance(token, str) or not token:
        return None
    if token in been or len(been) >= PASS_PAGES_MAX:
        raise AccountError(_CODE.PROVIDER_ANSWER, "Zoom's pages come again; they are read again.")
    been.add(token)
    return token


def _is_enough(changes: Sequence[Seen]) -> bool:
    """Whether so many recordings are kept at a time, or so much that was said in them."""
    return len(changes) >= _AT_ONCE or sum(len(each.said.transcript or "") for each in changes) >= _CHARACTERS


def _seen(meeting: Json, uuid: str, start: datetime, transcript: str | None, guests: tuple[Guest, ...]) -> Seen:
    minutes, number, share = meeting.get("duration"), meeting.get("id"), meeting.get("share_url")
    length = minutes if isinstance(minutes, int) and 0 < minutes <= _MINUTES_MAX else 1
    is_numbered = isinstance(number, int | str) and str(number).isdecimal() and len(str(number)) <= 20
    is_shared = isinstance(share, str) and is_web_address(share) and len(share) <= _LINK_MAX
    said = Said(
        subject=text_of(meeting.get("topic"), SUBJECT_KEPT),
        conference_url=f"https://{_HOST}/j/{number}" if is_numbered else None,
        guests=guests,
        recording_url=share if is_shared else None,
        transcript=transcript,
        is_record=True,
    )
    return Seen(uuid, f"{uuid}@{_HOST}", said, (Occurrence("", start, start + timedelta(minutes=length)),))


def spoken(vtt: str) -> str:
    """The words of a WebVTT text, a line for each that a cue has, as much as is kept.

    What stands before a cue's times is its name, and a block without times is a note, whatever it says.
    """
    lines: list[str] = []
    left = TRANSCRIPT_KEPT
    for block in re.split(r"\n[ \t]*\n", vtt.replace("\r\n", "\n").replace("\r", "\n")):
        cue = block.strip("\n").split("\n")
        times = next((place for place, line in enumerate(cue[:2]) if _TIMES.match(line)), None)
        if times is not None:
            said = [text for line in cue[times + 1 :] if (text := _TAG.sub("", line).strip())]
            lines += said
            left -= sum(map(len, said))
        if left < 0:
            break
    return text_of("\n".join(lines)[:TRANSCRIPT_KEPT], TRANSCRIPT_KEPT) or ""


def _state(text: str | None) -> tuple[date | None, dict[str, str]]:
    """The day up to which was read, and the marks of the latest recordings."""
    if text is None:
        return None, {}
    since, known = orjson.loads(text)
    return date.fromisoformat(since), known
