"""`python -m benchmarks.profiled FILE -m gateway ...`: the gateway, under cProfile from a SIGUSR1 on until it ends."""

from __future__ import annotations

import cProfile
import signal
import sys
from contextlib import suppress

from gateway.cli import main


def run() -> None:
    """Take the profiler's own arguments away, and be the gateway."""
    file = sys.argv[1]
    sys.argv = ["crm-gateway", *sys.argv[4:]]
    profiler = cProfile.Profile()
    # Not from the start: importing and building the schema would be most of it.
    signal.signal(signal.SIGUSR1, lambda *_: profiler.enable())
    try:
        with suppress(KeyboardInterrupt):  # how a server ends after an interrupt that it has served
            main()
    finally:
        profiler.disable()
        profiler.dump_stats(file)


if __name__ == "__main__":
    run()
