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

from benchmarks.contestants import Contestant
from benchmarks.cores import Busy, Layout, on
from benchmarks.data import ROOT
from benchmarks.works import FLOOR, GATEWAY, Request, Work


class Different(AssertionError):
    """Two contestants do not say the same, so nothing can be compared."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How long and how often."""

    seconds: float
    rounds: int
    warm_up: float
    connections: Sequence[int]


class Load:
    """The running load generator."""

    def __init__(self, commands: IO[str], results: IO[str]) -> None:
        self._commands, self._results = commands, results

    def measure(
        self, contestant: Contestant, wire: Sequence[bytes], lengths: Sequence[int], status: int, **how: float
    ) -> dict[str, float]:
        """One measurement. Raises RuntimeError where a response was not as expected."""
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
            raise RuntimeError(f"{contestant.name}: {result['failure']}")
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


def compare(
    work: Work, requests: Mapping[str, Sequence[Request]], contestants: Mapping[str, Contestant]
) -> dict[str, list[int]]:
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
                raise Different(
                    f"{work.name}, request {number}: {_difference(answers[GATEWAY], answer, GATEWAY, name)}"
                )
    return lengths


def _difference(ours: Any, theirs: Any, us: str, them: str, at: str = "") -> str:
    """Where the first difference lies."""
    if isinstance(ours, dict) and isinstance(theirs, dict) and set(ours) == set(theirs):
        key = next(key for key in ours if ours[key] != theirs[key])
        return _difference(ours[key], theirs[key], us, them, f"{at}.{key}")
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        index = next(i for i, pair in enumerate(zip(ours, theirs, strict=True)) if pair[0] != pair[1])
        return _difference(ours[index], theirs[index], us, them, f"{at}[{index}]")
    return f"at {at or 'the top'} {us} says {ours!r:.500}, {them} {theirs!r:.500}"


def measure(
    work: Work,
    requests: Mapping[str, Sequence[Request]],
    contestants: Mapping[str, Contestant],
    generator: Load,
    layout: Layout,
    effort: Effort,
) -> dict[int, dict[str, dict[str, Any]]]:
    """By number of connections and contestant: the medians over the rounds, and the ratios of the same rounds."""
    lengths = compare(work, requests, contestants)
    wire = {name: [r.encoded(contestants[name].headers) for r in requests[name]] for name in requests}
    result = {}
    for connections in effort.connections:
        rounds: dict[str, list[dict[str, float]]] = {name: [] for name in requests}
        how = {"connections": connections, "seconds": effort.seconds, "warm_up": effort.warm_up}
        for _ in range(effort.rounds):
            for name in requests:
                contestant, busy = contestants[name], Busy()
                before = contestant.processor_seconds()
                figures = generator.measure(contestant, wire[name], lengths[name], work.status, **how)
                spent = contestant.processor_seconds() - before
                figures["processor_ms"] = spent * 1000 / figures.pop("responses")
                figures["contestant_core_busy"] = busy.look(layout.contestant)
                figures["load_core_busy"] = busy.look(layout.load | layout.database)
                rounds[name].append(figures)
        result[connections] = {
            name: _medians(rounds[name])
            | _ratios(work, name, rounds)
            | {"memory_mib": contestants[name].memory(), "bytes": round(statistics.mean(lengths[name]))}
            for name in requests
        }
    return result


def _medians(rounds: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {key: round(statistics.median(figures[key] for figures in rounds), 3) for key in rounds[0]}


def _ratios(work: Work, name: str, rounds: Mapping[str, Sequence[Mapping[str, float]]]) -> dict[str, float]:
    """Of the gateway: the median over the rounds of its requests per second against the others' in the same round."""
    if name != GATEWAY:
        return {}
    against = {"vs_idiomatic": work.baseline, "vs_floor": FLOOR}
    return {
        key: round(
            statistics.median(
                ours["requests_per_second"] / theirs["requests_per_second"]
                for ours, theirs in zip(rounds[GATEWAY], rounds[other], strict=True)
            ),
            3,
        )
        for key, other in against.items()
    }
