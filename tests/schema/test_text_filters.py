"""Filters on texts, letter case and width aside, and on what changed: the same on both databases."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio

from contract.normal_form import folded
from storage.base import folded_copies, folded_copy
from storage.queries.filtering import is_storable_text
from storage.tables import Account, Activity, Campaign, Contact, Deal, Lead, PipelineStage
from tests.support.gateway import Gateway
from tests.support.tenants import Tenant, new_tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

PAIRS = (
    ("Straße", "STRASSE"),
    ("ΣΊΣΥΦΟΣ", "σίσυφος"),
    ("ＡＢＣ", "abc"),
    ("Москва", "МОСКВА"),
    ("ﬁnance", "FINANCE"),
    ("Åre", "A\u030are"),
    ("ԵՐԵՒԱՆ", "երեւան"),
)


async def names(tenant: Tenant, filter: dict[str, Any]) -> list[str]:
    document = "query($f: AccountFilter) { accounts(first: 500, filter: $f) { nodes { name } } }"
    return sorted(node["name"] for node in (await tenant.ask(document, f=filter))["nodes"])


async def test_letter_case_and_width_are_folded_in_every_script(one: Tenant) -> None:
    await one.add(*(Account(name=stored) for stored, _ in PAIRS), Account(name="Other"))
    for stored, asked in PAIRS:
        assert await names(one, {"name": {"eq": asked}}) == [], asked
        for comparison in ({"eq": asked}, {"in": [asked, "nobody"]}, {"contains": asked[:-1]}, {"startsWith": asked}):
            assert await names(one, {"name": {**comparison, "mode": "IGNORE_CASE"}}) == [stored], comparison
        others = sorted({other for other, _ in PAIRS} | {"Other"} - {stored})
        for comparison in ({"neq": asked}, {"nin": [asked]}):
            found = await names(one, {"name": {**comparison, "mode": "IGNORE_CASE"}})
            assert found == [other for other in others if other != stored]


async def test_a_mode_alone_and_a_null_one_ask_for_nothing(one: Tenant) -> None:
    await one.add(Account(name="Abc", domain=None))
    assert await names(one, {"name": {"mode": "IGNORE_CASE"}}) == ["Abc"]
    assert await names(one, {"name": {"eq": "abc", "mode": None}}) == []
    assert await names(one, {"domain": {"eq": None, "mode": "IGNORE_CASE"}}) == ["Abc"]
    assert await names(one, {"domain": {"neq": "abc.example", "mode": "IGNORE_CASE"}}) == ["Abc"]


async def test_a_domain_is_found_by_any_spelling_of_it(one: Tenant) -> None:
    await one.add(Account(name="A", domain="straße.example"))
    for asked in ("STRASSE.example", "https://www.Strasse.example/about"):
        assert await names(one, {"domain": {"eq": asked, "mode": "IGNORE_CASE"}}) == ["A"]


async def test_every_code_point_folds_alike(gateway: Gateway) -> None:
    """Each name that holds a code point is found by what the code point folds to, and by nothing else."""
    tenant = await new_tenant(gateway)
    letters = [c for c in map(chr, range(1, sys.maxunicode + 1)) if is_storable_text(c) and folded(c) != c]
    assert len(letters) > 5_000
    size = 400  # of one name: a filter's value is one parameter, whatever is in it
    parts = ["".join(letters[at : at + size]) for at in range(0, len(letters), size)]
    await tenant.add(*(Account(name=f"{number:03} {part}") for number, part in enumerate(parts)))
    for number, part in enumerate(parts):
        asked = folded("".join(part))
        found = await names(tenant, {"name": {"contains": asked, "mode": "IGNORE_CASE"}})
        assert found == [f"{number:03} {part}"]
        assert await names(tenant, {"name": {"contains": part, "mode": "IGNORE_CASE"}}) == found


@pytest_asyncio.fixture(loop_scope="session")
async def board(gateway: Gateway) -> tuple[Tenant, dict[str, str]]:
    tenant = await new_tenant(gateway)
    stages = {name: PipelineStage(name=name, type=name, position=at) for at, name in enumerate(("open", "won", "lost"))}
    await tenant.add(*stages.values())
    return tenant, {name: stage.id for name, stage in stages.items()}


DEALS = "query($f: DealFilter) { deals(first: 100, filter: $f) { nodes { name } } }"
UPDATE = """mutation($id: ID!, $i: DealUpdateInput!) {
  dealUpdate(id: $id, input: $i) { deal { id status closedAt updatedAt } userErrors { code } } }"""


async def deals(tenant: Tenant, filter: dict[str, Any]) -> list[str]:
    return sorted(node["name"] for node in (await tenant.ask(DEALS, f=filter))["nodes"])


async def test_deals_by_status_source_reach_and_competitors(board: tuple[Tenant, dict[str, str]]) -> None:
    tenant, _ = board
    await tenant.add(
        Deal(name="a", source="Fair", geo_scope="local", competitors=["Northwind", "Ärger AG"]),
        Deal(name="b", status="won", closed_at=datetime(2026, 3, 1, tzinfo=UTC), competitors=["NORTHWIND"]),
        Deal(name="c", status="lost", closed_at=datetime(2026, 4, 1, tzinfo=UTC), geo_scope="regional"),
    )
    for filter, expected in (
        ({"status": {"eq": "WON"}}, ["b"]),
        ({"status": {"nin": ["WON", "OPEN"]}}, ["c"]),
        ({"status": {"neq": "OPEN"}}, ["b", "c"]),
        ({"source": {"eq": "FAIR", "mode": "IGNORE_CASE"}}, ["a"]),
        ({"source": {"isNull": True}}, ["b", "c"]),
        ({"geoScope": {"in": ["LOCAL", "REGIONAL"]}}, ["a", "c"]),
        ({"geoScope": {"isNull": True}}, ["b"]),
        ({"geoScope": {"neq": "LOCAL"}}, ["b", "c"]),
        ({"closedAt": {"gte": "2026-03-15T00:00:00Z"}}, ["c"]),
        ({"closedAt": {"isNull": True}}, ["a"]),
        ({"competitors": {"any": ["northwind"]}}, ["a", "b"]),
        ({"competitors": {"all": ["northwind", "ärger ag"]}}, ["a"]),
        ({"competitors": {"none": ["ÄRGER AG"]}}, ["b", "c"]),
        ({"competitors": {"isEmpty": True}}, ["c"]),
        ({"competitors": {"isEmpty": False}}, ["a", "b"]),
        ({"competitors": {"any": []}}, []),
        ({"competitors": {"all": []}}, ["a", "b", "c"]),
        ({"competitors": {"none": []}}, ["a", "b", "c"]),
        ({"competitors": {"any": ["\x00"]}}, []),
        ({"competitors": {"all": ["northwind", "\x00"]}}, []),
        ({"not": {"competitors": {"any": ["northwind"]}}}, ["c"]),
    ):
        assert await deals(tenant, filter) == expected, filter


async def test_a_deal_is_closed_when_it_is_won_or_lost_and_open_again(board: tuple[Tenant, dict[str, str]]) -> None:
    tenant, stages = board

    async def move(deal_id: str, stage: str | None) -> Any:
        input = {"stageId": None if stage is None else stages[stage]}
        return (await tenant.ask(UPDATE, id=deal_id, i=input))["deal"]

    create = "mutation($i: DealCreateInput!) { dealCreate(input: $i) { deal { id closedAt createdAt } } }"
    made = (await tenant.ask(create, i={"name": "a", "stageId": stages["won"]}))["deal"]
    assert made["closedAt"] == made["createdAt"]
    assert (await tenant.ask(create, i={"name": "b"}))["deal"]["closedAt"] is None
    assert (await move(made["id"], "open"))["closedAt"] is None
    won = await move(made["id"], "won")
    lost = await move(made["id"], "lost")
    assert won["closedAt"] < lost["closedAt"]
    assert [each["closedAt"] for each in (won, lost)] == [each["updatedAt"] for each in (won, lost)]
    assert (await move(made["id"], None))["closedAt"] is None


async def test_a_stage_whose_type_changes_closes_its_deals(board: tuple[Tenant, dict[str, str]]) -> None:
    tenant, stages = board
    before = datetime(2026, 1, 1, tzinfo=UTC)
    mine = Deal(name="a", stage_id=stages["open"], updated_at=before)
    await tenant.add(mine)
    stage = """mutation($id: ID!, $type: StageType) {
      pipelineStageUpdate(id: $id, input: {type: $type}) { userErrors { code } } }"""
    read = "query($id: ID!) { deal(id: $id) { status closedAt updatedAt version } }"
    await tenant.ask(stage, tenant.headers("admin"), id=stages["open"], type="LOST")
    deal = await tenant.ask(read, id=mine.id)
    assert (deal["status"], deal["closedAt"], deal["version"]) == ("LOST", deal["updatedAt"], 2)
    assert await deals(tenant, {"updatedAt": {"gt": "2026-01-01T00:00:00Z"}}) == ["a"]
    await tenant.ask(stage, tenant.headers("admin"), id=stages["open"], type="OPEN")
    assert (await tenant.ask(read, id=mine.id))["closedAt"] is None


async def test_meetings_by_what_their_times_say(one: Tenant) -> None:
    ahead, past = (datetime.now(UTC) + timedelta(hours=hours) for hours in (5, -5))
    await one.add(
        Activity(subject="none"),
        Activity(subject="ahead", due_at=ahead),
        Activity(subject="late", due_at=past),
        Activity(subject="done", due_at=past, completed_at=past),
    )
    document = "query($f: MeetingFilter) { meetings(filter: $f) { nodes { subject state } } }"
    for comparison, expected in (
        ({"eq": "COMPLETED"}, ["done"]),
        ({"eq": "UNSCHEDULED"}, ["none"]),
        ({"in": ["SCHEDULED", "OVERDUE"]}, ["ahead", "late"]),
        ({"in": []}, []),
        ({"neq": "COMPLETED"}, ["ahead", "late", "none"]),
        ({"nin": ["OVERDUE", "UNSCHEDULED"]}, ["ahead", "done"]),
        ({"eq": None}, []),
    ):
        found = (await one.ask(document, f={"state": comparison}))["nodes"]
        assert sorted(node["subject"] for node in found) == expected, comparison


async def test_contacts_by_owner_phone_and_title(one: Tenant) -> None:
    await one.add(
        Contact(last_name="a", owner_id="user_A", phone="+49 30", title="Head of Sales"), Contact(last_name="b")
    )
    document = "query($f: ContactFilter) { contacts(filter: $f) { nodes { lastName } } }"
    for filter in (
        {"ownerId": {"eq": "user_A"}},
        {"ownerId": {"eq": "USER_a", "mode": "IGNORE_CASE"}},
        {"phone": {"startsWith": "+49"}},
        {"title": {"contains": "SALES", "mode": "IGNORE_CASE"}},
    ):
        assert (await one.ask(document, f=filter))["nodes"] == [{"lastName": "a"}], filter


async def test_campaigns_combine_their_conditions(one: Tenant) -> None:
    await one.add(*(Campaign(name=name, provider="local") for name in ("a", "b", "c")))
    document = "query($f: CampaignFilter) { campaigns(filter: $f) { nodes { name } } }"
    for filter, expected in (
        ({"or": [{"name": {"eq": "a"}}, {"name": {"eq": "B", "mode": "IGNORE_CASE"}}]}, ["a", "b"]),
        ({"not": {"name": {"eq": "a"}}}, ["b", "c"]),
        ({"and": [{"name": {"eq": "a"}}, {"status": {"eq": "PAUSED"}}]}, []),
    ):
        found = (await one.ask(document, f=filter))["nodes"]
        assert sorted(node["name"] for node in found) == expected


@pytest.mark.parametrize("model", [Account, Contact, Deal, Lead, Campaign], ids=lambda model: str(model.__name__))
async def test_what_changed_since_a_moment_is_found(one: Tenant, model: Any) -> None:
    """At the very moment included (decision 238)."""
    noun = str(model.__tablename__)
    moment = datetime(2026, 5, 1, 12, tzinfo=UTC)
    named = {"last_name": "x"} if model is Contact else {"name": "x"}
    more = {"provider": "local"} if model is Campaign else {}
    times = [moment - timedelta(microseconds=1), moment, moment + timedelta(microseconds=1)]
    await one.add(*(model(**named, **more, created_at=times[0], updated_at=at) for at in times))
    kind = f"{model.__name__}Filter"
    document = f"query($f: {kind}) {{ {noun}(filter: $f) {{ nodes {{ updatedAt }} }} }}"
    found = (await one.ask(document, f={"updatedAt": {"gte": moment.isoformat()}}))["nodes"]
    assert sorted(node["updatedAt"] for node in found) == ["2026-05-01T12:00:00.000001Z", "2026-05-01T12:00:00Z"]


async def test_every_way_to_write_writes_the_copies(one: Tenant) -> None:
    """Creation in one statement and in several, changes, conversion, a transfer: the copies follow."""
    account = await one.ask('mutation { accountCreate(input: {name: "ÄB"}) { account { id } } }')
    identifier = account["account"]["id"]
    change = 'mutation($id: ID!) { accountUpdate(id: $id, input: {name: "ÖL"}) { userErrors { code } } }'
    await one.ask(change, id=identifier)
    await one.ask('mutation { dealCreate(input: {name: "ÉA", currency: "eur"}) { deal { id } } }')
    lead = await one.ask('mutation { cardCaptureConfirm(input: {name: "Ünal Öz", company: "ÇA"}) { lead { id } } }')
    convert = "mutation($i: LeadConvertInput!) { leadConvert(input: $i) { userErrors { code } } }"
    await one.ask(convert, i={"leadId": lead["lead"]["id"], "dealName": "ÀÀ"})
    for model in (Account, Contact, Deal, Lead, Campaign, Activity):
        copies = folded_copies(model)
        columns = [getattr(model, name) for pair in copies.items() for name in pair]
        for row in await one.rows(*columns):
            written = dict(zip([name for pair in copies.items() for name in pair], row, strict=True))
            for name, copy in copies.items():
                assert written[copy] == folded_copy(written[name]), (model, written)
    found = await names(one, {"name": {"eq": "öl", "mode": "IGNORE_CASE"}})
    assert found == ["ÖL"]
