"""Shows in which functions the gateway spends its time: one work under the standard library's profiler."""

from __future__ import annotations

import io
import os
import pstats
import signal
import tempfile
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks import data
from benchmarks.asking import GATEWAY, Work
from benchmarks.contestants import gateway
from benchmarks.cores import Layout
from benchmarks.measure import load
from gateway.server.http_protocol import HttpServerProtocol

SECONDS = 5.0
CONNECTIONS = 8
_LINES = 45


def run(work: Work, profile: data.Profile, dialect: str, where: Layout, console: Console) -> None:
    """Print the functions that most time is spent in; the profiler makes every call dearer, small ones most."""
    known = data.known(profile)
    requests = work.requests(known, profile.variants)[GATEWAY]
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="crm-bench-")))
        place = stack.enter_context(data.place(dialect, profile, scratch, where.database))
        generator = stack.enter_context(load(where))
        output = scratch / "profile"
        with gateway(
            place, known, scratch, where.contestant, python=("-m", "benchmarks.profiled", str(output))
        ) as contestant:
            lengths = [len(contestant.ask(request)[1]) for request in requests]
            os.kill(contestant.pid, signal.SIGUSR1)
            wire = [contestant.encoded(request) for request in requests]
            figures = generator.measure(
                *(contestant, wire, lengths, work.status), connections=CONNECTIONS, seconds=SECONDS, warm_up=1.0
            )
        for order in ("tottime", "cumulative"):
            text = io.StringIO()
            pstats.Stats(str(output), stream=text).strip_dirs().sort_stats(order).print_stats(_LINES)
            console.print(text.getvalue(), markup=False, highlight=False)
        for part, share in shares(pstats.Stats(str(output))):
            console.print(f"{share:6.1%}  {part}", markup=False, highlight=False)
        console.print(f"{calls(pstats.Stats(str(output))):6.0f}  calls of functions for a request")
    console.print(f"{work.name}: {figures['requests_per_second']:,.0f} requests/s under the profiler")


def shares(stats: pstats.Stats) -> list[tuple[str, float]]:
    """How much of the time is spent in each part's own code: a package of ours, a library, or the language itself."""
    parts: Counter[str] = Counter()
    timings: Mapping[tuple[str, int, str], tuple[Any, ...]] = stats.stats  # type: ignore[attr-defined]  # it has no accessor
    for (file, _, _), (_, _, own, _, _) in timings.items():
        parts[_part(file)] += own
    total = sum(parts.values())
    return [(part, own / total) for part, own in parts.most_common(12)]


def calls(stats: pstats.Stats) -> float:
    """How many calls of functions a request takes; a coroutine counts each time that it goes on."""
    timings: Mapping[tuple[str, int, str], tuple[Any, ...]] = stats.stats  # type: ignore[attr-defined]  # it has no accessor
    begun = HttpServerProtocol.on_message_begin.__code__
    total: int = stats.total_calls  # type: ignore[attr-defined]  # nor has this
    requests: int = timings[begun.co_filename, begun.co_firstlineno, begun.co_name][1]
    return total / requests


def _part(file: str) -> str:
    path = Path(file)
    if path.is_relative_to(data.ROOT) and "site-packages" not in path.parts:
        return path.relative_to(data.ROOT).parts[0]
    if "site-packages" in path.parts:
        return path.parts[path.parts.index("site-packages") + 1]
    return "Python" if path.is_absolute() else "Python's built-in functions"
