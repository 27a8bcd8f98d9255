"""Every update is a patch: what is left out stays, null clears or is refused, and nothing changed tells nobody.

Decision 171.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from graphql import GraphQLInputObjectType, get_named_type, is_list_type, is_non_null_type

from storage.base import copies_of
from storage.tables import (
    Account,
    Activity,
    Campaign,
    Contact,
    Deal,
    DealContact,
    Event,
    Lead,
    PipelineStage,
)
from tests.support.schemas import printed
from tests.support.tenants import Tenant

START = datetime(2026, 1, 1, tzinfo=UTC)
_UPSERTED = ("policy", "matchOn", "dryRun")
OPTIONS = {
    "callLog(input:direction)",
    "emailLog(input:direction)",
    "dealCompetitorsDetect(apply:)",
    "memberAdd(input:role)",
    "memberAdd(input:notify)",
    "ownershipTransfer(input:openOnly)",
    "ownershipTransfer(input:dryRun)",
    *(f"{kind}Upsert({what}:)" for kind in ("accounts", "contacts", "deals", "leads") for what in _UPSERTED),
    "chatSend(input:timeZone)",
    "integrationDisconnect(deleteSynced:)",
    "integrationSync(full:)",
    "reportRun(formats:)",
    "reportEmail(input:formats)",
    # Parameters are given as a whole (decision 470), and so is a schedule.
    "reportUpdate(input:parameterstimeZone)",
    *(f"reportUpdate(input:schedule{name})" for name in ("at", "timeZone", "formats")),
}
"""Arguments that say what to do, or what a new record has, and are no field of what is changed."""
STEP = {"delay_days": 3, "subject": "Hello", "body": "Text"}


def test_no_update_has_a_default() -> None:
    """But the creations, where a default is what a new record has."""
    mutations = printed().mutation_type
    assert mutations is not None
    found = {
        f"{name}({place})"
        for name, field in mutations.fields.items()
        if not name.endswith("Create")
        for argument, value in field.args.items()
        for place in _defaults(f"{argument}:", value)
    }
    assert found == OPTIONS


def _defaults(place: str, value: Any, within: tuple[Any, ...] = ()) -> Iterator[str]:
    """The places of defaults from here on; an item of a list is new as a whole."""
    if value.ast_node.default_value is not None:
        yield place
    kind = value.type.of_type if is_non_null_type(value.type) else value.type
    if is_list_type(kind):
        return
    kind = get_named_type(kind)
    if isinstance(kind, GraphQLInputObjectType) and kind not in within:
        for name, field in kind.fields.items():
            yield from _defaults(f"{place}{name}", field, (*within, kind))


# A record of each kind with no field as a new one has it, one change, and the columns that it may touch.
CASES: dict[str, tuple[Any, dict[str, Any], set[str]]] = {
    "accountUpdate": (
        lambda: Account(name="n", domain="a.example", industry="i", owner_id="o", updated_at=START),
        {"name": "m"},
        {"name"},
    ),
    "contactUpdate": (
        lambda: Contact(first_name="f", last_name="l", email="a@b.example", phone="1", title="t", updated_at=START),
        {"title": None},
        {"title"},
    ),
    "dealUpdate": (
        lambda: Deal(
            name="n",
            value=Decimal(5),
            currency="EUR",
            close_date=date(2026, 5, 1),
            geo_scope="regional",
            source="s",
            notes="x",
            updated_at=START,
        ),
        {"notes": "y"},
        {"notes"},
    ),
    "meetingUpdate": (
        lambda: Activity(
            type="meeting",
            subject="s",
            due_at=START,
            completed_at=START,
            source="calendar",
            details={"location": "here", "kept": 1},
        ),
        {"subject": "t"},
        {"subject"},
    ),
    "leadUpdate": (
        lambda: Lead(name="n", title="t", tags=["a"], source="scan_badge", status="working", updated_at=START),
        {"title": "u"},
        {"title"},
    ),
    "campaignUpdate": (
        lambda: Campaign(
            name="n",
            steps=[STEP],
            daily_limit=7,
            timezone="Europe/Berlin",
            stop_on_reply=False,
            provider="local",
            updated_at=START,
        ),
        {"name": "m"},
        {"name"},
    ),
    "pipelineStageUpdate": (
        lambda: PipelineStage(name="n", position=0, type="won", probability=90),
        {"name": "m"},
        {"name"},
    ),
}
_BOOKKEEPING = {"version", "updated_at", "revision", "provider_sync"}


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize("mutation", list(CASES))
async def test_what_is_left_out_stays(one: Tenant, mutation: str) -> None:
    make, changes, touched = CASES[mutation]
    record = make()
    await one.add(record)
    columns = {name: getattr(type(record), name) for name in type(record).model_fields}

    async def row() -> dict[str, Any]:
        [values] = await one.rows(*columns.values())
        return dict(zip(columns, values, strict=True))

    kind = f"{mutation[0].upper()}{mutation[1:]}Input"
    update = f"""mutation($id: ID!, $input: {kind}!) {{
      {mutation}(id: $id, input: $input) {{ userErrors {{ message }} }} }}"""
    before, events = await row(), await one.rows(Event.id)

    assert await one.ask(update, one.headers("admin"), id=record.id, input={}) == {"userErrors": []}
    assert await row() == before
    assert await one.rows(Event.id) == events

    assert await one.ask(update, one.headers("admin"), id=record.id, input=changes) == {"userErrors": []}
    after = await row()
    copies = {copy for name, copy, _ in copies_of(type(record)) if name in touched}
    assert {name for name in columns if after[name] != before[name]} - _BOOKKEEPING == touched | copies
    assert len(await one.rows(Event.id)) == len(events) + 1

    assert await one.ask(update, one.headers("admin"), id=record.id, input=changes) == {"userErrors": []}
    assert await row() == after
    assert len(await one.rows(Event.id)) == len(events) + 1


@pytest.mark.asyncio(loop_scope="session")
async def test_a_renamed_stage_keeps_its_deals_won(one: Tenant) -> None:
    stage = PipelineStage(name="Won", position=0, type="won", probability=100)
    await one.add(stage)
    await one.add(Deal(name="d", stage_id=stage.id, status="won", updated_at=START))
    update = """mutation($id: ID!, $input: PipelineStageUpdateInput!) {
      pipelineStageUpdate(id: $id, input: $input) {
        stage { name type probability } userErrors { code field message } } }"""

    async def change(**fields: Any) -> Any:
        return await one.ask(update, one.headers("admin"), id=stage.id, input=fields)

    renamed = {"name": "Closed won", "type": "WON", "probability": 100}
    assert await change(name="Closed won") == {"stage": renamed, "userErrors": []}
    assert await one.rows(Deal.status, Deal.version, Deal.updated_at) == [("won", 1, START)]
    assert (await change(probability=None))["stage"] == renamed | {"probability": None}
    assert (await change(probability=80))["stage"] == renamed | {"probability": 80}
    assert await one.rows(Deal.status, Deal.version) == [("won", 1)]
    refused = await change(name=None, type=None, probability=None)
    assert refused == {
        "stage": None,
        "userErrors": [
            {"code": "VALIDATION", "field": ["input", name], "message": "must not be null"} for name in ("name", "type")
        ],
    }
    assert await one.rows(PipelineStage.name, PipelineStage.type, PipelineStage.probability) == [
        ("Closed won", "won", 80)
    ]
    assert (await change(type="OPEN"))["stage"] == renamed | {"type": "OPEN", "probability": 80}
    assert await one.rows(Deal.status, Deal.version) == [("open", 2)]


@pytest.mark.asyncio(loop_scope="session")
async def test_a_link_changes_only_what_it_is_given(one: Tenant) -> None:
    deal, contact, other = Deal(name="n", updated_at=START), Contact(last_name="1"), Contact(last_name="2")
    await one.add(deal, contact, other)

    async def link(arguments: str, whom: Contact = contact) -> tuple[Any, ...]:
        linked = await one.ask(f"""mutation {{ dealContactLink(dealId: "{deal.id}", contactId: "{whom.id}", {arguments})
          {{ deal {{ id }} userErrors {{ message }} }} }}""")
        assert linked == {"deal": {"id": deal.id}, "userErrors": []}
        rows = await one.rows(DealContact.contact_id, DealContact.role, DealContact.is_primary)
        return {row[0]: row[1:] for row in rows}[whom.id]

    assert await link('role: "buyer", isPrimary: true') == ("buyer", True)
    assert await link('role: "user"') == ("user", True)
    assert await link("") == ("user", True)
    assert await link("isPrimary: false") == ("user", False)
    assert await link("isPrimary: true") == ("user", True)
    assert await link("role: null") == (None, True)
    assert await link("isPrimary: null") == (None, False)
    assert await link("", whom=other) == (None, False)
    noted = [data for kind, data in await one.rows(Event.type, Event.data) if kind == "contact_link_updated"]
    assert [data["changed"] for data in noted] == [["role"], ["is_primary"], ["is_primary"], ["role"], ["is_primary"]]


@pytest.mark.asyncio(loop_scope="session")
async def test_a_card_confirmed_again_keeps_its_source(one: Tenant) -> None:
    confirm = """mutation($input: CardCaptureInput!) {
      cardCaptureConfirm(input: $input) { lead { id source } userErrors { field } } }"""
    made = await one.ask(confirm, input={"cardId": "c", "name": "n", "source": "SCAN_BADGE"})
    assert made["lead"]["source"] == "SCAN_BADGE"
    assert await one.ask(confirm, input={"cardId": "c", "name": "n"}) == made
    assert (await one.ask(confirm, input={"name": "by hand"}))["lead"]["source"] == "MANUAL"
    refused = await one.ask(confirm, input={"cardId": "c", "name": "n", "source": None})
    assert refused == {"lead": None, "userErrors": [{"field": ["input", "source"]}]}
    assert sorted(await one.rows(Lead.name, Lead.source)) == [("by hand", "manual"), ("n", "scan_badge")]
