"""Writers of alike records at once: none is refused because of the others, and what follows from records is right."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from typing import Any

import pytest

from storage.tables import Account, Contact, MatchGroup, MatchKey, Merge
from tests.schema.test_upserts import upsert
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

CREATE = "mutation($i: ContactCreateInput!) { contactCreate(input: $i) { contact { id } userErrors { code } } }"
UPDATE = "mutation($id: ID!, $i: ContactUpdateInput!) { contactUpdate(id: $id, input: $i) { userErrors { code } } }"
DELETE = "mutation($id: ID!) { contactDelete(id: $id) { userErrors { code } } }"
MERGE = "mutation($i: MergeInput!) { recordsMerge(input: $i) { merge { id } userErrors { code } } }"
UNDO = "mutation($id: ID!) { mergeUndo(id: $id) { merge { id } userErrors { code } } }"
HARMLESS = {"NOT_FOUND", "VALIDATION", "INVALID_STATE"}
"""What is told of records that another request merged or deleted meanwhile."""


class Asking:
    """Asks, and counts what it is refused for."""

    def __init__(self, tenant: Tenant) -> None:
        self._tenant = tenant
        self.refused: Counter[str] = Counter()

    async def ask(self, document: str, **variables: Any) -> Any:
        body = (await self._tenant.post(document, **variables)).json()
        self.refused.update(str(error["extensions"]["code"]) for error in body.get("errors", ()))
        [given] = (body["data"] or {"nothing": None}).values()
        self.refused.update(problem["code"] for problem in (given or {}).get("userErrors", ()))
        return given


async def test_writers_of_contacts_that_are_alike(one: Tenant) -> None:
    """Upserts, creations, changes, deletions and merges of contacts with the same names, addresses and numbers."""
    chance, asking, ids = random.Random(5), Asking(one), list[str]()

    def person() -> dict[str, str]:
        n = chance.randrange(8)
        return {"firstName": "Ada", "lastName": f"L{n}", "email": f"l{n}@x.example", "phone": f"+49 30 555000{n}"}

    async def create() -> None:
        for _ in range(25):
            ids.append((await asking.ask(CREATE, i=person()))["contact"]["id"])

    async def change() -> None:
        for _ in range(25):
            if ids:
                await asking.ask(UPDATE, id=chance.choice(ids), i=person())
            await asyncio.sleep(0)

    async def bulk(of: int) -> None:
        for _ in range(4):
            await asking.ask(upsert("contacts"), rows=[{"externalKey": f"{of}-{n}", **person()} for n in range(40)])

    async def merge_and_drop() -> None:
        for _ in range(8):
            if len(ids) > 8:
                into, gone = chance.sample(ids, 2)
                await asking.ask(MERGE, i={"kind": "CONTACT", "into": into, "from": [gone]})
                await asking.ask(DELETE, id=ids.pop(0))
            await asyncio.sleep(0.01)

    await asyncio.gather(create(), create(), change(), change(), bulk(1), bulk(2), merge_and_drop())
    assert asking.refused.keys() <= HARMLESS, asking.refused
    counted = Counter(key for (key,) in await one.rows(MatchKey.key))
    assert dict(await one.rows(MatchGroup.key, MatchGroup.size)) == counted


@pytest.mark.parametrize("seed", range(3))
async def test_merges_and_their_undoing_at_once(one: Tenant, seed: int) -> None:
    """Decision 954: they wait for each other, and once all are undone every link is where it was."""
    chance, asking = random.Random(seed), Asking(one)
    accounts = [Account(name=f"A{n}") for n in range(8)]
    contacts = [Contact(last_name=f"C{n}", account_id=accounts[n % 8].id) for n in range(24)]
    await one.add(*accounts, *contacts)
    before = sorted(await one.rows(Contact.id, Contact.account_id))

    async def merge() -> None:
        for _ in range(3):
            into, *others = chance.sample(accounts, chance.randint(2, 4))
            await asking.ask(MERGE, i={"kind": "ACCOUNT", "into": into.id, "from": [other.id for other in others]})

    await asyncio.gather(*(merge() for _ in range(5)))
    made = [merge_id for (merge_id,) in await one.rows(Merge.id)]
    assert made

    async def undo() -> None:
        for merge_id in chance.sample(made, len(made)):
            await asking.ask(UNDO, id=merge_id)

    for _ in made:  # of those that went on into others the later ones come first
        await asyncio.gather(undo(), undo())
    assert asking.refused.keys() <= HARMLESS, asking.refused
    assert (None,) not in await one.rows(Merge.undone_at)
    assert sorted(await one.rows(Contact.id, Contact.account_id)) == before
    assert len(await one.rows(Account.id)) == len(accounts)
