"""Requests played against the whole application over a database that starts as every other one does.

Time and chance are set for each request, so that what is made gets the same identifiers, secrets and moments on every
database, and the answers can be compared byte for byte.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

import providers.local_sequencing
import storage.base
import storage.queries.artifacts
from identity.principal import Organization
from storage.seeding import Plan as Seeding
from storage.seeding import seed
from storage.seeding.plan import EPOCH
from tests.isolation.records import fill_organization
from tests.support.gateway import Gateway, open_gateway
from tests.support.world import Headers

MEMBER = "user_seed77_1_admin"
MARK = "Mark Ünder_score 100% O'Neil"


@dataclass(frozen=True)
class Sent:
    """A request but for its credential."""

    method: str
    path: str
    body: bytes | None
    headers: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.method} {self.path} {self.headers}\n{(self.body or b'').decode()}"


@dataclass(frozen=True)
class Got:
    """What of an answer has to be the same everywhere."""

    status: int
    headers: dict[str, str]
    content: bytes

    def __str__(self) -> str:
        return f"{self.status} {self.headers}\n{self.content.decode(errors='replace')}"


@dataclass
class Dice:
    """What was thrown for one request, or for what runs beside the requests."""

    name: str
    thrown: Counter[str] = field(default_factory=Counter)


_DICE: ContextVar[Dice] = ContextVar("dice")
"""Those of whatever runs: a request's own, so that what runs beside it takes none of its throws."""


class Fate:
    """The clock and the dice of the application."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.number = 0
        self._beside = Dice("beside")
        _DICE.set(self._beside)
        fate = self

        class Clock(datetime):
            @classmethod
            def now(cls, tz: tzinfo | None = None) -> Any:
                return fate.moment.astimezone(tz)

        for module in (storage.base, providers.local_sequencing):
            monkeypatch.setattr(module, "datetime", Clock)
        time_ns = lambda: int(self.moment.timestamp() * 1_000_000_000)  # noqa: E731  # it stands in for a function
        monkeypatch.setattr(storage.base, "time", SimpleNamespace(time_ns=time_ns))
        monkeypatch.setattr(secrets, "randbits", self._identifier)
        for place in (secrets, storage.queries.artifacts):
            monkeypatch.setattr(place, "token_hex", lambda size: f"{self._next('hex', size * 8):0{size * 2}x}")
        monkeypatch.setattr(secrets, "token_bytes", lambda size: self._next("bytes", size * 8).to_bytes(size))
        monkeypatch.setattr(secrets, "token_urlsafe", lambda size=32: f"{self._next('text', size * 8):043x}"[:43])

    @property
    def moment(self) -> datetime:
        """The present."""
        return EPOCH + timedelta(seconds=self.number, microseconds=123_456)

    def turn(self, number: int) -> None:
        """The dice and the clock of the request with this number."""
        self.number = number
        _DICE.set(Dice(str(number)))

    def _next(self, kind: str, bits: int) -> int:
        # Each kind has dice of its own: a database's driver may throw some of them too.
        dice = _DICE.get(self._beside)
        dice.thrown[kind] += 1
        return Random(f"{dice.name} {kind} {dice.thrown[kind]}").getrandbits(bits)

    def _identifier(self, bits: int) -> int:
        low = self._next("id", bits - 24)
        number = _DICE.get(self._beside).thrown["id"]
        return (number << (bits - 24)) | low  # they grow in the order in which they are made


@dataclass
class Player:
    """The application over one of the databases."""

    gateway: Gateway
    organization: Organization
    headers: Headers
    fate: Fate

    async def play(self, number: int, sent: Sent) -> Got:
        """Send the request as the one with this number."""
        self.fate.turn(number)
        answer = await self.gateway.http.request(
            sent.method,
            sent.path,
            content=sent.body,
            headers=self.headers | sent.headers | {"X-Request-Id": f"request-{number}"},
        )
        # Questions and messages are worked on behind their request: at this number's moment on every database.
        services = self.gateway.runtime.services
        for runs in (services.runs, services.chat_runs):
            await runs.stop(SETTLED_SECONDS)
        return Got(answer.status_code, _kept(answer.headers), answer.content)

    async def rows(self) -> dict[str, list[tuple[Any, ...]]]:
        """Every row of the organization and of the directory, but for those of the search and of the roll-ups, which
        are each database's own.

        So are the identifiers of changes: of those that follow from another record's the database draws them; and the
        transactions that counted groups. What becomes of questions and messages is left out: they are worked on beside
        the requests.
        """
        self.gateway.world.one = self.organization
        rows = await self.gateway.world.dump()
        for table in _OWN:
            del rows[table]
        rows["record_changes"] = sorted(((row[0], *row[2:]) for row in rows["record_changes"]), key=repr)
        rows["match_groups"] = [row[:-1] for row in rows["match_groups"]]
        return rows


_OWN = (
    *("search_entries", "deal_cells", "deal_cell_deltas", "meeting_cells", "meeting_cell_deltas"),
    *("analytics_runs", "analytics_events", "analytics_watches"),
    *("chat_messages", "chat_runs", "chat_events", "chat_steps", "chat_watches", "model_usage"),
)


@asynccontextmanager
async def playing(url: str, folder: Path) -> AsyncIterator[Player]:
    """The application over this migrated database, with one organization that has some of everything."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        fate = Fate(monkeypatch)
        async with open_gateway(url, folder, **SETTINGS) as gateway:
            fate.turn(0)
            world = gateway.world
            [identifier] = (await seed(world.database, Seeding(1, 12, 30, 20, 60, seed=77))).organizations
            organization = Organization(identifier, identifier, "Seeded")
            await fill_organization(world, organization, MEMBER, MARK)
            yield Player(gateway, organization, world.session(MEMBER, organization), fate)


SETTINGS: dict[str, Any] = {"rate_limit": False}
"""How the application differs from one as it is installed: wide limits belong here, so that every request is served."""

SETTLED_SECONDS = 30.0
"""How long the work behind a request may take."""

_COMPARED = ("content-type", "etag", "location", "x-ignored-fields", "allow", "retry-after", "content-disposition")


def _kept(headers: httpx.Headers) -> dict[str, str]:
    return {name: headers[name] for name in _COMPARED if name in headers}
