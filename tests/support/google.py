"""A Google on loopback: consent, tokens, and calendars with pages and changes, by the fields of its documentation.

It runs in a thread of its own, so that several processes can ask it. Series are kept as their occurrences, which is how
they are shown to who asks for single events. Each fault is given once, in the order in which they were put.
"""

from __future__ import annotations

import asyncio
import base64
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

CLIENT_ID, CLIENT_SECRET = "client-of-the-operator", "CanaryOfTheClientSecret"
CALENDAR = "https://www.googleapis.com/auth/calendar.readonly"
ALL = ("openid", "https://www.googleapis.com/auth/userinfo.email", CALENDAR)


@dataclass(frozen=True)
class Account:
    """An account, and what it permits."""

    sub: str
    email: str


@dataclass
class Grant:
    """What a code or token stands for."""

    account: Account
    scopes: tuple[str, ...]
    challenge: str = ""
    redirect: str = ""
    expires_at: float = 0.0


@dataclass
class Fault:
    """What is answered in place of the answer to the next request on such a path."""

    path: str
    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Google:
    """The provider; `secrets` are all that it ever gave out and nobody may find lying about."""

    url: str = ""
    lasts: int = 3_600
    rotates: bool = True
    page: int = 250
    slow: float = 0.0
    secrets: set[str] = field(default_factory=set)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    calendars: dict[str, dict[str, tuple[int, dict[str, Any]]]] = field(default_factory=dict)
    listed: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    forgets_before: int = 0
    codes: dict[str, Grant] = field(default_factory=dict)
    access: dict[str, Grant] = field(default_factory=dict)
    refresh: dict[str, Grant] = field(default_factory=dict)
    number: int = 0

    def account(self, name: str | None = None) -> Account:
        """A new account with an empty calendar."""
        self.number += 1
        email = f"canary-{name or self.number}-{secrets.token_hex(4)}@crm.example"
        made = Account(f"1080{secrets.randbelow(10**16):016d}", email)
        self.calendars[made.sub] = {}
        self.listed[made.sub] = [
            {"id": email, "summary": email, "primary": True, "accessRole": "owner", "timeZone": "Europe/Berlin"}
        ]
        self.secrets |= {made.sub, made.email}
        return made

    def put(self, account: Account, *events: dict[str, Any]) -> None:
        """Have these events be as they are given, from now on."""
        for event in events:
            self.number += 1
            moment = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
            told = {"kind": "calendar#event", "status": "confirmed", "updated": moment} | event
            if told.get("organizer", {}).get("self") is True:
                told["organizer"] = {"email": account.email, "self": True}
            self.calendars[account.sub][event["id"]] = (self.number, told)

    def cancel(self, account: Account, *ids: str) -> None:
        """Have these events be deleted."""
        for identifier in ids:
            self.put(account, {"id": identifier, "status": "cancelled"})

    def consent(
        self, address: str, account: Account, scopes: tuple[str, ...] = ALL, error: str | None = None
    ) -> dict[str, str]:
        """A person follows the address and permits, or refuses: what the callback is called with."""
        asked = dict(parse_qsl(urlsplit(address).query))
        assert address.startswith(f"{self.url}/o/oauth2/v2/auth?")
        assert (asked["client_id"], asked["response_type"], asked["access_type"]) == (CLIENT_ID, "code", "offline")
        assert (asked["code_challenge_method"], CALENDAR in asked["scope"].split()) == ("S256", True)
        if error is not None:
            return {"state": asked["state"], "error": error}
        code = self._secret("4/0Canary")
        self.codes[code] = Grant(account, scopes, asked["code_challenge"], asked["redirect_uri"])
        return {"state": asked["state"], "code": code, "scope": " ".join(scopes)}

    def expire(self) -> None:
        """All access tokens end now."""
        for grant in self.access.values():
            grant.expires_at = 0.0

    def count(self, path: str) -> int:
        """How often a path was asked."""
        return sum(asked.endswith(path) for asked, _ in list(self.asked))

    def _secret(self, prefix: str) -> str:
        made = prefix + secrets.token_urlsafe(24)
        self.secrets.add(made)
        return made

    def tokens(self, grant: Grant, *, refresh: bool) -> dict[str, Any]:
        """The answer of the token endpoint."""
        access = self._secret("ya29.Canary")
        self.access[access] = Grant(grant.account, grant.scopes, expires_at=time.time() + self.lasts)
        told = {
            "access_token": access,
            "expires_in": self.lasts,
            "scope": " ".join(grant.scopes),
            "token_type": "Bearer",
        }
        if refresh:
            told["refresh_token"] = self._secret("1//Canary")
            self.refresh[told["refresh_token"]] = Grant(grant.account, grant.scopes)
        return told

    def app(self) -> Starlette:
        """The application."""
        return Starlette(
            routes=[
                Route("/token", self._token, methods=["POST"]),
                Route("/revoke", self._revoke, methods=["POST"]),
                Route("/v1/userinfo", self._userinfo),
                Route("/calendar/v3/users/me/calendarList", self._list),
                Route("/calendar/v3/calendars/{calendar}/events", self._events),
            ]
        )

    async def _begin(self, request: Request, asked: dict[str, str]) -> Response | None:
        path = request.url.path
        self.asked.append((path, asked))
        await asyncio.sleep(self.slow)
        for fault in self.faults:
            if path.endswith(fault.path):
                self.faults.remove(fault)
                return Response(fault.body, fault.status, fault.headers, "application/json")
        return None

    async def _form(self, request: Request) -> dict[str, str]:
        return {name: values[0] for name, values in parse_qs((await request.body()).decode()).items()}

    async def _token(self, request: Request) -> Response:
        form = await self._form(request)
        if (answer := await self._begin(request, {"grant_type": form["grant_type"]})) is not None:
            return answer
        if (form.get("client_id"), form.get("client_secret")) != (CLIENT_ID, CLIENT_SECRET):
            return JSONResponse({"error": "invalid_client"}, 401)
        if form["grant_type"] == "refresh_token":
            told = form["refresh_token"]
            grant = self.refresh.pop(told, None) if self.rotates else self.refresh.get(told)
            if grant is None:
                return _gone()
            return JSONResponse(self.tokens(grant, refresh=self.rotates))
        grant = self.codes.pop(form["code"], None)
        challenge = base64.urlsafe_b64encode(sha256(form["code_verifier"].encode()).digest()).rstrip(b"=").decode()
        if grant is None or (grant.challenge, grant.redirect) != (challenge, form["redirect_uri"]):
            return _gone()
        return JSONResponse(self.tokens(grant, refresh=True))

    async def _revoke(self, request: Request) -> Response:
        form = await self._form(request)
        if (answer := await self._begin(request, {})) is not None:
            return answer
        return JSONResponse({}) if self.refresh.pop(form["token"], None) else _gone("invalid_token")

    async def _userinfo(self, request: Request) -> Response:
        grant = await self._granted(request, {})
        if isinstance(grant, Response):
            return grant
        return JSONResponse({"sub": grant.account.sub, "email": grant.account.email, "email_verified": True})

    async def _list(self, request: Request) -> Response:
        grant = await self._granted(request, dict(request.query_params))
        if isinstance(grant, Response):
            return grant
        return JSONResponse({"kind": "calendar#calendarList", "items": self.listed[grant.account.sub]})

    async def _granted(self, request: Request, asked: dict[str, str]) -> Grant | Response:
        if (answer := await self._begin(request, asked)) is not None:
            return answer
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        grant = self.access.get(token)
        if grant is None or grant.expires_at < time.time():
            errors = [{"domain": "global", "reason": "authError", "message": "Invalid Credentials"}]
            return JSONResponse({"error": {"code": 401, "errors": errors, "status": "UNAUTHENTICATED"}}, 401)
        return grant

    async def _events(self, request: Request) -> Response:
        asked = dict(request.query_params)
        grant = await self._granted(request, asked)
        if isinstance(grant, Response):
            return grant
        assert asked["singleEvents"] == asked["showDeleted"] == "true"
        since = int(asked["syncToken"].removeprefix("CPsync-")) if "syncToken" in asked else None
        if since is not None:
            assert not {"timeMin", "timeMax"} & asked.keys()
            if since < self.forgets_before:
                errors = [{"domain": "calendar", "reason": "fullSyncRequired", "message": "Sync token is no longer"}]
                return JSONResponse({"error": {"code": 410, "errors": errors}}, 410)
        there = sorted(self.calendars[grant.account.sub].values(), key=lambda each: each[0])
        if since is not None:
            shown = [event for number, event in there if number > since]
        else:
            shown = [event for _, event in there if _is_within(event, asked["timeMin"], asked["timeMax"])]
        first = int(asked.get("pageToken", "0").removeprefix("CPpage-"))
        answer = {"kind": "calendar#events", "timeZone": "Europe/Berlin", "items": shown[first : first + self.page]}
        if first + self.page < len(shown):
            answer["nextPageToken"] = f"CPpage-{first + self.page}"
        else:
            answer["nextSyncToken"] = f"CPsync-{self.number}"
        return JSONResponse(answer)


