"""Equal answers first, then rounds: every round asks each contestant in turn, so that a slow minute hits them all."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

from benchmarks.answers import difference
from benchmarks.asking import GATEWAY, Requests, Work
from benchmarks.contestants import Contestant
from benchmarks.cores import TICKS, Busy, Layout, on, processor_seconds
from benchmarks.data import ROOT


class Different(AssertionError):
    """Two contestants do not say the same, so nothing can be compared."""


class Refused(RuntimeError):
    """A contestant did not answer under load as it did before."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How long and how often."""

    seconds: float
    rounds: int
    warm_up: float
    connections: Sequence[int]
    settling: int = 1
    """Rounds before those that count: compilers at run time take so long to find what is hot."""


class Load:
    """The running load generator."""

    def __init__(self, commands: IO[str], results: IO[str]) -> None:
        self._commands, self._results = commands, results

    def measure(
        self, contestant: Contestant, wire: Sequence[bytes], lengths: Sequence[int], status: int, **how: float
    ) -> dict[str, float]:
        """One measurement. Raises Refused where a response was not as expected."""
        command = {
            "port": contestant.port,
            "requests": [b64encode(request).decode() for request in wire],
            "lengths": lengths,
            "slack": contestant.slack,
            "status": status,
            **how,
        }
        print(json.dumps(command), file=self._commands, flush=True)
        line = self._results.readline()
        result: dict[str, Any] = json.loads(line) if line else {"failure": "the load generator ended"}
        if "failure" in result:
            raise Refused(f"{contestant.name}: {result['failure']}")
        return result


@contextmanager
def load(layout: Layout) -> Iterator[Load]:
    """A load generator on its core."""
    with on(layout.load):
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.load"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
    with process:
        assert process.stdin is not None  # noqa: S101  # it is a pipe
        assert process.stdout is not None  # noqa: S101  # so is this
        try:
            yield Load(process.stdin, process.stdout)
        finally:
            process.stdin.close()


def compare(work: Work, requests: Requests, contestants: Mapping[str, Contestant]) -> dict[str, list[int]]:
    """The length of each contestant's response to each request. Raises Different where what they say differs."""
    lengths: dict[str, list[int]] = {name: [] for name in requests}
    for number in range(len(requests[GATEWAY])):
        answers = {}
        for name in requests:
            status, body = contestants[name].ask(requests[name][number])
            if status != work.status:
                raise Different(f"{work.name}: {name} answered {status}: {body[:1000]!r}")
            lengths[name].append(len(body))
            answers[name] = work.answer(body)
        for name, answer in answers.items():
            if answer != answers[GATEWAY]:
                raise Different(f"{work.name}, request {number}: {difference(answers[GATEWAY], answer, GATEWAY, name)}")
    return lengths


def measure(
    work: Work,
    requests: Requests,
    contestants: Mapping[str, Contestant],
    generator: Load,
    layout: Layout,
    effort: Effort,
    server: int | None,
) -> dict[int, dict[str, dict[str, Any]]]:
    """By number of connections and contestant: the medians over the rounds, and the ratios of the same rounds.

    `server` is the process of PostgreSQL.
    """
    lengths = compare(work, requests, contestants)
    result = {}
    for connections in effort.connections:
        rounds: dict[str, list[dict[str, float]]] = {name: [] for name in requests}
        how = {"connections": connections, "seconds": effort.seconds, "warm_up": effort.warm_up}
        for number in range(-effort.settling, effort.rounds):
            for name, asked in requests.items():
                contestant, busy = contestants[name], Busy()
                wire = [contestant.encoded(request) for request in asked]
                before = _spent(contestant.pid, server)
                figures = generator.measure(contestant, wire, lengths[name], work.status, **how)
                figures |= per_request(before, _spent(contestant.pid, server), figures.pop("responses"))
                figures["contestant_core_busy"] = busy.look(layout.contestant)
                figures["load_core_busy"] = busy.look(layout.load | layout.database)
                if number >= 0:
                    rounds[name].append(figures)
        result[connections] = {
            name: _medians(rounds[name])
            | {"memory_mib": contestants[name].memory(), "bytes": round(statistics.mean(lengths[name]))}
            | (ratios(rounds) if name == GATEWAY else {})
            for name in requests
        }
    return result


def _spent(pid: int, server: int | None) -> tuple[float, float]:
    """The processor time so far of a contestant and of PostgreSQL; SQLite's is the contestant's."""
    return processor_seconds(pid), 0.0 if server is None else processor_seconds(server)


def per_request(before: Sequence[float], after: Sequence[float], responses: float) -> dict[str, float]:
    """Milliseconds of processor time: the contestant's, PostgreSQL's and their sum, which is at least a tick."""
    server, database = ((b - a) * 1000 / responses for a, b in zip(before, after, strict=True))
    least = 1000 / TICKS / responses
    return {"server_ms": server, "database_ms": database, "processor_ms": max(server + database, least)}


def _medians(rounds: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {key: round(statistics.median(figures[key] for figures in rounds), 3) for key in rounds[0]}


def ratios(rounds: Mapping[str, Sequence[Mapping[str, float]]]) -> dict[str, dict[str, float]]:
    """The gateway against each other contestant: requests per second, and the sum of both processor times.

    Each is the median over the rounds of the ratio within a round, so that what is slow for all changes nothing.
    """
    return {
        name: {
            other: round(statistics.median(o[key] / t[key] for o, t in zip(rounds[GATEWAY], theirs, strict=True)), 3)
            for other, theirs in rounds.items()
            if other != GATEWAY
        }
        for name, key in (("rate_against", "requests_per_second"), ("processor_against", "processor_ms"))
    }
