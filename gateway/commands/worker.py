"""`worker`: only the job worker, any number of them beside any number of `serve --no-worker`."""

import socket
from typing import Annotated

import typer

from gateway.commands.outcome import settings_to_serve


def worker(
    line: Annotated[int | None, typer.Option(hidden=True, help="The line to the server that started this.")] = None,
    demo: Annotated[bool, typer.Option("--demo", hidden=True, help="Whether that has demo data.")] = False,
) -> None:
    """Run background jobs, without the HTTP service."""
    from gateway.commands.working import work, work_beside

    if line is None:
        work(settings_to_serve())
    else:
        # What the server's own command line may have said otherwise is nothing to a worker.
        settings = settings_to_serve(host="127.0.0.1", port=0, workers=1, worker=True)
        work_beside(settings, socket.socket(fileno=line), demo=demo)
