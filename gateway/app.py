"""The application: both surfaces, the pages, and what an operator looks at."""

import asyncio
import gc
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import replace
from functools import partial

import orjson
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from contract.limits import SOCKETS_PER_PROCESS
from gateway import printed
from gateway.adapters import lean_http  # noqa: F401  # before anybody loads httpx
from gateway.demo.links import PATH, DemoLinks, exchange
from gateway.graphql.endpoint import GraphQLEndpoint
from gateway.graphql.operations import Operations
from gateway.graphql.persisted_documents import read_manifest
from gateway.graphql.ws import WebSocketEndpoint
from gateway.graphql.ws_connection import Shared
from gateway.llms import llms_text
from gateway.login.routes import login_routes
from gateway.made import demo_feeds
from gateway.mcp.routes import mcp_routes
from gateway.middleware.compression import Compression
from gateway.middleware.cross_origin import cross_origin
from gateway.middleware.hosts import Hosts, hosts_of
from gateway.middleware.load_shedding import LoadShedding
from gateway.middleware.paths import had_slash
from gateway.middleware.requests import Requests, Straight, Unbroken
from gateway.middleware.security_headers import SecurityHeaders
from gateway.observability import logs
from gateway.observability.apart import Apart, operators_app
from gateway.observability.metrics import STREAMS, count_fallback
from gateway.observability.metrics_endpoint import MetricsEndpoint
from gateway.pages import docs_page, first_page, placed, static_mount
from gateway.runtime import Runtime
from gateway.server.shutdown import noticing
from gateway.server.worker_process import WorkerProcess
from gateway.settings import Settings
from gateway.tracing.documents import TracedExecutor, note_fallback
from gateway.tracing.requests import TracedRequests
from identity.tokens import DISCOVERY_PATH, JWKS_PATH, SERVER_METADATA_PATH
from rest_compat.routes import rest_routes
from schema.build import Schema, build
from schema.execution import Executor
from schema.tool_calls import ToolCalls
from schema.tools import Catalogue
from transport.errors import code_of, error_response
from transport.places import Places
from transport.streams import Streams

Endpoint = Callable[[Request], Awaitable[Response]]


def create(settings: Settings | None = None, *, demo: bool = False, beside: bool = False) -> Starlette:
    """The application for these settings; each process makes its own. A demo takes the codes of its links.

    `beside` lets a process beside this one run the jobs, where the settings want that.
    """
    settings = settings or Settings()
    logs.configure(settings.logs)
    runtime = Runtime(settings, feeds=demo_feeds() if demo else None)
    working: bool | WorkerProcess = settings.worker
    if working and beside and settings.worker_beside:
        working = WorkerProcess(demo=demo, lease_seconds=settings.job_lease_seconds)
    return application(runtime, working=working, taking=settings.chat, demo=demo, hosts=hosts_of(settings))


def application(
    runtime: Runtime,
    *,
    working: WorkerProcess | bool = False,
    taking: bool = False,
    demo: bool = False,
    hosts: frozenset[str] | None = None,
) -> Starlette:
    """The application over services that are made already; `working` runs background jobs, here or in that process.

    `taking` goes on with the runs of chats whose process died.

    `hosts` are the names that it is known under besides the machine's own; None for any.
    """
    places, pacing = Places(runtime.settings.requests_in_flight), runtime.services.pacing
    # A place is held by what is worked on: streams, and who sends or reads slowly, hold none.
    pacing.others, places.left = lambda: places.taken, pacing.look
    schema = build()
    settings = runtime.settings
    path = settings.persisted_documents
    registered = read_manifest(path) if path else {}
    catalogue = Catalogue(schema.graphql)
    executor = _executor(runtime, schema, [*registered.values(), *catalogue.texts])
    runtime.services = replace(runtime.services, tools=ToolCalls(executor, catalogue))
    operations = Operations(registered, executor.accepts, registered_only=settings.persisted_only)
    metrics = MetricsEndpoint(runtime, places, executor.documents)
    streams = Streams(runtime.services.identity, runtime.stopping, STREAMS.track_inprogress, pacing)
    shared = Shared(runtime.services, executor, operations, streams, places, Places(SOCKETS_PER_PROCESS))
    graphql = Middleware(
        Straight,
        path="/graphql",
        endpoint=GraphQLEndpoint(runtime.services, executor, operations, settings, streams),
        socket=WebSocketEndpoint(shared, settings.cors_origins),
    )
    app = Starlette(
        routes=[*_routes(runtime, schema, metrics, streams), *(_of_demo(runtime) if demo else ())],
        lifespan=lambda _app: _living(runtime, metrics, working=working, taking=taking),
        middleware=[
            *([] if runtime.tracer is None else [Middleware(TracedRequests, tracer=runtime.tracer)]),
            *_middleware(settings, hosts, runtime.stopping),
            *_apart(runtime, metrics),
            Middleware(LoadShedding, places=places),
            Middleware(Compression),
            graphql,
        ],
        exception_handlers={HTTPException: _on_error},
    )
    app.router.redirect_slashes = False  # one slash is ignored before this (decision 208)
    return app


