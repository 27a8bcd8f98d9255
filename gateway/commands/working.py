"""Runs background jobs in a process of their own; `worker` starts it, and `serve` one beside each server."""

import asyncio
import os
import select
import signal
import socket
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext

import uvicorn
from starlette.middleware import Middleware
from starlette.types import ASGIApp

from gateway.adapters import lean_http  # noqa: F401  # before anybody loads httpx
from gateway.commands.outcome import fail, loaded, say, warn_of_strangers, with_folder
from gateway.commands.sockets import authority, listen
from gateway.made import bring_up_to_date, demo_feeds
from gateway.middleware.hosts import Hosts, hosts_of
from gateway.middleware.requests import Requests
from gateway.middleware.security_headers import SecurityHeaders
from gateway.observability import logs
from gateway.observability.apart import operators_app
from gateway.observability.metrics_endpoint import MetricsEndpoint
from gateway.runtime import Runtime
from gateway.server.shutdown import END_SECONDS, end_by_force
from gateway.server.worker_link import Link, linked
from gateway.settings import Settings
from jobs.worker import Worker
from storage.meanwhile import meanwhile

_STATE_SECONDS = 1.0


def work(configuration: Settings) -> None:
    """Run them until the process is told to end."""
    os.nice(configuration.worker_nice)  # requests go first, whatever the jobs are (decision 1181)
    logs.configure(configuration.logs)
    warn_of_strangers()
    with_folder(configuration)
    loaded()
    asyncio.run(_work(configuration))


def work_beside(configuration: Settings, line: socket.socket, *, demo: bool) -> None:
    """Run them until the server at the other end of the line ends, or is gone (decision 1182).

    The server has looked at the settings and brought the tables up to date.
    """
    os.nice(configuration.worker_nice)
    logs.configure(configuration.logs)
    loaded()
    threading.Thread(target=_end_after, args=(line.dup(),), name="end", daemon=True).start()
    asyncio.run(_work_beside(configuration, line, demo=demo))


def _end_after(line: socket.socket) -> None:
    """End this process for good once its server is gone, should it hang."""
    ends = select.poll()
    ends.register(line, 0)  # for its end alone
    ends.poll()
    time.sleep(END_SECONDS)
    os._exit(1)


async def _work_beside(configuration: Settings, line: socket.socket, *, demo: bool) -> None:
    ended = _told_to_end()
    runtime = Runtime(configuration, feeds=demo_feeds() if demo else None)
    async with runtime.running(), runtime.working() as worker, MetricsEndpoint(runtime).running():
        link = await linked(line, runtime.services.feed, ended=ended)
        if runtime.database.dialect == "sqlite":
            runtime.database.committed.append(link.tell)
        async with meanwhile(_state(link, worker)):
            await ended.wait()
        end_by_force()


async def _state(link: Link, worker: Worker) -> None:
    """Say each second whether the worker works."""
    while True:
        link.state(works=worker.is_beating)
        await asyncio.sleep(_STATE_SECONDS)


def _told_to_end() -> asyncio.Event:
    """Set once a signal tells this process to end, which then does not last."""
    ended = asyncio.Event()

    def end() -> None:
        end_by_force()
        ended.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, end)
    return ended


async def _work(configuration: Settings) -> None:
    await bring_up_to_date(configuration)
    ended = _told_to_end()
    runtime = Runtime(configuration)
    metrics = MetricsEndpoint(runtime)
    port = configuration.metrics_port
    looked_at = nullcontext() if port is None else _with_metrics(runtime, metrics, configuration.host, port)
    async with runtime.running(), runtime.working(), metrics.running(), looked_at:
        say("Working on background jobs.")
        await ended.wait()


def _middleware(configuration: Settings) -> list[Middleware]:
    hosts = hosts_of(configuration)
    layers = [Middleware(Requests, security=SecurityHeaders(None))]
    return layers if hosts is None else [*layers, Middleware(Hosts, names=hosts)]


@asynccontextmanager
async def _with_metrics(runtime: Runtime, metrics: MetricsEndpoint, host: str, port: int) -> AsyncIterator[None]:
    """Answer an operator's questions on a port of its own meanwhile."""
    app: ASGIApp = operators_app(runtime, metrics)
    for layer, arguments, options in reversed(_middleware(runtime.settings)):
        app = layer(app, *arguments, **options)
    listening = listen(host, port)
    config = uvicorn.Config(app, http="httptools", ws="none", lifespan="off", log_config=None, access_log=False)
    server = uvicorn.Server(config)
    config.load()
    server.lifespan = config.lifespan_class(config)
    await server.startup(sockets=[listening])
    if not server.started:
        fail("The port for metrics cannot be served.")
    ticking = asyncio.create_task(server.main_loop())
    say(f"Metrics on http://{authority(listening.getsockname())}/metrics")
    try:
        yield
    finally:
        server.should_exit = True
        await ticking
        await server.shutdown(sockets=[listening])
