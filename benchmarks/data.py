"""The data that everybody answers from: seeded once, kept below `.bench/`, and copied for each run."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path

from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import create_async_engine

from benchmarks.cores import Cores
from benchmarks.postgresql import ANALYTICS, BASELINE, OWNER, Server
from contract.vocabulary import StageType
from resolvers.health import refresh_many
from storage import migrate
from storage.analytics.grants import statements
from storage.database import Database
from storage.seeding import Plan, seed
from storage.seeding.generate import DEAL, DEAL_CONTACT, STAGE, records
from storage.seeding.plan import EPOCH, Blueprint, blueprints
from storage.tables import Account, Deal, DealContact, PipelineStage

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / ".bench"
_AGES = (timedelta(days=30), timedelta(days=1))
"""When the largest organization's accounts were scored, before the present of the data."""


@dataclass(frozen=True, slots=True)
class Profile:
    """A kind of run: its data, and how many different requests there are of each work."""

    name: str
    plan: Plan
    variants: int
    beside: Plan | None = None
    """A further plan, of organizations that come after the others."""

    @property
    def plans(self) -> tuple[Plan, ...]:
        """All that is seeded."""
        return (self.plan,) if self.beside is None else (self.plan, self.beside)

    @property
    def fingerprint(self) -> str:
        """A digest of all that decides the data: another fingerprint, other data."""
        digest = hashlib.sha256("".join(map(repr, self.plans)).encode())
        for folder in ("storage/seeding", "storage/migrations/versions"):
            for file in sorted((ROOT / folder).glob("*.py")):
                digest.update(file.read_bytes())
        return digest.hexdigest()[:16]

    @property
    def largest(self) -> Blueprint:
        """The organization that is asked about."""
        return next(iter(blueprints(self.plan)))


FULL = Profile("full", Plan(20, 20_000, 60_000, 40_000, 295_000, largest_meetings=200_000), variants=64)
QUICK = Profile("quick", Plan(3, 300, 600, 300, 3_000, largest_meetings=2_000), variants=12)


@dataclass(frozen=True, slots=True)
class Known:
    """Names what to ask an organization for: accounts, open stages, and deals that have an account and contacts."""

    organization: str
    admin: str
    accounts: Sequence[str]
    stages: Sequence[str]
    deals: Sequence[str]


def known(profile: Profile) -> list[Known]:
    """Tells what each organization holds, the largest first, without looking into a database: the seed decides it."""
    return [_known(blueprint, profile.variants) for plan in profile.plans for blueprint in blueprints(plan)]


def _known(blueprint: Blueprint, count: int) -> Known:
    found = {rows.model: list(rows.rows) for rows in records(blueprint)[0]}
    linked = {row[DEAL_CONTACT.index("deal_id")] for row in found[DealContact]}
    account = DEAL.index("account_id")
    deals = [row[0] for row in found[Deal] if row[0] in linked and row[account] is not None]
    return Known(
        blueprint.id,
        blueprint.team[0].subject,
        _spread([row[0] for row in found[Account]], count),
        [row[0] for row in found[PipelineStage] if row[STAGE.index("type")] == StageType.OPEN],
        _spread(deals, count),
    )


