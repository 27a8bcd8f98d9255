"""Huddles of one Slack channel, by the messages that say so; nothing of any other message is kept.

Slack often deletes the message of a huddle when that ends. A huddle that was seen going on is therefore remembered in
the cursor, and ends, once its message is gone, when Slack told of it, or else when that is noticed (decision 915).
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

import orjson

from contract.integrations import PASS_PAGES_MAX, SUBJECT_KEPT, IntegrationProblemCode
from contract.web_address import is_web_address
from providers.accounts.calls import Json, Refused
from providers.accounts.consents import Access
from providers.accounts.ports import AccountError, Asked, Change, Cursor, Guest, More, Occurrence, Said, Seen, Told

Ask = Callable[[str, str, Mapping[str, str]], Awaitable[Json]]
"""Asks a method, by a token and with parameters. Raises AccountError."""
LIMITED_PAGE, PAGE = 15, 200
"""The messages of a page: those of an app that is distributed outside of Slack's marketplace, and of others."""
PEOPLE_MAX: Final = 50
_FORGOTTEN = timedelta(days=1)
"""How long a huddle may go on before it is taken to have ended unseen."""
_LEAST = timedelta(minutes=1)
_LAST_MOMENT = 4_102_444_800


@dataclass(frozen=True, slots=True)
class _Huddle:
    """A huddle as its message shows it. `ts` is the message's, `looked` when it was last seen going on."""

    id: str
    ts: str
    started: float
    ended: float
    name: str
    by: str
    people: tuple[str, ...]
    url: str | None
    looked: float


@dataclass(slots=True)
class _Found:
    """The pages that were read: huddles by identifier, the newest message, and the moment that they reach back to."""

    huddles: dict[str, _Huddle]
    newest: str
    reaches: float = 0.0


class HuddleReader:
    """Reads the huddles of a channel. Where the limit is one look a minute, a look shows the latest messages alone."""

    def __init__(self, ask: Ask, channel: str, access: Access, *, is_limited: bool) -> None:
        self._ask = ask
        self._channel = channel
        self._access = access
        self._is_limited = is_limited
        self._token: str | None = None
        self._people: dict[str, Guest | None] = {}

    async def read(self, asked: Asked, told: Told) -> AsyncIterator[Sequence[Change]]:
        """The huddles that ended. Raises AccountError."""
        present = datetime.now(UTC)
        since, going = _state(asked.former)
        if asked.cursor is None or not since:
            since = f"{asked.window_from.timestamp():.6f}"
        oldest = min([since, *(huddle.ts for huddle in going.values())], key=float)
        found = await self._messages(oldest, since, present, told)
        ended = [each for each in found.huddles.values() if each.ended]
        still = {each.id: each for each in found.huddles.values() if not each.ended}
        for huddle in going.values():
            if huddle.id in found.huddles:
                continue
            if float(huddle.ts) >= found.reaches or datetime.fromtimestamp(huddle.looked, UTC) < present - _FORGOTTEN:
                ended.append(replace(huddle, ended=_end_of(huddle, asked.noticed_at, present)))
            else:
                still[huddle.id] = huddle
        if ended:
            yield [More(), *[await self._seen(huddle, told) for huddle in ended]]
        text = orjson.dumps({"since": found.newest, "going": [asdict(each) for each in still.values()]}).decode()
        yield [Cursor(text, is_unchanged=asked.cursor is not None and not ended)]

    async def _messages(self, oldest: str, since: str, present: datetime, told: Told) -> _Found:
        found = _Found({}, since)
        params = {"channel": self._channel, "oldest": oldest, "inclusive": "true"}
        params["limit"] = str(LIMITED_PAGE if self._is_limited else PAGE)
        been: set[str] = set()
        while True:
            answer = await self._answer("conversations.history", params, told)
            messages = answer.get("messages")
            for message in messages if isinstance(messages, list) else []:
                _take(found, message, present)
            metadata = answer.get("response_metadata")
            following = metadata.get("next_cursor") if isinstance(metadata, dict) else None
            if answer.get("has_more") is not True and not following:
                return found
            if self._is_limited:
                listed = messages if isinstance(messages, list) else []
                found.reaches = min((float(ts) for each in listed if (ts := _ts_of(each))), default=present.timestamp())
                return found
            if not isinstance(following, str) or not following or following in been or len(been) >= PASS_PAGES_MAX:
                words = "Slack's pages come again; they are read again."
                raise AccountError(IntegrationProblemCode.PROVIDER_ANSWER, words)
            been.add(following)
            params["cursor"] = following

    async def _seen(self, huddle: _Huddle, told: Told) -> Seen:
        people = [guest for each in huddle.people[:PEOPLE_MAX] if (guest := await self._person(each, told)) is not None]
        guests = tuple(replace(guest, is_organizer=each == huddle.by) for each, guest in people)
        start, end = (datetime.fromtimestamp(each, UTC) for each in (huddle.started, huddle.ended))
        said = Said(
            subject=(huddle.name or "Huddle")[:SUBJECT_KEPT],
            url=huddle.url,
            guests=guests,
            is_meeting=len(huddle.people) > 1,
        )
        occurrence = Occurrence("", start, max(end, start + _LEAST))
        return Seen(huddle.id, f"{huddle.id}@slack.com", said, (occurrence,), changed_at=end, starts_at=start)

    async def _person(self, user: str, told: Told) -> tuple[str, Guest] | None:
        """Somebody who took part, asked for once in a run; None for who has no address."""
        if user not in self._people:
            self._people[user] = await self._asked_for(user, told)
        guest = self._people[user]
        return None if guest is None else (user, guest)

    async def _asked_for(self, user: str, told: Told) -> Guest | None:
        try:
            answer = await self._answer("users.info", {"user": user}, told)
        except Refused as error:
            if error.status == 404:
                return None
            raise
        found = answer.get("user")
        profile = found.get("profile") if isinstance(found, dict) else None
        email = profile.get("email") if isinstance(profile, dict) else None
        if not isinstance(email, str) or "@" not in email or len(email) > 320 or not isinstance(profile, dict):
            return None
        return Guest(email, str(profile.get("real_name") or "")[:200] or None)

    async def _answer(self, method: str, params: Mapping[str, str], told: Told) -> Json:
        """An answer; with another token where this one is accepted no more. Raises AccountError."""
        token = self._token = self._token or await self._access(None)
        told.calls += 1
        try:
            return await self._ask(method, token, params)
        except Refused as error:
            if error.status != 401:
                raise
        self._token = await self._access(token)
        told.calls += 1
        return await self._ask(method, self._token, params)


