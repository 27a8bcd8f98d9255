"""A Slack on loopback: consent, tokens, channels with their messages, and signed notices, by its documentation.

The form of a huddle's message is that of an example in the public repository Worklytics/psoxy (pull request 767).
"""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.support.provider_server import Fault, served

CLIENT_ID, CLIENT_SECRET, SIGNING_SECRET = "slack-app", "CanaryOfTheSlackSecret", "CanaryOfTheSigningSecret"
SCOPES = ("channels:read", "channels:history", "users:read", "users:read.email")
HOOK = "/integrations/hooks/slack"


@dataclass
class Workspace:
    """A workspace with its channels, their messages and its people."""

    team_id: str
    name: str
    channels: dict[str, dict[str, Any]] = field(default_factory=dict)
    messages: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    users: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass
class Slack:
    """The provider; `secrets` are all that it ever gave out and nobody may find lying about."""

    url: str = ""
    rotates: bool = False
    lasts: int = 43_200
    slow: float = 0.0
    page: int = 200
    secrets: set[str] = field(default_factory=set)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    workspaces: dict[str, Workspace] = field(default_factory=dict)
    codes: dict[str, tuple[Workspace, str, tuple[str, ...]]] = field(default_factory=dict)
    access: dict[str, tuple[Workspace, float]] = field(default_factory=dict)
    refresh: dict[str, Workspace] = field(default_factory=dict)
    number: int = 0

    def workspace(self) -> Workspace:
        """A new workspace, with nobody in it."""
        team = f"T{secrets.token_hex(5).upper()}"
        made = self.workspaces[team] = Workspace(team, f"Canary Workspace {secrets.token_hex(4)}")
        self.secrets |= {made.team_id, made.name}
        return made

    def channel(self, workspace: Workspace, name: str = "deal-acme", *, is_member: bool = True) -> str:
        """A new channel."""
        identifier = f"C{secrets.token_hex(5).upper()}"
        workspace.channels[identifier] = {
            "id": identifier,
            "name": name,
            "is_channel": True,
            "is_private": False,
            "is_archived": False,
            "is_member": is_member,
        }
        workspace.messages[identifier] = {}
        return identifier

    def person(self, workspace: Workspace, email: str | None, name: str = "Somebody") -> str:
        """Somebody of the workspace."""
        identifier = f"U{secrets.token_hex(5).upper()}"
        profile = {"real_name": name} | ({} if email is None else {"email": email})
        workspace.users[identifier] = {"id": identifier, "name": name.lower(), "is_bot": False, "profile": profile}
        return identifier

    def message(self, workspace: Workspace, channel: str, text: str, moment: float | None = None) -> str:
        """Somebody writes something, which is nobody's business here."""
        ts = self._ts(time.time() if moment is None else moment)
        workspace.messages[channel][ts] = {"type": "message", "user": "U0", "text": text, "ts": ts}
        return ts

    def huddle(
        self,
        workspace: Workspace,
        channel: str,
        *people: str,
        start: float,
        end: float | None = None,
        name: str = "",
        room: str | None = None,
    ) -> dict[str, Any]:
        """A huddle begins, or is over; its message as it stands in the channel."""
        ts = self._ts(start)
        identifier = room or f"R{secrets.token_hex(5).upper()}"
        told = {
            "type": "message",
            "subtype": "huddle_thread",
            "user": "USLACKBOT",
            "channel": channel,
            "text": "",
            "ts": ts,
            "permalink": f"https://canary.slack.com/call/{identifier}",
            "room": {
                "id": identifier,
                "name": name,
                "created_by": people[0] if people else "",
                "date_start": int(start),
                "date_end": 0 if end is None else int(end),
                "has_ended": end is not None,
                "participants": list(people) if end is None else [],
                "participant_history": list(people),
                "channels": [channel],
                "call_family": "huddle",
            },
        }
        workspace.messages[channel][ts] = told
        return told

    def consent(
        self, address: str, workspace: Workspace, scopes: tuple[str, ...] = SCOPES, error: str | None = None
    ) -> dict[str, str]:
        """An administrator follows the address and permits, or refuses: what the callback is called with."""
        asked = dict(parse_qsl(urlsplit(address).query))
        assert address.startswith(f"{self.url}/oauth/v2/authorize?")
        assert asked["client_id"] == CLIENT_ID
        assert set(asked["scope"].split(",")) == set(SCOPES)
        if error is not None:
            return {"state": asked["state"], "error": error}
        code = self._secret("canary-code-")
        self.codes[code] = (workspace, asked["redirect_uri"], scopes)
        return {"state": asked["state"], "code": code}

    def count(self, method: str) -> int:
        """How often a method was asked."""
        return sum(path.endswith(f"/api/{method.removeprefix('/')}") for path, _ in list(self.asked))

    def expire(self) -> None:
        """All access tokens end now."""
        self.access = {token: (workspace, 0.0) for token, (workspace, _) in self.access.items()}

    def _secret(self, prefix: str) -> str:
        made = prefix + secrets.token_hex(16)
        self.secrets.add(made)
        return made

    def _ts(self, moment: float) -> str:
        self.number += 1
        return f"{int(moment)}.{self.number:06d}"

    def tokens(self, workspace: Workspace, scopes: tuple[str, ...]) -> dict[str, Any]:
        """The answer of the token endpoint."""
        access = self._secret("xoxb-Canary")
        self.access[access] = workspace, time.time() + (self.lasts if self.rotates else 10**9)
        told: dict[str, Any] = {
            "ok": True,
            "access_token": access,
            "token_type": "bot",
            "scope": ",".join(scopes),
            "team": {"id": workspace.team_id, "name": workspace.name},
            "authed_user": {"id": "U0"},
        }
        if self.rotates:
            told |= {"refresh_token": self._secret("xoxe-Canary"), "expires_in": self.lasts}
            self.refresh[told["refresh_token"]] = workspace
        return told

    def app(self) -> Starlette:
        """The application."""
        return Starlette(
            routes=[
                Route("/api/oauth.v2.access", self._token, methods=["POST"]),
                Route("/api/auth.revoke", self._revoke, methods=["POST"]),
                Route("/api/auth.test", self._test),
                Route("/api/conversations.info", self._info),
                Route("/api/users.conversations", self._conversations),
                Route("/api/conversations.history", self._history),
                Route("/api/users.info", self._user),
            ]
        )

    def _begin(self, request: Request, asked: dict[str, str]) -> Response | None:
        path = request.url.path
        self.asked.append((path, asked))
        for fault in self.faults:
            if path.endswith(fault.path):
                self.faults.remove(fault)
                return Response(fault.body, fault.status, fault.headers, "application/json")
        return None

    async def _token(self, request: Request) -> Response:
        form = {name: values[0] for name, values in parse_qs((await request.body()).decode()).items()}
        await asyncio.sleep(self.slow)
        if (answer := self._begin(request, {"grant_type": form.get("grant_type", "")})) is not None:
            return answer
        if (form.get("client_id"), form.get("client_secret")) != (CLIENT_ID, CLIENT_SECRET):
            return _no("invalid_client_id")
        if form.get("grant_type") == "refresh_token":
            workspace = self.refresh.pop(form["refresh_token"], None)
            return _no("invalid_refresh_token") if workspace is None else JSONResponse(self.tokens(workspace, SCOPES))
        found = self.codes.pop(form["code"], None)
        if found is None or found[1] != form["redirect_uri"]:
            return _no("invalid_code")
        return JSONResponse(self.tokens(found[0], found[2]))

    def _granted(self, request: Request) -> Workspace | Response:
        asked = dict(request.query_params)
        if (answer := self._begin(request, asked)) is not None:
            return answer
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        found = self.access.get(token)
        if found is None:
            return _no("invalid_auth")
        return found[0] if found[1] > time.time() else _no("token_expired")

    async def _revoke(self, request: Request) -> Response:
        found = self._granted(request)
        if isinstance(found, Response):
            return found
        self.access.pop(request.headers["authorization"].removeprefix("Bearer "))
        return JSONResponse({"ok": True, "revoked": True})

    async def _test(self, request: Request) -> Response:
        found = self._granted(request)
        if isinstance(found, Response):
            return found
        return JSONResponse({"ok": True, "team_id": found.team_id, "team": found.name, "user_id": "U0"})

    async def _info(self, request: Request) -> Response:
        found = self._granted(request)
        if isinstance(found, Response):
            return found
        channel = found.channels.get(request.query_params["channel"])
        return _no("channel_not_found") if channel is None else JSONResponse({"ok": True, "channel": channel})

    async def _conversations(self, request: Request) -> Response:
        found = self._granted(request)
        if isinstance(found, Response):
            return found
        asked = dict(request.query_params)
        assert (asked["types"], asked["exclude_archived"]) == ("public_channel", "true")
        mine = [each for each in found.channels.values() if each["is_member"] and not each["is_archived"]]
        first, size = int(asked.get("cursor", "0")), min(int(asked["limit"]), self.page)
        more = str(first + size) if first + size < len(mine) else ""
        shown = [{k: v for k, v in each.items() if k != "is_member"} for each in mine[first : first + size]]
        return JSONResponse({"ok": True, "channels": shown, "response_metadata": {"next_cursor": more}})

    async def _user(self, request: Request) -> Response:
        found = self._granted(request)
        if isinstance(found, Response):
            return found
        user = found.users.get(request.query_params["user"])
        return _no("user_not_found") if user is None else JSONResponse({"ok": True, "user": user})

    async def _history(self, request: Request) -> Response:
        found = self._granted(request)
        if isinstance(found, Response):
            return found
        asked = dict(request.query_params)
        channel = found.channels.get(asked["channel"])
        if channel is None:
            return _no("channel_not_found")
        if not channel["is_member"]:
            return _no("not_in_channel")
        oldest, inclusive = float(asked.get("oldest", "0")), asked.get("inclusive") == "true"
        there = [
            message
            for ts, message in sorted(found.messages[asked["channel"]].items(), key=lambda each: -float(each[0]))
            if float(ts) > oldest or (inclusive and float(ts) == oldest)
        ]
        first, size = int(asked.get("cursor", "0")), int(asked["limit"])
        answer = {"ok": True, "messages": there[first : first + size], "has_more": first + size < len(there)}
        if answer["has_more"]:
            answer["response_metadata"] = {"next_cursor": str(first + size)}
        return JSONResponse(answer)


