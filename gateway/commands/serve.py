"""`serve`: migrate, listen, and say where, once it is true."""

import asyncio
import os
import signal
import socket
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer
import uvicorn

from gateway.app import create
from gateway.commands.banner import banner
from gateway.commands.outcome import settings_to_serve, warn_of_strangers, with_database, with_folder
from gateway.commands.sockets import authority, listen
from gateway.middleware.security_headers import SecurityHeaders
from gateway.observability import logs
from gateway.observability.metrics import SHARED_FOLDER
from gateway.server.http_protocol import HttpServerProtocol
from gateway.server.serving import Processes, Server
from gateway.server.shutdown import GRACEFUL_SECONDS
from gateway.server.unfinished_messages import Unfinished
from gateway.server.websocket_protocol import WebSocketServerProtocol
from gateway.settings import Settings
from storage import migrate

if TYPE_CHECKING:
    from gateway.demo.data import Ready

_START_SECONDS = 60
SILENCE_SECONDS = 60
"""The seconds for which one of several processes may say nothing, as while it starts, before it is replaced."""


def serve(
    host: Annotated[str | None, typer.Option(help="Where to listen; 127.0.0.1 unless HOST is set.")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="0 for any; 8000 unless PORT is set.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, max=64, help="Processes on the one socket.")] = None,
    demo_data: Annotated[bool, typer.Option("--demo", help="Have demo data, and print what to paste.")] = False,
    no_migrate: Annotated[bool, typer.Option("--no-migrate", help="Leave pending migrations alone.")] = False,
    no_worker: Annotated[bool, typer.Option("--no-worker", help="Leave background jobs to `worker`.")] = False,
) -> None:
    """Start the HTTP service."""
    configuration = settings_to_serve(host=host, port=port, workers=workers, worker=False if no_worker else None)
    logs.configure(configuration)
    warn_of_strangers()
    with_folder(configuration)
    listening = [listen(configuration.host, configuration.port)]
    if configuration.metrics_port is not None:
        listening.append(listen(configuration.host, configuration.metrics_port))
        configuration = configuration.model_copy(update={"metrics_port": listening[1].getsockname()[1]})
    if not no_migrate:
        asyncio.run(migrate.upgrade(configuration.database_url.get_secret_value()))
    ready = _demo(configuration) if demo_data else None
    words = banner(configuration, listening[0], ready)
    security = SecurityHeaders(configuration.public_url)
    config = uvicorn.Config(
        partial(create, configuration, demo=demo_data)
        if configuration.workers > 1
        else create(configuration, demo=demo_data),
        factory=configuration.workers > 1,
        workers=configuration.workers,
        loop="uvloop",
        http=partial(HttpServerProtocol, seconds=configuration.receive_seconds, security=security),  # type: ignore[arg-type]
        ws=partial(  # type: ignore[arg-type]  # both are called, as the classes would be
            WebSocketServerProtocol, security=security, unfinished=Unfinished(), seconds=configuration.receive_seconds
        ),
        ws_per_message_deflate=False,  # its windows would be most of what an idle connection costs
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACEFUL_SECONDS,
        timeout_worker_healthcheck=SILENCE_SECONDS,
    )
    if configuration.workers > 1:
        with _adding_up():
            _serve_many(config, listening, words)
    else:
        # Once it has ended gracefully, uvicorn hands the signal on, for which a process would die of it all the same.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: sys.exit())
        Server(config, words).run(listening)


def _demo(configuration: Settings) -> "Ready":
    from gateway.demo.data import prepare  # with all that seeds a demo

    return with_database(lambda database: prepare(configuration, database), configuration)


def _serve_many(config: uvicorn.Config, listening: list[socket.socket], words: str) -> None:
    """Several processes on the same sockets; the first that answers lets the addresses be printed."""
    threading.Thread(target=_announce, args=(listening[0].getsockname(), words), daemon=True).start()
    Processes(config, listening).run()


@contextmanager
def _adding_up() -> Iterator[None]:
    """A folder through which the processes, which inherit its name, count together (decision 123)."""
    if SHARED_FOLDER in os.environ:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="crm-metrics-") as folder:
        os.environ[SHARED_FOLDER] = folder
        yield


def _announce(address: tuple[str, int], words: str) -> None:
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end:
        try:
            with urllib.request.urlopen(f"http://{authority(address)}/health", timeout=1):  # our own socket
                print(words, flush=True)
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
