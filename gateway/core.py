"""Makes what a process has that looks at the data of its settings, whether it serves or not (decision 1184).

What only some settings ask for is loaded where they do: an identity provider, a language model, an error tracker.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from typing import TYPE_CHECKING

from gateway.made import database_of, mail_of, replicas_of, signing_keys, store_of
from gateway.middleware.limiter_backends import limiter_backends
from gateway.observability.probes import Probes
from gateway.observability.readiness import Readiness
from gateway.observability.slow_statements import SlowStatements
from gateway.settings import Settings
from gateway.tracing.choice import tracer_of
from identity.keyfiles import pepper
from providers.calls import Calls
from providers.model_kinds import ModelKind

if TYPE_CHECKING:
    from gateway.observability.error_reports import ErrorReports
    from gateway.server.worker_process import WorkerProcess
    from gateway.tracing.library import Tracer
    from identity.jwks import RemoteKeys
    from jobs.worker import Worker
    from providers.chat_models import ChatModel
    from providers.models import Model
    from providers.wire import AsyncClient
    from storage.database import Timed
    from storage.replicas import Counts

_CLOSING_SECONDS = 3.0


class Core:
    """Holds what `doctor` looks at; `Runtime` adds to it what serving takes.

    Made inside or outside the event loop, started inside it.
    """

    def __init__(self, settings: Settings, *, tracer: Tracer | None = None) -> None:
        """`tracer` stands for the one that the settings ask for."""
        self.settings = settings
        self.tracer = tracer or tracer_of(settings)
        self.calls = self._calls()
        self._client: AsyncClient | None = None
        self.database = database_of(settings)
        self.database.timed = self._timed()
        self.database.replicas = replicas_of(settings, self._counts())
        for one in self.database.replicas.all if self.database.replicas else ():
            one.database.timed = self.database.timed
        for other in self.database.servers:
            other.timed = self.database.timed
        self.signing = signing_keys(settings)
        self.keys = self._remote_keys()
        self.pepper = pepper(settings.data_dir)
        self.limiting = limiter_backends(settings, self.pepper)
        self.artifacts = store_of(settings)
        self.mail = mail_of(settings, self.calls)
        self.model = model_of(settings, self.calls)
        self.worker: Worker | WorkerProcess | None = None
        self.readiness = Readiness(Probes(self).named())
        self.errors = _reports(settings)
        self.reporting = [one.close for one in (self.errors, self.tracer) if one is not None]
        """Ends what tells others of this process, after all else; each waits for a bounded time."""

    @property
    def http(self) -> AsyncClient:
        """The client of other services, which is made when it is first wanted."""
        if self._client is None:
            # With its library, which who calls nobody does not need.
            from gateway.adapters import lean_http  # noqa: F401  # before anybody loads httpx
            from providers import wire

            self._client = wire.AsyncClient(timeout=wire.Timeout(5.0), follow_redirects=False)
        return self._client

    def _calls(self) -> Calls:
        """Makes what watches calls of other services; nothing here is counted, since nobody asks for it."""
        if self.tracer is None:
            return Calls()
        from gateway.tracing.outside import TracedCalls  # with metrics, where a process traces

        return TracedCalls(tracer=self.tracer)

    def _timed(self) -> Timed:
        """Makes what hears of statements."""
        return SlowStatements(self.settings.slow_statement_seconds)

    def _counts(self) -> Counts:
        """Makes what counts reads, and those that no replica answered."""
        return lambda _place: None, lambda _reason: None

    def _remote_keys(self) -> RemoteKeys | None:
        issuer, url = self.settings.oidc_issuer, self.settings.oidc_jwks_url
        if not issuer:
            return None
        from identity.jwks import RemoteKeys  # with the client, where there is such a provider

        return RemoteKeys(self.http, issuer=issuer, jwks_url=url, calls=self.calls)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Start what works in the background; at the end, let it finish and close everything."""
        if self.errors is not None:
            logging.getLogger().addHandler(self.errors)
        if self.keys is not None:
            self.keys.start()
        try:
            async with self._places():
                yield
        finally:
            await self._close()

    def _places(self) -> AbstractAsyncContextManager[None]:
        """Know meanwhile where organizations lie, where there are several servers."""
        clusters = self.database.clusters
        return nullcontext() if clusters is None else clusters.followed()

    def _closing(self) -> list[Callable[[], Awaitable[None]]]:
        """Lists what is to be closed, the database last."""
        return [
            *([] if self.keys is None else [self.keys.stop]),
            self.limiting.close,
            *([] if self._client is None else [self._client.aclose]),
            *([] if self.model is None else [self.model.close]),
            self.database.close,
        ]

    async def _close(self) -> None:
        """Close everything; what takes longer than the end may is left as it is."""
        end = asyncio.get_running_loop().time() + _CLOSING_SECONDS
        for close in self._closing():
            with suppress(TimeoutError):
                async with asyncio.timeout_at(end):
                    await close()
        await self._reported()

    async def _reported(self) -> None:
        """Have what tells of this process taken, for as long as that may wait."""
        await asyncio.gather(*(asyncio.to_thread(close) for close in self.reporting))


def model_of(settings: Settings, calls: Calls) -> Model | None:
    """The language model that reads questions of analytics, if any."""
    if settings.model_url is None or settings.model_kind is not ModelKind.OPENAI:
        return None
    # With the client of other services, where there is a model.
    from gateway.adapters import lean_http  # noqa: F401  # before anybody loads httpx
    from providers.models import ChatCompletions

    return ChatCompletions(
        settings.model_url, settings.model_name, settings.model_api_key.get_secret_value(), calls=calls
    )


def chat_model_of(settings: Settings, calls: Calls) -> ChatModel:
    """Says who answers chats: the language model that the settings name, else the embedded answerer."""
    from providers.chat_model_choice import chat_model  # with what chats say, which who asks no model does not need

    return chat_model(
        settings.model_url,
        settings.model_name,
        settings.model_api_key.get_secret_value(),
        kind=settings.model_kind,
        silence=settings.model_timeout_seconds,
        calls=calls,
    )


def _reports(settings: Settings) -> ErrorReports | None:
    if not settings.sentry_dsn.get_secret_value():
        return None
    from gateway.observability.error_reports import reports_of  # with what reads the log, where there is a tracker

    return reports_of(settings)