def _gone(error: str = "invalid_grant") -> Response:
    return JSONResponse({"error": error, "error_description": "Token has been expired or revoked."}, 400)


def _is_within(event: dict[str, Any], first: str, last: str) -> bool:
    if event["status"] == "cancelled":
        return False
    start = event["start"].get("dateTime") or f"{event['start']['date']}T12:00:00Z"
    moment = datetime.fromisoformat(start)
    return datetime.fromisoformat(first) <= moment <= datetime.fromisoformat(last)


def meeting(
    identifier: str,
    start: datetime,
    *guests: dict[str, Any] | str,
    subject: str = "Talk",
    minutes: int = 60,
    **more: Any,
) -> dict[str, Any]:
    """An event of a calendar, as its interface shows it."""
    people = [{"email": each} if isinstance(each, str) else each for each in guests or ("bob@out.example",)]
    ends = start + timedelta(minutes=minutes)
    return {
        "id": identifier,
        "iCalUID": f"{identifier}@google.com",
        "summary": subject,
        "start": {"dateTime": f"{start:%Y-%m-%dT%H:%M:%SZ}", "timeZone": "Europe/Berlin"},
        "end": {"dateTime": f"{ends:%Y-%m-%dT%H:%M:%SZ}", "timeZone": "Europe/Berlin"},
        "attendees": [{"responseStatus": "needsAction"} | each for each in people],
        "organizer": {"email": "ann@crm.example", "self": True},
        "sequence": 0,
        "eventType": "default",
        **more,
    }


def occurrence(series: str, first: datetime, start: datetime | None = None, **more: Any) -> dict[str, Any]:
    """One occurrence of a series, which was to start at first then."""
    told = meeting(f"{series}_{first:%Y%m%dT%H%M%SZ}", start or first, **more)
    return told | {
        "iCalUID": f"{series}@google.com",
        "recurringEventId": series,
        "originalStartTime": {"dateTime": f"{first:%Y-%m-%dT%H:%M:%SZ}", "timeZone": "Europe/Berlin"},
    }


@contextmanager
def google_server() -> Iterator[Google]:
    """The provider, on a port of its own."""
    google = Google()
    listening = socket.create_server(("127.0.0.1", 0))
    google.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    server = uvicorn.Server(uvicorn.Config(google.app(), log_level="critical", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield google
    finally:
        server.should_exit = True
        thread.join(10)
        listening.close()
