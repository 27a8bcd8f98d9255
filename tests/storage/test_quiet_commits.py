"""Commits that wake nobody of this process, which is told otherwise (decision 1205)."""

from __future__ import annotations

from storage.base import new_id
from storage.database import Database
from storage.quiet_commits import quietly
from storage.tables import Account, Organization


async def test_a_quiet_commit_is_told_to_other_servers_alone(database: Database) -> None:
    organization = Organization(external_id="org", name="Org")
    async with database.directory(writing=True) as session:
        await session.insert(organization)
    told: list[str] = []
    database.committed.append(lambda _: told.append("here"))
    database.committed_at_all.append(lambda _: told.append("elsewhere"))
    for is_quiet in (True, False):
        if is_quiet:
            with quietly():
                await _write(database, organization.id)
        else:
            await _write(database, organization.id)
        assert told == (["elsewhere"] if is_quiet else ["elsewhere", "elsewhere", "here"])


async def _write(database: Database, org: str) -> None:
    async with database.writing(org) as session:
        await session.insert(Account(name=new_id()))