def _executor(runtime: Runtime, schema: Schema, registered: list[str]) -> Executor:
    """The executor of the schema, which tells of what it runs where the process traces."""
    tracer, settings = runtime.tracer, runtime.settings
    executor = (Executor if tracer is None else TracedExecutor)(
        schema.graphql,
        introspection=settings.introspection,
        budget=runtime.services.budget,
        anonymous_budget=runtime.limiting.anonymous,
        document_bytes=settings.document_cache_bytes,
        registered=registered,
        fallen_back=count_fallback if tracer is None else _noted_fallback,
    )
    if tracer is not None and isinstance(executor, TracedExecutor):
        executor.tracer = tracer
    return executor


def _noted_fallback(reason: str) -> None:
    count_fallback(reason)
    note_fallback(reason)


@asynccontextmanager
async def _living(
    runtime: Runtime, metrics: MetricsEndpoint, *, working: WorkerProcess | bool, taking: bool
) -> AsyncIterator[None]:
    """Keep the services running for as long as the application does."""
    beside = (_working(runtime, working), runtime.taking() if taking else nullcontext())
    async with runtime.running(), beside[0], beside[1], metrics.running():
        # What is there now stays: the collector need not walk it again and again while requests are served.
        gc.collect()
        gc.freeze()
        ending = asyncio.create_task(runtime.ending())
        with noticing(runtime.stopping):
            yield
        runtime.stopping.set()
        await ending


def _working(runtime: Runtime, working: WorkerProcess | bool) -> AbstractAsyncContextManager[object]:
    """Have jobs run, by the process that is given, by this one, or by none that belongs to it."""
    if isinstance(working, bool):
        return runtime.working() if working else nullcontext()
    return runtime.working_beside(working)


def _middleware(settings: Settings, hosts: frozenset[str] | None, stopping: asyncio.Event) -> list[Middleware]:
    layers = [Middleware(Requests, security=SecurityHeaders(settings.public_url), stopping=stopping)]
    if hosts is not None:
        layers.append(Middleware(Hosts, names=hosts))
    return [*layers, *cross_origin(settings), Middleware(Unbroken)]


def _apart(runtime: Runtime, metrics: MetricsEndpoint) -> list[Middleware]:
    """The port of its own for what operators ask, before anything has to wait for a place."""
    port = runtime.settings.metrics_port
    return [] if port is None else [Middleware(Apart, port=port, operators=operators_app(runtime, metrics))]


async def _on_error(request: Request, error: Exception) -> Response:
    request.state.record.code = code_of(error)
    return error_response(error, request.state.request_id)


def _routes(runtime: Runtime, schema: Schema, metrics: MetricsEndpoint, streams: Streams) -> list[BaseRoute]:
    public_url = runtime.settings.public_url
    rest = rest_routes(runtime.services, runtime.readiness, streams)
    [exchange] = [route.app for route in rest if route.path == "/pat/exchange"]
    routes: list[BaseRoute] = [
        Route("/graphql/schema.graphql", _fixed(printed.SCHEMA.read_bytes(), "text/plain")),
        Route("/llms.txt", _fixed(llms_text(schema.graphql).encode(), "text/plain")),
        Route("/openapi.json", _fixed(printed.OPENAPI.read_bytes(), "application/json")),
        Route("/docs", _made(partial(_docs, signs_in=runtime.keys is None))),
        Route("/", _made(lambda request: first_page(public_url or str(request.base_url)))),
        *([Route("/metrics", metrics.answer)] if runtime.settings.metrics_port is None else []),
        static_mount(),
        *login_routes(runtime, exchange),
        *mcp_routes(runtime, streams),
        *rest,
    ]
    if runtime.keys is None:
        routes += [
            Route(JWKS_PATH, _fixed(orjson.dumps(runtime.issuer.jwks()), "application/json")),
            *(Route(path, _made(partial(_discovery, runtime))) for path in (DISCOVERY_PATH, SERVER_METADATA_PATH)),
        ]
    return routes


def _of_demo(runtime: Runtime) -> list[BaseRoute]:
    from gateway.demo import calendar  # the same

    links = DemoLinks(runtime.settings.data_dir)
    return [
        Route(PATH, exchange(links, runtime.issuer), methods=["POST"]),
        Route(calendar.PATH, calendar.endpoint(runtime.database)),
    ]


def _made(make: Callable[[Request], Response]) -> Endpoint:
    """An endpoint on the event loop: a plain function would get a thread."""

    async def answer(request: Request) -> Response:
        return make(request)

    return answer


def _fixed(content: bytes, media_type: str) -> Endpoint:
    """An endpoint of what stays as it is: kept compressed, since most of it is megabytes that few ask for."""
    kept = zlib.compress(content)
    headers = {"Cache-Control": "no-cache"}
    return _made(lambda _request: Response(zlib.decompress(kept), headers=headers, media_type=media_type))


def _docs(request: Request, *, signs_in: bool) -> Response:
    return placed(docs_page(signs_in=signs_in), has_slash=had_slash(request.scope))


def _discovery(runtime: Runtime, request: Request) -> Response:
    base_url = runtime.settings.public_url or str(request.base_url)
    return Response(orjson.dumps(runtime.issuer.discovery(base_url.rstrip("/"))), media_type="application/json")
