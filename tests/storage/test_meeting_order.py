"""The order of the meeting listing (specification 4.1), held against a model in plain Python."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contract.scopes import Role
from identity.principal import Organization
from storage.base import new_id
from storage.queries import organizations as directory
from storage.tables import Account, Activity, Deal
from tests.support.gateway import Gateway, open_gateway

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
OWNERS = ("u1", "u2")
UNKNOWN = "00000000-0000-4000-8000-000000000000"

# Few different values, so that equal ones are common; some apart by a microsecond, some by the day's end.
moments = st.builds(
    lambda days, microseconds: START + timedelta(days=days, microseconds=microseconds),
    st.integers(-1, 1),
    st.sampled_from([0, 0, 0, 1, 999_999, 1_000_000, 12 * 3_600_000_000 - 1, 12 * 3_600_000_000]),
)
offsets = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
places = st.sampled_from([None, 0, 1])


@dataclass(frozen=True)
class Meeting:
    """What of a meeting matters here; account and deal by number."""

    id: str
    due_at: datetime | None
    created_at: datetime
    owner: str | None
    account: int | None
    deal: int | None


meetings = st.lists(
    st.builds(
        Meeting,
        id=st.uuids(version=4).map(str),
        due_at=st.none() | st.builds(lambda moment, zone: moment.astimezone(zone), moments, offsets),
        created_at=st.builds(lambda moment, zone: moment.astimezone(zone), moments, offsets),
        owner=st.sampled_from([None, *OWNERS]),
        account=places,
        deal=places,
    ),
    max_size=12,
    unique_by=lambda meeting: meeting.id,
)


@st.composite
def written(draw: st.DrawFn) -> tuple[datetime, str]:
    """A moment, and one of the ways to write it; what has no offset is UTC, and a bare date its midnight."""
    moment = draw(moments)
    form = draw(st.sampled_from(["offset", "Z", "naive", "date"]))
    if form == "offset":
        return moment, moment.astimezone(draw(offsets)).isoformat()
    if form == "date":
        return moment.replace(hour=0, minute=0, second=0, microsecond=0), moment.date().isoformat()
    return moment, moment.replace(tzinfo=None).isoformat() + ("Z" if form == "Z" else "")


@dataclass(frozen=True)
class Question:
    """A request: what is asked, as the model takes it."""

    since: tuple[datetime, str] | None
    until: tuple[datetime, str] | None
    owner: str | None
    account: int | str | None
    deal: int | str | None
    unlinked_account: bool
    unlinked_deal: bool
    order: str | None
    limit: int | None
    offset: int | None


def seldom(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Mostly None: of many filters at once nothing would be left to be put in order."""
    return st.integers(0, 5).flatmap(lambda number: strategy if number == 5 else st.none())


questions = st.builds(
    Question,
    since=seldom(written()),
    until=seldom(written()),
    owner=seldom(st.sampled_from([*OWNERS, "nobody"])),
    account=seldom(st.sampled_from([0, 1, UNKNOWN, "no-uuid"])),
    deal=seldom(st.sampled_from([0, 1, UNKNOWN, "no-uuid"])),
    unlinked_account=seldom(st.just(True)).map(bool),
    unlinked_deal=seldom(st.just(True)).map(bool),
    order=st.sampled_from([None, "asc", "ASC", "Asc", "desc", "due_at", ""]),
    limit=seldom(st.sampled_from([0, 1, 2, 5, 500, 501, 10**20])),
    offset=seldom(st.sampled_from([0, 1, 3, 12, 10**20])),
)


def answered(all_meetings: list[Meeting], question: Question) -> list[str]:
    """The model: the identifiers that the specification promises, in its order."""
    found = [meeting for meeting in all_meetings if _meets(meeting, question)]
    # Sorting is stable, so the weakest term comes first. Equal in all of them: by identifier.
    found.sort(key=lambda m: UUID(m.id))
    found.sort(key=lambda m: m.created_at, reverse=True)
    scheduled = [(m.due_at, m) for m in found if m.due_at is not None]
    scheduled.sort(key=lambda pair: pair[0], reverse=(question.order or "").lower() != "asc")
    ordered = [m.id for _, m in scheduled] + [m.id for m in found if m.due_at is None]
    first = question.offset or 0
    return ordered[first : first + (200 if question.limit is None else min(question.limit, 500))]


