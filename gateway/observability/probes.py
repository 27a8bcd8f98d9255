"""Says what /ready asks of a process: a line for each thing that it needs."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING

from contract.errors import Unavailable
from gateway.observability.readiness import DEADLINE, Probe, clusters_there, latest_call, migrations
from gateway.setting_checks import SequencingProvider
from providers.mail_address import PROVIDER as MAIL_PROVIDER
from providers.mail_address import mail_server
from storage.base import now
from storage.queries import jobs
from transport.readiness import Check

if TYPE_CHECKING:
    from gateway.core import Core

_NOT_CALLED = "not called by this process yet"
"""A worker may have called it, whose calls `crm_provider_calls_total` counts, too."""


class Probes:
    """The probes of one process."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def named(self) -> dict[str, Probe]:
        """Those that the settings ask for, by the names of their lines."""
        core, settings = self._core, self._core.settings
        url = settings.database_url.get_secret_value()
        probes: dict[str, Probe] = {
            "database": self._database,
            "migrations": lambda: migrations(url),
            "worker": self._worker,
            "artifacts": self._artifacts,
        }
        if core.database.replicas is not None:
            probes["replicas"] = self._replicas
        if (clusters := core.database.clusters) is not None:
            probes["clusters"] = lambda: clusters_there(clusters)
        if core.limiting.link is not None:
            probes["redis"] = core.limiting.check
        if core.keys is not None:
            probes["identity_provider"] = self._identity
        if settings.sequencing_provider is not SequencingProvider.LOCAL:
            probes["sequencing_provider"] = self._sequencing
        if mail_server(settings.mail_url.get_secret_value()) is not None:
            probes["mail"] = self._mail
        if settings.model_url is not None:
            probes["model"] = self._model
        return probes

    async def _database(self) -> Check:
        try:
            bypassed = await self._core.database.bypasses_row_security()
        except Unavailable:
            return Check("database", False, "cannot be reached")
        note = "; its role bypasses row-level security, so one of the isolation layers is missing" if bypassed else ""
        return Check("database", True, f"reached{note}")

    async def _replicas(self) -> Check:
        """Says how many are there; that none is fails nothing, since the primary answers then."""
        found = self._core.database.replicas
        replicas = [] if found is None else found.all
        return Check("replicas", True, f"{sum(one.is_there for one in replicas)} of {len(replicas)} are there")

    async def _worker(self) -> Check:
        """A worker that is to run here has to beat; whether others do elsewhere is said, and fails nothing."""
        if self._core.worker is not None:
            beats = self._core.worker.is_beating
            return Check("worker", beats, f"runs jobs {self._core.worker.where}" if beats else "does not beat")
        lease = timedelta(seconds=self._core.settings.job_lease_seconds)
        try:
            async with self._core.database.directory() as session:
                number = await jobs.beating(session, now() - lease)
        except Exception:  # away, or not migrated yet, which other lines say
            return Check("worker", True, "not in this process; whether one beats elsewhere is unknown")
        return Check("worker", True, f"not in this process; {number or 'none'} beating elsewhere")

    async def _artifacts(self) -> Check:
        try:
            async with asyncio.timeout(DEADLINE / 2):
                await self._core.artifacts.check()
        except (OSError, TimeoutError):
            return Check("artifacts", True, "the store cannot be used: no report is rendered, and no file read or kept")
        return Check("artifacts", True, "the store can be used")

    async def _identity(self) -> Check:
        loaded = self._core.keys is not None and self._core.keys.loaded
        words = ["keys loaded" if loaded else "keys not loaded yet", latest_call(self._core.calls, "identity_provider")]
        return Check("identity_provider", loaded, "; ".join(filter(None, words)))

    async def _sequencing(self) -> Check:
        name = self._core.settings.sequencing_provider.value
        return Check(
            "sequencing_provider",
            True,
            f"{name}; {latest_call(self._core.calls, name) or 'not called by this process yet'}",
        )

    async def _mail(self) -> Check:
        return Check("mail", True, latest_call(self._core.calls, MAIL_PROVIDER) or _NOT_CALLED)

    async def _model(self) -> Check:
        # With the client of other services, where there is a model.
        from providers.model_stream import PROVIDER as CHAT_PROVIDER
        from providers.models import PROVIDER

        calls = self._core.calls
        asked = {"questions": latest_call(calls, PROVIDER), "chats": latest_call(calls, CHAT_PROVIDER)}
        called = "; ".join(f"{of}: {how}" for of, how in asked.items() if how) or _NOT_CALLED
        return Check("model", True, f"{self._core.settings.model_name}; {called}")