def _no(error: str) -> Response:
    return JSONResponse({"ok": False, "error": error})


def signed(body: bytes, moment: float | None = None, secret: str = SIGNING_SECRET) -> dict[str, str]:
    """The headers that Slack sends with a body."""
    at = str(int(time.time() if moment is None else moment))
    digest = hmac.new(secret.encode(), f"v0:{at}:".encode() + body, "sha256").hexdigest()
    return {"X-Slack-Request-Timestamp": at, "X-Slack-Signature": f"v0={digest}", "Content-Type": "application/json"}


def notice(workspace: Workspace, event: dict[str, Any]) -> bytes:
    """The body of a notice of an event."""
    told = {"type": "event_callback", "team_id": workspace.team_id, "api_app_id": "A0", "event": event}
    return json.dumps(told | {"event_id": f"Ev{secrets.token_hex(4)}", "event_time": int(time.time())}).encode()


async def tell(http: httpx.AsyncClient, workspace: Workspace, event: dict[str, Any]) -> httpx.Response:
    """Slack tells of an event."""
    body = notice(workspace, event)
    return await http.post(HOOK, content=body, headers=signed(body))


@contextmanager
def slack_server() -> Iterator[Slack]:
    """The provider, on a port of its own."""
    slack = Slack()
    with served(slack, slack.app()):
        yield slack
