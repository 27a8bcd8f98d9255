"""Figures of `/metrics` that are found out from all organizations, one after another, beside the answers.

Rows of different organizations are not read by one statement (isolation layer 5), so a bounded number of organizations
is asked each time, in turns (decision 904).
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from prometheus_client.metrics_core import Metric

from contract.integrations import IntegrationStatus
from gateway.observability.beside import Beside
from gateway.observability.families import gauge, written
from storage.base import now
from storage.clusters import found_on_servers
from storage.database import Database
from storage.queries import integration_states, webhooks
from storage.queries.organizations import all_ids
from storage.tenancy.sessions import TenantSession

_SECONDS = 15.0
"""The seconds after which organizations are asked again."""
_DEADLINE = 60.0
_PATIENCE = 2.0
_ORGANIZATIONS_AT_ONCE = 200
"""The organizations that are asked each time, at most: what the metric costs does not grow with them."""


class Figure(Protocol):
    """A figure of all organizations."""

    async def organizations(self, session: TenantSession) -> Sequence[str]:
        """Give the organizations that a turn asks, which begins (a session of the directory)."""

    async def look(self, session: TenantSession) -> None:
        """Ask one organization."""

    def note(self, *, is_whole: bool) -> None:
        """Take what was found into what is shown; all of the turn, or a part of it."""

    def families(self) -> Sequence[Metric]:
        """Give the lines, once something is known."""


class InTurns:
    """Finds a figure out while nobody waits for it."""

    def __init__(self, database: Database, figure: Figure) -> None:
        self._database = database
        self._figure = figure
        self._left: list[str] = []
        self._is_known = False
        self._asking = Beside(self._ask)

    async def lines(self) -> bytes:
        """The metric; none where it was never found out."""
        if self._asking.begin(_SECONDS):
            await self._asking.wait(_PATIENCE)
        return written(self._figure.families()) if self._is_known else b""

    async def stop(self) -> None:
        """Ask no longer."""
        await self._asking.stop()

    async def _ask(self) -> None:
        try:
            async with asyncio.timeout(_DEADLINE):
                if not self._left:
                    found = await found_on_servers(self._database, self._figure.organizations)
                    self._left = list(dict.fromkeys(found))
                asked, self._left = self._left[:_ORGANIZATIONS_AT_ONCE], self._left[_ORGANIZATIONS_AT_ONCE:]
                for org_id in asked:  # a session is of one organization
                    async with self._database.reading(org_id) as session:
                        await self._figure.look(session)
            self._figure.note(is_whole=not self._left)
            self._is_known = True
        except Exception:  # away, too slow, or not migrated yet, which /ready says
            self._is_known = False


class Undelivered:
    """Since when the first event waits that an active webhook of any organization has not got.

    Until all organizations have been asked, what the last turn found counts beside what this one did, and goes on
    ageing.
    """

    def __init__(self) -> None:
        self._first: datetime | None = None
        self._of_turn: datetime | None = None

    async def organizations(self, session: TenantSession) -> Sequence[str]:
        """Give those with an active webhook."""
        self._of_turn = None
        return await webhooks.organizations(session)

    async def look(self, session: TenantSession) -> None:
        """Look for the first event that waits in the organization."""
        self._of_turn = _earlier(self._of_turn, await webhooks.undelivered_since(session))

    def note(self, *, is_whole: bool) -> None:
        """Show the earliest."""
        self._first = self._of_turn if is_whole else _earlier(self._first, self._of_turn)

    def families(self) -> Sequence[Metric]:
        """Give its age."""
        words = "How long the first event has waited that an active webhook has not got."
        return [gauge("crm_webhooks_oldest_undelivered_seconds", words, ({}, age(self._first)))]


class Connections:
    """The connections by status, and since when the first of them is due that was not read yet."""

    def __init__(self) -> None:
        self._shown: tuple[Counter[str], datetime | None] | None = None
        self._numbers = Counter[str]()
        self._due: datetime | None = None

    async def organizations(self, session: TenantSession) -> Sequence[str]:
        """Give all of them."""
        self._numbers, self._due = Counter(), None
        return await all_ids(session)

    async def look(self, session: TenantSession) -> None:
        """Count the organization's connections."""
        for row in await integration_states.states(session):
            self._numbers[row.status] += row.number
            if row.status == IntegrationStatus.ACTIVE.value:
                self._due = _earlier(self._due, row.next_sync_at)

    def note(self, *, is_whole: bool) -> None:
        """Show a whole turn, or the first one as it goes."""
        if is_whole or self._shown is None:
            self._shown = self._numbers, self._due

    def families(self) -> Sequence[Metric]:
        """Give all statuses, those that none has too."""
        numbers, due = self._shown or (Counter[str](), None)
        by_status = (({"status": each.value}, float(numbers[each.value])) for each in IntegrationStatus)
        words = "How long the connection has been due that is due for longest."
        return [
            gauge("crm_integrations", "Connections to accounts elsewhere.", *by_status),
            gauge("crm_integrations_behind_seconds", words, ({}, age(due))),
        ]


def _earlier(one: datetime | None, other: datetime | None) -> datetime | None:
    return min(filter(None, (one, other)), default=None)


def age(moment: datetime | None) -> float:
    """The seconds since then; none where there is no such moment, or it is to come."""
    return max(0.0, (now() - moment).total_seconds()) if moment else 0.0
