"""A Microsoft on loopback: consent, tokens, and calendars with views, changes and series, by Graph's documentation.

A series is shown as Graph shows it in a view's changes: its occurrences have nothing but their times, exceptions all
that they are, the master comes where `shows_masters` says so, and an occurrence that was deleted is told by nothing but
the series that comes again whole.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.support.provider_server import Account, Fault, Grant, Letter, Provider, served

__all__ = ["Account", "Fault", "Grant"]
CLIENT_ID, CLIENT_SECRET = "00001111-aaaa-2222-bbbb-3333cccc4444", "CanaryOfTheMicrosoftSecret"
ALL = ("offline_access", "User.Read", "Calendars.Read")
GRAPH = "https://graph.microsoft.com/"
PREFERENCES = {"odata.maxpagesize", "outlook.timezone", "IdType", "outlook.body-content-type"}


@dataclass
class Series:
    """A series: its master, and its occurrences by the start that they had at first."""

    master: dict[str, Any]
    occurrences: dict[datetime, dict[str, Any]]


@dataclass
class Box:
    """What an account has: what changed last by the number of its change."""

    numbers: dict[str, int] = field(default_factory=dict)
    singles: dict[str, dict[str, Any]] = field(default_factory=dict)
    series: dict[str, Series] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    letters: dict[str, Letter] = field(default_factory=dict)
    letter_numbers: dict[str, int] = field(default_factory=dict)


@dataclass
class Microsoft(Provider):
    """The provider, with its accounts and their calendars."""

    page: int = 100
    shows_masters: bool = False
    forgets_before: int = 0
    leads_to: str | None = None
    boxes: dict[str, Box] = field(default_factory=dict)
    calendars: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    views: dict[str, tuple[str, str]] = field(default_factory=dict)
    grants_seconds: int = 7 * 86_400
    subscriptions: dict[str, dict[str, Any]] = field(default_factory=dict)
    tries: Callable[[str], Awaitable[tuple[int, str, str]]] | None = None
    """Asks an address of whoever subscribes: the status, the type and the text of the answer."""

    def account(self, name: str | None = None) -> Account:
        """A new account with an empty calendar."""
        self.number += 1
        email = f"canary-ms-{name or self.number}-{secrets.token_hex(4)}@crm.example"
        made = Account(f"{secrets.token_hex(4)}-user", email)
        self.boxes[made.sub] = Box()
        self.calendars[made.sub] = [{"id": "AQMkADefault", "name": "Calendar", "isDefaultCalendar": True}]
        self.secrets |= {made.sub, made.email}
        return made

    def _changed(self, account: Account, identifier: str) -> Box:
        self.number += 1
        box = self.boxes[account.sub]
        box.numbers[identifier] = self.number
        box.gone.discard(identifier)
        return box

    def put(self, account: Account, *events: dict[str, Any]) -> None:
        """Have these single events be as they are given, from now on."""
        for event in events:
            box = self._changed(account, event["id"])
            moment = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%f}0Z"
            box.singles[event["id"]] = {"lastModifiedDateTime": moment} | event

    def repeat(self, account: Account, master: dict[str, Any], *firsts: datetime, minutes: int = 60) -> None:
        """Have a series of occurrences that start then."""
        box = self._changed(account, master["id"])
        made = {first: bare(master["id"], first, minutes) for first in firsts}
        box.series[master["id"]] = Series(master | {"type": "seriesMaster"}, made)

    def change(self, account: Account, series: str, first: datetime, event: dict[str, Any]) -> None:
        """Have one occurrence be an exception."""
        there = self._changed(account, series).series[series]
        own = {"type": "exception", "seriesMasterId": series, "originalStart": f"{first:%Y-%m-%dT%H:%M:%SZ}"}
        there.occurrences[first] = event | own | {"id": f"{series}-{first:%Y%m%d}"}

    def drop(self, account: Account, series: str, first: datetime) -> None:
        """Delete one occurrence."""
        del self._changed(account, series).series[series].occurrences[first]

    def remove(self, account: Account, *ids: str) -> None:
        """Delete events, or whole series."""
        for identifier in ids:
            box = self._changed(account, identifier)
            box.singles.pop(identifier, None)
            box.series.pop(identifier, None)
            box.gone.add(identifier)

    def send(self, account: Account, *letters: Letter) -> None:
        """Have these messages be in their folders."""
        box = self.boxes[account.sub]
        for letter in letters:
            self.number += 1
            box.letters[letter.id], box.letter_numbers[letter.id] = letter, self.number

    def discard(self, account: Account, *ids: str) -> None:
        """Have these messages be deleted, or moved to another folder."""
        for identifier in ids:
            self.number += 1
            box = self.boxes[account.sub]
            box.letter_numbers[identifier] = self.number
            del box.letters[identifier]

    def consent(
        self, address: str, account: Account, scopes: tuple[str, ...] | None = None, error: str | None = None
    ) -> dict[str, str]:
        """A person follows the address and permits, or refuses: what the callback is called with."""
        asked = dict(parse_qsl(urlsplit(address).query))
        assert address.startswith(f"{self.url}/organizations/oauth2/v2.0/authorize?")
        assert (asked["client_id"], asked["response_type"]) == (CLIENT_ID, "code")
        wanted = tuple(asked["scope"].split())
        assert (asked["code_challenge_method"], set(ALL[:2]) <= set(wanted)) == ("S256", True)
        if error is not None:
            return {"state": asked["state"], "error": error, "error_description": "AADSTS65004: declined"}
        code = self.secret("M.C507_Canary")
        self.codes[code] = Grant(account, wanted if scopes is None else scopes, asked["code_challenge"])
        self.codes[code].redirect = asked["redirect_uri"]
        return {"state": asked["state"], "code": code, "session_state": "0011"}

    def tokens(self, grant: Grant) -> dict[str, Any]:
        """The answer of the token endpoint: `offline_access` is told by the refresh token alone."""
        access = self.secret("EwCanary")
        self.access[access] = Grant(grant.account, grant.scopes, expires_at=time.time() + self.lasts)
        given = [f"{GRAPH}{each}" for each in grant.scopes if each != "offline_access"]
        told = {"token_type": "Bearer", "scope": " ".join(given), "expires_in": self.lasts, "access_token": access}
        if "offline_access" in grant.scopes:
            told["refresh_token"] = self.secret("M.R3_Canary")
            self.refresh[told["refresh_token"]] = Grant(grant.account, grant.scopes)
        return told

    def app(self) -> Starlette:
        """The application."""
        return Starlette(
            routes=[
                Route("/organizations/oauth2/v2.0/token", self._token, methods=["POST"]),
                Route("/v1.0/me", self._me),
                Route("/v1.0/me/calendars", self._list),
                Route("/v1.0/me/calendarView/delta", self._delta),
                Route("/v1.0/me/calendars/{calendar}/calendarView/delta", self._delta),
                Route("/v1.0/me/events/{id}", self._event),
                Route("/v1.0/me/mailFolders/{folder}/messages/delta", self._letters),
                Route("/v1.0/me/events/{id}/instances", self._instances),
                Route("/v1.0/subscriptions", self._subscribe, methods=["POST"]),
                Route("/v1.0/subscriptions/{id}", self._unsubscribe, methods=["DELETE"]),
            ]
        )

    async def _token(self, request: Request) -> Response:
        form = await self.form(request)
        if (answer := await self.begin(request, {"grant_type": form["grant_type"]})) is not None:
            return answer
        if (form.get("client_id"), form.get("client_secret")) != (CLIENT_ID, CLIENT_SECRET):
            return _refused(401, "invalid_client", "AADSTS7000215: Invalid client secret provided.")
        if form["grant_type"] == "refresh_token":
            told = form["refresh_token"]
            grant = self.refresh.pop(told, None) if self.rotates else self.refresh.get(told)
        else:
            grant = self.redeemed(form)
        if grant is None:
            return _refused(400, "invalid_grant", "AADSTS700082: The refresh token has expired.")
        return JSONResponse(self.tokens(grant))

    async def _granted(self, request: Request, permission: str) -> Grant | Response:
        if (answer := await self.begin(request, dict(request.query_params))) is not None:
            return answer
        grant = self.granted(request)
        if grant is None:
            return _error(401, "InvalidAuthenticationToken", "Lifetime validation failed, the token is expired.")
        if permission not in grant.scopes:
            return _error(403, "ErrorAccessDenied", "Access is denied. Check credentials and try again.")
        return grant

    async def _me(self, request: Request) -> Response:
        grant = await self._granted(request, "User.Read")
        if isinstance(grant, Response):
            return grant
        name = grant.account.email
        return JSONResponse({"id": grant.account.sub, "mail": name, "userPrincipalName": f"{name}.onmicrosoft.example"})

    async def _list(self, request: Request) -> Response:
        grant = await self._granted(request, "Calendars.Read")
        return grant if isinstance(grant, Response) else JSONResponse({"value": self.calendars[grant.account.sub]})

    async def _delta(self, request: Request) -> Response:
        grant = await self._granted(request, "Calendars.Read")
        if isinstance(grant, Response):
            return grant
        check_preferences(request)
        asked = dict(request.query_params)
        token = asked.get("$skiptoken") or asked.get("$deltatoken")
        if token is None:
            token = secrets.token_hex(8)
            self.views[token] = (asked["startDateTime"], asked["endDateTime"])
            token = f"{token}.0.0.{self.number}"
        else:
            assert not {"startDateTime", "endDateTime"} & asked.keys()
        view, since, first, until = token.split(".")
        if "$deltatoken" in asked:
            if int(since) < self.forgets_before:
                return _error(410, "SyncStateNotFound", "The sync state generation is not found.")
            until = str(self.number)
        shown = self._shown(self.boxes[grant.account.sub], int(since), self.views[view])
        end = int(first) + self.page
        answer: dict[str, Any] = {"@odata.context": "…", "value": shown[int(first) : end]}
        base = self.leads_to or f"{self.url}{request.url.path}"
        if end < len(shown):
            answer["@odata.nextLink"] = f"{base}?{urlencode({'$skiptoken': f'{view}.{since}.{end}.{until}'})}"
        else:
            answer["@odata.deltaLink"] = f"{base}?{urlencode({'$deltatoken': f'{view}.{until}.0.{until}'})}"
        return JSONResponse(answer)

    def _shown(self, box: Box, since: int, view: tuple[str, str]) -> list[dict[str, Any]]:
        shown: list[dict[str, Any]] = []
        for identifier, number in sorted(box.numbers.items(), key=lambda each: each[1]):
            if number <= since:
                continue
            single, series = box.singles.get(identifier), box.series.get(identifier)
            if series is not None:
                shown += [each for each in series.occurrences.values() if is_within(each, view)]
                shown += [series.master] if self.shows_masters or not series.occurrences else []
            elif single is not None and is_within(single, view):
                shown.append(single)
            elif since:  # which is also told of what lies outside of the view
                shown.append({"id": identifier, "@removed": {"reason": "deleted"}})
        return [{"@odata.type": "#microsoft.graph.event", **each} for each in shown]

    async def _letters(self, request: Request) -> Response:
        grant = await self._granted(request, "Mail.ReadBasic")
        if isinstance(grant, Response):
            return grant
        check_preferences(request)
        asked, since, first = dict(request.query_params), 0, 0
        if not {"$skiptoken", "$deltatoken"} & asked.keys():
            assert asked["$filter"].startswith("receivedDateTime ge ")
            assert set(asked["$select"].split(",")) <= BASIC
            view = secrets.token_hex(8)
            self.views[view] = (asked["$filter"].removeprefix("receivedDateTime ge "), "")
        else:
            view, since, first = _read(asked.get("$skiptoken") or asked["$deltatoken"])
            if since < self.forgets_before:
                return _error(410, "SyncStateNotFound", "The sync state generation is not found.")
        box, folder = self.boxes[grant.account.sub], request.path_params["folder"]
        shown = [
            _letter(box, identifier, since)
            for identifier, number in sorted(box.letter_numbers.items(), key=lambda each: each[1])
            if number > since and _is_in(box.letters.get(identifier), folder, self.views[view][0], since)
        ]
        end = first + self.page
        answer: dict[str, Any] = {"value": shown[first:end]}
        base = self.leads_to or f"{self.url}{request.url.path}"
        if end < len(shown):
            answer["@odata.nextLink"] = f"{base}?{urlencode({'$skiptoken': f'{view}.{since}.{end}'})}"
        else:
            answer["@odata.deltaLink"] = f"{base}?{urlencode({'$deltatoken': f'{view}.{self.number}.0'})}"
        return JSONResponse(answer)

    async def _event(self, request: Request) -> Response:
        grant = await self._granted(request, "Calendars.Read")
        if isinstance(grant, Response):
            return grant
        check_preferences(request)
        box, identifier = self.boxes[grant.account.sub], request.path_params["id"]
        found = box.series[identifier].master if identifier in box.series else box.singles.get(identifier)
        return _missing() if found is None else JSONResponse(found)

    async def _instances(self, request: Request) -> Response:
        grant = await self._granted(request, "Calendars.Read")
        if isinstance(grant, Response):
            return grant
        asked = dict(request.query_params)
        series = self.boxes[grant.account.sub].series.get(request.path_params["id"])
        if series is None:
            return _missing()
        view = (asked["startDateTime"], asked["endDateTime"])
        shown = [each for each in series.occurrences.values() if is_within(each, view)]
        first, size = int(asked.get("$skip", 0)), min(self.page, int(asked["$top"]))
        answer: dict[str, Any] = {"value": shown[first : first + size]}
        if first + size < len(shown):
            more = urlencode(asked | {"$skip": str(first + size)})
            answer["@odata.nextLink"] = f"{self.leads_to or self.url + request.url.path}?{more}"
        return JSONResponse(answer)

    async def _subscribe(self, request: Request) -> Response:
        grant = await self._granted(request, "Calendars.Read")
        if isinstance(grant, Response):
            return grant
        asked = await request.json()
        expires, present = datetime.fromisoformat(asked["expirationDateTime"]), datetime.now(UTC)
        assert len(asked["clientState"]) <= 128
        assert asked["changeType"] == "created,updated,deleted"
        if expires > present + timedelta(minutes=4_230):
            return _error(400, "InvalidRequest", "Subscription expiration can only be 4230 minutes in the future.")
        for address in (asked["notificationUrl"], asked["lifecycleNotificationUrl"]):
            token = f"Validation: Testing client application reachability {secrets.token_hex(8)}"
            began, answer = time.monotonic(), (0, "", "")
            if self.tries is not None:
                answer = await self.tries(f"{address}?{urlencode({'validationToken': token})}")
            if answer != (200, "text/plain; charset=utf-8", token) or time.monotonic() - began > 1:
                return _error(400, "ValidationError", "Subscription validation request failed.")
        name = self.secret("canary-subscription-")
        self.secrets.add(asked["clientState"])
        until = min(expires, present + timedelta(seconds=self.grants_seconds))
        told = {"id": name, "resource": asked["resource"], "expirationDateTime": f"{until:%Y-%m-%dT%H:%M:%S.0000000Z}"}
        self.subscriptions[name] = {**asked, **told, "account": grant.account}
        return JSONResponse(told, 201)

    async def _unsubscribe(self, request: Request) -> Response:
        grant = await self._granted(request, "Calendars.Read")
        if isinstance(grant, Response):
            return grant
        found = self.subscriptions.pop(request.path_params["id"], None)
        return _missing() if found is None or found["account"] != grant.account else Response(status_code=204)

    def of(self, account: Account) -> list[str]:
        """The subscriptions to what the account has."""
        return [name for name, each in self.subscriptions.items() if each["account"] == account]

    def notice(self, name: str, **more: Any) -> dict[str, Any]:
        """What Graph tells by a subscription: of a change, unless told otherwise."""
        asked = self.subscriptions[name]
        told = more or {"changeType": "updated", "resource": f"Users/x/Events/{name}"}
        return {"value": [{"subscriptionId": name, "clientState": asked["clientState"], "tenantId": "t", **told}]}


def tried_by(http: httpx.AsyncClient) -> Callable[[str], Awaitable[tuple[int, str, str]]]:
    """Have addresses be asked by the loop that runs now, where whoever subscribes answers."""
    loop = asyncio.get_running_loop()

    async def ask(address: str) -> tuple[int, str, str]:
        answer = await http.post(address)
        return answer.status_code, answer.headers.get("content-type", ""), answer.text

    async def tries(address: str) -> tuple[int, str, str]:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(ask(address), loop))

    return tries


BASIC = {"internetMessageId", "conversationId", "subject", "from", "toRecipients", "ccRecipients", "sentDateTime"}
BASIC |= {"receivedDateTime", "isDraft"}
"""What the permission to read basic headers shows of what is asked here."""


def _read(token: str) -> tuple[str, int, int]:
    view, since, first = token.split(".")
    return view, int(since), int(first)


def _is_in(letter: Letter | None, folder: str, since: str, round: int) -> bool:
    if letter is None:
        return round > 0
    is_here = folder == ("sentitems" if letter.is_outgoing else "inbox")
    return is_here and letter.sent_at >= datetime.fromisoformat(since)


def _letter(box: Box, identifier: str, since: int) -> dict[str, Any]:
    letter = box.letters.get(identifier)
    if letter is None:
        return {"@odata.type": "#microsoft.graph.message", "id": identifier, "@removed": {"reason": "deleted"}}

    def people(addresses: tuple[str, ...]) -> list[dict[str, Any]]:
        return [{"emailAddress": {"name": "", "address": each}} for each in addresses]

    moment = f"{letter.sent_at:%Y-%m-%dT%H:%M:%SZ}"
    return {
        "id": letter.id,
        "internetMessageId": letter.name,
        "conversationId": f"t-{letter.id}",
        "subject": letter.subject,
        "from": people((letter.sender,))[0],
        "toRecipients": people(letter.to),
        "ccRecipients": people(letter.copies),
        "sentDateTime": moment,
        "receivedDateTime": moment,
        "isDraft": "DRAFT" in letter.labels,
    }


def check_preferences(request: Request) -> None:
    """Each request says how its answer is to be, also that of a link."""
    preferred = {each.partition("=")[0].strip() for each in request.headers["prefer"].split(",")}
    assert preferred == PREFERENCES, preferred


def _error(status: int, code: str, message: str) -> Response:
    inner = {"date": "2026-11-24T12:00:00", "request-id": "1"}
    return JSONResponse({"error": {"code": code, "message": message, "innerError": inner}}, status)


def _missing() -> Response:
    return _error(404, "ErrorItemNotFound", "The specified object was not found in the store.")


def _refused(status: int, error: str, words: str) -> Response:
    return JSONResponse({"error": error, "error_description": words, "error_codes": [700082]}, status)


def is_within(event: dict[str, Any], view: tuple[str, str]) -> bool:
    """Whether it starts in the days of the view; what has no time is shown as well."""
    if event["start"]["dateTime"] == "soon":
        return True
    start = datetime.fromisoformat(event["start"]["dateTime"]).replace(tzinfo=UTC)
    return datetime.fromisoformat(view[0]) <= start <= datetime.fromisoformat(view[1])


def stamp(moment: datetime) -> dict[str, str]:
    """A time as Graph tells it."""
    return {"dateTime": f"{moment:%Y-%m-%dT%H:%M:%S}.0000000", "timeZone": "UTC"}


def bare(series: str, first: datetime, minutes: int) -> dict[str, Any]:
    """An occurrence as changes show it: its times, and nothing else."""
    return {
        "id": f"{series}-{first:%Y%m%d}",
        "type": "occurrence",
        "seriesMasterId": series,
        "start": stamp(first),
        "end": stamp(first + timedelta(minutes=minutes)),
    }


def person(address: str, name: str = "", response: str = "none", type: str = "required") -> dict[str, Any]:
    """An attendee."""
    status = {"response": response, "time": "0001-01-01T00:00:00Z"}
    return {"type": type, "status": status, "emailAddress": {"name": name or address, "address": address}}


def outlook_uid(data: str, day: datetime | None = None) -> str:
    """Outlook's identifier, of an occurrence with its day (MS-OXOCAL, PidLidGlobalObjectId)."""
    date = "00000000" if day is None else f"{day.year:04X}{day.month:02X}{day.day:02X}"
    size = len(data.encode()).to_bytes(4, "little").hex().upper()
    return f"040000008200E00074C5B7101A82E008{date}{'00' * 16}{size}{data.encode().hex().upper()}"


