"""Long texts lie in a table of their own on PostgreSQL, its TOAST table: rows stay short, changes leave texts alone."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from contract.vocabulary import ActivityType
from storage.base import now
from storage.tables import Activity
from tests.support.gateway import open_gateway
from tests.support.postgresql import Server
from tests.support.tenants import Tenant, new_tenant

RENAME = """mutation($id: ID!, $subject: String!) {
  meetingUpdate(id: $id, input: {subject: $subject}) { meeting { subject metadata } userErrors { message } } }"""
_SIZES = """SELECT pg_relation_size(oid) AS rows, pg_relation_size(reltoastrelid) AS texts
  FROM pg_class WHERE oid = 'activities'::regclass"""
_CHARACTERS, _MEETINGS = 400_000, 5
_PAGE = 8_192


@pytest.fixture
def url(postgresql: Server, postgresql_template: str) -> Iterator[str]:
    postgresql.create("long_texts", template=postgresql_template)
    yield postgresql.url("long_texts")
    postgresql.drop("long_texts")


@pytest.fixture
async def tenant(url: str, tmp_path: Path) -> AsyncIterator[Tenant]:
    async with open_gateway(url, tmp_path) as gateway:
        yield await new_tenant(gateway)


async def test_a_change_of_a_meeting_writes_its_transcript_no_second_time(postgresql: Server, tenant: Tenant) -> None:
    """Decision 1100."""
    digits = random.Random(1100)
    meetings = [
        Activity(
            type=ActivityType.MEETING,
            subject=f"Meeting {number}",
            due_at=now() + timedelta(days=number),
            details={"transcript": digits.randbytes(_CHARACTERS // 2).hex()},
        )
        for number in range(_MEETINGS)
    ]
    await tenant.add(*meetings)
    looking = await postgresql.connect("long_texts")
    try:
        before = await looking.fetchrow(_SIZES)
        assert before["rows"] == _PAGE, "the rows share one page"
        assert before["texts"] > _MEETINGS * _CHARACTERS / 2, "the texts, compressed, lie elsewhere"
        for meeting in meetings:
            changed = await tenant.ask(RENAME, id=meeting.id, subject="Renamed")
            assert changed["meeting"]["subject"] == "Renamed", changed
            assert changed["meeting"]["metadata"] == meeting.details
        after = await looking.fetchrow(_SIZES)
        assert after["texts"] == before["texts"]
    finally:
        await looking.close()