def _take(found: _Found, message: object, present: datetime) -> None:
    """Look at one message: what is no huddle leaves nothing but its moment."""
    ts = _ts_of(message)
    if not isinstance(message, dict) or not ts:
        return
    found.newest = max(found.newest, ts, key=float)
    room = message.get("room")
    if message.get("subtype") != "huddle_thread" or not isinstance(room, dict):
        return
    identifier, started, end = room.get("id"), _moment(room.get("date_start")), room.get("date_end")
    if not isinstance(identifier, str) or not 0 < len(identifier) <= 100 or not started:
        return
    listed = room.get("participant_history") or room.get("participants")
    people = tuple(dict.fromkeys(str(each)[:100] for each in listed)) if isinstance(listed, list) else ()
    url = message.get("permalink")
    found.huddles[identifier] = _Huddle(
        id=identifier,
        ts=ts,
        started=started,
        ended=_moment(end),
        name=str(room.get("name") or "").strip(),
        by=str(room.get("created_by") or ""),
        people=people,
        url=url if isinstance(url, str) and is_web_address(url) else None,
        looked=present.timestamp(),
    )


def _end_of(huddle: _Huddle, noticed_at: datetime | None, present: datetime) -> float:
    """Says when a huddle ended whose message is gone: when Slack told of it, else now; a day later nobody knows."""
    looked = datetime.fromtimestamp(huddle.looked, UTC)
    if looked < present - _FORGOTTEN:
        return huddle.looked
    told = noticed_at if noticed_at is not None and looked <= noticed_at <= present else present
    return told.timestamp()


def _state(text: str | None) -> tuple[str, dict[str, _Huddle]]:
    """The moment from which messages are new, and the huddles that went on then."""
    if not text:
        return "", {}
    plain = orjson.loads(text)
    going = [_Huddle(**{**each, "people": tuple(each["people"])}) for each in plain["going"]]
    return plain["since"], {each.id: each for each in going}


def _ts_of(message: object) -> str:
    """The moment that a message is known by; empty for what has none."""
    ts = message.get("ts") if isinstance(message, dict) else None
    if not isinstance(ts, str) or len(ts) > 30:
        return ""
    digits = ts.replace(".", "", 1)
    return ts if digits.isascii() and digits.isdigit() else ""


def _moment(value: object) -> float:
    """The seconds of a moment; 0 where there is none."""
    if not isinstance(value, int) or isinstance(value, bool):
        return 0.0
    return float(value) if 0 < value < _LAST_MOMENT else 0.0
