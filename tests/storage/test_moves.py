"""An organization moves to another server while it is used (decision 1084): nothing is lost, even if the mover dies."""

from __future__ import annotations

import asyncio

import pytest
from sqlalchemy import select
from sqlalchemy.engine import URL
from sqlmodel import col

from identity import directory
from storage.base import new_id
from storage.database import Database
from storage.moves import copied_tables, copy_out
from storage.postgres.organization_copy import Hindrance, differing, sums
from storage.queries import members
from storage.queries.organizations import create_organization
from storage.tables import Deal, Event
from tests.support.moving import ROWS, Killed, Place, Writers, dying, whole

pytestmark = pytest.mark.long

_FOLLOWED = ("event_counters", "events", "deals", "accounts", "jobs", "search_entries", "people", "idempotency_keys")


async def test_an_organization_moves_while_it_is_written_to(place: Place) -> None:
    """To another server, on from there, and back: each time nothing is lost, and nothing stays behind."""
    async with Writers(place) as writers:
        for before, to in (("directory", "north"), ("north", "south"), ("south", "directory")):
            written = len(writers.acknowledged)
            moved = await place.move(to)
            assert await place.home() == to
            assert (moved.rows > ROWS, moved.tables) == (True, len(copied_tables()))
            for table in _FOLLOWED:
                rows = await place.rows(table)
                assert {name for name, number in rows.items() if number} == {to}, table
            assert (await place.rows("job_queue"))[to] == 1, "jobs come along"
            assert await place.rows("memberships") == {"directory": 1, "north": 0, "south": 0}
            assert (moved.deleted > ROWS, await place.left()) == (True, []), before
            while len(writers.acknowledged) < written + 10:  # noqa: ASYNC110  # it is written to where it lies now
                await asyncio.sleep(0.01)
    await whole(place, writers.acknowledged)


@pytest.mark.parametrize(
    ("step", "calls", "home"),
    [
        ("storage.postgres.organization_copy.Copy.copied", 1, "directory"),
        ("storage.moves._Move._rehearse", 1, "directory"),
        ("storage.postgres.organization_copy.Copy.caught_up", 2, "directory"),
        ("storage.moves.bring_later", 3, "north"),
        ("storage.postgres.organization_copy.Copy.cut", 1, "north"),
        ("storage.moves.delete_rows", 3, "north"),
    ],
)
async def test_a_mover_that_dies_loses_nothing(
    place: Place, monkeypatch: pytest.MonkeyPatch, step: str, calls: int, home: str
) -> None:
    """Given again, the command does what is left; and meanwhile the organization is used."""
    async with Writers(place) as writers:
        with monkeypatch.context() as patch:
            patch.setattr(step, dying(step, calls))
            with pytest.raises(Killed):
                await place.move("north")
        assert await place.home() == home
        before = len(writers.acknowledged)
        while len(writers.acknowledged) < before + 5:  # noqa: ASYNC110  # it is used where it lies
            await asyncio.sleep(0.01)
        await place.move("north")
        assert await place.home() == "north"
        assert await place.left() == []
        assert (await place.rows("accounts")) == {"directory": 0, "north": ROWS, "south": 0}
        assert (await place.rows("job_queue"))["north"] == 1
    await whole(place, writers.acknowledged)


async def test_an_organization_that_leaves_is_copied_whole(place: Place, moving_urls: dict[str, URL]) -> None:
    """Into a database of its own, of one moment, with its members and without their keys; it goes on where it is."""
    async with Writers(place) as writers:
        while len(writers.acknowledged) < 5:  # noqa: ASYNC110  # others write meanwhile
            await asyncio.sleep(0.01)
        copied = await copy_out(place.addresses, place.org_id, moving_urls["leaving"], place.said.append)
        assert copied.rows > ROWS
        with pytest.raises(Hindrance, match="has 1 organizations"):
            await copy_out(place.addresses, (await another(place)), moving_urls["leaving"], place.said.append)
        with pytest.raises(Hindrance, match="has 1 organizations"):  # which may be at home there by now
            await copy_out(place.addresses, place.org_id, moving_urls["leaving"], place.said.append)
    assert (await place.home(), await place.left()) == ("directory", [])
    left = Database(moving_urls["leaving"].set(username="crm").render_as_string(hide_password=False))
    async with left.reading(place.org_id) as session:
        log = await session.rows(select(col(Event.sequence)).where(col(Event.org_id) == place.org_id))
        deals = await session.rows(select(col(Deal.name)).where(col(Deal.org_id) == place.org_id))
        assert 5 <= len(log) == len(deals)
        assert await members.scopes_of(session, ["ada"])
    [row] = await directory.known(left, ["ada"])
    assert (row.organization_name, row.cluster) == ("Acme", None)
    await left.close()
    await whole(place, writers.acknowledged)


async def another(place: Place) -> str:
    made = new_id()
    await create_organization(place.database, "Another", made, made)
    return made


async def test_what_cannot_be_moved_stays(place: Place) -> None:
    with pytest.raises(Hindrance, match="no server nowhere"):
        await place.move("nowhere")
    place.addresses = {**place.addresses, "south": place.addresses["directory"]}
    with pytest.raises(Hindrance, match="one database"):
        await place.move("south")
    assert (await place.rows("accounts"))["directory"] == ROWS
    place.addresses = {**place.addresses, "north": place.addresses["north"].set(username="crm")}
    with pytest.raises(Hindrance, match="CRM_MOVE_ADDRESSES"):
        await place.move("north")
    await place.write("Still written to")


async def test_every_column_of_every_row_is_compared(place: Place) -> None:
    connection = place.at["directory"]
    before = await sums(connection, place.org_id, copied_tables())
    assert before["accounts"][0] == ROWS
    transaction = connection.transaction()
    await transaction.start()
    await connection.execute(
        "UPDATE accounts SET name = 'Changed' WHERE id = (SELECT id FROM accounts WHERE org_id = $1 LIMIT 1)",
        place.org_id,
    )
    assert "accounts" in differing(before, await sums(connection, place.org_id, copied_tables()))
    await transaction.rollback()
    assert differing(before, await sums(connection, place.org_id, copied_tables())) == []
