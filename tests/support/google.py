"""A Google on loopback: consent, tokens, and calendars with pages and changes, by the fields of its documentation.

Series are kept as their occurrences, which is how they are shown to who asks for single events.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.support.provider_server import Account, Fault, Grant, Letter, Provider, served

__all__ = ["Account", "Fault", "Grant"]
CLIENT_ID, CLIENT_SECRET = "client-of-the-operator", "CanaryOfTheClientSecret"
MAIL = "https://www.googleapis.com/auth/gmail.metadata"
CALENDAR = "https://www.googleapis.com/auth/calendar.readonly"
ALL = ("openid", "https://www.googleapis.com/auth/userinfo.email", CALENDAR)


@dataclass
class Google(Provider):
    """The provider, with its accounts and their calendars."""

    page: int = 250
    calendars: dict[str, dict[str, tuple[int, dict[str, Any]]]] = field(default_factory=dict)
    listed: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    forgets_before: int = 0
    mailboxes: dict[str, dict[str, tuple[int, Letter]]] = field(default_factory=dict)
    channels: dict[str, dict[str, Any]] = field(default_factory=dict)
    stopped: list[str] = field(default_factory=list)
    grants_seconds: int = 7 * 86_400
    passed: list[dict[str, Any]] = field(default_factory=list)
    pass_of: dict[str, tuple[int, dict[str, Any]]] | None = None
    pass_key: tuple[object, ...] = ()

    def account(self, name: str | None = None) -> Account:
        """A new account with an empty calendar."""
        self.number += 1
        email = f"canary-{name or self.number}-{secrets.token_hex(4)}@crm.example"
        made = Account(f"1080{secrets.randbelow(10**16):016d}", email)
        self.calendars[made.sub] = {}
        self.mailboxes[made.sub] = {}
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

    def send(self, account: Account, *letters: Letter) -> None:
        """Have these messages be in the mailbox."""
        for letter in letters:
            self.number += 1
            self.mailboxes[account.sub][letter.id] = (self.number, letter)

    def discard(self, account: Account, *ids: str) -> None:
        """Have these messages be deleted."""
        for identifier in ids:
            del self.mailboxes[account.sub][identifier]

    def cancel(self, account: Account, *ids: str) -> None:
        """Have these events be deleted."""
        for identifier in ids:
            self.put(account, {"id": identifier, "status": "cancelled"})

    def consent(
        self, address: str, account: Account, scopes: tuple[str, ...] | None = None, error: str | None = None
    ) -> dict[str, str]:
        """A person follows the address and permits, or refuses: what the callback is called with."""
        asked = dict(parse_qsl(urlsplit(address).query))
        assert address.startswith(f"{self.url}/o/oauth2/v2/auth?")
        assert (asked["client_id"], asked["response_type"], asked["access_type"]) == (CLIENT_ID, "code", "offline")
        assert (asked["code_challenge_method"], {"openid", "email"} <= set(asked["scope"].split())) == ("S256", True)
        if scopes is None:
            scopes = tuple(each for each in (*ALL, MAIL) if each in (*ALL[:2], *asked["scope"].split()))
        if error is not None:
            return {"state": asked["state"], "error": error}
        code = self.secret("4/0Canary")
        self.codes[code] = Grant(account, scopes, asked["code_challenge"], asked["redirect_uri"])
        return {"state": asked["state"], "code": code, "scope": " ".join(scopes)}

    def tokens(self, grant: Grant, *, refresh: bool) -> dict[str, Any]:
        """The answer of the token endpoint."""
        access = self.secret("ya29.Canary")
        self.access[access] = Grant(grant.account, grant.scopes, expires_at=time.time() + self.lasts)
        told = {
            "access_token": access,
            "expires_in": self.lasts,
            "scope": " ".join(grant.scopes),
            "token_type": "Bearer",
        }
        if refresh:
            told["refresh_token"] = self.secret("1//Canary")
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
                Route("/gmail/v1/users/me/profile", self._profile),
                Route("/gmail/v1/users/me/messages", self._messages),
                Route("/gmail/v1/users/me/messages/{id}", self._message),
                Route("/gmail/v1/users/me/history", self._histories),
                Route("/calendar/v3/calendars/{calendar}/events/watch", self._watch, methods=["POST"]),
                Route("/calendar/v3/channels/stop", self._stop, methods=["POST"]),
            ]
        )

    async def _token(self, request: Request) -> Response:
        form = await self.form(request)
        if (answer := await self.begin(request, {"grant_type": form["grant_type"]})) is not None:
            return answer
        if (form.get("client_id"), form.get("client_secret")) != (CLIENT_ID, CLIENT_SECRET):
            return JSONResponse({"error": "invalid_client"}, 401)
        if form["grant_type"] == "refresh_token":
            told = form["refresh_token"]
            grant = self.refresh.pop(told, None) if self.rotates else self.refresh.get(told)
            if grant is None:
                return _gone()
            return JSONResponse(self.tokens(grant, refresh=self.rotates))
        grant = self.redeemed(form)
        if grant is None:
            return _gone()
        return JSONResponse(self.tokens(grant, refresh=True))

    async def _revoke(self, request: Request) -> Response:
        form = await self.form(request)
        if (answer := await self.begin(request, {})) is not None:
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

    async def _watch(self, request: Request) -> Response:
        grant = await self._granted(request, {})
        if isinstance(grant, Response):
            return grant
        asked = await request.json()
        assert asked["type"] == "web_hook"
        assert len(asked["id"]) <= 64
        assert len(asked["token"]) <= 256
        assert asked["id"] not in self.channels
        most = round((time.time() + self.grants_seconds) * 1000)
        expires = min(int(asked.get("expiration", most)), most)
        resource = self.secret("canary-resource-")
        self.secrets.add(asked["token"])
        self.channels[asked["id"]] = {**asked, "resourceId": resource, "account": grant.account}
        told = {"kind": "api#channel", "id": asked["id"], "resourceId": resource, "token": asked["token"]}
        return JSONResponse(told | {"expiration": str(expires)})

    async def _stop(self, request: Request) -> Response:
        grant = await self._granted(request, {})
        if isinstance(grant, Response):
            return grant
        asked = await request.json()
        channel = self.channels.get(asked["id"])
        if channel is None or channel["resourceId"] != asked["resourceId"] or channel["account"] != grant.account:
            return JSONResponse({"error": {"code": 404, "errors": [{"reason": "channelUnknown"}]}}, 404)
        del self.channels[asked["id"]]
        self.stopped.append(asked["id"])
        return Response(status_code=204)

    def notice(self, channel_id: str, state: str = "exists") -> dict[str, str]:
        """The headers of a notice by a channel."""
        channel = self.channels[channel_id]
        return {
            "X-Goog-Channel-ID": channel_id,
            "X-Goog-Channel-Token": channel["token"],
            "X-Goog-Resource-ID": channel["resourceId"],
            "X-Goog-Resource-State": state,
            "X-Goog-Message-Number": "10",
        }

    async def _granted(self, request: Request, asked: dict[str, str]) -> Grant | Response:
        if (answer := await self.begin(request, asked)) is not None:
            return answer
        grant = self.granted(request)
        if grant is None:
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
        shown = self._shown(
            self.calendars[grant.account.sub], since, asked.get("timeMin", ""), asked.get("timeMax", "")
        )
        first = int(asked.get("pageToken", "0").removeprefix("CPpage-"))
        answer = {"kind": "calendar#events", "timeZone": "Europe/Berlin", "items": shown[first : first + self.page]}
        if first + self.page < len(shown):
            answer["nextPageToken"] = f"CPpage-{first + self.page}"
        else:
            answer["nextSyncToken"] = f"CPsync-{self.number}"
        return JSONResponse(answer)

    def _shown(
        self, there: dict[str, tuple[int, dict[str, Any]]], since: int | None, first: str, last: str
    ) -> list[dict[str, Any]]:
        """The events of a pass, put together once for all of its pages: a fake that computes is felt in benchmarks."""
        key = self.number, len(there), since, first, last
        if self.pass_of is there and self.pass_key == key:
            return self.passed
        events = sorted(there.values(), key=lambda each: each[0])
        if since is not None:
            self.passed = [event for number, event in events if number > since]
        else:
            self.passed = [event for _, event in events if _is_within(event, first, last)]
        self.pass_of, self.pass_key = there, key
        return self.passed

    async def _mailbox(self, request: Request) -> dict[str, tuple[int, Letter]] | Response:
        asked = dict(request.query_params)
        grant = await self._granted(request, asked)
        if isinstance(grant, Response):
            return grant
        if MAIL not in grant.scopes:
            return _refusal(403, "insufficientPermissions", "PERMISSION_DENIED")
        if "q" in asked:  # which the permission of headers alone does not allow
            return _refusal(403, "forbidden", "PERMISSION_DENIED")
        return self.mailboxes[grant.account.sub]

    async def _profile(self, request: Request) -> Response:
        box = await self._mailbox(request)
        return box if isinstance(box, Response) else JSONResponse({"historyId": str(self.number)})

    async def _messages(self, request: Request) -> Response:
        box = await self._mailbox(request)
        if isinstance(box, Response):
            return box
        newest = sorted(box.values(), key=lambda each: each[1].sent_at, reverse=True)
        first, size = int(request.query_params.get("pageToken", "0")), min(self.page, 100)
        shown = [{"id": letter.id, "threadId": f"t-{letter.id}"} for _, letter in newest]
        answer: dict[str, Any] = {"messages": shown[first : first + size], "resultSizeEstimate": len(shown)}
        if first + size < len(shown):
            answer["nextPageToken"] = str(first + size)
        return JSONResponse(answer)

    async def _message(self, request: Request) -> Response:
        box = await self._mailbox(request)
        if isinstance(box, Response):
            return box
        assert request.query_params["format"] == "metadata"
        wanted = {each.lower() for each in request.query_params.getlist("metadataHeaders")}
        there = box.get(request.path_params["id"])
        if there is None:
            return _refusal(404, "notFound", "NOT_FOUND")
        number, letter = there
        headers = [
            *(("From", letter.sender), ("To", ", ".join(letter.to)), ("Cc", ", ".join(letter.copies))),
            *(("Subject", letter.subject), ("Message-ID", letter.name), ("X-Other", "CanaryOfAHeader")),
            *letter.headers,
        ]
        return JSONResponse(
            {
                "id": letter.id,
                "threadId": f"t-{letter.id}",
                "labelIds": list(letter.labels or (("SENT",) if letter.is_outgoing else ("INBOX", "UNREAD"))),
                "snippet": "CanaryOfASnippet",
                "historyId": str(number),
                "internalDate": str(int(letter.sent_at.timestamp() * 1_000)),
                "payload": {
                    "mimeType": "text/plain",
                    "headers": [{"name": k, "value": v} for k, v in headers if v and k.lower() in wanted],
                },
            }
        )

    async def _histories(self, request: Request) -> Response:
        box = await self._mailbox(request)
        if isinstance(box, Response):
            return box
        asked = request.query_params
        assert asked["historyTypes"] == "messageAdded"
        since = int(asked["startHistoryId"])
        if since < self.forgets_before:
            return _refusal(404, "notFound", "NOT_FOUND")
        added = sorted((number, letter.id) for number, letter in box.values() if number > since)
        first = int(asked.get("pageToken", "0"))
        shown = added[first : first + self.page]
        answer: dict[str, Any] = {"historyId": str(self.number)}
        if shown:
            answer["history"] = [{"id": str(n), "messagesAdded": [{"message": {"id": i}}]} for n, i in shown]
        if first + self.page < len(added):
            answer["nextPageToken"] = str(first + self.page)
        return JSONResponse(answer)


def _refusal(code: int, reason: str, status: str) -> Response:
    return JSONResponse({"error": {"code": code, "status": status, "errors": [{"reason": reason}]}}, code)


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
    with served(google, google.app()):
        yield google
