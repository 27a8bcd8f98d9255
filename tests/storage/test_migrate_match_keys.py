"""Match keys go, and come back where the migration is taken back (decision 1190)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, text

from storage import migrate
from storage.base import new_id
from storage.database import Database
from storage.tables import Account, Contact, Organization
from tests.storage.test_migrate import look

GROUPS = "SELECT org_id, kind, key, sign, size FROM match_groups"
KEYS = "SELECT org_id, kind, key, record_id FROM match_keys"
WITHOUT_KEYS, WITH_KEYS = "0061", "0060"


def told(query: str) -> Callable[[Connection], Any]:
    def inside(connection: Connection) -> Any:
        if connection.dialect.name == "postgresql":
            for table in {"match_groups"} | ({"match_keys"} if query == KEYS else set()):
                connection.execute(text(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY"))
        found = sorted(tuple(map(str, row)) for row in connection.execute(text(query)))
        connection.rollback()
        return found

    return inside


async def test_keys_are_stored_no_more_and_come_back(database_url: str, open_database: Callable[[], Database]) -> None:
    long, groups, keys = "x" * 300, [], []
    for number in range(2):
        org = Organization(id=new_id(), external_id=f"org-{number}", name="O")
        database = open_database()
        async with database.directory(writing=True) as directory:
            await directory.insert(org)
        account = Account(name="Acme", domain="acme.example")
        ada = {"first_name": "Ada", "last_name": "Park", "account_id": account.id}
        people = [Contact(email=f"{n}@example.com", phone="+49 30 1234567", **ada) for n in range(2)]
        async with database.writing(org.id) as session:
            await session.insert(account)
            await session.insert(*people, *(Contact(email=f"{long}{end}") for end in "ab"))
        await database.close()
        named = f"d{account.id} ada park"
        groups += [(org.id, "contact", key, key[0], "2") for key in ("c49301234567", named, "eada park")]
        keys += [(org.id, "contact", f"a{long}", "2")]
    assert await look(database_url, told(GROUPS)) == sorted(groups)
    await migrate.downgrade(database_url, WITH_KEYS)
    cut = [(org, kind, key, key[0], size) for org, kind, key, size in keys]
    assert await look(database_url, told(GROUPS)) == sorted([*groups, *cut])
    there = await look(database_url, told(KEYS))
    # Of an account two, of Ada Park four each, of the others an address.
    assert len(there) == 2 * (2 + 2 * 4 + 2)
    database = open_database()
    async with database.writing(org.id) as session:  # the writes of a version from before
        await session.insert(Contact(phone="+49 30 1234567"))
    await database.close()
    assert len(await look(database_url, told(KEYS))) == len(there) + 1
    await migrate.upgrade(database_url, WITHOUT_KEYS)
    groups[-3] = (*groups[-3][:4], "3")
    assert await look(database_url, told(GROUPS)) == sorted(groups)
