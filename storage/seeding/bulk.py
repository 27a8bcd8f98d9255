"""Whole organizations into the database: one transaction each, and nothing twice."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import asdict, dataclass

from sqlalchemy import select, text
from sqlmodel import col

from contract.normal_form import folded
from storage.database import Database
from storage.queries.cells import ROLLUPS, fold
from storage.seeding.activities import activities
from storage.seeding.generate import Rows, records
from storage.seeding.load import Loader
from storage.seeding.plan import Blueprint, Plan, Row, blueprints
from storage.tables import EventCounter, Member, Membership, Organization, Person
from storage.tenancy.sessions import TenantSession

Progress = Callable[[str, int, int], None]
"""Told the record type, how many of its rows are done, and how many there are in all."""


@dataclass(frozen=True, slots=True)
class Summary:
    """The result of a run of `seed`; `organizations` are the identifiers in the plan's order."""

    organizations: tuple[str, ...]
    written: int
    """The number of them that are new; the others were there and stay as they are."""
    rows: dict[str, int]
    """The new rows by table."""


def _silent(_unit: str, _done: int, _total: int) -> None:
    pass


async def seed(database: Database, plan: Plan, progress: Progress = _silent) -> Summary:
    """Write the plan's organizations that are not there yet; each is written whole or not at all.

    An organization has members only once it is whole: what an interrupted run left is found and finished by the next.
    """
    wanted = list(blueprints(plan))
    totals = asdict(plan) | {"organizations": len(wanted)}
    done: Counter[str] = Counter()
    rows: Counter[str] = Counter()

    def report(unit: str, count: int) -> None:
        done[unit] += count
        progress(unit, done[unit], totals[unit])

    there = await present(database, [b.id for b in wanted])
    for blueprint in wanted:
        if blueprint.id in there:
            for unit, count in asdict(blueprint.sizes).items():
                report(unit, count)
        else:
            rows += await write(database, blueprint, report)
        report("organizations", 1)
    if rows:
        await _analyze(database)
    return Summary(tuple(b.id for b in wanted), len(wanted) - len(there), dict(rows))


async def present(database: Database, organizations: Sequence[str]) -> set[str]:
    """Finds those of the organizations that are whole."""
    statement = select(col(Membership.org_id)).where(col(Membership.org_id).in_(organizations)).distinct()
    async with database.directory() as session:
        return {row.org_id for row in await session.rows(statement)}


async def write(
    database: Database,
    blueprint: Blueprint,
    report: Callable[[str, int], None] = lambda _unit, _count: None,
    before_members: Callable[[], Awaitable[None]] | None = None,
) -> Counter[str]:
    """Write the organization, then its rows in one transaction, then its members; gives the new rows by table.

    Of two processes that do so at once, one writes and the other waits for it.
    """
    loader, counts = Loader(database.sql), Counter[str]()

    async def insert(session: TenantSession, all_rows: Iterable[Rows], *, keep: bool = False) -> None:
        for rows in all_rows:

            def count(number: int, unit: str = rows.unit) -> None:
                if unit:
                    report(unit, number)

            table = str(rows.model.__tablename__)
            counts[table] += await loader.insert(session, rows, count, keep=keep)

    async with database.directory(writing=True) as session:
        await insert(session, [_organization(blueprint)], keep=True)
    async with database.writing(blueprint.id) as session:
        # The counter comes first: the second of two processes waits here for the first one's commit.
        counter = Rows(EventCounter, ("last",), [(blueprint.sizes.deals if blueprint.logged else 0,)])
        await insert(session, [counter], keep=True)
        if counts["event_counters"]:
            all_rows, reachable = records(blueprint)
            async with loader.cache(session):
                await insert(session, [*all_rows, *activities(blueprint, reachable)])
            for rollup in ROLLUPS:
                await fold(session, rollup)
    if before_members is not None:
        await before_members()
    async with database.directory(writing=True) as session:
        await insert(session, [_members(blueprint)], keep=True)
    async with database.writing(blueprint.id) as session:
        await insert(session, _memberships(blueprint), keep=True)
    return counts


def _organization(blueprint: Blueprint) -> Rows:
    row = (blueprint.id, blueprint.id, blueprint.name, blueprint.since)
    return Rows(Organization, ("id", "external_id", "name", "created_at"), [row])


def _members(blueprint: Blueprint) -> Rows:
    rows: list[Row] = [(p.subject, p.email, p.name, blueprint.since) for p in blueprint.team]
    return Rows(Member, ("subject", "email", "name", "created_at"), rows)


def _memberships(blueprint: Blueprint) -> list[Rows]:
    since, team = blueprint.since, blueprint.team
    memberships = [(p.subject, p.role.value, sorted(p.role.scopes), since) for p in team]
    people: list[Row] = [
        (p.subject, p.name, p.email, p.role.value, "active", since, folded(p.name), folded(p.email)) for p in team
    ]
    return [
        Rows(Membership, ("subject", "role", "scopes", "created_at"), memberships),
        Rows(Person, ("id", "name", "email", "role", "state", "joined_at", "folded_name", "folded_email"), people),
    ]


async def _analyze(database: Database) -> None:
    """Let the planner know the new proportions now, not when the database gets to it."""
    async with database.directory(writing=True) as session:
        await session.execute(text("ANALYZE"))
