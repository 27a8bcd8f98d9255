"""What a move leaves behind that is interrupted, or loses a connection, hurts nobody, whatever is done next."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from contract.errors import Unavailable
from gateway.observability.doctor_replication import of_moves
from storage.base import new_id, now
from storage.moves import LeftBehind
from storage.postgres.organization_copy import Hindrance
from tests.support.moving import ROWS, Killed, Place, Writers, doing, dying, whole

pytestmark = pytest.mark.long

CUT = "storage.postgres.organization_copy.Copy.cut"
"""What a mover does first once the organization lies elsewhere."""
ENDED = (
    "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted AND mode = 'ExclusiveLock'"
)
"""Ends the connections that have something of the organization for themselves: the move, or its writes."""


@pytest.mark.parametrize(("step", "calls", "to"), [("storage.moves.bring_later", 3, "south"), (CUT, 1, "directory")])
async def test_behind_an_interrupted_move_it_may_go_anywhere(
    place: Place, monkeypatch: pytest.MonkeyPatch, step: str, calls: int, to: str
) -> None:
    """Back, or on to a third server: what is deleted where it lay is not deleted where it lies (decision 1102)."""
    async with Writers(place) as writers:
        with monkeypatch.context() as patch:
            patch.setattr(step, dying(step, calls))
            with pytest.raises(Killed):
                await place.move("north")
        await place.move(to)
        assert (await place.home(), await place.left()) == (to, [])
        nowhere = dict.fromkeys(("directory", "north", "south"), 0)
        assert await place.rows("accounts") == {**nowhere, to: ROWS}
        assert await place.rows("job_queue") == {**nowhere, to: 1}
    await whole(place, writers.acknowledged)


@pytest.mark.parametrize("home", ["directory", "north"])
async def test_who_gets_in_while_the_mover_loses_its_hold_is_not_left_behind(
    place: Place, monkeypatch: pytest.MonkeyPatch, home: str
) -> None:
    """The connection that holds writers off ends in the middle of the switch (decision 1103)."""
    if home != "directory":
        await place.move(home)

    async def let_in() -> None:
        await place.at[home].execute(ENDED)
        async with asyncio.timeout(30):
            while not await lets_in(place):  # noqa: ASYNC110  # another process
                await asyncio.sleep(0.01)

    with monkeypatch.context() as patch:
        patch.setattr("storage.moves.bring_counter", doing("storage.moves.bring_counter", let_in))
        with pytest.raises(Hindrance):
            await place.move("south")
    assert await place.home() == home
    assert await place.names() == {"Let in"}
    await place.move("south")
    assert (await place.home(), await place.left()) == ("south", [])
    await whole(place, {"Let in"})


async def lets_in(place: Place) -> bool:
    try:
        await place.write("Let in")
    except Unavailable:
        return False
    return True


async def test_what_has_come_back_meanwhile_is_not_deleted(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mover that has lost the move deletes nothing at its end."""
    await place.move("north")

    async def back() -> None:
        await place.at["directory"].execute(ENDED)
        await place.move("north")

    with monkeypatch.context() as patch:
        patch.setattr(CUT, doing(CUT, back))
        with pytest.raises(LeftBehind):
            await place.move("south")
    assert await place.home() == "north"
    assert (await place.rows("accounts"))["north"] == ROWS


async def test_what_expires_during_a_move_keeps_nobody_from_its_end(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Upkeep forgets keys on every server, whoever lies there."""

    async def forget() -> None:
        assert (
            await place.at["directory"].execute("DELETE FROM idempotency_keys WHERE org_id = $1", place.org_id)
            == "DELETE 1"
        )

    monkeypatch.setattr(CUT, doing(CUT, forget))
    await place.move("north")
    assert await place.rows("accounts") == {"directory": 0, "north": ROWS, "south": 0}


async def test_a_replica_that_has_the_log_has_all_else(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """How far the log goes comes behind all that it tells of, and goes before it (decision 1101)."""
    await place.write("Told of")
    step = "storage.moves.say_moved"
    with monkeypatch.context() as patch:
        patch.setattr("storage.moves.bring_counter", dying("storage.moves.bring_counter", 1))
        with pytest.raises(Killed):
            await place.move("north")
    assert await place.rows("accounts") == {"directory": ROWS, "north": ROWS, "south": 0}
    assert await place.rows("event_counters") == {"directory": 1, "north": 0, "south": 0}
    with monkeypatch.context() as patch:
        patch.setattr(step, dying(step, 1))
        with pytest.raises(Killed):
            await place.move("north")
    assert await place.rows("event_counters") == {"directory": 1, "north": 1, "south": 0}
    await place.move("north")
    await whole(place, {"Told of"})


async def test_places_in_queues_that_are_of_no_use_any_more_are_dropped(place: Place) -> None:
    """An interrupted move may leave the place of a job that has ended since, or is there no more."""
    here = place.at["directory"]
    ended = await here.fetchval("SELECT id FROM jobs WHERE org_id = $1", place.org_id)
    await here.execute("DELETE FROM job_queue WHERE org_id = $1", place.org_id)
    await here.execute("UPDATE jobs SET status = 'succeeded', finished_at = now() WHERE org_id = $1", place.org_id)
    async with place.at["north"].transaction():
        await place.at["north"].execute("SET LOCAL session_replication_role = replica")
        for job_id in (ended, new_id()):
            await place.at["north"].execute(
                "INSERT INTO job_queue (org_id, job_id, due_at, is_long, again) VALUES ($1, $2, $3, false, false)",
                place.org_id,
                job_id,
                now(),
            )
    await place.move("directory")
    assert await place.rows("job_queue") == {"directory": 0, "north": 0, "south": 0}


async def test_doctor_tells_for_whose_move_a_log_is_kept(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    step = "storage.moves._Move._rehearse"
    with monkeypatch.context() as patch:
        patch.setattr(step, dying(step, 1))
        with pytest.raises(Killed):
            await place.move("north")
    [finding] = [finding async for finding in of_moves(place.database)]
    assert (finding.ok, place.org_id in finding.message) == (False, True)
    await place.move("directory")
    assert [finding async for finding in of_moves(place.database)] == []


async def test_two_at_once_are_one(place: Place) -> None:
    async with Writers(place) as writers:
        done = await asyncio.gather(place.move("north"), place.move("south"), return_exceptions=True)
        refused = [one for one in done if isinstance(one, Hindrance)]
        assert [str(one) for one in refused] == ["somebody moves it already"]
        assert (await place.home(), await place.left()) == ("south" if done[1] not in refused else "north", [])
    await whole(place, writers.acknowledged)


@pytest.mark.parametrize("how", [{"query": {"host": "/nowhere"}}, {"username": "crm"}], ids=["away", "ordinary"])
async def test_a_server_that_cannot_be_looked_at_keeps_nobody_from_moving_between_the_others(
    place: Place, how: dict[str, Any]
) -> None:
    """CRM_MOVE_ADDRESSES need not name it."""
    place.addresses = {**place.addresses, "south": place.addresses["south"].set(**how)}
    await place.move("north")
    assert await place.home() == "north"
    assert any(words.startswith("south cannot be looked at") for words in place.said)
    with pytest.raises(Hindrance, match=r"no superuser|FileNotFoundError"):
        await place.move("south")
    assert await place.home() == "north"