def _spread(items: Sequence[str], count: int) -> list[str]:
    """`count` of the items, from all over."""
    step = max(len(items) // count, 1)
    return list(items[::step][:count])


@dataclass(frozen=True, slots=True)
class Place:
    """A database that a run may write to."""

    dialect: str
    gateway_url: str
    baseline_url: str
    analytics_url: str = ""
    """The login of ad-hoc SQL, where the database needs one."""
    server: int | None = None
    """The process of PostgreSQL, whose children do the work."""

    async def execute(self, statements: Iterable[str]) -> None:
        """Send these as the owner of the tables, each for itself."""
        engine = create_async_engine(make_url(self.gateway_url), isolation_level="AUTOCOMMIT")
        try:
            async with engine.connect() as connection:
                for statement in statements:
                    await connection.exec_driver_sql(statement)
        finally:
            await engine.dispose()


Copied = Callable[[str], AbstractContextManager[Place]]
"""Makes a copy of the data, by its name."""


@contextmanager
def place(dialect: str, profile: Profile, scratch: Path, cores: Cores) -> Iterator[Place]:
    """A fresh copy of the profile's data; `scratch` holds it on SQLite, `cores` are PostgreSQL's."""
    with copies(dialect, profile, scratch, cores) as copied, copied("run") as found:
        yield found


def copies(dialect: str, profile: Profile, scratch: Path, cores: Cores) -> AbstractContextManager[Copied]:
    """Gives what makes fresh copies of the profile's data, each by a name of its own, on one server."""
    return _files(profile, scratch) if dialect == "sqlite" else _databases(profile, cores)


@contextmanager
def _files(profile: Profile, scratch: Path) -> Iterator[Copied]:
    """Copies of the seeded file."""
    folder = _folder(profile, "sqlite")
    if not _done(folder).exists():
        folder.mkdir(parents=True)
        _say(profile, "SQLite")
        asyncio.run(fill(f"sqlite+aiosqlite:///{folder / 'crm.sqlite3'}", profile))
        _done(folder).touch()
    yield partial(_file, folder, scratch)


@contextmanager
def _file(folder: Path, scratch: Path, name: str) -> Iterator[Place]:
    file = scratch / f"{name}.sqlite3"
    shutil.copyfile(folder / "crm.sqlite3", file)
    file.chmod(0o600)  # the service takes no database that others may read
    url = f"sqlite+aiosqlite:///{file}"
    yield Place("sqlite", url, url)


@contextmanager
def _databases(profile: Profile, cores: Cores) -> Iterator[Copied]:
    """Copies of the seeded database, on a server of their own."""
    folder = _folder(profile, "postgresql")
    with Server(folder, cores) as server:
        if not _done(folder).exists():
            server.create("seeded")
            _say(profile, "PostgreSQL")
            asyncio.run(fill(server.url("seeded"), profile))
            server.execute(
                f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {BASELINE}",
                "VACUUM ANALYZE",
                database="seeded",
            )
            _done(folder).touch()
        yield partial(_database, server)


@contextmanager
def _database(server: Server, name: str) -> Iterator[Place]:
    server.create(name, template="seeded")
    # Now, so that the copy's dirty pages are not written while something is measured.
    server.execute("CHECKPOINT")
    server.execute("\n".join(statements(ANALYTICS, OWNER)), database=name)
    gateway, baseline, analytics = (server.url(name, role=role) for role in (OWNER, BASELINE, ANALYTICS))
    yield Place("postgresql", gateway, baseline, analytics, server.pid)
    server.drop(name)


def _folder(profile: Profile, dialect: str) -> Path:
    """Return the folder for the data of this fingerprint, made or not; half-made and outdated data goes."""
    folder = KEPT / profile.name / dialect / profile.fingerprint
    if not _done(folder).exists() and folder.parent.exists():
        shutil.rmtree(folder.parent)
    return folder


def _done(folder: Path) -> Path:
    """The file that says that the folder's data is whole."""
    return folder.with_suffix(".done")


def _say(profile: Profile, dialect: str) -> None:
    print(f"Seeding {dialect} with {profile.plan.meetings:,} meetings, once ...", file=sys.stderr, flush=True)


async def fill(url: str, profile: Profile) -> None:
    """Make the tables of an empty database, and the profile's rows."""
    await migrate.upgrade(url)
    database = Database(url, statement_seconds=None)  # ANALYZE of so much takes longer than a request may
    try:
        for plan in profile.plans:  # one or two
            await seed(database, plan)
        accounts = next(rows for rows in records(profile.largest)[0] if rows.model is Account)
        ids = [row[0] for row in accounts.rows]
        for age in _AGES:
            for start in range(0, len(ids), 100):
                await refresh_many(database, profile.largest.id, ids[start : start + 100], EPOCH - age)
    finally:
        await database.close()
