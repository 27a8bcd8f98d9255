"""`serve`: migrate, listen, and say where, once it is true."""

import asyncio
import gc
import pickle
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from gateway.commands.outcome import loaded, settings_to_serve, warn_of_strangers, with_database, with_folder
from gateway.commands.sockets import authority, listen

if TYPE_CHECKING:
    from gateway.settings import Settings


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

    configuration = settings_to_serve(host=host, port=port, workers=workers, worker=False if no_worker else None)
    logs.configure(configuration.logs)
    warn_of_strangers()
    listening = [listen(configuration.host, configuration.port)]
    if configuration.metrics_port is not None:
        listening.append(listen(configuration.host, configuration.metrics_port))
        configuration = configuration.model_copy(update={"metrics_port": listening[1].getsockname()[1]})
    prepare = partial(_prepared, configuration, listening[0], demo_data=demo_data, migrating=not no_migrate)
    if configuration.workers > 1:
        _supervise(configuration, listening, prepare(), demo=demo_data)
    _serve(configuration, listening, prepare, demo=demo_data)


def _serve(
    configuration: "Settings", listening: list[socket.socket], prepare: Callable[[], str], *, demo: bool
) -> None:
    """Serve in this process until it is told to end."""
    from gateway.observability.shared_folder import adding_up

    with adding_up() if configuration.worker and configuration.worker_beside else nullcontext():
        from gateway.server.config import Config
        from gateway.server.serving import Server

        words = prepare()
        # Once it has ended gracefully, uvicorn hands the signal on, for which a process would die of it all the same.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: sys.exit())
        config = Config(lambda: configuration, demo=demo, workers=1)
        gc.disable()  # which the demo's data had enabled
        config.load()  # before the loop runs, which this would hold up
        loaded()
        Server(config, words).run(listening)


def _supervise(configuration: "Settings", listening: list[socket.socket], words: str, *, demo: bool) -> NoReturn:
    """Have several processes on the same sockets, and a supervisor of them in this one's place."""
    from gateway.server.handover import Handover, become_supervisor

    become_supervisor(
        Handover(
            sockets=tuple(each.fileno() for each in listening),
            authority=authority(listening[0].getsockname()),
            words=words,
            workers=configuration.workers,
            demo=demo,
            logs=configuration.logs,
            settings=pickle.dumps(configuration),
        )
    )


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
