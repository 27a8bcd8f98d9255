"""One-time codes for the demo's link: opened soon, on this machine, it gives a session token, once.

A link ends up in histories, chats and screenshots; a used code is worth nothing there (decision 167). The codes are
files of the data folder, so that any of several processes can take one, and exactly one of them does.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import orjson
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from contract.errors import BadRequest, NotFound
from contract.scopes import Role
from gateway.addresses import is_loopback
from identity.tokens import EmbeddedIssuer
from transport.bodies import read_body

PATH: Final = "/demo/token"
LINK_SECONDS: Final = 15 * 60
TOKEN_SECONDS: Final = 12 * 3600
_FOLDER: Final = "demo-links"
_BODY_MAX: Final = 1_000


@dataclass(frozen=True, slots=True)
class Invitation:
    """The person whom a code signs in, and the organization where."""

    subject: str
    organization: str


class DemoLinks:
    """The codes that are kept below this data folder."""

    def __init__(self, data_dir: Path) -> None:
        self._folder = data_dir / _FOLDER

    def make(self, invitation: Invitation) -> str:
        """A new code; those that have run out are swept."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path in self._folder.iterdir():
            if not 0 <= time.time() - path.stat().st_mtime <= LINK_SECONDS:
                path.unlink(missing_ok=True)
        code = secrets.token_urlsafe(32)
        handle = os.open(self._path(code), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(orjson.dumps(asdict(invitation)))
        return code

    def take(self, code: str) -> Invitation | None:
        """Returns what the code stands for, the first time that it is asked for in time; None ever after."""
        path = self._path(code)
        taken = path.with_suffix(f".{secrets.token_hex(8)}")
        try:
            path.rename(taken)  # of several who try, one has it
        except FileNotFoundError:
            return None
        age = time.time() - taken.stat().st_mtime
        content = taken.read_bytes()
        taken.unlink()
        return Invitation(**orjson.loads(content)) if 0 <= age <= LINK_SECONDS else None

    def _path(self, code: str) -> Path:
        return self._folder / sha256(code.encode(errors="surrogatepass")).hexdigest()


def token_for(issuer: EmbeddedIssuer, invited: Invitation) -> str:
    """A new session token of the demo's administrator."""
    return issuer.mint(
        invited.subject, organization=invited.organization, scopes=sorted(Role.ADMIN.scopes), ttl=TOKEN_SECONDS
    )


def exchange(links: DemoLinks, issuer: EmbeddedIssuer) -> Callable[[Request], Awaitable[Response]]:
    """The endpoint that takes a code from GraphiQL of this machine and answers with a token.

    A page of another origin, or under another name of this machine, finds nothing here.
    """

    async def answer(request: Request) -> Response:
        host = request.headers.get("host", "")
        if not is_loopback(host) or urlsplit(request.headers.get("origin", f"//{host}")).netloc != host:
            raise NotFound()
        code = _code(await read_body(request.receive, request.headers.get("content-length"), _BODY_MAX))
        invitation = await run_in_threadpool(links.take, code)
        if invitation is None:
            raise NotFound("The code of this link was used already, or has run out")
        content = {"token": token_for(issuer, invitation), "organization": invitation.organization}
        return Response(orjson.dumps(content), media_type="application/json")

    return answer


def _code(body: bytes) -> str:
    try:
        code = orjson.loads(body)["code"]
    except (ValueError, TypeError, KeyError):
        code = None
    if not isinstance(code, str):
        raise BadRequest("The body must be a JSON object with a code")
    return code
