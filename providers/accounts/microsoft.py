"""Microsoft accounts: the consent, who the account is, its calendars, and what changes in one."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from urllib.parse import quote

from contract.integrations import (
    BY_PROVIDER,
    CALENDARS_MAX,
    ITEMS_OF_A_STREAM_MAX,
    MICROSOFT_CALENDAR,
    IntegrationProblemCode,
    IntegrationProvider,
    IntegrationStreamKind,
)
from providers.accounts import graph_push
from providers.accounts.calls import AccountApi, Json, Refused
from providers.accounts.consents import Access, CalendarInfo, Who
from providers.accounts.graph import PAGE, Graph, is_forgotten
from providers.accounts.microsoft_events import MASTER, Series, change_of, series_id, series_of
from providers.accounts.microsoft_mail import FolderReader
from providers.accounts.oauth import Client, OAuth
from providers.accounts.ports import AccountError, Asked, Change, Cursor, Gone, More, Reader, Seen, StartOver, Told
from providers.accounts.shown import identifier_of, objects
from providers.accounts.watching import Channel, Watched
from providers.calls import Calls

PRIMARY = "primary"
_TOO_LARGE = f"The calendar has more than {ITEMS_OF_A_STREAM_MAX:,} events in the days that are followed."
_AT_ONCE = 20
"""The series of one page."""
_CODE = IntegrationProblemCode


class MicrosoftAccounts:
    """Microsoft, as the operator's client sees it."""

    needed = frozenset({MICROSOFT_CALENDAR})
    watched = frozenset({IntegrationStreamKind.CALENDAR})

    def __init__(
        self,
        client_id: str,
        secret: str,
        tenant: str = "common",
        base_url: str | None = None,
        *,
        calls: Calls | None = None,
    ) -> None:
        """With a `base_url` everything lies below it. `tenant` says whose accounts may sign in."""
        base = (base_url or "").rstrip("/")
        self._api = AccountApi("Microsoft", calls=calls)
        self._graph = f"{base or 'https://graph.microsoft.com'}/v1.0"
        login = f"{base or 'https://login.microsoftonline.com'}/{quote(tenant, safe='')}/oauth2/v2.0"
        client = Client(
            id=client_id,
            secret=secret,
            authorize_url=f"{login}/authorize",
            token_url=f"{login}/token",
            revoke_url=None,  # there is no such address (decision 923)
            scopes=BY_PROVIDER[IntegrationProvider.MICROSOFT].permissions,
            more={"prompt": "select_account"},
            prefix="https://graph.microsoft.com/",
        )
        self.oauth = OAuth(self._api, client)

    async def who(self, token: str) -> Who:
        """Says whose token it is. Raises AccountError."""
        answer = await self._api.get(f"{self._graph}/me", token, {"$select": "id,mail,userPrincipalName"})
        identifier = identifier_of(answer.get("id"))
        if identifier is None:
            raise AccountError(_CODE.PROVIDER_ANSWER, "Microsoft did not say whose account it is.")
        label = answer.get("mail") or answer.get("userPrincipalName")
        return Who(identifier, str(label or "")[:500])

    async def calendars(self, token: str) -> list[CalendarInfo]:
        """The calendars of the account, the primary one first; at most so many. Raises AccountError."""
        params = {"$select": "id,name,isDefaultCalendar", "$top": str(PAGE)}
        answer = await self._api.get(f"{self._graph}/me/calendars", token, params)
        found = [made for each in objects(answer.get("value")) if (made := _calendar(each)) is not None]
        found.sort(key=lambda each: not each.is_primary)
        if not found or not found[0].is_primary:
            found.insert(0, CalendarInfo(PRIMARY, "Calendar", is_primary=True))
        return found[:CALENDARS_MAX]

    def reader(self, calendar: str, label: str, access: Access) -> Reader:
        """The reader of a calendar of the account with this label, which is its owner's address."""
        return CalendarReader(Graph(self._api, self._graph, access), f"{self._graph}/{_part(calendar)}", label)

    async def watch(self, token: str, stream: str, channel: Channel) -> Watched:
        """Ask for notices of changes to a calendar. Raises AccountError."""
        return await graph_push.watch(self._api, self._graph, token, f"{_part(stream)}/events", channel)

    async def unwatch(self, token: str, channel_id: str, reference: str) -> None:
        """Ask for no more of them. Raises AccountError."""
        await self._api.delete(f"{self._graph}/subscriptions/{quote(reference, safe='')}", token)

    def mail(self, folder: str, label: str, access: Access) -> Reader:
        """The reader of the headers of a folder's mail."""
        url = f"{self._graph}/me/mailFolders/{quote(folder, safe='')}/messages/delta"
        return FolderReader(Graph(self._api, self._graph, access), url, label)

    async def close(self) -> None:
        """End the connections."""
        await self._api.close()


