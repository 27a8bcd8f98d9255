"""A sequencing provider for tests: it keeps what it is told, fails as it is told, and is called in no transaction."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import httpx
from sqlalchemy import update
from sqlmodel import col

from contract.outreach_vocabulary import DomainStatus, MailboxStatus
from identity.authenticate import Identity
from jobs.attempts import Attempt, Claim
from providers.ports import Ports
from providers.sequencing import DomainState, Gone, Lead, Outline, Progress, Running, State
from resolvers.shared.context import Services
from storage.base import new_id, now
from storage.change_feed import ChangeFeed
from storage.database import Database
from storage.queries import jobs
from storage.tables import QueuedJob
from tests.support.world import PEPPER, Recorder, issuer

Hook = Callable[[], Awaitable[None]]
NOTHING: Any = None
"""In place of the ports that no campaign's work may use."""


@dataclass
class Stub:
    """The provider. `fail` are errors to be raised, by method, one after the other; the last one stays."""

    database: Database
    name: str = "stub"
    calls: list[tuple[Any, ...]] = field(default_factory=list)
    sequences: dict[str, str] = field(default_factory=dict)
    leads: dict[str, list[str]] = field(default_factory=dict)
    fail: dict[str, list[Exception | None]] = field(default_factory=dict)
    during: dict[str, Hook] = field(default_factory=dict)
    """What happens elsewhere while the method is called, once."""
    answer: Progress | None = None
    reason: str | None = None
    domain: DomainState = field(default_factory=lambda: DomainState(DomainStatus.ACTIVE, spf=True))
    mailbox: MailboxStatus = MailboxStatus.ACTIVE
    made: int = 0

    async def _called(self, method: str, *arguments: Any) -> None:
        self.calls.append((method, *arguments))
        assert open_transactions(self.database) == 0, f"{method} was called inside a transaction"
        if hook := self.during.pop(method, None):
            await hook()
        errors = self.fail.get(method, [])
        error = errors.pop(0) if len(errors) > 1 else (errors or [None])[0]
        if error is not None:
            raise error

    def _known(self, sequence_id: str) -> None:
        if sequence_id not in self.sequences:
            raise Gone("Stub does not know it")

    async def find(self, key: str) -> str | None:
        await self._called("find", key)
        return next((i for i in self.sequences if i.startswith(f"{key}/")), None)

    async def create(self, sequence: Outline) -> str:
        await self._called("create", sequence.key)
        self.made += 1
        identifier = f"{sequence.key}/{self.made}"
        self.sequences[identifier] = "draft"
        return identifier

    async def update(self, sequence_id: str, sequence: Outline) -> None:
        await self._called("update", sequence_id, sequence.name)
        self._known(sequence_id)

    async def activate(self, sequence_id: str) -> None:
        await self._called("activate", sequence_id)
        self._known(sequence_id)
        self.sequences[sequence_id] = "running"

    async def pause(self, sequence_id: str) -> None:
        await self._called("pause", sequence_id)
        self._known(sequence_id)
        self.sequences[sequence_id] = "paused"

    async def delete(self, sequence_id: str) -> None:
        await self._called("delete", sequence_id)
        self._known(sequence_id)
        del self.sequences[sequence_id]

    async def add_leads(self, sequence_id: str, leads: Sequence[Lead]) -> None:
        await self._called("add_leads", sequence_id, len(leads))
        self._known(sequence_id)
        self.leads.setdefault(sequence_id, []).extend(lead.email for lead in leads)

    async def remove_lead(self, sequence_id: str, email: str) -> None:
        await self._called("remove_lead", sequence_id, email)
        if email in self.leads.get(sequence_id, ()):
            self.leads[sequence_id].remove(email)

    async def progress(self, running: Running) -> Progress:
        await self._called("progress", running.sequence_id)
        return self.answer or Progress(State.RUNNING, [], now() + timedelta(hours=1))

    async def blocked(self, sequence_id: str | None) -> str | None:
        await self._called("blocked", sequence_id)
        return self.reason

    async def purchase_domain(self, name: str) -> DomainState:
        await self._called("purchase_domain", name)
        return self.domain

    async def provision_mailbox(self, address: str, display_name: str | None) -> MailboxStatus:
        await self._called("provision_mailbox", address, display_name)
        return self.mailbox

    async def close(self) -> None:
        pass

    @property
    def methods(self) -> list[str]:
        return [call[0] for call in self.calls]


def open_transactions(database: Database) -> int:
    """How many there are: each holds a turn at the pool, and a connection from its first statement to its end."""
    return database.connections.state.in_use


def services_with(database: Database, sequencing: Any) -> Services:
    """Services as a world has them, with this provider."""
    return Services(
        database, Identity(database, issuer(), PEPPER), Recorder(), NOTHING, ChangeFeed(database), sequencing=sequencing
    )


async def work_off(
    database: Database, sequencing: Any, *, hurry: bool = True, rounds: int = 50
) -> list[tuple[str, str]]:
    """Run the jobs that are due, and those that they lead to, one after the other: their kinds and outcomes.

    In a `hurry` every job is due now; jobs that lead to others without an end are let be after so many `rounds`.
    """
    done: list[tuple[str, str]] = []
    async with httpx.AsyncClient() as http:
        ports = Ports(http, Recorder(), NOTHING, NOTHING, sequencing=sequencing)
        for _ in range(rounds):
            claim = await _claim(database, hurry)
            if claim is None:
                break
            attempt = Attempt(database, ports, claim)
            outcome = await attempt.make()
            done.append((attempt.kind, outcome.value))
            hurry = False
    return done


async def _claim(database: Database, hurry: bool) -> Claim | None:
    async with database.directory(writing=True) as session:
        if hurry:
            waiting = update(QueuedJob).where(col(QueuedJob.holder).is_(None)).values(due_at=now())
            await session.execute(waiting)
    async with database.directory(writing=True) as session:
        holder = new_id()
        row = await jobs.claim(session, holder, now() + timedelta(seconds=30), avoiding=[])
    return None if row is None else Claim(row.org_id, row.job_id, holder)
