"""The contestants as running processes: how each is started, what its requests carry, and what it weighs (on Linux)."""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.cores import Cores, on
from benchmarks.data import ROOT, Known, Place
from benchmarks.works import FASTAPI, FLOOR, GATEWAY, IDIOMATIC, Request

BASELINES = {IDIOMATIC: "idiomatic", FASTAPI: "rest", FLOOR: "floor"}
_OURS = re.compile(r"CRM_|BENCH_|LOG_|DATABASE_URL$|HOST$|PORT$|WEB_CONCURRENCY$")
_ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)")


_USER_TICKS = 11
"""Where behind the name in /proc/PID/stat the ticks in the process stand; those in the kernel follow."""

_COST_DIGITS = 6
"""An answer of the gateway says what it cost, which is more where the machine was busy with something else."""


@dataclass(slots=True)
class Contestant:
    """A process that answers on a port of this machine."""

    name: str
    pid: int
    port: int
    headers: Mapping[str, str] = field(default_factory=dict)
    slack: int = 0
    """By how many bytes the same answer may differ."""

    def ask(self, request: Request) -> tuple[int, bytes]:
        """One request outside of any measurement: status and body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.connect()
            connection.sock.sendall(request.encoded(self.headers))
            response = http.client.HTTPResponse(connection.sock, method=request.method)
            response.begin()
            return response.status, response.read()
        finally:
            connection.close()

    def memory(self) -> float:
        """The most resident memory so far of the process and its children, in MiB."""
        texts = (Path(f"/proc/{pid}/status").read_text() for pid in self._processes())
        return round(sum(int(text.split("VmHWM:")[1].split()[0]) for text in texts) / 1024, 1)

    def processor_seconds(self) -> float:
        """The processor time so far of the process and its children: steadier than a rate on a busy machine."""
        texts = (Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2] for pid in self._processes())
        ticks = sum(sum(map(int, text.split()[_USER_TICKS : _USER_TICKS + 2])) for text in texts)
        return ticks / os.sysconf("SC_CLK_TCK")

    def _processes(self) -> list[int]:
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return [self.pid, *map(int, children)]


@contextmanager
def running(
    names: Sequence[str], place: Place, known: Known, scratch: Path, cores: Cores
) -> Iterator[dict[str, Contestant]]:
    """These contestants, all on the same cores; those that are not asked sleep."""
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(
                gateway(place, known, scratch, cores)
                if name == GATEWAY
                else _baseline(name, place, known, scratch, cores)
            )
            for name in names
        }


@contextmanager
def gateway(
    place: Place,
    known: Known,
    scratch: Path,
    cores: Cores,
    *,
    workers: int = 1,
    python: Sequence[str] = (),
) -> Iterator[Contestant]:
    """The gateway as it runs in production, with an organization key made through its own API.

    `python` are further arguments for the interpreter, before `-m gateway`.
    """
    environment = _environment() | {
        "CRM_DATABASE_URL": place.gateway_url,
        "CRM_DATA_DIR": str(scratch / "gateway"),
        "CRM_RATE_LIMIT": "off",
        "LOG_LEVEL": "INFO",
    }
    serve = ["-m", "gateway", "serve", "--port", "0", "--no-migrate", "--no-worker", "--workers", str(workers)]
    with _process(GATEWAY, [*python, *serve], environment, scratch, cores) as contestant:
        token = subprocess.run(
            [sys.executable, "-m", "gateway", "token", "--user", known.admin, "--org", known.organization],
            env=environment,
            cwd=scratch,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        contestant.headers = {"Authorization": f"Bearer {token}"}
        status, body = contestant.ask(Request("POST", "/organization-pats", {"name": "Benchmark"}))
        if status != 201:
            raise RuntimeError(f"no key: {body!r}")
        contestant.headers = {"Authorization": f"Bearer {json.loads(body)['pat_key']}"}
        contestant.slack = _COST_DIGITS
        yield contestant


@contextmanager
def _baseline(name: str, place: Place, known: Known, scratch: Path, cores: Cores) -> Iterator[Contestant]:
    environment = _environment() | {
        "BENCH_DATABASE_URL": place.baseline_url,
        "BENCH_ORGANIZATION": known.organization,
    }
    command = ["-m", "benchmarks.baselines.serve", BASELINES[name]]
    with _process(name, command, environment, scratch, cores) as contestant:
        yield contestant


def _environment() -> dict[str, str]:
    """What this process has, without what somebody set for a service of their own."""
    kept = {name: value for name, value in os.environ.items() if not _OURS.match(name)}
    return kept | {"PYTHONPATH": str(ROOT)}


@contextmanager
def _process(
    name: str, arguments: Sequence[str], environment: Mapping[str, str], scratch: Path, cores: Cores
) -> Iterator[Contestant]:
    """The process, once it says on which port it listens; its log is a file, as in production."""
    log = scratch / f"{name}.log"
    with log.open("w") as errors, on(cores):
        process = subprocess.Popen(
            [sys.executable, *arguments],
            env=environment,
            cwd=scratch,  # where no `.env` of somebody's lies
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    try:
        assert process.stdout is not None  # noqa: S101  # it is a pipe
        address = next((found for line in process.stdout if (found := _ADDRESS.search(line))), None)
        if address is None:
            raise RuntimeError(f"{name} did not start:\n{log.read_text()[-4000:]}")
        yield Contestant(name, process.pid, int(address[1]))
    finally:
        process.send_signal(2)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()
