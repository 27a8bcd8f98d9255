"""The contestants as running processes: how each is started, what its requests carry, and what it weighs (on Linux)."""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType

from sqlalchemy import make_url

from benchmarks import node
from benchmarks.asking import FASTAPI, FLOOR, GATEWAY, IDIOMATIC, LARGEST, MERCURIUS, Request
from benchmarks.cores import Cores, family, on
from benchmarks.data import ROOT, Known, Place
from contract.scopes import Role
from gateway.made import AUDIENCE
from identity.keyfiles import signing_key
from identity.tokens import DEFAULT_ISSUER, EmbeddedIssuer

BASELINES = {IDIOMATIC: "idiomatic", FASTAPI: "rest", FLOOR: "floor"}
_OURS = re.compile(r"CRM_|PG[A-Z]+$|BENCH_|LOG_|DATABASE_URL$|HOST$|PORT$|WEB_CONCURRENCY$")
_ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)")

_WORKER_SECONDS, _REST_SECONDS = 60.0, 2.0
"""The seconds in which a worker has to begin, and those that it then has to come to rest."""
_COST_DIGITS = 6
"""An answer of the gateway says what it cost, which is more where the machine was busy with something else."""
_POSITION = len(',"position":123456789')
"""A write that changed something says how far the change log goes with it; one that found all as it is says nothing."""


@dataclass(slots=True)
class Contestant:
    """A process that answers on a port of this machine."""

    name: str
    pid: int
    port: int
    headers: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By the organization that a request is from."""
    slack: int = 0
    """By how many bytes the same answer may differ."""

    def encoded(self, request: Request) -> bytes:
        """The request on the wire."""
        return request.encoded(self.headers.get(request.organization, {}))

    def ask(self, request: Request) -> tuple[int, bytes]:
        """One request outside of any measurement: status and body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.connect()
            connection.sock.sendall(self.encoded(request))
            response = http.client.HTTPResponse(connection.sock, method=request.method)
            response.begin()
            return response.status, response.read()
        finally:
            connection.close()

    def resident(self) -> float:
        """The resident memory now of the process and its children, in MiB."""
        texts = (Path(f"/proc/{pid}/status").read_text() for pid in family(self.pid))
        return round(sum(int(text.split("VmRSS:")[1].split()[0]) for text in texts) / 1024, 1)

    def forget_peak(self) -> None:
        """Have `memory()` tell the most from now on; those that run alone can."""
        for pid in family(self.pid):
            Path(f"/proc/{pid}/clear_refs").write_text("5")

    def memory(self) -> float:
        """The most resident memory so far of the process and its children, in MiB."""
        texts = (Path(f"/proc/{pid}/status").read_text() for pid in family(self.pid))
        return round(sum(int(text.split("VmHWM:")[1].split()[0]) for text in texts) / 1024, 1)


@contextmanager
def running(
    names: Sequence[str], place: Place, known: Sequence[Known], scratch: Path, cores: Cores
) -> Iterator[dict[str, Contestant]]:
    """These contestants, all on the same cores; those that are not asked sleep."""
    start = {GATEWAY: gateway, MERCURIUS: _mercurius}
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(start.get(name, partial(_baseline, name))(place, known, scratch, cores))
            for name in names
        }


@contextmanager
def gateway(
    place: Place,
    known: Sequence[Known],
    scratch: Path,
    cores: Cores,
    *,
    workers: int = 1,
    python: Sequence[str] = (),
    has_worker: bool = False,
    port: int = 0,
    settings: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Contestant]:
    """The gateway as it runs in production, with a key of each organization made through its own API.

    It does background jobs, too, where it `has_worker`. `python` are further arguments for the interpreter, before
    `-m gateway`, `settings` further ones of the gateway, and `port` is where it listens, unless anywhere.
    """
    environment = _settings(place, scratch, settings)
    serve = ["-m", "gateway", "serve", "--port", str(port), "--no-migrate", "--workers", str(workers)]
    serve += [] if has_worker else ["--no-worker"]
    with _process(GATEWAY, [sys.executable, *python, *serve], environment, scratch, cores) as contestant:
        issued = settings.get("CRM_PUBLIC_URL", DEFAULT_ISSUER)
        issuer = EmbeddedIssuer(signing_key(scratch / "gateway"), issued, AUDIENCE)
        keys = {each.organization: _key(contestant, issuer, each) for each in known}
        contestant.headers = keys | {LARGEST: keys[known[0].organization]}
        contestant.slack = _COST_DIGITS + _POSITION
        if has_worker:
            _worker_is_there(contestant)
        yield contestant


