"""The services of one process, made from the settings, started and stopped with it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

from gateway.account_providers import accounts_of
from gateway.core import Core, chat_model_of
from gateway.made import embedded_issuer
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
from gateway.observability.statement_times import StatementTimes
from gateway.server.shutdown import LAST_WORK_SECONDS
from gateway.setting_checks import SequencingProvider
from gateway.settings import Settings
from gateway.tracing.outside import TracedCalls, TracedStatements
from identity.authenticate import Identity
from identity.issuers import ExternalIssuer
from providers.accounts.ical import LocalFeed
from providers.calls import Calls
from providers.children.pool import Children
from providers.instantly import InstantlySequencing
from providers.local_sequencing import LocalSequencing
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
from storage.change_feed import ChangeFeed
from storage.meanwhile import meanwhile
from storage.replicas import Counts

if TYPE_CHECKING:
    from gateway.server.worker_process import WorkerProcess
    from gateway.tracing.library import Tracer
    from jobs.worker import Worker


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


def _chat_options(settings: Settings) -> ChatOptions:
    return ChatOptions(
        is_on=settings.chat,
        run_seconds=settings.chat_run_seconds,
        approval_seconds=settings.chat_approval_seconds,
        retention_days=settings.chat_retention_days,
        tokens_per_day=settings.model_tokens_per_day,
        lease=timedelta(seconds=settings.job_lease_seconds),
    )


class Runtime(Core):
    """Everything that lives as long as the process; made inside or outside the event loop, started inside it."""

    def __init__(
        self, settings: Settings, *, feeds: Mapping[str, LocalFeed] | None = None, tracer: "Tracer | None" = None
    ) -> None:
        """`tracer` stands for the one that the settings ask for."""
        super().__init__(settings, tracer=tracer)
        self.outbound = Outbound(allow_loopback=settings.outbound_allow_loopback, calls=self.calls)
        self.issuer = embedded_issuer(settings, self.signing)
        lanes, pacing = Lanes(), Pacing()
        self.ports = self._ports(feeds or {}, lanes, pacing)
        self.services = Services(
            database=self.database,
            identity=Identity(self.database, self.issuer, self.pepper, self._external(), self.limiting.failures),
            budget=self.limiting.budget,
            lanes=lanes,
            pacing=pacing,
            notifications=self.ports.notifications,
            artifacts=self.artifacts,
            feed=ChangeFeed(self.database, settings.database_listen_url.get_secret_value() or None, pacing.paced),
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
            model=self.model,
            chat_model=chat_model_of(settings, self.calls),
            chat=_chat_options(settings),
            chat_counts=ChatCounts(count_chat_run, note_first_text, CHAT_STREAMS.track_inprogress),
        )
        self.stopping = asyncio.Event()
        """Set when the service begins to end: streams end with it."""
        self._lease = timedelta(seconds=settings.job_lease_seconds)
        self.closing: list[Callable[[], Awaitable[None]]] = []
        """Ends what others have begun in this process, before its services close."""

    def _ports(self, feeds: Mapping[str, LocalFeed], lanes: Lanes, pacing: Pacing) -> Ports:
        settings = self.settings
        return Ports(
            http=self.http,
            notifications=self._notifications(),
            sequencing=sequencing_of(settings, self.calls),
            outbound=self.outbound,
            artifacts=self.artifacts,
            children=Children(),
            files_quota=settings.files_quota_bytes,
            pepper=self.pepper,
            accounts=accounts_of(settings, self.calls),
            feeds=feeds,
            mail=self.mail,
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

    def _counts(self) -> Counts:
        return count_read, count_read_fallback

    def _notifications(self) -> WorkflowActors:
        url, key = self.settings.notifications_url, self.settings.notifications_secret.get_secret_value()
        return WorkflowActors(HttpDelivery(self.http, url, self.calls, key) if url else embedded, count_notification)

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
        async with super().running(), self.services.feed.running():
            yield

    @asynccontextmanager
    async def taking(self) -> AsyncIterator[None]:
        """Take up meanwhile what other processes left of chats, until the service begins to end."""
        from resolvers.chat_taking import keep_taking  # with all resolvers, which who only examines does not need

        async with meanwhile(keep_taking(lambda: self.services, self.stopping)):
            yield

    def _closing(self) -> list[Callable[[], Awaitable[None]]]:
        """Lists what is to be closed, the database last."""
        return [
            *self.closing,
            self.services.runs.stop,
            self.services.chat_runs.stop,
            self.services.notifications.close,
            self.services.identity.close,
            self.ports.sequencing.close,
            self.ports.children.close,
            self.ports.accounts.close,
            self.outbound.close,
            *([] if self.services.sql is None else [self.services.sql.close]),
            *([] if self.services.chat_model is None else [self.services.chat_model.close]),
            *super()._closing(),
        ]

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
