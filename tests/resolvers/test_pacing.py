"""Work behind requests does one step at a time, and waits for requests (decisions 460, 1151, 1152)."""

import asyncio
import time
from functools import partial

import pytest

from resolvers.shared.pacing import Pacing
from storage.connection_pool import Connections

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
async def test_work_that_has_a_connection_or_waits_for_one_waits_for_no_request() -> None:
    """Decision 1152: the request may wait for that connection."""

    async def opened() -> object:
        return object()

    connections, ended, going = Connections(opened, 1), [], asyncio.Event()
    requests, pacing = 0, Pacing()
    pacing.others = lambda: requests

    async def holding(name: str) -> None:
        taken = await connections.take(name)
        await going.wait()
        await _piece()
        await connections.give_back(taken)
        ended.append(name)
        await _piece()

    tasks = [asyncio.create_task(pacing.paced(partial(holding, name))) for name in ("first", "second")]
    await _some_rounds()
    requests = 1
    late = asyncio.create_task(pacing.paced(partial(holding, "late")))
    await _some_rounds()
    going.set()
    await _some_rounds()
    assert ended == ["first", "second"]
    assert (connections.state.in_use, connections.state.waiting) == (0, 0)
    assert not any(task.done() for task in (late, *tasks)), "without a connection they wait, even in the midst"
    requests = 0
    pacing.look()
    async with asyncio.timeout(30):
        await asyncio.gather(late, *tasks)


@pytest.mark.usefixtures("patient")
async def test_what_failed_to_get_a_connection_waits_for_requests_again() -> None:
    async def opened() -> object:
        raise OSError("away")

    connections, failed, requests, pacing = Connections(opened, 1), [], 0, Pacing()
    pacing.others = lambda: requests

    async def asking() -> None:
        try:
            await connections.take()
        except OSError:
            failed.append(1)
        await asyncio.sleep(0)
        failed.append(2)

    task = asyncio.create_task(pacing.paced(asking))
    while not failed:  # noqa: ASYNC110 # it tells nobody
        await asyncio.sleep(0)
    requests = 1
    await _some_rounds()
    assert failed == [1]
    requests = 0
    pacing.look()
    await task


@pytest.mark.usefixtures("patient")
async def test_work_of_a_step_is_free_to_begin_once_no_request_is_worked_on() -> None:
    pacing, requests = Pacing(), 1
    pacing.others = lambda: requests
    free = asyncio.create_task(pacing.free())
    await _some_rounds()
    assert not free.done()
    requests = 0
    pacing.look()
    await free


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("patience", [0, 0.001])
async def test_work_that_waits_briefly_is_done_before_work_that_waits(patience: float) -> None:
    """Decision 1153: where there is always a request, too."""
    pacing = Pacing()
    pacing.others = lambda: 1
    waiting = asyncio.create_task(pacing.paced(_piece))
    await asyncio.sleep(0)
    together = asyncio.gather(*(pacing.paced(_piece, patience=patience) for _ in range(PIECES)))
    assert await _rounds_while(together) >= PIECES * STEPS
    assert not waiting.done()
    pacing.others = lambda: 0
    pacing.look()
    await waiting
