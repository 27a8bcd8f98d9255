"""The migration that makes people of the memberships that there are (decision 220)."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import select, text
from sqlmodel import col

from storage import migrate
from storage.database import Database
from storage.tables import Person
from tests.storage.test_migrate import look

ORGANIZATIONS = ("11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222")
MANY = 1_234
AT, LATER = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)


def _insert(connection: Any, table: str, **values: Any) -> None:
    """Past the tables of the program, which has columns by now that this database has not."""
    names = ", ".join(values)
    if connection.dialect.name == "sqlite":
        values = {n: f"{v:%Y-%m-%d %H:%M:%S.%f}" if isinstance(v, datetime) else v for n, v in values.items()}
        places = [f":{n}" for n in values]
    else:
        kinds = {"org_id": "uuid", "id": "uuid", "created_at": "timestamptz", "ended_at": "timestamptz"}
        places = [f"CAST(:{n} AS {kinds.get(n, 'json' if n == 'scopes' else 'text')})" for n in values]
    connection.execute(text(f"INSERT INTO {table} ({names}) VALUES ({', '.join(places)})"), values)  # our own names


def _before(connection: Any) -> None:
    """Two organizations: one with more members than a batch has, one with somebody in each state."""
    for number, organization in enumerate(ORGANIZATIONS):
        _insert(connection, "organizations", id=organization, external_id=f"o{number}", name="O", created_at=AT)
    for n in range(MANY):
        subject = f"user_{n:04}"
        _insert(connection, "members", subject=subject, name=f"STRASSE {n}", email=f"{n}@EXAMPLE.com", created_at=AT)
        _insert(
            connection,
            "memberships",
            org_id=ORGANIZATIONS[0],
            subject=subject,
            role="member",
            scopes=json.dumps(["deals:read"]),
            created_at=AT,
        )
    _insert(connection, "members", subject="nameless", created_at=AT)
    for subject, role, scopes, ended in (
        ("nameless", None, ["deals:read"], None),
        ("user_0001", "admin", ["organizations:manage"], LATER),
        ("user_0002", None, [], LATER),
    ):
        _insert(
            connection,
            "memberships",
            org_id=ORGANIZATIONS[1],
            subject=subject,
            role=role,
            scopes=json.dumps(scopes),
            created_at=AT,
            ended_at=ended,
        )


async def _people(database: Database, organization: str) -> list[Person]:
    async with database.reading(organization) as session:
        return list(await session.find_all(select(Person).order_by(col(Person.id))))


async def test_every_membership_gets_its_person(empty_database_url: str) -> None:
    await migrate.upgrade(empty_database_url, "0012")
    await look(empty_database_url, _before)
    await migrate.upgrade(empty_database_url)
    database = Database(empty_database_url)
    first, second = [await _people(database, organization) for organization in ORGANIZATIONS]
    assert [p.id for p in first] == [f"user_{n:04}" for n in range(MANY)]
    assert {(p.role, p.state, p.left_at, p.joined_at.isoformat()) for p in first} == {
        ("member", "active", None, "2026-01-02T03:04:05+00:00")
    }
    assert (first[7].name, first[7].folded_name, first[7].folded_email) == ("STRASSE 7", "strasse 7", "7@example.com")
    told = [(p.id, p.name, p.role, p.state, p.left_at and p.left_at.isoformat()) for p in second]
    assert told == [
        ("nameless", None, None, "active", None),
        ("user_0001", "STRASSE 1", "admin", "deactivated", None),
        ("user_0002", "STRASSE 2", None, "left", "2026-02-03T04:05:06+00:00"),
    ]
    await database.close()
    await migrate.downgrade(empty_database_url, "0012")
    await migrate.upgrade(empty_database_url)
    database = Database(empty_database_url)
    assert len(await _people(database, ORGANIZATIONS[0])) == MANY
    await database.close()
