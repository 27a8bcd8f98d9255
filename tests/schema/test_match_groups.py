"""Groups of duplicates are counted with what is written, however much a transaction does (decisions 431 and 1191)."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from random import Random
from typing import Any

import pytest
from sqlalchemy import text

from storage.base import new_id
from storage.new_rows import new_row
from storage.queries import match_keys
from storage.tables import Account, Contact, MatchGroup
from storage.tenancy.sessions import TenantSession
from tests.support.match_groups import counted_anew
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

CREATE = "mutation($i: ContactCreateInput!) { contactCreate(input: $i) { contact { id } userErrors { code } } }"
CHANGE = "mutation($id: ID!, $i: ContactUpdateInput!) { contactUpdate(id: $id, input: $i) { userErrors { code } } }"
DELETE = "mutation($id: ID!) { contactDelete(id: $id) { deletedId } }"
MERGE = "mutation($i: MergeInput!) { recordsMerge(input: $i) { merge { id } userErrors { code message } } }"
UNDO = "mutation($id: ID!) { mergeUndo(id: $id) { userErrors { code message } } }"


async def sizes(tenant: Tenant) -> dict[str, int]:
    return dict(await tenant.rows(MatchGroup.key, MatchGroup.size))


async def insert_as_a_set(session: TenantSession, rows: list[Any]) -> list[Any]:
    """As upserts and imports insert them (decision 1050)."""
    is_behind = session.dialect == "postgresql"
    async with match_keys.counted_behind(session) if is_behind else nullcontext():
        made = await session.insert_each_missing(rows)
    if is_behind:
        await match_keys.count(session, rows)
    return made


async def test_two_of_one_transaction_are_counted_once(one: Tenant) -> None:
    shared = {"email": "ada@example.com", "last_name": "Park"}
    async with one.gateway.world.database.writing(one.id) as session:
        first, _ = [(await session.insert(new_row(Contact, **shared)))[0] for _ in range(2)]
    assert await sizes(one) == {"aada@example.com": 2, "epark": 2}
    async with one.gateway.world.database.writing(one.id) as session:
        third, fourth = [(await session.insert(new_row(Contact, **shared)))[0] for _ in range(2)]
        await session.update(third, email="other@example.com")
        await session.delete(fourth)
        await session.update(await session.update(first, last_name="Other"), last_name="Park")
    assert await sizes(one) == {"aada@example.com": 2, "epark": 3}
    async with one.gateway.world.database.writing(one.id) as session:
        await session.delete(first)
        await session.update(third, last_name="Other")
    assert await sizes(one) == {}
    await counted_anew(one)


async def test_whatever_is_written_is_counted_as_it_is_then(one: Tenant) -> None:
    """Some transactions do much with few values, sets of new records among it, which are counted before the end."""
    chance = Random(5)
    accounts = [Account(name="A"), Account(name="B")]
    await one.add(*accounts)
    here: list[Any] = []

    def some() -> dict[str, Any]:
        values: dict[str, list[str | None]] = {
            "email": [None, "a@example.com", "b@example.com", "c@example.com"],
            "phone": [None, "12", "+49 30 1234567", "+49 30 7654321"],
            "first_name": [None, "Ada", "Ada Maria"],
            "last_name": [None, "Maria Park", "Park"],
            "account_id": [None, *(account.id for account in accounts)],
        }
        return {name: chance.choice(of) for name, of in values.items()}

    for _ in range(30):
        async with one.gateway.world.database.writing(one.id) as session:
            for _ in range(chance.randrange(1, 12)):
                match chance.randrange(5):
                    case 0:
                        here += await session.insert(new_row(Contact, **some()))
                    case 1:
                        here += await insert_as_a_set(session, [new_row(Contact, **some()) for _ in range(4)])
                    case 2 if here:
                        await session.delete(here.pop(chance.randrange(len(here))))
                    case _ if here:
                        place = chance.randrange(len(here))
                        changes = some()
                        named = chance.sample(sorted(changes), 2)
                        here[place] = await session.update(here[place], **{name: changes[name] for name in named})
        await counted_anew(one)


async def test_a_set_that_is_rolled_back_to_a_savepoint_is_not_counted(one: Tenant) -> None:
    shared = {"email": "ada@example.com"}
    async with one.gateway.world.database.writing(one.id) as session:
        await session.insert(new_row(Contact, **shared))
        await session.execute(text("SAVEPOINT here"))
        await insert_as_a_set(session, [new_row(Contact, **shared) for _ in range(4)])
        await session.execute(text("ROLLBACK TO SAVEPOINT here"))
        await session.execute(text("SAVEPOINT there"))
        await insert_as_a_set(session, [new_row(Contact, **shared) for _ in range(3)])
        await session.execute(text("RELEASE SAVEPOINT there"))
        await session.insert(new_row(Contact, **shared))
    assert await sizes(one) == {"aada@example.com": 5}


async def test_writers_at_once_that_share_several_keys(one: Tenant) -> None:
    same = {"firstName": "Ada", "lastName": "Park", "email": "ada@example.com", "phone": "+49 30 1234567"}
    made = await asyncio.gather(*(one.ask(CREATE, i=same) for _ in range(8)))
    ids = [one_made["contact"]["id"] for one_made in made]
    assert set((await sizes(one)).values()) == {8}
    other = {"lastName": "Other", "phone": "+49 30 7654321"}
    changes = [one.ask(CHANGE, id=i, i=other if n % 2 else {"email": None}) for n, i in enumerate(ids[:6])]
    await asyncio.gather(*changes, *(one.ask(DELETE, id=i) for i in ids[6:]))
    await counted_anew(one)
    left = {"aada@example.com": 3, "c49301234567": 3, "c49307654321": 3, "eada park": 3, "eada other": 3}
    assert await sizes(one) == left


async def test_a_merge_and_its_undoing_are_counted(one: Tenant) -> None:
    shared = {"lastName": "Park", "phone": "+49 30 1234567"}
    ids = [(await one.ask(CREATE, i={**shared, "email": f"{n}@example.com"}))["contact"]["id"] for n in range(3)]
    merged = await one.ask(MERGE, one.headers("admin"), i={"kind": "CONTACT", "into": ids[0], "from": ids[1:2]})
    assert await sizes(one) == {"c49301234567": 2, "epark": 2}
    await one.ask(UNDO, one.headers("admin"), id=merged["merge"]["id"])
    assert await sizes(one) == {"c49301234567": 3, "epark": 3}


async def test_the_parts_of_a_name_may_be_written_one_by_one(one: Tenant) -> None:
    """Decision 1190: the whole name is worked out by the database, which knows both parts."""
    first = (await one.ask(CREATE, i={"firstName": "Ada", "lastName": "Park"}))["contact"]["id"]
    second = (await one.ask(CREATE, i={"lastName": "Park"}))["contact"]["id"]
    await one.ask(CREATE, i={"firstName": "Ada Maria", "lastName": "Park"})
    assert await sizes(one) == {}
    await one.ask(CHANGE, id=second, i={"firstName": "Ada"})
    assert await sizes(one) == {"eada park": 2}
    await one.ask(CHANGE, id=first, i={"lastName": "Maria Park"})
    assert await sizes(one) == {"eada maria park": 2}


async def test_what_is_too_long_for_an_index_is_no_sign(one: Tenant) -> None:
    """Decision 1190: no address has so many characters."""
    at_most = "x" * 287 + "@example.com.de"[2:]
    assert len(at_most) == 300
    for mail in (at_most, f"{at_most}e"):
        await one.add(*(Contact(email=mail) for _ in range(2)))
        await one.add(*(Account(name=f"{new_id()}", domain=mail) for _ in range(2)))
    assert set(await sizes(one)) == {f"a{at_most}", f"b{at_most}"}


async def test_many_that_come_to_share_a_key_are_counted_once(one: Tenant) -> None:
    """Decision 1191: what one change of a transaction counts, no other counts again."""
    number = 1_000
    async with one.gateway.world.database.writing(one.id) as session:
        if session.dialect != "postgresql":
            pytest.skip("SQLite counts each change for itself")
        people = await session.insert(*(new_row(Contact, phone=f"+49 30 1{n:06}") for n in range(number)))
    async with one.gateway.world.database.writing(one.id) as session:
        for person in people:
            await session.update(person, phone="+49 30 1234567")
        await session.execute(text("SET CONSTRAINTS ALL IMMEDIATE"))
        read = "SELECT pg_stat_get_xact_tuples_returned('ix_contacts_org_id_match_phone'::regclass) AS entries"
        [row] = await session.rows(text(read))
    assert await sizes(one) == {"c49301234567": number}
    assert number < row.entries < 10 * number
