"""Work behind requests does one step at a time, and waits for requests (decisions 460, 1151, 1152)."""

import asyncio
import time
from functools import partial

import pytest

from resolvers.shared.pacing import Pacing

STEPS, PIECES, BUSY = 5, 20, 0.002


async def _piece(steps: int = STEPS) -> int:
    for _ in range(steps):
        end = time.perf_counter() + BUSY
        while time.perf_counter() < end:
            pass
        await asyncio.sleep(0)
    return steps


async def _rounds_while(work: asyncio.Future[list[int]]) -> int:
    """The rounds that the loop makes until the work is done: as many as somebody else had a turn."""
    rounds = 0
    while not work.done():
        rounds += 1
        await asyncio.sleep(0)
    return rounds


async def test_others_have_a_turn_between_two_steps() -> None:
    together = asyncio.gather(*(_piece() for _ in range(PIECES)))
    assert await _rounds_while(together) < 3 * STEPS, "unpaced, all pieces do a step in each round"
    pacing = Pacing()
    together = asyncio.gather(*(pacing.paced(_piece) for _ in range(PIECES)))
    assert await _rounds_while(together) >= PIECES * STEPS
    assert await together == [STEPS] * PIECES


async def test_a_result_and_an_error_are_those_of_the_work() -> None:
    async def failing() -> None:
        await asyncio.sleep(0)
        raise LookupError("of the work")

    assert await Pacing().paced(partial(_piece, 3)) == 3
    with pytest.raises(LookupError, match="of the work"):
        await Pacing().paced(failing)


async def test_an_error_of_what_is_awaited_reaches_the_work() -> None:
    async def catching() -> str:
        try:
            async with asyncio.timeout(0.01):
                await asyncio.sleep(10)
        except TimeoutError:
            return "in time"
        return "late"

    assert await Pacing().paced(catching) == "in time"


async def test_what_is_cancelled_in_line_is_told_and_holds_nobody_up() -> None:
    pacing, told = Pacing(), []

    async def waiting() -> None:
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            told.append("cancelled")
            raise

    tasks = [asyncio.create_task(pacing.paced(waiting)) for _ in range(3)]
    late = asyncio.create_task(pacing.paced(_piece))
    await asyncio.sleep(0.01)
    tasks[1].cancel()
    assert await late == STEPS
    for task in tasks:
        task.cancel()
    ended = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(error, asyncio.CancelledError) for error in ended)
    assert told == ["cancelled"] * 3


async def test_what_is_cancelled_before_its_first_step_never_begins() -> None:
    pacing, begun = Pacing(), []

    async def beginning() -> None:
        begun.append(1)

    for _ in range(2):
        asyncio.create_task(pacing.paced(partial(_piece, 1)))  # noqa: RUF006  in line before it; the loop holds it while it is ready
    task = asyncio.create_task(pacing.paced(beginning))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not begun


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step waits for requests for longer than a test takes."""
    monkeypatch.setattr("resolvers.shared.pacing._PATIENCE", 3_600.0)


async def _some_rounds() -> None:
    for _ in range(100):
        await asyncio.sleep(0)


@pytest.mark.usefixtures("patient")
async def test_a_step_waits_until_no_request_is_worked_on() -> None:
    pacing, requests, steps = Pacing(), 0, 0

    async def stepping() -> None:
        nonlocal steps
        while True:
            steps += 1
            await asyncio.sleep(0)

    pacing.others = lambda: requests
    task = asyncio.create_task(pacing.paced(stepping))
    await _some_rounds()
    assert steps > 10, "there was no request"
    requests, before = 2, steps
    await _some_rounds()
    assert steps <= before + 1, "but for the one that had its turn"
    requests, before = 1, steps
    pacing.look()
    await _some_rounds()
    assert steps == before, "there is one yet"
    requests = 0
    pacing.look()
    await _some_rounds()
    assert steps > before + 10
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_where_there_are_always_requests_a_step_waits_for_so_long_and_no_longer() -> None:
    pacing = Pacing()
    pacing.others = lambda: 1
    async with asyncio.timeout(30):
        assert await asyncio.gather(*(pacing.paced(_piece) for _ in range(PIECES))) == [STEPS] * PIECES


@pytest.mark.usefixtures("patient")
async def test_work_does_not_wait_for_the_request_that_waits_for_it() -> None:
    pacing = Pacing()
    pacing.others = lambda: 1
    task = asyncio.create_task(pacing.paced(_piece))
    await _some_rounds()
    assert not task.done()
    async with asyncio.timeout(30):
        with pacing.aside():
            assert await task == STEPS
    late = asyncio.create_task(pacing.paced(_piece))
    await _some_rounds()
    assert not late.done(), "it waits for requests again"
    late.cancel()
    await asyncio.gather(late, return_exceptions=True)


@pytest.mark.usefixtures("patient")
async def test_work_that_holds_what_a_request_waits_for_is_next_whether_there_are_requests_or_not() -> None:
    pacing, ended = Pacing(), []
    pacing.others = lambda: 1

    async def holding() -> None:
        with pacing.hurrying():
            await _piece()
        ended.append("holding")
        await _piece()

    async def hurries() -> None:
        with pacing.hurrying():
            await pacing.paced(holding)

    waiting = [asyncio.create_task(pacing.paced(_piece)) for _ in range(3)]
    await _some_rounds()
    task = asyncio.create_task(hurries())
    async with asyncio.timeout(30):
        await task
    assert ended == ["holding"]
    assert not any(each.done() for each in waiting), "these were in line before it"
    late = asyncio.create_task(pacing.paced(holding))
    await _some_rounds()
    assert not late.done(), "it waits before it holds anything"
    for each in (late, *waiting):
        each.cancel()
    await asyncio.gather(late, *waiting, return_exceptions=True)