def _worker_is_there(contestant: Contestant) -> None:
    """Wait until the worker beats: what it takes to begin is no part of what its jobs take."""
    until = time.monotonic() + _WORKER_SECONDS
    while b"\ncrm_workers 1.0" not in contestant.ask(Request("GET", "/metrics"))[1]:
        if time.monotonic() > until:
            raise RuntimeError("no worker beats")
        time.sleep(0.5)
    time.sleep(_REST_SECONDS)


def _settings(place: Place, scratch: Path, settings: Mapping[str, str]) -> dict[str, str]:
    """The environment of the gateway's processes."""
    return _environment() | {
        "CRM_DATABASE_URL": place.gateway_url,
        "CRM_DATA_DIR": str(scratch / "gateway"),
        "CRM_ANALYTICS_DATABASE_URL": place.analytics_url,
        "CRM_RATE_LIMIT": "off",
        "LOG_LEVEL": "INFO",
        **settings,
    }


def _key(contestant: Contestant, issuer: EmbeddedIssuer, known: Known) -> dict[str, str]:
    """Returns what a request carries: a key of the organization, which its administrator makes."""
    scopes = sorted(Role.ADMIN.scopes)
    token = issuer.mint(known.admin, organization=known.organization, scopes=scopes, ttl=3600)
    contestant.headers = {LARGEST: {"Authorization": f"Bearer {token}"}}
    status, body = contestant.ask(Request("POST", "/organization-pats", {"name": "Benchmark"}))
    if status != 201:
        raise RuntimeError(f"no key: {body!r}")
    return {"Authorization": f"Bearer {json.loads(body)['pat_key']}"}


@contextmanager
def _baseline(name: str, place: Place, known: Sequence[Known], scratch: Path, cores: Cores) -> Iterator[Contestant]:
    environment = _environment() | {
        "BENCH_DATABASE_URL": place.baseline_url,
        "BENCH_ORGANIZATION": known[0].organization,
    }
    command = [sys.executable, "-m", "benchmarks.baselines.serve", BASELINES[name]]
    with _process(name, command, environment, scratch, cores) as contestant:
        contestant.headers = _named(known)
        yield contestant


@contextmanager
def serving(name: str, scratch: Path, cores: Cores, **environment: str) -> Iterator[Contestant]:
    """An application of `benchmarks/baselines` that has no database."""
    command = [sys.executable, "-m", "benchmarks.baselines.serve", name]
    with _process(name, command, _environment() | environment, scratch, cores) as contestant:
        yield contestant


@contextmanager
def _mercurius(place: Place, known: Sequence[Known], scratch: Path, cores: Cores) -> Iterator[Contestant]:
    url = make_url(place.baseline_url)
    environment = _environment() | {
        "NODE_ENV": "production",
        "PGHOST": str(url.query["host"]),
        "PGUSER": str(url.username),
        "PGDATABASE": str(url.database),
    }
    command = ["node", str(node.FOLDER / "server.js")]
    with _process(MERCURIUS, command, environment, scratch, cores) as contestant:
        contestant.headers = _named(known)
        yield contestant


def _named(known: Sequence[Known]) -> dict[str, dict[str, str]]:
    """The header that stands for a credential where nobody checks one."""
    named = {each.organization: {"X-Organization": each.organization} for each in known}
    return named | {LARGEST: named[known[0].organization]}


def _environment() -> dict[str, str]:
    """Return the environment of this process, without what somebody set for a service of their own."""
    kept = {name: value for name, value in os.environ.items() if not _OURS.match(name)}
    return kept | {"PYTHONPATH": str(ROOT)}


@contextmanager
def _process(
    name: str, command: Sequence[str], environment: Mapping[str, str], scratch: Path, cores: Cores
) -> Iterator[Contestant]:
    """The process, once it says on which port it listens; its log is a file, as in production."""
    log = scratch / f"{name}.log"
    with log.open("w") as errors, on(cores):
        process = subprocess.Popen(
            command,
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
        _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    """End a process, by force where it takes longer than it may."""
    process.send_signal(2)
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()
