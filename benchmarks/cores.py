"""Who runs on which processor core, how busy the cores were, and what processes took of them, on Linux."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

Cores = frozenset[int]

TICKS = os.sysconf("SC_CLK_TCK")
"""A second of processor time."""
_USER_TICKS = 11
"""The place of the first ticks behind the name in /proc/PID/stat."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The contestant alone on one core; the load on another, which PostgreSQL shares unless there is a third."""

    contestant: Cores
    load: Cores
    database: Cores

    def __str__(self) -> str:
        """The layout in words."""
        if self.contestant == self.load:
            return "one core for everything: nothing is pinned, and no ratio means much"
        names = [f"{sorted(c)}" for c in (self.contestant, self.load, self.database)]
        return "cores: contestant {}, load {}, PostgreSQL {}".format(*names)


def layout() -> Layout:
    """The layout for the cores that this process may use."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) == 1:
        return Layout(Cores(cores), Cores(cores), Cores(cores))
    return Layout(Cores(cores[:1]), Cores(cores[1:2]), Cores(cores[2:] or cores[1:2]))


@contextmanager
def on(cores: Cores) -> Iterator[None]:
    """Run what is started inside the block on these cores, with all of its threads and children."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def busy_before() -> float:
    """How busy all cores are with something else, in half a second of our own idleness."""
    cores, busy = Cores(os.sched_getaffinity(0)), Busy()
    time.sleep(0.5)
    return busy.look(cores)


def family(pid: int) -> list[int]:
    """The process, its children and theirs: a server's worker has some, too."""
    children = map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())
    return [pid, *(each for child in children for each in family(child))]


def processor_seconds(pid: int) -> float:
    """The processor time so far of a process and its children, also of those that have ended: steadier than a rate."""
    while True:
        try:
            texts = [Path(f"/proc/{each}/stat").read_text() for each in family(pid)]
        except (FileNotFoundError, ProcessLookupError):  # a child ended meanwhile; its time is the parent's now
            if not Path(f"/proc/{pid}").exists():
                raise
        else:
            return sum(map(ticks_of, texts)) / TICKS


def fine_seconds(pid: int) -> float:
    """The same by the processes' own clocks, which Linux names so: without those that have ended, and not in ticks."""
    seconds = 0.0
    for each in family(pid):
        with suppress(OSError):  # it ended meanwhile
            seconds += time.clock_gettime(~each << 3 | 2)
    return seconds


def ticks_of(stat: str) -> int:
    """The ticks of /proc/PID/stat: in the process, in the kernel for it, and both of its children that have ended."""
    return sum(map(int, stat.rpartition(")")[2].split()[_USER_TICKS : _USER_TICKS + 4]))


class Busy:
    """The share of their time that cores were busy since this was made, 0 to 1."""

    def __init__(self) -> None:
        self._before = _ticks()

    def look(self, cores: Cores) -> float:
        """The share of these cores."""
        after = _ticks()
        total, idle = (sum(after[core][i] - self._before[core][i] for core in cores) for i in (0, 1))
        return 1 - idle / max(total, 1)


def _ticks() -> dict[int, tuple[int, int]]:
    """All and idle ticks of each core."""
    ticks = {}
    for line in Path("/proc/stat").read_text().splitlines():
        name, *numbers = line.split()
        if name.startswith("cpu") and name != "cpu":
            values = [int(n) for n in numbers[:8]]
            ticks[int(name[3:])] = (sum(values), values[3] + values[4])
    return ticks
