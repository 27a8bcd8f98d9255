"""The services of one process, made from the settings, started and stopped with it."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from datetime import timedelta
from typing import TYPE_CHECKING

from contract.errors import Unavailable
from gateway.account_providers import accounts_of
from gateway.made import database_of, embedded_issuer, mail_of, replicas_of, store_of
from gateway.middleware.limiter_backends import limiter_backends
from gateway.observability.error_reports import reports_of
from gateway.observability.metrics import (
    CHAT_STREAMS,
    count_call,
    count_chat_run,
    count_job,
    count_notification,
    count_read,
    count_read_fallback,
    count_statement,
    note_breaker,
    note_first_text,
)
from gateway.observability.readiness import DEADLINE, Probe, Readiness, clusters_there, latest_call, migrations
from gateway.observability.statement_times import StatementTimes
from gateway.server.shutdown import LAST_WORK_SECONDS
from gateway.setting_checks import SequencingProvider
from gateway.settings import Settings
from gateway.tracing.choice import tracer_of
from gateway.tracing.outside import TracedCalls, TracedStatements
from identity.authenticate import Identity
from identity.issuers import ExternalIssuer
from identity.jwks import RemoteKeys
from identity.keyfiles import pepper
from providers import wire
from providers.accounts.ical import LocalFeed
from providers.calls import Calls
from providers.chat_model_choice import chat_model
from providers.chat_models import ChatModel
from providers.children.pool import Children
from providers.instantly import InstantlySequencing
from providers.local_sequencing import LocalSequencing
from providers.mail_address import PROVIDER as MAIL_PROVIDER
from providers.mail_address import mail_server
from providers.model_kinds import ModelKind
from providers.model_stream import PROVIDER as CHAT_PROVIDER
from providers.models import PROVIDER, ChatCompletions, Model
from providers.notifications import HttpDelivery, WorkflowActors, embedded
from providers.outbound import Outbound
from providers.ports import Ports
from providers.sequencing import Sequencing
from providers.smartlead import SmartleadSequencing
from resolvers.shared.chat_counts import ChatCounts
from resolvers.shared.chat_options import ChatOptions
from resolvers.shared.context import FileLimits, Services
from resolvers.shared.lanes import Lanes
from resolvers.shared.pacing import Pacing
from storage.analytics.runners import runner_of
from storage.base import now
from storage.change_feed import ChangeFeed
from storage.meanwhile import meanwhile
from storage.queries import jobs
from transport.readiness import Check

if TYPE_CHECKING:
    from gateway.server.worker_process import WorkerProcess
    from gateway.tracing.library import Tracer
    from jobs.worker import Worker

_log = logging.getLogger(__name__)

_HTTP = wire.Timeout(5.0)
_CLOSING_SECONDS = 3.0


def sequencing_of(settings: Settings, calls: Calls) -> Sequencing:
    """The sequencing provider that the settings name; those of others come with a key, which the settings ask for."""
    key = settings.sequencing_api_key.get_secret_value()
    match settings.sequencing_provider:
        case SequencingProvider.INSTANTLY:
            return InstantlySequencing(key, settings.sequencing_url, calls=calls)
        case SequencingProvider.SMARTLEAD:
            return SmartleadSequencing(key, settings.sequencing_url, calls=calls)
        case SequencingProvider.LOCAL:
            return LocalSequencing()


def model_of(settings: Settings, calls: Calls) -> Model | None:
    """The language model that reads questions of analytics, if any."""
    if settings.model_url is None or settings.model_kind is not ModelKind.OPENAI:
        return None
    return ChatCompletions(
        settings.model_url, settings.model_name, settings.model_api_key.get_secret_value(), calls=calls
    )


def chat_model_of(settings: Settings, calls: Calls) -> ChatModel:
    """Says who answers chats: the language model that the settings name, else the embedded answerer."""
    return chat_model(
        settings.model_url,
        settings.model_name,
        settings.model_api_key.get_secret_value(),
        kind=settings.model_kind,
        silence=settings.model_timeout_seconds,
        calls=calls,
    )


def _chat_options(settings: Settings) -> ChatOptions:
    return ChatOptions(
        is_on=settings.chat,
        run_seconds=settings.chat_run_seconds,
        approval_seconds=settings.chat_approval_seconds,
        retention_days=settings.chat_retention_days,
        tokens_per_day=settings.model_tokens_per_day,
        lease=timedelta(seconds=settings.job_lease_seconds),
    )


class Runtime:
    """Everything that lives as long as the process; made inside or outside the event loop, started inside it."""

    def __init__(
        self, settings: Settings, *, feeds: Mapping[str, LocalFeed] | None = None, tracer: "Tracer | None" = None
    ) -> None:
        """`tracer` stands for the one that the settings ask for."""
        self.settings = settings
        self.tracer = tracer or tracer_of(settings)
        self.http = wire.AsyncClient(timeout=_HTTP, follow_redirects=False)
        self.calls = self._calls()
        self.outbound = Outbound(allow_loopback=settings.outbound_allow_loopback, calls=self.calls)
        self.database = database_of(settings)
        self.database.timed = self._timed()
        self.database.replicas = replicas_of(settings, (count_read, count_read_fallback))
        for one in self.database.replicas.all if self.database.replicas else ():
            one.database.timed = self.database.timed
        for other in self.database.servers:
            other.timed = self.database.timed
        self.issuer = embedded_issuer(settings)
        self.keys = self._remote_keys()
        secret = pepper(settings.data_dir)
        lanes, pacing = Lanes(), Pacing()
        self.ports = self._ports(secret, feeds or {}, lanes, pacing)
        self.limiting = limiter_backends(settings, secret)
        self.services = Services(
            database=self.database,
            identity=Identity(self.database, self.issuer, secret, self._external(), self.limiting.failures),
            budget=self.limiting.budget,
            lanes=lanes,
            pacing=pacing,
            notifications=self.ports.notifications,
            artifacts=self.ports.artifacts,
            feed=ChangeFeed(self.database, settings.database_listen_url.get_secret_value() or None),
            sequencing=self.ports.sequencing,
            outbound=self.outbound,
            credentials_max=settings.credentials_max,
            children=self.ports.children,
            accounts=self.ports.accounts,
            files=FileLimits(settings.file_max_bytes, settings.files_quota_bytes),
            public_url=self.ports.public_url,
            mails_per_day=settings.mail_per_day,
            sql=runner_of(settings.database_url.get_secret_value(), settings.analytics_database_url.get_secret_value()),
            count_statement=count_statement,
            model=model_of(settings, self.calls),
            chat_model=chat_model_of(settings, self.calls),
            chat=_chat_options(settings),
            chat_counts=ChatCounts(count_chat_run, note_first_text, CHAT_STREAMS.track_inprogress),
        )
        self.stopping = asyncio.Event()
        """Set when the service begins to end: streams end with it."""
        self._lease = timedelta(seconds=settings.job_lease_seconds)
        self.readiness = Readiness(self._probes())
        self.worker: Worker | WorkerProcess | None = None
        self.closing: list[Callable[[], Awaitable[None]]] = []
        """Ends what others have begun in this process, before its services close."""
        self.errors = reports_of(settings)
        self.reporting = [one.close for one in (self.errors, self.tracer) if one is not None]
        """Ends what tells others of this process, after all else; each waits for a bounded time."""

    def _ports(self, secret: bytes, feeds: Mapping[str, LocalFeed], lanes: Lanes, pacing: Pacing) -> Ports:
        settings = self.settings
        return Ports(
            http=self.http,
            notifications=self._notifications(),
            sequencing=sequencing_of(settings, self.calls),
            outbound=self.outbound,
            artifacts=store_of(settings),
            children=Children(),
            files_quota=settings.files_quota_bytes,
            pepper=secret,
            accounts=accounts_of(settings, self.calls),
            feeds=feeds,
            mail=mail_of(settings, self.calls),
            mails_per_day=settings.mail_per_day,
            public_url=(settings.public_url or "").rstrip("/"),
            make_way=lanes.make_way,
            paced=pacing.paced,
        )

    def _calls(self) -> Calls:
        if self.tracer is None:
            return Calls(count_call, note_breaker)
        return TracedCalls(count_call, note_breaker, tracer=self.tracer)

    def _timed(self) -> StatementTimes:
        slow = self.settings.slow_statement_seconds
        return StatementTimes(slow) if self.tracer is None else TracedStatements(slow, self.database.dialect)

    def _notifications(self) -> WorkflowActors:
        url, key = self.settings.notifications_url, self.settings.notifications_secret.get_secret_value()
        return WorkflowActors(HttpDelivery(self.http, url, self.calls, key) if url else embedded, count_notification)

    def _remote_keys(self) -> RemoteKeys | None:
        issuer, url = self.settings.oidc_issuer, self.settings.oidc_jwks_url
        return RemoteKeys(self.http, issuer=issuer, jwks_url=url, calls=self.calls) if issuer else None

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
        if self.errors is not None:
            logging.getLogger().addHandler(self.errors)
        if self.keys is not None:
            self.keys.start()
        try:
            async with self._places(), self.services.feed.running():
                yield
        finally:
            await self._close()

    def _places(self) -> AbstractAsyncContextManager[None]:
        """Know meanwhile where organizations lie, where there are several servers."""
        clusters = self.database.clusters
        return nullcontext() if clusters is None else clusters.followed()

    @asynccontextmanager
    async def taking(self) -> AsyncIterator[None]:
        """Take up meanwhile what other processes left of chats, until the service begins to end."""
        from resolvers.chat_taking import keep_taking  # with all resolvers, which who only examines does not need

        async with meanwhile(keep_taking(lambda: self.services, self.stopping)):
            yield

    async def _close(self) -> None:
        """Close everything; what takes longer than the end may is left as it is."""
        closing = [
            *self.closing,
            self.services.runs.stop,
            self.services.chat_runs.stop,
            self.services.notifications.close,
            self.services.identity.close,
            self.ports.sequencing.close,
            *([] if self.keys is None else [self.keys.stop]),
            self.ports.children.close,
            self.ports.accounts.close,
            self.outbound.close,
            self.limiting.close,
            self.http.aclose,
            *([] if self.services.sql is None else [self.services.sql.close]),
            *([] if self.services.model is None else [self.services.model.close]),
            *([] if self.services.chat_model is None else [self.services.chat_model.close]),
            self.database.close,
        ]
        end = asyncio.get_running_loop().time() + _CLOSING_SECONDS
        for close in closing:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(end):
                    await close()
        await self._reported()

    async def _reported(self) -> None:
        """Have what tells of this process taken, for as long as that may wait."""
        await asyncio.gather(*(asyncio.to_thread(close) for close in self.reporting))

    async def ending(self) -> None:
        """Ends what runs soon, once the service has to end."""
        await self.stopping.wait()
        self.services.deadlines.end(LAST_WORK_SECONDS)
        stops = [self.services.runs.stop(LAST_WORK_SECONDS), self.services.chat_runs.stop(LAST_WORK_SECONDS)]
        if self.worker is not None:
            stops.append(self.worker.stop(LAST_WORK_SECONDS))
        await asyncio.gather(*stops)

    @asynccontextmanager
    async def working(self) -> AsyncIterator["Worker"]:
        """Run jobs of every organization meanwhile; at the end, let what runs finish, or give it back."""
        import resolvers.later  # noqa: F401  # registers the work of jobs that it has
        from jobs.worker import Worker  # with all work, which who only examines does not need

        settings = self.settings
        self.worker = Worker(
            self.database,
            self.ports,
            count_job,
            lease=self._lease,
            retention=settings.retention,
            tracer=self.tracer,
        )
        self.worker.start()
        try:
            yield self.worker
        finally:
            await self.worker.stop(LAST_WORK_SECONDS)

    @asynccontextmanager
    async def working_beside(self, process: "WorkerProcess") -> AsyncIterator[None]:
        """Have the process beside this one run the jobs meanwhile."""
        self.worker = process
        async with process.followed(self.database, self.services.feed):
            yield

    def _probes(self) -> dict[str, Probe]:
        url = self.settings.database_url.get_secret_value()
        probes: dict[str, Probe] = {
            "database": self._database,
            "migrations": lambda: migrations(url),
            "worker": self._worker,
            "artifacts": self._artifacts,
        }
        if self.database.replicas is not None:
            probes["replicas"] = self._replicas
        if (clusters := self.database.clusters) is not None:
            probes["clusters"] = lambda: clusters_there(clusters)
        if self.limiting.link is not None:
            probes["redis"] = self.limiting.check
        if self.keys is not None:
            probes["identity_provider"] = self._identity
        if self.settings.sequencing_provider is not SequencingProvider.LOCAL:
            probes["sequencing_provider"] = self._sequencing
        if mail_server(self.settings.mail_url.get_secret_value()) is not None:
            probes["mail"] = self._mail
        if self.settings.model_url is not None:
            probes["model"] = self._model
        return probes

    async def _database(self) -> Check:
        try:
            bypassed = await self.database.bypasses_row_security()
        except Unavailable:
            return Check("database", False, "cannot be reached")
        note = "; its role bypasses row-level security, so one of the isolation layers is missing" if bypassed else ""
        return Check("database", True, f"reached{note}")

    async def _replicas(self) -> Check:
        """Says how many are there; that none is fails nothing, since the primary answers then."""
        replicas = [] if self.database.replicas is None else self.database.replicas.all
        return Check("replicas", True, f"{sum(one.is_there for one in replicas)} of {len(replicas)} are there")

    async def _worker(self) -> Check:
        """A worker that is to run here has to beat; whether others do elsewhere is said, and fails nothing."""
        if self.worker is not None:
            beats = self.worker.is_beating
            return Check("worker", beats, f"runs jobs {self.worker.where}" if beats else "does not beat")
        try:
            async with self.database.directory() as session:
                number = await jobs.beating(session, now() - self._lease)
        except Exception:  # away, or not migrated yet, which other lines say
            return Check("worker", True, "not in this process; whether one beats elsewhere is unknown")
        return Check("worker", True, f"not in this process; {number or 'none'} beating elsewhere")

    async def _artifacts(self) -> Check:
        try:
            async with asyncio.timeout(DEADLINE / 2):
                await self.ports.artifacts.check()
        except (OSError, TimeoutError):
            return Check("artifacts", True, "the store cannot be used: no report is rendered, and no file read or kept")
        return Check("artifacts", True, "the store can be used")

    async def _identity(self) -> Check:
        loaded = self.keys is not None and self.keys.loaded
        words = ["keys loaded" if loaded else "keys not loaded yet", latest_call(self.calls, "identity_provider")]
        return Check("identity_provider", loaded, "; ".join(filter(None, words)))

    async def _sequencing(self) -> Check:
        name = self.settings.sequencing_provider.value
        return Check("sequencing_provider", True, f"{name}; {latest_call(self.calls, name) or 'not called yet'}")

    async def _mail(self) -> Check:
        return Check("mail", True, latest_call(self.calls, MAIL_PROVIDER) or "not called yet")

    async def _model(self) -> Check:
        asked = {"questions": latest_call(self.calls, PROVIDER), "chats": latest_call(self.calls, CHAT_PROVIDER)}
        called = "; ".join(f"{of}: {how}" for of, how in asked.items() if how) or "not called yet"
        return Check("model", True, f"{self.settings.model_name}; {called}")