def _meets(meeting: Meeting, question: Question) -> bool:
    due = meeting.due_at
    return (
        (question.since is None or (due is not None and due >= question.since[0]))
        and (question.until is None or (due is not None and due <= question.until[0]))
        and question.owner in (None, meeting.owner)
        and question.account in (None, meeting.account)
        and question.deal in (None, meeting.deal)
        and not (question.unlinked_account and meeting.account is not None)
        and not (question.unlinked_deal and meeting.deal is not None)
    )


class Listing:
    """An organization of its own with these meetings, in the one database, and the listing of it."""

    def __init__(self, gateway: Gateway, accounts: list[str], deals: list[str], headers: dict[str, str]) -> None:
        self._gateway, self._accounts, self._deals, self._headers = gateway, accounts, deals, headers

    @classmethod
    async def of(cls, gateway: Gateway, all_meetings: list[Meeting]) -> Listing:
        key = new_id()
        organization = Organization(key, key, "Listed")
        world = gateway.world
        await directory.create_organization(world.database, "Listed", key, key)
        subject = await world.join(f"reader-{key}", organization, role=Role.VIEWER)
        accounts, deals = ([new_id(), new_id()] for _ in range(2))
        await world.add(
            organization,
            *(Account(id=i, name="A") for i in accounts),
            *(Deal(id=i, name="D", owner_id="u1") for i in deals),
        )
        async with world.database.writing(key) as session:
            for meeting in all_meetings:
                await session.insert(
                    Activity(
                        id=meeting.id,
                        subject="S",
                        due_at=meeting.due_at,
                        created_at=meeting.created_at,
                        owner_id=meeting.owner,
                        account_id=None if meeting.account is None else accounts[meeting.account],
                        deal_id=None if meeting.deal is None else deals[meeting.deal],
                    )
                )
            # Nothing but meetings is listed.
            await session.insert(Activity(type="call", subject="S", due_at=START, created_at=START))
        return cls(gateway, accounts, deals, world.session(subject, organization))

    async def ask(self, question: Question) -> list[dict[str, Any]]:
        """The meetings that the documented path answers."""
        parameters: dict[str, str | int | None] = {
            "from": question.since and question.since[1],
            "to": question.until and question.until[1],
            "owner_id": question.owner,
            "account_id": self._accounts[question.account] if isinstance(question.account, int) else question.account,
            "deal_id": self._deals[question.deal] if isinstance(question.deal, int) else question.deal,
            "unlinked_account": "true" if question.unlinked_account else None,
            "unlinked_deal": "true" if question.unlinked_deal else None,
            "order": question.order,
            "limit": question.limit,
            "offset": question.offset,
        }
        given = {name: value for name, value in parameters.items() if value is not None}
        answer = await self._gateway.http.get("/activities/meetings", params=given, headers=self._headers)
        assert answer.status_code == 200, answer.text
        found: list[dict[str, Any]] = answer.json()
        return found


@pytest.fixture
async def gateway(database_url: str, tmp_path: Path) -> AsyncIterator[Gateway]:
    async with open_gateway(database_url, tmp_path / "data") as gateway:
        yield gateway


# One database for all examples: each has an organization of its own, and so tenancy is in the model too.
model = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.long_on("sqlite")
@model
@given(all_meetings=meetings, asked=st.lists(questions, min_size=1, max_size=6))
async def test_the_listing_answers_as_the_model_does(
    gateway: Gateway, all_meetings: list[Meeting], asked: list[Question]
) -> None:
    listing = await Listing.of(gateway, all_meetings)
    due = {meeting.id: meeting.due_at for meeting in all_meetings}
    for question in asked:
        found = await listing.ask(question)
        assert [meeting["id"] for meeting in found] == answered(all_meetings, question)
        for meeting in found:
            said = meeting["due_at"] and datetime.fromisoformat(meeting["due_at"])
            assert said == due[meeting["id"]]


@pytest.mark.long_on("sqlite")
@model
@given(all_meetings=meetings, order=st.sampled_from(["asc", "desc"]), size=st.integers(1, 5))
async def test_windows_put_together_are_the_whole(
    gateway: Gateway, all_meetings: list[Meeting], order: str, size: int
) -> None:
    listing = await Listing.of(gateway, all_meetings)
    whole = answered(all_meetings, _window(order, None, None))
    found: list[str] = []
    for offset in range(0, len(all_meetings) + size, size):
        found += [meeting["id"] for meeting in await listing.ask(_window(order, size, offset))]
    assert found == whole


def _window(order: str, limit: int | None, offset: int | None) -> Question:
    return Question(None, None, None, None, None, False, False, order, limit, offset)
