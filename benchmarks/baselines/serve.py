"""Starts one baseline: `python -m benchmarks.baselines.serve NAME`, on a port of the system's choice, which it prints.

The environment says which database (BENCH_DATABASE_URL) and whose data (BENCH_ORGANIZATION).
"""

from __future__ import annotations

import socket
import sys
from importlib import import_module

import uvicorn


class _Announcing(uvicorn.Server):
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then say where."""
        await super().startup(sockets)
        for listening in sockets or ():
            print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)


def main(name: str) -> None:
    """Serve until told to stop; no access log, which the gateway has."""
    application = import_module(f"benchmarks.baselines.{name}").create()
    listening = socket.create_server(("127.0.0.1", 0), backlog=256)
    config = uvicorn.Config(
        application, loop="uvloop", http="httptools", ws="none", log_level="warning", access_log=False
    )
    _Announcing(config).run([listening])


if __name__ == "__main__":
    main(sys.argv[1])