def wrapped_uid(uid: str, day: datetime | None = None) -> str:
    """The identifier that Outlook makes of another calendar's."""
    return outlook_uid(f"vCal-Uid\x01\x00\x00\x00{uid}\x00", day)


def meeting(
    identifier: str,
    start: datetime,
    *guests: dict[str, Any] | str,
    subject: str = "Talk",
    minutes: int = 60,
    **more: Any,
) -> dict[str, Any]:
    """An event, as Graph shows it."""
    people = [person(each) if isinstance(each, str) else each for each in guests or ("bob@out.example",)]
    return {
        "@odata.etag": 'W/"1"',
        "id": identifier,
        "iCalUId": outlook_uid(identifier),
        "type": "singleInstance",
        "seriesMasterId": None,
        "subject": subject,
        "body": {"contentType": "text", "content": ""},
        "start": stamp(start),
        "end": stamp(start + timedelta(minutes=minutes)),
        "originalStartTimeZone": "W. Europe Standard Time",
        "isAllDay": False,
        "isCancelled": False,
        "isOrganizer": True,
        "sensitivity": "normal",
        "showAs": "busy",
        "responseStatus": {"response": "organizer", "time": "0001-01-01T00:00:00Z"},
        "organizer": {"emailAddress": {"name": "Ann", "address": "ann@crm.example"}},
        "attendees": people,
        "location": {"displayName": "", "locationType": "default"},
        "onlineMeeting": None,
        "webLink": f"https://outlook.office365.com/owa/?itemid={identifier}",
        **more,
    }


@contextmanager
def microsoft_server() -> Iterator[Microsoft]:
    """The provider, on a port of its own."""
    microsoft = Microsoft()
    with served(microsoft, microsoft.app()):
        yield microsoft
