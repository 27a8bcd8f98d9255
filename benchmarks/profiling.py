"""Where the gateway's time goes: one work under the standard library's profiler."""

from __future__ import annotations

import io
import os
import pstats
import signal
import tempfile
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console

from benchmarks import data
from benchmarks.contestants import gateway
from benchmarks.cores import Layout
from benchmarks.measure import load
from benchmarks.works import GATEWAY, Work

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
            wire = [request.encoded(contestant.headers) for request in requests]
            figures = generator.measure(
                *(contestant, wire, lengths, work.status), connections=CONNECTIONS, seconds=SECONDS, warm_up=1.0
            )
        for order in ("tottime", "cumulative"):
            text = io.StringIO()
            pstats.Stats(str(output), stream=text).strip_dirs().sort_stats(order).print_stats(_LINES)
            console.print(text.getvalue(), markup=False, highlight=False)
    console.print(f"{work.name}: {figures['requests_per_second']:,.0f} requests/s under the profiler")
