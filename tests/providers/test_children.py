"""Child processes: whatever a function does there, it does to nobody else."""

from __future__ import annotations

import asyncio
import logging
import os
import pickle
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from providers.children import pool as pools
from providers.children.errors import ChildError, Faulty, OutOfMemory, OutOfTime, Raised, Stopped
from providers.children.frames import read_plain
from providers.children.limits import Limits
from providers.children.pool import Children
from tests.support import children as work

ROOT = Path(__file__).resolve().parents[2]
LIMITS = Limits("test", processes=2, memory_bytes=150 << 20, processor_seconds=20, seconds=60, result_bytes=1 << 20)


@pytest.fixture
async def children() -> AsyncIterator[Children]:
    children = Children()
    yield children
    await children.close()
    assert children.pids == []


def is_there(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


async def until(holds: Callable[[], object]) -> None:
    """Wait for that, which is soon."""
    async with asyncio.timeout(30):
        while True:
            if holds():
                return
            await asyncio.sleep(0.01)


async def gone(pid: int) -> None:
    await until(lambda: not is_there(pid))


async def test_a_function_is_run_elsewhere_and_its_process_is_used_again(children: Children) -> None:
    assert children.pids == []
    assert await children.run(LIMITS, work.tell, "ä", 1, 2) == work.Told("ä", (1, 2))
    first = await children.run(LIMITS, work.pid)
    assert first != os.getpid()
    assert await children.run(LIMITS, work.pid) == first
    assert children.pids == [first]


@pytest.mark.parametrize(
    ("function", "arguments", "limits", "expected"),
    [
        (work.swallow_memory, (), LIMITS, OutOfMemory),
        (work.give, (2 << 20,), LIMITS, OutOfMemory),
        (work.spin, (), replace(LIMITS, processor_seconds=1), OutOfTime),
        (work.sleep, (60,), replace(LIMITS, seconds=0.5), OutOfTime),
        (work.abort, (), LIMITS, Faulty),
        (work.recurse, (), LIMITS, Faulty),
        (work.leave, (), LIMITS, Faulty),
        (work.die, (signal.SIGKILL,), LIMITS, Faulty),
        (work.die, (signal.SIGSEGV,), LIMITS, Faulty),
        (work.evil, (), LIMITS, Faulty),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
async def test_what_breaks_a_child_is_told_and_breaks_nothing_else(
    children: Children,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    function: Any,
    arguments: Any,
    limits: Limits,
    expected: type[ChildError],
) -> None:
    beside = asyncio.create_task(children.run(LIMITS, work.sleep, 0.3))
    with caplog.at_level(logging.WARNING), pytest.raises(expected) as told:
        await children.run(limits, function, *arguments)
    assert type(told.value) is expected
    assert len(caplog.records) == 1
    assert expected.__name__ in caplog.text
    assert capfd.readouterr().err == ""
    assert await beside is None
    assert await children.run(limits, work.tell, "next") == work.Told("next", ())


async def test_a_child_that_is_killed_from_outside_fails_its_run_only(children: Children) -> None:
    run = asyncio.create_task(children.run(LIMITS, work.sleep, 60))
    await until(lambda: children.pids)
    os.kill(children.pids[0], signal.SIGKILL)
    with pytest.raises(Faulty):
        await run
    idle = await children.run(LIMITS, work.pid)
    os.kill(idle, signal.SIGKILL)
    await gone(idle)
    await asyncio.sleep(0.1)
    assert await children.run(LIMITS, work.pid) != idle


async def test_what_a_function_raises_says_nothing_but_its_type(
    children: Children, caplog: pytest.LogCaptureFixture
) -> None:
    before = await children.run(LIMITS, work.pid)
    with pytest.raises(Raised) as told:
        await children.run(LIMITS, work.fail)
    assert told.value.type == "LookupError"
    assert "secret" not in str(told.value) + caplog.text
    assert "tests/support/children.py" in caplog.text
    assert await children.run(LIMITS, work.pid) == before


async def test_who_is_cancelled_leaves_no_process_behind(children: Children) -> None:
    run = asyncio.create_task(children.run(LIMITS, work.spin))
    await until(lambda: children.pids)
    [pid] = children.pids
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    await gone(pid)


async def test_closing_ends_what_runs_what_waits_and_what_comes() -> None:
    children = Children()
    runs = [asyncio.create_task(children.run(LIMITS, work.spin)) for _ in range(5)]
    await until(lambda: len(children.pids) == LIMITS.processes)
    pids = children.pids
    await children.close()
    assert [type(error) for error in await asyncio.gather(*runs, return_exceptions=True)] == [Stopped] * 5
    assert not any(map(is_there, pids))
    with pytest.raises(Stopped):
        await children.run(LIMITS, work.pid)


async def test_processes_are_bounded_replaced_after_a_while_and_end_when_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "RUNS_MAX", 5)
    children = Children(idle_seconds=0.2)
    pids = await asyncio.gather(*(children.run(LIMITS, work.pid) for _ in range(20)))
    assert 4 <= len(set(pids)) <= 6
    await until(lambda: not children.pids)
    await children.close()


async def test_one_that_is_left_with_much_is_replaced(children: Children) -> None:
    alone = replace(LIMITS, processes=1)
    first = await children.run(alone, work.keep, 1 << 20)
    assert await children.run(alone, work.keep, alone.memory_bytes // 2) == first
    assert await children.run(alone, work.pid) != first
    await gone(first)


async def test_idle_ones_make_room_for_one_that_takes_much(children: Children) -> None:
    working = asyncio.create_task(children.run(LIMITS, work.sleep, 1.0))
    await until(lambda: children.pids)
    busy = children.pids
    idle = await children.run(replace(LIMITS, name="another"), work.pid)
    heavy = replace(LIMITS, name="heavy", processes=1, is_heavy=True)
    taken = await children.run(heavy, work.pid)
    await gone(idle)
    assert set(busy) <= set(children.pids) <= {*busy, taken}
    assert await children.run(heavy, work.pid) == taken
    await working


async def test_it_has_nothing_of_its_parent(children: Children, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRM_SEQUENCING_API_KEY", "secret")
    with socket.socket() as listening, (ROOT / "pyproject.toml").open() as file:
        os.set_inheritable(listening.fileno(), True)
        os.set_inheritable(file.fileno(), True)
        found = await children.run(LIMITS, work.surroundings)
    assert set(found["environment"]) <= {"LANG", "TZ", "RAYON_NUM_THREADS", "MALLOC_ARENA_MAX", "LC_CTYPE"}
    assert found["sockets"] == found["files"] == []
    assert found["core"] == (0, 0)
    assert found["session"] is True
    assert found["ignored"] == ["SIGINT", "SIGTERM", "SIGHUP"]


async def test_what_it_prints_goes_nowhere(children: Children, capfd: pytest.CaptureFixture[str]) -> None:
    assert await children.run(LIMITS, work.print_much) == 1
    assert capfd.readouterr() == ("", "")


_PARENT = """
import asyncio
from providers.children.pool import Children
from tests.support import children as work
from tests.providers.test_children import LIMITS

async def main():
    children = Children()
    asyncio.create_task(children.run(LIMITS, work.spin))
    asyncio.create_task(children.run(LIMITS, work.sleep, 60))
    while len(children.pids) < 2:
        await asyncio.sleep(0.01)
    print(*children.pids, flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


@pytest.fixture
def pids_of_a_parent_that_was_killed() -> list[int]:
    with subprocess.Popen([sys.executable, "-c", _PARENT], cwd=ROOT, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pids = [int(word) for word in parent.stdout.readline().split()]
        assert len(pids) == 2
        parent.kill()
    return pids


async def test_it_dies_with_its_parent(pids_of_a_parent_that_was_killed: list[int]) -> None:
    for pid in pids_of_a_parent_that_was_killed:
        await gone(pid)


@pytest.mark.parametrize("call", [(os.system, ("false",)), (getattr, (str, "upper")), (eval, ("1",))])
def test_nothing_that_a_child_writes_is_called(call: Any) -> None:
    class Evil:
        def __reduce__(self) -> Any:
            return call

    with pytest.raises(ValueError, match="not a result"):
        read_plain(pickle.dumps(Evil()))


def test_broken_results_are_refused() -> None:
    for data in (b"", b"\x80", b"no pickle", pickle.dumps(1)[:-1], b"cos\nsystem\n.", b"cnowhere\nX\n."):
        with pytest.raises(ValueError, match="not a result"):
            read_plain(data)
