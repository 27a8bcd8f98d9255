"""What the providers on loopback have in common: accounts with grants, tokens, faults, and a thread of their own.

Each fault is given once, in the order in which they were put, in place of the answer to the next request on its path.
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
from datetime import datetime
from hashlib import sha256
from typing import Protocol
from urllib.parse import parse_qs

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response


@dataclass(frozen=True)
class Account:
    """An account: what it is known by for good, and its address."""

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
    """What is answered in place of the answer to the next request on such a path, or after so many."""

    path: str
    status: int = 200
    body: bytes = b"{}"
    headers: dict[str, str] = field(default_factory=dict)
    skips: int = 0


@dataclass(frozen=True)
class Letter:
    """A message by its headers, as a test says it; each provider shows it in its own form."""

    id: str
    sent_at: datetime
    sender: str
    to: tuple[str, ...]
    copies: tuple[str, ...] = ()
    subject: str = "Offer"
    message_id: str = ""
    is_outgoing: bool = False
    labels: tuple[str, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        """The Message-ID."""
        return self.message_id or f"<{self.id}@mail.example>"


@dataclass
class Provider:
    """A provider; `secrets` are all that it ever gave out and nobody may find lying about."""

    url: str = ""
    lasts: int = 3_600
    rotates: bool = True
    slow: float = 0.0
    secrets: set[str] = field(default_factory=set)
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    codes: dict[str, Grant] = field(default_factory=dict)
    access: dict[str, Grant] = field(default_factory=dict)
    refresh: dict[str, Grant] = field(default_factory=dict)
    number: int = 0

    def expire(self) -> None:
        """All access tokens end now."""
        for grant in self.access.values():
            grant.expires_at = 0.0

    def count(self, path: str) -> int:
        """How often a path was asked."""
        return sum(asked.endswith(path) for asked, _ in list(self.asked))

    def secret(self, prefix: str) -> str:
        """A new secret, of which note is taken."""
        made = prefix + secrets.token_urlsafe(24)
        self.secrets.add(made)
        return made

    async def begin(self, request: Request, asked: dict[str, str]) -> Response | None:
        """Note what was asked; the fault that is answered instead, if there is one."""
        path = request.url.path
        self.asked.append((path, asked))
        await asyncio.sleep(self.slow)
        for fault in self.faults:
            if path.endswith(fault.path):
                if fault.skips:
                    fault.skips -= 1
                    continue
                self.faults.remove(fault)
                return Response(fault.body, fault.status, fault.headers, "application/json")
        return None

    async def form(self, request: Request) -> dict[str, str]:
        """The form of a request."""
        return {name: values[0] for name, values in parse_qs((await request.body()).decode()).items()}

    def redeemed(self, form: dict[str, str]) -> Grant | None:
        """What a code stands for, which is used up, where the verifier and the address are its own."""
        grant = self.codes.pop(form["code"], None)
        challenge = base64.urlsafe_b64encode(sha256(form["code_verifier"].encode()).digest()).rstrip(b"=").decode()
        if grant is None or (grant.challenge, grant.redirect) != (challenge, form["redirect_uri"]):
            return None
        return grant

    def granted(self, request: Request) -> Grant | None:
        """What the request's token stands for; None where it has ended."""
        grant = self.access.get(request.headers.get("authorization", "").removeprefix("Bearer "))
        return None if grant is None or grant.expires_at < time.time() else grant


class Addressed(Protocol):
    """Whatever is told its own address once it is served."""

    url: str


@contextmanager
def served(provider: Addressed, app: Starlette) -> Iterator[None]:
    """Serve the provider on a port of its own, in a thread of its own, so that several processes can ask it.

    It closes no connection that rests: a call that is sent at that moment is lost, and a busy machine finds the moment.
    """
    listening = socket.create_server(("127.0.0.1", 0))
    provider.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off", timeout_keep_alive=600))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(10)
        listening.close()