def _part(calendar: str) -> str:
    """Where a calendar lies."""
    return "me" if calendar == PRIMARY else f"me/calendars/{quote(calendar, safe='')}"


def _calendar(told: Json) -> CalendarInfo | None:
    identifier, is_primary = identifier_of(told.get("id")), told.get("isDefaultCalendar") is True
    if identifier is None or len(identifier) > 500:
        return None
    name = str(told.get("name") or "").strip()[:200]
    if not name or "@" in name:  # a calendar that somebody shares is called by its owner's address
        name = "Calendar" if is_primary else "Another calendar"
    return CalendarInfo(PRIMARY if is_primary else identifier, name, is_primary)


class CalendarReader:
    """Reads one calendar: all of the days that are followed, or what changed since."""

    def __init__(self, graph: Graph, url: str, label: str) -> None:
        self._graph = graph
        self._url = url
        self._label = label

    async def read(self, asked: Asked, told: Told) -> AsyncIterator[Sequence[Change]]:
        """The changes, page by page, and the series at the end. Raises AccountError."""
        told.addresses |= {self._label} if "@" in self._label else set()
        told.is_complete = asked.cursor is None
        window = {"startDateTime": _stamp(asked.window_from), "endDateTime": _stamp(asked.window_until)}
        url, params = f"{self._url}/calendarView/delta", dict(window)
        if asked.cursor is not None:
            if not self._graph.leads_here(asked.cursor):  # the operator has moved to another address
                yield [StartOver()]
                return
            url, params = asked.cursor, {}
        series: dict[str, Series] = {}
        been: set[str] = set()
        number = 0
        while True:
            try:
                answer = await self._graph.get(url, told, params or None)
            except Refused as error:
                if asked.cursor is None or not is_forgotten(error):
                    raise
                yield [StartOver()]
                return
            events = objects(answer.get("value"))
            number += len(events)
            if number > ITEMS_OF_A_STREAM_MAX:  # the series are held until the end of the round
                raise AccountError(_CODE.TOO_LARGE, _TOO_LARGE)
            changes = _sorted(events, series)
            following = self._graph.following(answer, been)
            if following is None:
                break
            if changes:
                yield [More(), *changes]
            url, params = following, {}
        end = self._graph.end_of(answer)
        if changes:
            yield changes
        whole: list[Change] = []
        for each in series.values():
            change = await self._whole(each, window, told, is_known=asked.cursor is None)
            whole += [] if change is None else [change]
            if len(whole) >= _AT_ONCE:
                yield whole
                whole = []
        if whole:
            yield whole
        yield [Cursor(end, is_unchanged=asked.cursor is not None and not number)]

    async def _whole(self, series: Series, window: dict[str, str], told: Told, *, is_known: bool) -> Change | None:
        """The series with all of its occurrences: those of a full round, else they are asked for (decision 920)."""
        url = f"{self._url}/events/{quote(series.id, safe='')}"
        master = series.master
        if master is None:
            try:
                master = await self._graph.get(url, told)
            except Refused as error:
                if error.status != 404:
                    raise
                return Gone(series.id)  # deleted meanwhile
        occurrences = series.occurrences or {}
        if not is_known:
            there = await self._instances(url, window, told)
            occurrences = occurrences if there is None else there
        if is_known and not occurrences:
            return None
        seen: Seen = series_of(series.id, master, occurrences.values())
        return seen

    async def _instances(self, url: str, window: dict[str, str], told: Told) -> dict[str, Json] | None:
        """The occurrences of a series that there are now; None where the interface does not list them."""
        found: dict[str, Json] = {}
        been: set[str] = set()
        following: str | None = f"{url}/instances"
        params: dict[str, str] | None = {**window, "$top": str(PAGE)}
        while following is not None:
            try:
                answer = await self._graph.get(following, told, params)
            except Refused as error:
                if error.status != 404:
                    raise
                return None
            found |= {str(each["id"]): each for each in objects(answer.get("value")) if "id" in each}
            following, params = self._graph.following(answer, been), None
        return found


def _sorted(events: Sequence[Json], series: dict[str, Series]) -> list[Seen | Gone]:
    """The changes of single events; what belongs to a series is put there."""
    changes: list[Seen | Gone] = []
    for event in events:
        identifier = series_id(event) if "@removed" not in event else None
        if identifier is None:
            series.pop(str(event.get("id")), None)
            change = change_of(event)
            changes += [] if change is None else [change]
            continue
        there = series.setdefault(identifier, Series(identifier))
        if event.get("type") == MASTER:
            there.master = event
        else:
            there.add(event)
    return changes


def _stamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
