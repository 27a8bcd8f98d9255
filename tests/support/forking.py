"""Processes of the program that begin with its modules loaded: loading them is most of the work of a short one.

One process for each of pytest's loads the program once and forks for whatever is asked of it; what a fork then does is
all its own: environment, folder, files, signals, exit code. What an application makes of the schema alone is made too.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

_PROGRAM = """
import gc, json, os, sys, traceback
import aiosqlite, alembic.command, asyncpg, httptools, uvloop, storage.seeding.words
import uvicorn.lifespan.on, uvicorn.loops.uvloop, uvicorn.loops.auto
import email.headerregistry, sqlglot.dialects.postgres, sqlglot.dialects.sqlite
import gateway.app, gateway.data_folder, gateway.demo.research, gateway.observability.doctor, jobs.kinds
import gateway.commands.banner, gateway.commands.from_file, gateway.server.serving
import identity.administration, jobs.upkeep, jobs.worker, providers.embedded.answerer
import storage.queries.administration, storage.queries.cell_checks
from functools import cache
from gateway.commands.line import WORDS, run

schema = gateway.app.build()
gateway.app.build = lambda: schema
gateway.app.Catalogue = cache(gateway.app.Catalogue)
gateway.app.llms_text = cache(gateway.app.llms_text)
gateway.app.Catalogue(schema.graphql), gateway.app.llms_text(schema.graphql)

def begin(order):
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["environment"])
    for number, name in ((0, os.devnull), (1, order["out"]), (2, order["err"])):
        os.dup2(os.open(name, os.O_RDWR | os.O_CREAT), number)
    sys.argv = ["crm-gateway", *order["arguments"]]
    code = 70
    try:
        run()
        code = 0
    except SystemExit as end:
        code = end.code or 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)

for word in WORDS.values():
    word.load()
gc.collect()
gc.freeze()
for line in sys.stdin:
    order = json.loads(line)
    if "ended" in order:
        print(os.waitstatus_to_exitcode(os.waitpid(order["ended"], 0)[1]), flush=True)
        continue
    child = os.fork()
    if child == 0:
        begin(order)
    print(child, flush=True)
"""


class Forked:
    """A process that was forked, with what is used of `subprocess.Popen`."""

    def __init__(
        self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], out: Path, err: Path
    ) -> None:
        order = {
            "arguments": arguments,
            "environment": dict(environment),
            "folder": str(folder),
            "out": str(out),
            "err": str(err),
        }
        self.pid = _parent().ask(order)
        self._end = os.pidfd_open(self.pid)
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """The exit code, if it has ended."""
        return self._look(0)

    def wait(self, timeout: float | None = None) -> int:
        """The exit code, once it has ended. Raises subprocess.TimeoutExpired."""
        code = self._look(timeout)
        if code is None:
            raise subprocess.TimeoutExpired("crm-gateway", timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _look(self, timeout: float | None) -> int | None:
        end = select.poll()  # which takes numbers that select() does not
        if self.returncode is None:
            end.register(self._end, select.POLLIN)
        if self.returncode is None and end.poll(None if timeout is None else timeout * 1000):
            os.close(self._end)
            self.returncode = _parent().ask({"ended": self.pid})
        return self.returncode


class _Parent:
    """The process that has the program loaded. It ends with its standard input, so with whoever started it."""

    def __init__(self) -> None:
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        self._lock = Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM],
            env=kept,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, order: dict[str, Any]) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._lock:
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
            return int(self._process.stdout.readline())

    def end(self) -> None:
        self._process.communicate()


_starting = Lock()


def _parent() -> _Parent:
    """The one process of this load; two threads that ask at once would else make two."""
    with _starting:
        return _started()


@cache
def _started() -> _Parent:
    parent = _Parent()
    atexit.register(parent.end)
    return parent
