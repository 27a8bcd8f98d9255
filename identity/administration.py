"""Does what an operator does about organizations and members, many at once."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from contract.scopes import Role
from identity import directory
from storage.base import now
from storage.database import Database
from storage.queries import administration as statements
from storage.queries import organizations


class Newcomer(NamedTuple):
    """Somebody who is to be a member, with what the member may do."""

    subject: str
    name: str
    email: str
    role: Role | None
    scopes: Sequence[str]


def grouped(pairs: Iterable[tuple[str, Newcomer]]) -> dict[str, list[Newcomer]]:
    """The newcomers of each organization; of two entries of one person the later one."""
    found: dict[str, dict[str, Newcomer]] = {}
    for org, newcomer in pairs:
        found.setdefault(org, {})[newcomer.subject] = newcomer
    return {org: list(of_one.values()) for org, of_one in found.items()}


async def add_members(database: Database, newcomers: Mapping[str, Sequence[Newcomer]]) -> list[str]:
    """Make them members, or change what they are; with an organization that is missing nobody: which these are."""
    keys = {org: await directory.key_of(database, org) for org in newcomers}  # a look at one row each
    if missing := [org for org, key in keys.items() if key is None]:
        return missing
    everybody = {newcomer.subject: newcomer for of_one in newcomers.values() for newcomer in of_one}
    async with database.directory(writing=True) as session:
        for subject, newcomer in sorted(everybody.items()):  # each is locked, and compared with what is known
            await organizations.put_member(session, subject, name=newcomer.name, email=newcomer.email)
    for org, key in keys.items():
        for one in newcomers[org]:  # a transaction each: rows are locked before any event (decision 1200)
            await directory.put_membership(
                database, key or "", one.subject, role=one.role, scopes=one.scopes, name=one.name, email=one.email
            )
    return []


async def create(database: Database, wanted: Mapping[str, str], cluster: str | None = None) -> list[str]:
    """Make these organizations, by identifier with their names, but for those that are there: which are new.

    Those that are there keep their names (decision 623), and lie where they lay; new ones lie on the server of this
    name.
    """
    return [org for org, name in wanted.items() if await directory.create_organization(database, name, org, cluster)]


async def suspend(database: Database, external_id: str, *, suspended: bool) -> bool:
    """Refuse every credential in the organization from its next call on, or let them in again (decision 622).

    False where it is so already.
    """
    async with database.directory(writing=True) as session:
        return await statements.suspend(session, external_id, now() if suspended else None)
