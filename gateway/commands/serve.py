"""`serve`: migrate, listen, and say where, once it is true."""

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.commands.outcome import loaded, settings_to_serve, warn_of_strangers, with_database, with_folder
from gateway.commands.sockets import authority, listen

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from gateway.server.config import Config
    from gateway.settings import Settings

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
    from gateway.adapters import lean  # noqa: F401  # before anybody loads structlog
    from gateway.observability import logs
    from gateway.server.config import Config

    configuration = settings_to_serve(host=host, port=port, workers=workers, worker=False if no_worker else None)
    logs.configure(configuration)
    warn_of_strangers()
    listening = [listen(configuration.host, configuration.port)]
    if configuration.metrics_port is not None:
        listening.append(listen(configuration.host, configuration.metrics_port))
        configuration = configuration.model_copy(update={"metrics_port": listening[1].getsockname()[1]})
    prepare = partial(_prepared, configuration, listening[0], demo_data=demo_data, migrating=not no_migrate)
    make = partial(made, configuration, demo=demo_data)
    if configuration.workers > 1:
        words = _of_a_child(prepare)
        loaded()
        with _adding_up():
            _serve_many(Config(make, configuration, silence_seconds=SILENCE_SECONDS), listening, words)
        return
    with _adding_up() if configuration.worker and configuration.worker_beside else nullcontext():
        from gateway.server.serving import Server

        words = prepare()
        # Once it has ended gracefully, uvicorn hands the signal on, for which a process would die of it all the same.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: sys.exit())
        config = Config(make, configuration, silence_seconds=SILENCE_SECONDS)
        gc.disable()  # which the demo's data had enabled
        config.load()  # before the loop runs, which this would hold up
        loaded()
        Server(config, words).run(listening)


def made(configuration: "Settings", *, demo: bool) -> "Starlette":
    """The application, loaded by the process that serves it: who supervises others stays without (decision 900)."""
    from gateway.app import create

    return create(configuration, demo=demo, beside=True)


def _prepared(configuration: "Settings", listening: socket.socket, *, demo_data: bool, migrating: bool) -> str:
    """Bring the data up to date, and word what is to be printed."""
    from gateway.commands.banner import banner
    from gateway.made import bring_up_to_date

    with_folder(configuration)
    if migrating:
        asyncio.run(bring_up_to_date(configuration))
    if not demo_data:
        return banner(configuration, listening, None)
    from gateway.adapters import lean_http  # noqa: F401  # before anybody loads httpx
    from gateway.demo import data as demo

    ready = with_database(lambda database: demo.prepare(configuration, database), configuration)
    return banner(configuration, listening, ready)


def _of_a_child(work: Callable[[], str]) -> str:
    """Gives the result of work that a process of its own does: what it loads goes with it (decision 900).

    Where the work fails, the child says so like any command, and this process ends as it did.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, work().encode())
        sys.stderr.flush()
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as said:
        words = said.read()
    _, status = os.waitpid(child, 0)
    if code := os.waitstatus_to_exitcode(status):
        raise SystemExit(code if code > 0 else 1)
    return words


def _serve_many(config: "Config", listening: list[socket.socket], words: str) -> None:
    """Several processes on the same sockets; the first that answers lets the addresses be printed."""
    from gateway.server.serving import Processes

    threading.Thread(target=_announce, args=(listening[0].getsockname(), words), daemon=True).start()
    Processes(config, listening).run()


@contextmanager
def _adding_up() -> Iterator[None]:
    """A folder through which the processes, which inherit its name, count together (decision 123)."""
    from gateway.observability.shared_folder import SHARED_FOLDER

    if SHARED_FOLDER in os.environ:
        yield
        return
    try:
        made = tempfile.TemporaryDirectory(prefix="crm-metrics-")
    except OSError:
        logging.getLogger(__name__).warning("no temporary folder can be written: /metrics tells of one process alone")
        yield
        return
    with made as folder:
        os.environ[SHARED_FOLDER] = folder
        yield


def _announce(address: tuple[str, int], words: str) -> None:
    """Print the words once somebody answers: the one question waits at the socket until then."""
    end = time.monotonic() + _START_SECONDS
    request = f"GET /health HTTP/1.1\r\nHost: {authority(address)}\r\nConnection: close\r\n\r\n".encode()
    while (left := end - time.monotonic()) > 0:
        try:
            with socket.create_connection(address[:2], timeout=left) as connection:
                connection.sendall(request)
                if connection.recv(12).endswith(b" 200"):
                    print(words, flush=True)
                    return
        except OSError:
            pass
        time.sleep(0.1)
