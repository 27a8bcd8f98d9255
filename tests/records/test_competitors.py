"""The catalogue of competitors, and their detection on a deal (decisions 43 to 45)."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from storage.tables import Activity, Competitor, Deal, Event
from tests.isolation.requests import Case, Rest, by_id, put, q
from tests.isolation.surfaces import Surfaces, plain, selection
from tests.support.documented import DETECTED, DETECTION, EVIDENCE
from tests.support.record_types import RecordType
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
ERRORS = "userErrors { code message field }"
CREATE = f"""mutation($input: CompetitorInput!) {{ competitorCreate(input: $input) {{
  competitor {{ id name aliases domains }} {ERRORS} }} }}"""
DELETE = f"mutation($id: ID!) {{ competitorDelete(id: $id) {{ deletedId {ERRORS} }} }}"
LIST = "{ competitors { id name aliases domains } }"
DETECT = f"""mutation($id: ID!, $apply: Boolean = true) {{ dealCompetitorsDetect(dealId: $id, apply: $apply) {{
  deal {{ id competitors version }} detected {{ name confidence evidence {{ source sourceId quote at }} }}
  {ERRORS} }} }}"""
NOT_FOUND = {"code": "NOT_FOUND", "message": "Not found"}


async def make(tenant: Tenant, name: str, **more: Any) -> Any:
    payload = await tenant.ask(CREATE, input={"name": name, **more})
    assert payload["userErrors"] == []
    return payload["competitor"]


async def told(tenant: Tenant) -> list[tuple[str, Any]]:
    events = await tenant.rows(Event.sequence, Event.type, Event.actor, Event.data)
    assert {actor for _, _, actor, _ in events} <= {tenant.subject()}
    return [(kind, data) for _, kind, _, data in sorted(events)]


async def test_make_list_find_and_delete(one: Tenant, two: Tenant) -> None:
    bolt = await make(
        one, " Bolt ", aliases=["Bolt", "BOLT!", "bolt", "Thunder"], domains=["WWW.Bolt.example", "bolt.example"]
    )
    assert bolt == {"id": bolt["id"], "name": "Bolt", "aliases": ["BOLT!", "Thunder"], "domains": ["bolt.example"]}
    acme = await make(one, "acme")
    assert acme == {"id": acme["id"], "name": "acme", "aliases": [], "domains": []}
    await make(two, "Acme")
    assert await one.ask(LIST) == [acme, bolt]
    node = "query($id: ID!) { node(id: $id) { __typename ... on Competitor { name } } }"
    assert await one.ask(node, id=acme["id"]) == {"__typename": "Competitor", "name": "acme"}
    assert await two.ask(node, id=acme["id"]) is None
    refused = {"deletedId": None, "userErrors": [NOT_FOUND | {"field": ["id"]}]}
    assert await two.ask(DELETE, id=acme["id"]) == refused
    assert await one.ask(DELETE, id=acme["id"]) == {"deletedId": acme["id"], "userErrors": []}
    assert await one.ask(DELETE, id=acme["id"]) == refused
    assert await one.ask(LIST) == [bolt]
    assert await told(one) == [
        ("competitor_created", {"competitor_id": bolt["id"], "name": "Bolt"}),
        ("competitor_created", {"competitor_id": acme["id"], "name": "acme"}),
        ("competitor_deleted", {"competitor_id": acme["id"], "name": "acme"}),
    ]


async def test_a_name_is_there_once(one: Tenant) -> None:
    await make(one, "Straße")
    problem = {"code": "DUPLICATE", "message": "There is a competitor of this name", "field": ["input", "name"]}
    for name in ("Straße", "STRASSE", " straße "):
        assert await one.ask(CREATE, input={"name": name}) == {"competitor": None, "userErrors": [problem]}
    payloads = await asyncio.gather(*(one.ask(CREATE, input={"name": name}) for name in ("Raced", "RACED", "raced")))
    assert sorted(len(p["userErrors"]) for p in payloads) == [0, 1, 1]
    assert len(await one.ask(LIST)) == 2
    assert len(await told(one)) == 2


@pytest.mark.parametrize(
    ("input", "field"),
    [
        ({"name": ""}, ["input", "name"]),
        ({"name": " -! "}, ["input", "name"]),
        ({"name": "n" * 201}, ["input", "name"]),
        ({"name": "a\0"}, ["input", "name"]),
        ({"name": "A", "aliases": ["B", ""]}, ["input", "aliases", "1"]),
        ({"name": "A", "aliases": ["B"] * 51}, ["input", "aliases"]),
        ({"name": "A", "domains": ["a.example"] * 51}, ["input", "domains"]),
        *(
            ({"name": "A", "domains": [domain]}, ["input", "domains", "0"])
            for domain in (
                "",
                "a",
                "https://a.example",
                "a.example/x",
                "a..example",
                "-a.example",
                "a b.example",
                "a_b.c",
            )
        ),
    ],
)
async def test_what_is_not_acceptable(one: Tenant, input: Any, field: list[str]) -> None:
    payload = await one.ask(CREATE, input=input)
    assert payload["competitor"] is None
    assert [(e["code"], e["field"]) for e in payload["userErrors"]] == [("VALIDATION", field)]
    assert await one.ask(LIST) == []


async def test_the_catalogue_is_full(one: Tenant) -> None:
    await one.add(*(Competitor(name=f"N{n}", folded_name=f"n{n}") for n in range(500)))
    payload = await one.ask(CREATE, input={"name": "One too many"})
    assert [(e["code"], e["field"]) for e in payload["userErrors"]] == [("VALIDATION", ["input"])]


async def deal_with_mentions(tenant: Tenant) -> Deal:
    deal = Deal(name="D", notes="Acme is in. Not Bolt.", competitors=["Old"])
    await tenant.add(deal, Deal(name="Other", notes="Bolt Bolt Bolt"))
    await tenant.add(
        Activity(deal_id=deal.id, subject="With Acme", due_at=NOON),
        Activity(deal_id=deal.id, body="They know crux.example", due_at=NOON + timedelta(days=1)),
        Activity(deal_id=deal.id, details={"transcript": {"no": "text of Bolt"}}),
        Activity(deal_id=deal.id, type="call", subject="Bolt"),
        Activity(subject="Bolt"),
    )
    await make(tenant, "Acme")
    await make(tenant, "Bolt")
    await make(tenant, "Crux", domains=["crux.example"])
    return deal


async def test_detect_and_apply(one: Tenant) -> None:
    deal = await deal_with_mentions(one)
    [early, late] = sorted(
        (due, identifier) for identifier, due in await one.rows(Activity.id, Activity.due_at) if due is not None
    )
    found = [
        {
            "name": "Acme",
            "confidence": 0.96,
            "evidence": [
                {"source": "notes", "sourceId": deal.id, "quote": "Acme is in. Not Bolt.", "at": None},
                {"source": "meeting.subject", "sourceId": early[1], "quote": "With Acme", "at": "2026-05-01T12:00:00Z"},
            ],
        },
        {
            "name": "Crux",
            "confidence": 0.8,
            "evidence": [
                {
                    "source": "meeting.body",
                    "sourceId": late[1],
                    "quote": "They know crux.example",
                    "at": "2026-05-02T12:00:00Z",
                }
            ],
        },
        {
            "name": "Bolt",
            "confidence": 0.2,
            "evidence": [{"source": "notes", "sourceId": deal.id, "quote": "Acme is in. Not Bolt.", "at": None}],
        },
    ]
    shown = {"id": deal.id, "competitors": ["Old"], "version": 1}
    assert await one.ask(DETECT, id=deal.id, apply=False) == {"deal": shown, "detected": found, "userErrors": []}
    assert sorted(await one.rows(Deal.competitors, Deal.version)) == [([], 1), (["Old"], 1)]
    shown = {"id": deal.id, "competitors": ["Acme", "Crux"], "version": 2}
    for apply in (True, None, False):
        assert await one.ask(DETECT, id=deal.id, apply=apply) == {"deal": shown, "detected": found, "userErrors": []}
    data = {"deal_id": deal.id, "competitors": ["Acme", "Crux"], "before": ["Old"]}
    assert (await told(one))[3:] == [("deal_competitors_detected", data)]
    update = f"mutation($id: ID!) {{ dealUpdate(id: $id, input: {{notes: null}}) {{ {ERRORS} }} }}"
    await one.ask(update, id=deal.id)
    answer = await one.ask(DETECT, id=deal.id)
    assert answer["deal"] == {"id": deal.id, "competitors": ["Acme", "Crux"], "version": 3}
    assert [d["confidence"] for d in answer["detected"]] == [0.8, 0.8]


async def test_a_deal_that_is_not_there(one: Tenant, two: Tenant) -> None:
    deal = Deal(name="D")
    await one.add(deal)
    for identifier in (deal.id, "00000000-0000-7000-8000-000000000000", "no-uuid"):
        for apply in (True, False):
            answer = await two.ask(DETECT, id=identifier, apply=apply)
            assert answer == {"deal": None, "detected": [], "userErrors": [NOT_FOUND | {"field": ["dealId"]}]}
    assert await told(two) == []


async def _detect(surfaces: Surfaces) -> None:
    world = surfaces.gateway.world
    known = [Competitor(name=name, folded_name=name.casefold(), aliases=[], domains=[]) for name in ("Acme", "Bolt")]
    twins = [Deal(name="D", notes="Acme. Not Bolt.") for _ in range(2)]
    await world.add(world.one, *known, *twins)
    meetings = [Activity(subject="Acme", body="Bolt", due_at=NOON, deal_id=twin.id) for twin in twins]
    await world.add(world.one, *meetings)
    detected = f"detected {{ {selection(DETECTED[:2])} evidence {{ {selection(EVIDENCE)} }} }}"
    for twin in (0, 1), (1, 0):
        by_path = (await surfaces.rest("POST", f"/deals/{twins[twin[0]].id}/competitors/detect")).json()
        assert list(by_path) == DETECTION
        shown = await surfaces.change(
            "dealCompetitorsDetect",
            "$d: ID! -> dealId: $d",
            f"deal {{ id competitors version }} {detected}",
            d=twins[twin[1]].id,
        )
        assert shown["deal"]["competitors"] == by_path["competitors"] == ["Acme", "Bolt"]
        assert shown["deal"]["version"] == 2
        own = {t.id: "deal" for t in twins} | {m.id: "meeting" for m in meetings}
        for each in shown["detected"]:
            each["evidence"] = [e | {"sourceId": own[e["sourceId"]]} for e in each["evidence"]]
        for each in by_path["detected"]:
            each["evidence"] = [plain(e | {"source_id": own[e["source_id"]]}) for e in each["evidence"]]
        assert by_path["detected"] == shown["detected"]
        assert [each["name"] for each in shown["detected"]] == ["Acme", "Bolt"]


RECORD = RecordType(
    typename="Competitor",
    name="competitor",
    row=lambda ids, mark: Competitor(name=mark, folded_name=mark),
    cases={
        "competitors.list_competitors": Case("CRM_READ", (q("{ competitors { name aliases domains } }"),)),
        "competitors.create_competitor": Case(
            "CRM_MANAGE", (put("competitorCreate", "CompetitorInput", "competitor { name }", name="<name>"),)
        ),
        "competitors.delete_competitor": Case("CRM_MANAGE", (by_id("competitorDelete", "competitor", "deletedId"),)),
        "competitors.detect_competitors": Case(
            "CRM_MANAGE",
            (
                Rest("POST", "/deals/<deal>/competitors/detect"),
                q(
                    "mutation($id: ID!) { dealCompetitorsDetect(dealId: $id)"
                    f" {{ deal {{ competitors }} detected {{ name }} {ERRORS} }} }}",
                    id="<deal>",
                ),
            ),
        ),
    },
    paths={
        ("POST", "/deals/{deal_id}/competitors/detect"): ("CRM_MANAGE", True, 200, "Mutation.dealCompetitorsDetect"),
    },
    keys={("/deals/{deal_id}/competitors/detect", "POST"): DETECTION},
    compared={"Mutation.dealCompetitorsDetect": _detect},
)
