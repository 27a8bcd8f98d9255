"""A share of a processor for a server and all that it starts, by a control group of Linux."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.cores import family

_PERIOD = 10_000
"""Microseconds: who has used its share up waits less than a gateway takes for the silence of a server that hangs."""
_ROOT = Path("/sys/fs/cgroup")


def possible() -> bool:
    """Whether this process may give shares: it is root's, and the machine has control groups of either kind."""
    return os.geteuid() == 0 and _parent() is not None


@contextmanager
def share(name: str, pid: int, part: float) -> Iterator[None]:
    """Have the process, its children and theirs to come take no more than this part of one core."""
    parent = _parent()
    if parent is None:
        raise RuntimeError("no control groups for processors on this machine")
    group, quota = parent / f"crm-bench-{os.getpid()}-{name}", int(part * _PERIOD)
    group.mkdir()
    try:
        if (group / "cpu.max").exists():
            (group / "cpu.max").write_text(f"{quota} {_PERIOD}")
        else:
            (group / "cpu.cfs_period_us").write_text(str(_PERIOD))
            (group / "cpu.cfs_quota_us").write_text(str(quota))
        _move(pid, group)
        yield
    finally:
        _move(pid, parent)
        group.rmdir()


def _parent() -> Path | None:
    """The folder of groups that have shares of processors."""
    for folder, file in ((_ROOT / "cpu", "cpu.cfs_quota_us"), (_ROOT / "cpu,cpuacct", "cpu.cfs_quota_us")):
        if (folder / "cpu.shares").exists() or (folder / file).exists():
            return folder
    controlled = _ROOT / "cgroup.subtree_control"
    return _ROOT if controlled.exists() and "cpu" in controlled.read_text().split() else None


def _move(pid: int, group: Path) -> None:
    """The parent first, so that what it starts meanwhile begins there."""
    for each in family(pid):
        try:
            (group / "cgroup.procs").write_text(str(each))
        except ProcessLookupError:  # it has ended
            continue
