"""The demo: two organizations that look alive now, the same people in both, so that switching can be tried."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from contract.demo import ADMIN, MEMBER, PARTNERS, SALES, VIEWER
from contract.scopes import Role
from storage.database import Database
from storage.migrate import turn
from storage.seeding.bulk import present, write
from storage.seeding.plan import Blueprint, Ids, Person, Sizes

_TEAM = (
    Person(ADMIN, "Ada Admin", Role.ADMIN),
    Person(MEMBER, "Max Member", Role.MEMBER),
    Person(VIEWER, "Vera Viewer", Role.VIEWER),
)
_HISTORY = tuple(timedelta(days=days) for days in (90, 60, 30, 1))
_UNSCORED_EVERY = 10
"""Every tenth account was never scored, so that this can be seen too."""

Score = Callable[[str, Sequence[str], datetime], Awaitable[object]]
"""Writes health snapshots of an organization's accounts as of a moment."""


@dataclass(frozen=True, slots=True)
class Demo:
    """The demo that there is to try; `created` says whether it is new."""

    created: bool
    organization: str = SALES
    other_organization: str = PARTNERS
    admin: str = ADMIN
    member: str = MEMBER
    viewer: str = VIEWER


async def seed_demo(database: Database, *, now: datetime, score: Score | None = None) -> Demo:
    """The demo data, with times around `now`; where it is there already, one look and nothing else.

    `score` writes the accounts' health history, oldest moment first, before the organization gets its members. Of
    several processes that start at once one writes, and the others wait for it.
    """
    wanted = _blueprints(now)
    organizations = [b.id for b in wanted]
    if len(await present(database, organizations)) == len(wanted):
        return Demo(created=False)
    async with turn(database.url):
        there = await present(database, organizations)  # again: another process may have had its turn before
        for blueprint in wanted:
            if blueprint.id not in there:
                await _write(database, blueprint, score)
    return Demo(created=len(there) < len(wanted))


async def _write(database: Database, blueprint: Blueprint, score: Score | None) -> None:
    async def history(score: Score) -> None:
        for age in _HISTORY:
            await score(blueprint.id, scored_accounts(blueprint), blueprint.present - age)

    await write(database, blueprint, before_members=None if score is None else partial(history, score))


def scored_accounts(blueprint: Blueprint) -> list[str]:
    """The accounts that have a health history."""
    ids = Ids(blueprint.key, "account")
    return [ids(index) for index in range(blueprint.sizes.accounts) if (index + 1) % _UNSCORED_EVERY]


def _blueprints(now: datetime) -> tuple[Blueprint, Blueprint]:
    span = timedelta(days=180)
    sales = Sizes(accounts=40, contacts=120, deals=60, meetings=400)
    partners = Sizes(accounts=6, contacts=15, deals=8, meetings=40)
    return (
        Blueprint("demo/sales", "Demo Sales", _TEAM, sales, now, span, SALES, logged=True, leads=24),
        Blueprint("demo/partners", "Demo Partners", _TEAM[:2], partners, now, span, PARTNERS, logged=True, leads=4),
    )
