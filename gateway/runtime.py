"""The services of one process, made from the settings, started and stopped with it."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta

import httpx

from contract.errors import Unavailable
from contract.limits import STATEMENT_SECONDS
from gateway.limiting import limiting_of
from gateway.metrics import count_job, count_notification
from gateway.settings import SequencingProvider, Settings
from identity.authenticate import Identity
from identity.issuers import ExternalIssuer
from identity.jwks import RemoteKeys
from identity.keyfiles import pepper, signing_key
from identity.tokens import DEFAULT_ISSUER, EmbeddedIssuer
from jobs.worker import Worker
from providers.artifacts import artifacts_at
from providers.instantly import InstantlySequencing
from providers.local_sequencing import LocalSequencing
from providers.notifications import HttpDelivery, WorkflowActors, embedded
from providers.outbound import Outbound
from providers.ports import Ports
from providers.sequencing import Sequencing
from providers.smartlead import SmartleadSequencing
from resolvers.context import Services
from rest_compat.operations import Check
from storage import migrate
from storage.base import now
from storage.database import Database
from storage.feed import Feed
from storage.queries import jobs

_log = logging.getLogger(__name__)

AUDIENCE = "crm-gateway"
_HTTP = httpx.Timeout(5.0)


def database_of(settings: Settings, *, statement_seconds: float | None = STATEMENT_SECONDS) -> Database:
    """The database that the settings name."""
    return Database(
        settings.database_url.get_secret_value(),
        pool_size=settings.database_pool_size,
        statement_cache=settings.database_statement_cache,
        statement_seconds=statement_seconds,
    )


def embedded_issuer(settings: Settings) -> EmbeddedIssuer:
    """The embedded identity provider; its key is made at first use."""
    return EmbeddedIssuer(signing_key(settings.data_dir), settings.public_url or DEFAULT_ISSUER, AUDIENCE)


def sequencing_of(settings: Settings) -> Sequencing:
    """The sequencing provider that the settings name; those of others come with a key, which the settings ask for."""
    key = settings.sequencing_api_key.get_secret_value()
    match settings.sequencing_provider:
        case SequencingProvider.INSTANTLY:
            return InstantlySequencing(key, settings.sequencing_url)
        case SequencingProvider.SMARTLEAD:
            return SmartleadSequencing(key, settings.sequencing_url)
        case SequencingProvider.LOCAL:
            return LocalSequencing()


class Runtime:
    """Everything that lives as long as the process; made inside or outside the event loop, started inside it."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        certificates = httpx.create_ssl_context()
        self.http = httpx.AsyncClient(timeout=_HTTP, follow_redirects=False, verify=certificates)
        self.outbound = Outbound(allow_loopback=settings.outbound_allow_loopback, certificates=certificates)
        self.database = database_of(settings)
        self.issuer = embedded_issuer(settings)
        self.keys = self._remote_keys()
        url = settings.notifications_url
        deliver = HttpDelivery(self.http, url) if url else embedded
        notifications = WorkflowActors(deliver, count_notification)
        secret = pepper(settings.data_dir)
        self.ports = Ports(
            http=self.http,
            notifications=notifications,
            sequencing=sequencing_of(settings),
            outbound=self.outbound,
            artifacts=artifacts_at(settings.artifacts_url, settings.data_dir / "artifacts"),
            pepper=secret,
        )
        self.limiting = limiting_of(settings, secret)
        self.services = Services(
            database=self.database,
            identity=Identity(self.database, self.issuer, secret, self._external(), self.limiting.failures),
            budget=self.limiting.budget,
            notifications=self.ports.notifications,
            artifacts=self.ports.artifacts,
            feed=Feed(self.database, settings.database_listen_url.get_secret_value() or None),
            sequencing=self.ports.sequencing,
            outbound=self.outbound,
            public_url=(settings.public_url or "").rstrip("/"),
        )
        self.stopping = asyncio.Event()
        """Set when the service begins to end: streams end with it."""
        self._lease = timedelta(seconds=settings.job_lease_seconds)
        self.worker: Worker | None = None

    def _remote_keys(self) -> RemoteKeys | None:
        issuer = self.settings.oidc_issuer
        return RemoteKeys(self.http, issuer=issuer, jwks_url=self.settings.oidc_jwks_url) if issuer else None

    def _external(self) -> ExternalIssuer | None:
        settings = self.settings
        if self.keys is None or settings.oidc_issuer is None:
            return None
        return ExternalIssuer(
            self.keys,
            settings.oidc_issuer,
            settings.oidc_audience,
            settings.oidc_org_claim,
            settings.oidc_scope_claim,
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Start what works in the background; at the end, let it finish and close everything."""
        if self.keys is not None:
            self.keys.start()
        try:
            async with self.services.feed.running():
                yield
        finally:
            await self.services.notifications.close()
            await self.services.identity.close()
            await self.ports.sequencing.close()
            if self.keys is not None:
                await self.keys.stop()
            await self.outbound.close()
            await self.limiting.close()
            await self.http.aclose()
            await self.database.close()

    @asynccontextmanager
    async def working(self) -> AsyncIterator[Worker]:
        """Run jobs of every organization meanwhile; at the end, let what runs finish, or give it back."""
        self.worker = Worker(self.database, self.ports, count_job, lease=self._lease)
        self.worker.start()
        try:
            yield self.worker
        finally:
            await self.worker.stop()

    async def readiness(self) -> Sequence[Check]:
        """What the service needs, each with its state."""
        checks = await asyncio.gather(self._database(), self._migrations(), self._worker(), self.limiting.check())
        further = [self._identity()] if self.keys is not None else []
        return [*(check for check in checks if check is not None), *further]

    async def _database(self) -> Check:
        try:
            async with asyncio.timeout(2):
                bypassed = await self.database.bypasses_row_security()
        except (Unavailable, TimeoutError):
            return Check("database", False, "cannot be reached")
        note = (
            "reached; its role bypasses row-level security, so one of the walls is missing" if bypassed else "reached"
        )
        return Check("database", True, note)

    async def _migrations(self) -> Check:
        try:
            async with asyncio.timeout(2):
                pending = await migrate.pending(self.settings.database_url.get_secret_value())
        except (Unavailable, TimeoutError, OSError):
            return Check("migrations", False, "unknown")
        except migrate.UnknownRevision as error:
            return Check("migrations", False, str(error))
        return Check("migrations", not pending, f"{len(pending)} pending" if pending else "up to date")

    async def _worker(self) -> Check:
        """A worker that is to run here has to beat; whether others do elsewhere is said, and fails nothing."""
        if self.worker is not None:
            beats = self.worker.is_beating
            return Check("worker", beats, "runs jobs in this process" if beats else "does not beat")
        try:
            async with asyncio.timeout(2), self.database.directory() as session:
                number = await jobs.beating(session, now() - self._lease)
        except Exception:  # away, or not migrated yet, which other lines say
            return Check("worker", True, "not in this process; whether one beats elsewhere is unknown")
        return Check("worker", True, f"not in this process; {number or 'none'} beating elsewhere")

    def _identity(self) -> Check:
        loaded = self.keys is not None and self.keys.loaded
        return Check("identity_provider", loaded, "keys loaded" if loaded else "keys not loaded yet")
