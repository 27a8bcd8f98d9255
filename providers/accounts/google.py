"""Google accounts: the consent, who the account is, its calendars, and what changes in one."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from urllib.parse import quote

from contract.integrations import (
    BY_PROVIDER,
    CALENDARS_MAX,
    GOOGLE_CALENDAR,
    PASS_PAGES_MAX,
    IntegrationProblemCode,
    IntegrationProvider,
    IntegrationStreamKind,
)
from providers.accounts import google_push
from providers.accounts.asking import Asker
from providers.accounts.calls import AccountApi, Json, Refused
from providers.accounts.consents import Access, CalendarInfo, Who
from providers.accounts.gmail import MailboxReader
from providers.accounts.google_events import change_of, zone_of
from providers.accounts.oauth import Client, OAuth
from providers.accounts.ports import AccountError, Asked, Change, Cursor, More, Reader, StartOver, Told
from providers.accounts.shown import objects
from providers.accounts.watching import Channel, Watched
from providers.calls import Calls

PAGE = 250
"""The events of a page, which is as many as Google gives unless told."""
PRIMARY = "primary"
_CODE = IntegrationProblemCode
_READABLE = ("reader", "writer", "owner")
_CONSENT = {"access_type": "offline", "prompt": "consent"}
"""The words for a token that outlives the hour: without `prompt` a second consent brings none."""


class GoogleAccounts:
    """Google, as the operator's client sees it."""

    needed = frozenset({GOOGLE_CALENDAR})
    """The permissions without which there is nothing to read."""
    watched = frozenset({IntegrationStreamKind.CALENDAR})
    """The kinds of streams of which Google tells."""

    def __init__(self, client_id: str, secret: str, base_url: str | None = None, *, calls: Calls | None = None) -> None:
        """With a `base_url` everything lies below it."""
        base = (base_url or "").rstrip("/")
        self._api = AccountApi("Google", calls=calls)
        self._who = f"{base or 'https://openidconnect.googleapis.com'}/v1/userinfo"
        self._calendar = f"{base or 'https://www.googleapis.com'}/calendar/v3"
        self._mail = f"{base or 'https://gmail.googleapis.com'}/gmail/v1"
        client = Client(
            id=client_id,
            secret=secret,
            authorize_url=f"{base or 'https://accounts.google.com'}/o/oauth2/v2/auth",
            token_url=f"{base or 'https://oauth2.googleapis.com'}/token",
            revoke_url=f"{base or 'https://oauth2.googleapis.com'}/revoke",
            scopes=BY_PROVIDER[IntegrationProvider.GOOGLE].permissions,
            more=_CONSENT,
        )
        self.oauth = OAuth(self._api, client)

    async def who(self, token: str) -> Who:
        """Says whose token it is. Raises AccountError."""
        answer = await self._api.get(self._who, token)
        identifier, label = answer.get("sub"), answer.get("email")
        if not isinstance(identifier, str) or not identifier:
            raise AccountError(_CODE.PROVIDER_ANSWER, "Google did not say whose account it is.")
        return Who(identifier[:500], str(label or "")[:500])

    async def calendars(self, token: str) -> list[CalendarInfo]:
        """The calendars whose events can be read, the primary one first; at most so many. Raises AccountError."""
        params = {"maxResults": str(PAGE)}
        answer = await self._api.get(f"{self._calendar}/users/me/calendarList", token, params)
        found = [made for each in objects(answer.get("items")) if (made := _calendar(each)) is not None]
        found.sort(key=lambda each: not each.is_primary)
        if not found or not found[0].is_primary:
            found.insert(0, CalendarInfo(PRIMARY, "Calendar", is_primary=True))
        return found[:CALENDARS_MAX]

    def reader(self, calendar: str, label: str, access: Access) -> Reader:
        """The reader of a calendar of the account with this label, which is its owner's address."""
        return CalendarReader(self._api, self._events(calendar), label, access)

    def _events(self, calendar: str) -> str:
        return f"{self._calendar}/calendars/{quote(calendar, safe='')}/events"

    async def watch(self, token: str, stream: str, channel: Channel) -> Watched:
        """Ask for notices of changes to a calendar. Raises AccountError."""
        return await google_push.watch(self._api, self._events(stream), token, channel)

    async def unwatch(self, token: str, channel_id: str, reference: str) -> None:
        """Ask for no more of them. Raises AccountError."""
        await google_push.unwatch(self._api, self._calendar, token, channel_id, reference)

    def mail(self, folder: str, label: str, access: Access) -> Reader:
        """The reader of the headers of the account's mail, which is one folder."""
        return MailboxReader(Asker(self._api, access), f"{self._mail}/users/me", label)

    async def close(self) -> None:
        """End the connections."""
        await self._api.close()


def _calendar(told: Json) -> CalendarInfo | None:
    identifier, is_primary = told.get("id"), told.get("primary") is True
    if not isinstance(identifier, str) or not 0 < len(identifier) <= 500 or told.get("deleted") is True:
        return None
    if told.get("accessRole") not in _READABLE:
        return None
    name = str(told.get("summaryOverride") or told.get("summary") or "").strip()[:200]
    if not name or "@" in name:  # the primary one is called by the account's address, which is its owner's
        name = "Calendar" if is_primary else "Another calendar"
    return CalendarInfo(PRIMARY if is_primary else identifier, name, is_primary)


_AT_ONCE = 50
"""The events that are looked at in one step."""


class CalendarReader:
    """Reads one calendar: all of the days that are followed, or what changed since."""

    def __init__(self, api: AccountApi, url: str, label: str, access: Access) -> None:
        self._asker = Asker(api, access)
        self._url = url
        self._label = label

    async def read(self, asked: Asked, told: Told) -> AsyncIterator[Sequence[Change]]:
        """The changes, page by page. Raises AccountError."""
        told.is_complete = asked.cursor is None
        told.addresses |= {self._label} if "@" in self._label else set()
        params = {"maxResults": str(PAGE), "singleEvents": "true", "showDeleted": "true"}
        if asked.cursor is None:
            params |= {"timeMin": _stamp(asked.window_from), "timeMax": _stamp(asked.window_until)}
        else:
            params["syncToken"] = asked.cursor
        been: set[str] = set()
        is_unchanged = asked.cursor is not None
        while True:
            try:
                answer = await self._asker.get(self._url, told, params)
            except Refused as error:
                if error.status != 410 or asked.cursor is None:
                    raise
                yield [StartOver()]
                return
            zone = zone_of(answer.get("timeZone"))
            changes: list[Change] = []
            for number, each in enumerate(objects(answer.get("items")), 1):
                if (found := change_of(each, zone)) is not None:
                    changes.append(found)
                if number % _AT_ONCE == 0:  # a page at once would hold others up for 8 ms (decision 1175)
                    await asyncio.sleep(0)
            is_unchanged = is_unchanged and not changes
            following, token = answer.get("nextPageToken"), answer.get("nextSyncToken")
            if not isinstance(following, str) or not following:
                if not isinstance(token, str) or not token:
                    raise AccountError(_CODE.PROVIDER_ANSWER, "Google's answer has no end; it is read again.")
                if changes:
                    yield changes
                yield [Cursor(token, is_unchanged=is_unchanged)]
                return
            yield [More(), *changes]
            if following in been or len(been) >= PASS_PAGES_MAX:
                raise AccountError(_CODE.PROVIDER_ANSWER, "Google's pages come again; they are read again.")
            been.add(following)
            params["pageToken"] = following


def _stamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
