"""One of several processes dies or hangs: another takes its place, and those that are left are told of an end at once
(decision 129)."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from gateway.server.config import SILENCE_SECONDS
from tests.support.service import Service

pytestmark = pytest.mark.long

ASKED_EVERY_SECONDS = 0.5
"""How often the supervisor asks its processes whether they live."""


def _seconds_until(condition: Callable[[], object], within: float) -> float:
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < within
        time.sleep(0.05)
    return time.monotonic() - began


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """Two processes that have both started."""
    with Service(tmp_path, "--no-worker", "--workers", "2") as service:
        _seconds_until(lambda: len(service.processes()) == 2, 60)
        try:
            yield service
        finally:  # one that is stopped for good would outlive the test
            for process in service.processes():
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGCONT)


def _stopped(service: Service) -> int:
    """The process that was stopped, long enough ago to owe the supervisor an answer."""
    process = service.processes()[0]
    os.kill(process, signal.SIGSTOP)
    time.sleep(3 * ASKED_EVERY_SECONDS)
    return process


def test_a_process_that_is_killed_before_it_answers_is_replaced_at_once(service: Service) -> None:
    process = _stopped(service)
    os.kill(process, signal.SIGKILL)
    seconds = _seconds_until(lambda: len(service.processes()) == 3, 20)
    print(f"another process after {seconds:.1f} s")
    assert service.processes("died") == [process]
    assert httpx.get(f"{service.address}/health").status_code == 200
    assert service.end() == 0


def test_a_process_that_hangs_is_replaced(service: Service) -> None:
    process = _stopped(service)
    seconds = _seconds_until(lambda: len(service.processes()) == 3, SILENCE_SECONDS + 20)
    print(f"another process after {seconds:.1f} s")
    assert seconds > SILENCE_SECONDS - 5
    assert service.processes("died") == [process]
    assert service.end() == 0


def test_processes_end_with_a_supervisor_that_is_killed(service: Service) -> None:
    """Decision 1195: whoever starts the service again finds its address free."""
    processes = service.processes()
    os.kill(service.pid, signal.SIGKILL)
    seconds = _seconds_until(lambda: set(service.processes("ended")) == set(processes), 10)
    print(f"both ended after {seconds:.1f} s")
    _seconds_until(lambda: not any(Path(f"/proc/{process}").exists() for process in processes), 10)
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{service.address}/health")


def test_an_end_waits_for_no_answer(service: Service) -> None:
    process = _stopped(service)
    os.kill(service.pid, signal.SIGTERM)
    seconds = _seconds_until(lambda: len(service.processes("ended")) == 1, 10)
    print(f"the other process ended after {seconds:.1f} s")
    os.kill(process, signal.SIGCONT)
    assert service.end() == 0
