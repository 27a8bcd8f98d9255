"""The tests' own way to make an organization leaves what the directory leaves."""

from __future__ import annotations

from typing import Any

from sqlalchemy import select

from contract.scopes import Role
from identity.principal import Organization
from storage.base import new_id
from storage.queries import organizations as directory
from storage.tables import EventCounter, Member, Membership, Person
from storage.tables import Organization as OrganizationTable
from tests.support.founding import found
from tests.support.world import World


async def _rows(world: World, organization: Organization) -> list[list[dict[str, Any]]]:
    """The organization's rows in these tables, without moments, as if it were called X."""
    shared = (
        select(OrganizationTable).where(OrganizationTable.id == organization.id),
        select(Member).where(Member.subject.in_([f"{role.value}@{organization.name}" for role in Role])),
        select(Membership).where(Membership.org_id == organization.id),
    )
    async with world.database.directory() as session:
        found = [await session.find_all(statement) for statement in shared]
    async with world.database.reading(organization.id) as session:
        found += [await session.find_all(select(model)) for model in (Person, EventCounter)]

    def plain(value: Any) -> Any:
        return value.replace(organization.id, "X").replace(organization.name, "X") if isinstance(value, str) else value

    return [
        sorted(
            [{name: plain(value) for name, value in row._asdict().items() if not name.endswith("_at")} for row in rows],
            key=repr,
        )
        for rows in found
    ]


async def test_the_rows_are_those_of_the_directory(world: World) -> None:
    by_hand, at_once = (Organization(new_id(), name, name) for name in ("three", "four"))
    await directory.create_organization(world.database, by_hand.name, by_hand.external_id, by_hand.id)
    people = []
    for role in Role:
        subject = await world.join(f"{role.value}@{by_hand.name}", by_hand, role=role)
        subject = subject.replace(by_hand.name, at_once.name)
        people.append((role, subject, f"Name of {subject}", f"{subject}@example.com"))
    await found(world.database, at_once, people)
    rows = await _rows(world, at_once)
    assert rows == await _rows(world, by_hand)
    assert [len(of_a_table) for of_a_table in rows] == [1, 3, 3, 3, 1]
