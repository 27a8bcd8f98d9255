"""The heaviest reports that are accepted: they are rendered within the limits, and the service stays below 400 MB."""

from __future__ import annotations

import asyncio
import os
import random
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from contract.errors import Problems
from contract.limits import REPORT_TEXT_MAX
from providers.children.pool import Children
from reports.reading import content_of
from reports.rendering import CHECKING, DRAWING, RENDERING, is_drawable, logo_problem, render_stored
from tests.support.reports import content, data_uri, png, stored

ROOT = Path(__file__).resolve().parents[2]
_SLOTS = 50
_ROOM = REPORT_TEXT_MAX // _SLOTS - 400
_SCRIPTS = "aбγ中あ한عשहবไአქ😀Ω∑☃"


def _words(letters: str, room: int) -> str:
    chosen = random.Random(7)
    text = ""
    while len(text.encode()) < room - 40:
        text += "".join(chosen.choices(letters, k=6)) + " "
    return text


def heaviest() -> dict[str, dict[str, Any]]:
    """Contents that are as long as they may be, each heavy in its own way."""
    texts = {
        "latin": _words("abcdefghijklmnopqrstuvwxyz", _ROOM),
        "scripts": _words(_SCRIPTS, _ROOM),
        "both directions": "aع" * (_ROOM // 3),
        "letters in piles": "က္" * (_ROOM // 6),
        "bullets": ["x"] * (_ROOM // 101),
    }
    slots = {name: {"copy_blobs": {f"s{i}": text for i in range(_SLOTS)}} for name, text in texts.items()}
    findings = [{"title": "t", "detail": "d", "severity": "high"}] * 1_000
    return slots | {"findings": {"copy_blobs": {}, "analysis": {"findings": findings}}}


@pytest.mark.parametrize("name", ["copy_blobs", "analysis"])
def test_a_report_that_says_too_much_is_refused(name: str) -> None:
    text = {"a": "x\n\n" * 1_300, "b": "x\n\n" * 1_300}
    given: dict[str, Any] = {
        "copy_blobs": text,
        "analysis": {"findings": [{"title": "t", "detail": "x\n\n" * 40} for _ in range(100)]},
    }
    with pytest.raises(Problems) as refused:
        content_of(**stored(**{name: given[name]}))
    [problem] = refused.value.problems
    assert problem.path == (name,)
    assert f"of at most {REPORT_TEXT_MAX}" in problem.message


@pytest.mark.long
def test_a_process_that_has_loaded_the_service_takes_less_than_165_mb() -> None:
    """What it takes for requests comes on top: docs/performance.md says what is held, and by what."""
    assert _kilobytes(_service(), "VmHWM") < 165_000


@pytest.mark.long
async def test_the_heaviest_reports_leave_the_service_below_400_mb() -> None:
    service = _kilobytes(_service(), "VmRSS")
    for name, changed in heaviest().items():
        content(**changed)
        children = Children()
        async with _watched(children, "VmHWM") as peak:
            made = await children.run(RENDERING, render_stored, stored(**changed))
        await children.close()
        assert not isinstance(made, str)
        print(f"{name}: service {service // 1000} MB, child {max(peak) // 1000} MB")
        assert service + max(peak) < 365_000, name  # what a service has open besides comes to some 30 MB


@pytest.mark.long
async def test_heavy_reports_one_after_another_with_all_that_an_edit_starts() -> None:
    """What a rendering leaves behind, and what waits in other processes, counts as well."""
    service = _kilobytes(_service(), "VmRSS")
    children, logo = Children(), data_uri(png(1_900, 1_900), "image/png")
    for changed in heaviest().values():
        assert await children.run(CHECKING, logo_problem, logo) == ""
        assert await children.run(DRAWING, is_drawable, logo)
        async with _watched(children, "VmRSS") as peak:
            made = await children.run(RENDERING, render_stored, stored(**changed, brand={"logo": logo}))
        assert not isinstance(made, str)
        print(f"service {service // 1000} MB, children {max(peak) // 1000} MB")
        assert service + max(peak) < 365_000
    await children.close()


@asynccontextmanager
async def _watched(children: Children, name: str) -> AsyncIterator[list[int]]:
    """The memory of all children together, every 20 ms; one that used much ends with its work."""
    seen: list[int] = []

    async def watch() -> None:
        while True:
            await asyncio.sleep(0.02)
            seen.append(sum(_memory(pid, name) for pid in children.pids))

    watching = asyncio.create_task(watch())
    try:
        yield seen
    finally:
        watching.cancel()
    assert max(seen) > 50_000


def _memory(pid: int, name: str) -> int:
    try:
        return _kilobytes(_status(pid), name)
    except (AssertionError, OSError):  # it ends in this moment
        return 0


def _service() -> str:
    """What is known of a process that has loaded the service, from modules that were compiled before, as by `./run`.

    One that compiles what it loads takes more.
    """
    script = "import gateway.app, jobs.kinds; print(open('/proc/self/status').read())"
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for _ in ("to compile what is not yet", "to look"):
        made = subprocess.run(
            [sys.executable, "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
        )
    return made.stdout


def _status(pid: int) -> str:
    return Path(f"/proc/{pid}/status").read_text()


def _kilobytes(status: str, name: str) -> int:
    found = re.search(rf"{name}:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1])
