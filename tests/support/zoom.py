"""A Zoom on loopback: consent, tokens, recordings with their transcripts, participants, and signed notices.

The fields are those of Zoom's reference of cloud recordings, past meetings' participants and webhooks. A file leads on
to another address, which is asked without a token; who may not see a file gets a page that says so.
"""

from __future__ import annotations

import base64
import hmac
import json
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from tests.support.provider_server import Account, Fault, Grant, Provider, served

__all__ = ["Account", "Fault", "Grant"]
CLIENT_ID, CLIENT_SECRET, SECRET_TOKEN = "zoom-app", "CanaryOfTheZoomSecret", "CanaryOfTheZoomToken"
ALL = ("user:read:user", "cloud_recording:read:list_user_recordings", "meeting:read:list_past_participants")
HOOK = "/integrations/hooks/zoom"
VTT = (
    "WEBVTT\r\n\r\n1\r\n00:00:01.000 --> 00:00:04.000\r\nAnn: Hello <v Bob>Bob</v>\r\n\r\n2\r\n"
    "00:00:05.000 --> 00:00:06.000\r\nBob Out: Good morning\r\n"
)


@dataclass
class Zoom(Provider):
    """The provider, with its accounts and their recordings."""

    page: int = 300
    meetings: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    people: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)
    leads_to: str | None = None

    def account(self) -> Account:
        """A new account without recordings."""
        made = Account(f"z8{secrets.token_urlsafe(12)}", f"canary-{secrets.token_hex(4)}@crm.example")
        self.meetings[made.sub] = []
        self.secrets |= {made.sub, made.email}
        return made

    def record(
        self,
        account: Account,
        number: int,
        start: datetime,
        *people: tuple[str, str],
        topic: str = "Recorded",
        minutes: int = 30,
        text: str | None = VTT,
        host: str | None = None,
    ) -> dict[str, Any]:
        """A meeting was recorded; its uuid begins with a slash, as some do."""
        uuid = f"/{base64.b64encode(secrets.token_bytes(12)).decode()}=="
        name = secrets.token_hex(8)
        video = {"file_type": "MP4", "status": "completed", "download_url": f"{self.url}/rec/download/v{name}"}
        files = [{"id": f"v{name}"} | video]
        if text is not None:
            told = {"id": f"t{name}", "file_type": "TRANSCRIPT", "file_extension": "VTT", "status": "completed"}
            files.append(told | {"download_url": f"{host or self.url}/rec/download/{name}"})
            self.texts[name] = text
        made = {
            "uuid": uuid,
            "id": number,
            "host_id": account.sub,
            "topic": topic,
            "type": 2,
            "start_time": f"{start:%Y-%m-%dT%H:%M:%SZ}",
            "duration": minutes,
            "share_url": f"https://zoom.us/rec/share/{name}",
            "recording_files": files,
        }
        self.meetings[account.sub].append(made)
        self.people[uuid] = [{"id": "", "name": name, "user_email": email} for name, email in people]
        return made

    def consent(
        self, address: str, account: Account, scopes: tuple[str, ...] = ALL, error: str | None = None
    ) -> dict[str, str]:
        """A person follows the address and permits, or refuses: what the callback is called with."""
        asked = dict(parse_qsl(urlsplit(address).query))
        assert address.startswith(f"{self.url}/oauth/authorize?")
        assert (asked["client_id"], asked["response_type"], "scope" in asked) == (CLIENT_ID, "code", False)
        assert asked["code_challenge_method"] == "S256"
        if error is not None:
            return {"state": asked["state"], "error": error}
        code = self.secret("canary-code-")
        self.codes[code] = Grant(account, scopes, asked["code_challenge"], asked["redirect_uri"])
        return {"state": asked["state"], "code": code}

    def tokens(self, grant: Grant) -> dict[str, Any]:
        """The answer of the token endpoint."""
        access, refresh = self.secret("canary-access-"), self.secret("canary-refresh-")
        self.access[access] = Grant(grant.account, grant.scopes, expires_at=time.time() + self.lasts)
        self.refresh[refresh] = Grant(grant.account, grant.scopes)
        told = {"access_token": access, "refresh_token": refresh, "token_type": "bearer", "expires_in": self.lasts}
        return told | {"scope": " ".join(grant.scopes), "api_url": self.url}

    def app(self) -> Starlette:
        """The application."""
        return Starlette(
            routes=[
                Route("/oauth/token", self._token, methods=["POST"]),
                Route("/oauth/revoke", self._revoke, methods=["POST"]),
                Route("/v2/users/me", self._me),
                Route("/v2/users/me/recordings", self._recordings),
                Route("/v2/past_meetings/{uuid:path}/participants", self._participants),
                Route("/rec/download/{name}", self._download),
                Route("/rec/stored/{name}", self._stored),
            ]
        )

    def _is_client(self, request: Request) -> bool:
        given = request.headers.get("authorization", "").removeprefix("Basic ")
        return base64.b64decode(given).decode() == f"{CLIENT_ID}:{CLIENT_SECRET}"

    async def _token(self, request: Request) -> Response:
        form = await self.form(request)
        if (answer := await self.begin(request, {"grant_type": form["grant_type"]})) is not None:
            return answer
        if not self._is_client(request):
            return JSONResponse({"reason": "Invalid client_id or client_secret", "error": "invalid_client"}, 400)
        is_renewal = form["grant_type"] == "refresh_token"
        grant = self.refresh.pop(form["refresh_token"], None) if is_renewal else self.redeemed(form)
        if grant is None:
            return JSONResponse({"reason": "Invalid Token!", "error": "invalid_grant"}, 400)
        return JSONResponse(self.tokens(grant))

    async def _revoke(self, request: Request) -> Response:
        form = await self.form(request)
        if (answer := await self.begin(request, {})) is not None:
            return answer
        grant = self.access.pop(form["token"], None) if self._is_client(request) else None
        if grant is None or grant.expires_at < time.time():
            return JSONResponse({"reason": "Invalid Token!", "error": "invalid_request"}, 400)
        for tokens in (self.access, self.refresh):
            for token in [token for token, each in tokens.items() if each.account == grant.account]:
                del tokens[token]
        return JSONResponse({"status": "success"})

    async def _granted(self, request: Request, scope: str) -> Grant | Response:
        if (answer := await self.begin(request, dict(request.query_params))) is not None:
            return answer
        grant = self.granted(request)
        if grant is None:
            return JSONResponse({"code": 124, "message": "Invalid access token."}, 401)
        if scope not in grant.scopes:
            words = f"Invalid access token, does not contain scopes:[{scope}]."
            return JSONResponse({"code": 4711, "message": words}, 400)
        return grant

    async def _me(self, request: Request) -> Response:
        grant = await self._granted(request, ALL[0])
        if isinstance(grant, Response):
            return grant
        return JSONResponse({"id": grant.account.sub, "email": grant.account.email})

    async def _recordings(self, request: Request) -> Response:
        grant = await self._granted(request, ALL[1])
        if isinstance(grant, Response):
            return grant
        asked = request.query_params
        first, last = (datetime.fromisoformat(asked[name]) for name in ("from", "to"))
        assert last - first <= timedelta(days=30)
        mine = self.meetings[grant.account.sub]
        there = [each for each in mine if asked["from"] <= each["start_time"][:10] <= asked["to"]]
        at, size = int(asked.get("next_page_token") or "0"), min(self.page, int(asked["page_size"]))
        more = str(at + size) if at + size < len(there) else ""
        return JSONResponse({"meetings": there[at : at + size], "next_page_token": more, "page_size": size})

    async def _participants(self, request: Request) -> Response:
        grant = await self._granted(request, ALL[2])
        if isinstance(grant, Response):
            return grant
        people = self.people.get(unquote(request.path_params["uuid"]))
        if people is None:
            return JSONResponse({"code": 3001, "message": "Meeting does not exist"}, 404)
        at, size = int(request.query_params.get("next_page_token") or "0"), min(self.page, 300)
        more = str(at + size) if at + size < len(people) else ""
        return JSONResponse({"participants": people[at : at + size], "next_page_token": more})

    async def _download(self, request: Request) -> Response:
        if (answer := await self.begin(request, {})) is not None:
            return answer
        name = request.path_params["name"]
        if self.granted(request) is None or name in self.hidden:
            return HTMLResponse("<!doctype html><p>Only the host can download this recording.")
        signed = self.secret("canary-signed-")
        return RedirectResponse(f"{self.leads_to or ''}/rec/stored/{name}?signature={signed}", 302)

    async def _stored(self, request: Request) -> Response:
        self.asked.append((request.url.path, {}))
        assert "authorization" not in request.headers
        assert request.query_params["signature"] in self.secrets
        return PlainTextResponse(self.texts[request.path_params["name"]], media_type="text/vtt")


def signed(body: bytes, moment: float) -> dict[str, str]:
    """The headers of a notice that Zoom sends at this moment."""
    at = str(int(moment))
    digest = hmac.new(SECRET_TOKEN.encode(), f"v0:{at}:".encode() + body, "sha256").hexdigest()
    return {"x-zm-request-timestamp": at, "x-zm-signature": f"v0={digest}"}


async def tell(http: httpx.AsyncClient, event: str, account: Account, **payload: Any) -> httpx.Response:
    """Zoom tells of an event."""
    told = payload or {"account_id": "a", "object": {"host_id": account.sub}}
    body = json.dumps({"event": event, "payload": told, "event_ts": 1}).encode()
    return await http.post(HOOK, content=body, headers=signed(body, time.time()))


@contextmanager
def zoom_server() -> Iterator[Zoom]:
    """The provider, on a port of its own."""
    zoom = Zoom()
    with served(zoom, zoom.app()):
        yield zoom
