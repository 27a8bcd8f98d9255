"""Reports: saved questions, whose sums are those of the lists with the same filter, in no currency but each its own."""

from __future__ import annotations

import csv
import random
from collections import defaultdict
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from contract.limits import REPORTS_MAX
from reports.narrowing import Days, Narrowing
from resolvers.report_inputs import ReportParameters
from storage.base import new_id
from storage.tables import Account, Activity, Deal, Event, PipelineStage, Report
from tests.isolation.requests import ERRORS, Case, Rest, by_id, change, put, q
from tests.isolation.surfaces import Surfaces
from tests.support.record_types import RecordType
from tests.support.statements import statements
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

TABLE = "columns { key title type currency } rows { cells } totals generatedAt truncated"
NARROWED = "from to lastDays ownerIds accountIds stageIds tags currency timeZone"
SHOWN = f"id name description kind parameters {{ {NARROWED} }} ownerId version"
CREATE = f"mutation($i: ReportCreateInput!) {{ reportCreate(input: $i) {{ report {{ {SHOWN} }} {ERRORS} }} }}"
UPDATE = f"""mutation($id: ID!, $i: ReportUpdateInput!) {{
  reportUpdate(id: $id, input: $i) {{ report {{ {SHOWN} }} {ERRORS} }} }}"""
PREVIEW = f"""query($k: ReportKind!, $p: ReportParametersInput) {{
  reportPreview(kind: $k, parameters: $p) {{ {TABLE} }} }}"""
SAYS = f"query($id: ID!) {{ report(id: $id) {{ table {{ {TABLE} }} }} }}"
AT = datetime(2026, 3, 15, 12, tzinfo=UTC)


async def preview(tenant: Tenant, kind: str, **parameters: Any) -> Any:
    table = await tenant.ask(PREVIEW, k=kind, p=parameters)
    assert table["truncated"] is False
    return [row["cells"] for row in table["rows"]], table["totals"]


async def saved(tenant: Tenant, **fields: Any) -> Any:
    made = await tenant.ask(CREATE, i={"name": "Report", "kind": "PIPELINE_BY_STAGE", **fields})
    assert made["userErrors"] == []
    return made["report"]


async def test_a_report_is_saved_shown_changed_and_deleted(one: Tenant) -> None:
    stage = PipelineStage(name="Won")
    await one.add(stage)
    made = await saved(one, name=" Pipeline ", parameters={"stageIds": [stage.id.upper()], "currency": "eur"})
    nothing = dict.fromkeys(NARROWED.split())
    assert made == {
        "id": made["id"],
        "name": "Pipeline",
        "description": None,
        "kind": "PIPELINE_BY_STAGE",
        "parameters": {**nothing, "stageIds": [stage.id], "currency": "EUR", "timeZone": "UTC"},
        "ownerId": one.subject(),
        "version": 1,
    }
    admin = one.subject("admin")
    fields = {"description": "Why", "parameters": {"lastDays": 30, "timeZone": "Europe/Berlin"}, "ownerId": admin}
    done = await one.ask(UPDATE, id=made["id"], i={**fields, "expectedVersion": 1})
    assert done["userErrors"] == []
    assert done["report"]["parameters"] == {**nothing, "lastDays": 30, "timeZone": "Europe/Berlin"}
    assert (done["report"]["ownerId"], done["report"]["version"]) == (admin, 2)
    again = await one.ask(UPDATE, id=made["id"], i=fields)
    assert again["report"]["version"] == 2  # nothing differs
    [stale] = (await one.ask(UPDATE, id=made["id"], i={"name": "x", "expectedVersion": 1}))["userErrors"]
    assert stale["code"] == "PRECONDITION_FAILED"
    await saved(one, name="Another", kind="TARGET_ATTAINMENT")
    by_name = "query($k: ReportKind) { reports(kind: $k) { nodes { name owner { name } } totalCount } }"
    assert await one.ask(by_name) == {
        "nodes": [
            {"name": "Another", "owner": {"name": "The member"}},
            {"name": "Pipeline", "owner": {"name": "The admin"}},
        ],
        "totalCount": 2,
    }
    assert (await one.ask(by_name, k="TARGET_ATTAINMENT"))["totalCount"] == 1
    document = f"mutation($id: ID!) {{ reportDelete(id: $id) {{ deletedId {ERRORS} }} }}"
    assert (await one.ask(document, id=made["id"]))["deletedId"] == made["id"]
    [gone] = (await one.ask(document, id=made["id"]))["userErrors"]
    assert gone["code"] == "NOT_FOUND"
    told = [
        (type, data) for type, data in await one.rows(Event.type, Event.data) if data.get("report_id") == made["id"]
    ]
    assert [type for type, _ in told] == ["report_created", "report_updated", "report_deleted"]
    assert told[1][1]["changed"] == ["description", "owner_id", "parameters"]


async def test_an_account_that_went_into_another_is_asked_for_as_that(one: Tenant) -> None:
    stays, goes = Account(name="s"), Account(name="g")
    await one.add(stays, goes, Deal(name="d", account_id=goes.id))
    made = await saved(one, parameters={"accountIds": [goes.id]})
    said = "query($id: ID!) { report(id: $id) { table { rows { cells } } } }"
    before = await one.ask(said, id=made["id"])
    assert len(before["table"]["rows"]) == 1
    merge = "mutation($i: MergeInput!) { recordsMerge(input: $i) { merge { id } userErrors { code } } }"
    done = await one.ask(merge, i={"kind": "ACCOUNT", "into": stays.id, "from": [goes.id]})
    assert await one.ask(said, id=made["id"]) == before
    rows, _ = await preview(one, "PIPELINE_BY_STAGE", accountIds=[goes.id])
    assert [{"cells": cells} for cells in rows] == before["table"]["rows"]
    again = await saved(one, parameters={"accountIds": [goes.id]})
    assert again["parameters"]["accountIds"] == [stays.id]
    undo = "mutation($id: ID!) { mergeUndo(id: $id) { userErrors { code } } }"
    assert (await one.ask(undo, id=done["merge"]["id"]))["userErrors"] == []
    assert await one.ask(said, id=made["id"]) == before


async def test_the_pipeline_adds_each_currency_apart(one: Tenant) -> None:
    first, second = PipelineStage(name="New", position=0, probability=10), PipelineStage(name="Late", position=1)
    await one.add(first, second)
    await one.add(
        Deal(name="a", stage_id=first.id, value=Decimal("999999999999999.9999"), currency="EUR"),
        Deal(name="b", stage_id=first.id, value=Decimal("0.0001"), currency="EUR"),
        Deal(name="c", stage_id=first.id, value=None, currency="USD"),
        Deal(name="d", stage_id=second.id, value=Decimal("7.5"), currency="USD"),
        Deal(name="e", value=Decimal(3), currency="EUR"),
        Deal(name="won", stage_id=first.id, value=Decimal(5), currency="EUR", status="won"),
    )
    rows, totals = await preview(one, "PIPELINE_BY_STAGE")
    assert rows == [
        ["New", "EUR", 2, "1000000000000000", "100000000000000"],
        ["New", "USD", 1, "0", "0"],
        ["Late", "USD", 1, "7.5", None],
        ["No stage", "EUR", 1, "3", None],
    ]
    assert totals == [None, None, 5, None, None]
    rows, totals = await preview(one, "PIPELINE_BY_STAGE", currency="usd", stageIds=[second.id])
    assert (rows, totals) == ([["Late", "USD", 1, "7.5", None]], [None, "USD", 1, "7.5", "0"])
    table = await one.ask(PREVIEW, k="PIPELINE_BY_STAGE", p={"currency": "JPY"})
    assert [column["currency"] for column in table["columns"]] == [None, None, None, "JPY", "JPY"]
    assert (table["rows"], table["totals"]) == ([], [None, "JPY", 0, "0", "0"])


async def test_won_and_lost_are_of_the_months_of_the_time_zone(one: Tenant) -> None:
    """In Auckland March begins on the last day of February, half a day before it does in UTC."""
    begins = datetime(2026, 2, 28, 11, tzinfo=UTC)
    second = timedelta(seconds=1)

    def closed(at: datetime, status: str, value: str, currency: str = "EUR") -> Deal:
        return Deal(name="d", value=Decimal(value), currency=currency, status=status, closed_at=at)

    await one.add(
        *(closed(begins - second, "won", "1"), closed(begins, "won", "10.25"), closed(begins, "lost", "100")),
        *(closed(begins, "lost", "5"), closed(begins, "won", "7", "USD"), Deal(name="open", value=Decimal(3))),
    )
    rows, totals = await preview(one, "WON_LOST_BY_MONTH", timeZone="Pacific/Auckland")
    assert rows == [
        ["2026-02-01", "EUR", 1, "1", 0, "0", "1"],
        ["2026-03-01", "EUR", 1, "10.25", 2, "105", "0.3333"],
        ["2026-03-01", "USD", 1, "7", 0, "0", "1"],
    ]
    assert totals == [None, None, 3, None, 2, None, None]
    rows, _ = await preview(one, "WON_LOST_BY_MONTH", timeZone="Pacific/Auckland", **{"from": "2026-03-01"})
    assert [row[0] for row in rows] == ["2026-03-01"] * 2
    rows, totals = await preview(one, "WON_LOST_BY_MONTH", timeZone="Pacific/Auckland", to="2026-02-28")
    assert totals == [None, "EUR", 1, "1", 0, "0", None]


async def test_activities_are_counted_by_owner_and_type(one: Tenant) -> None:
    member = one.subject()
    of_member = [("meeting", 2), ("task", 1), ("note", 3), ("call", 1), ("email", 1)]
    await one.add(
        *(Activity(type=kind, owner_id=member, created_at=AT) for kind, number in of_member for _ in range(number)),
        Activity(type="note", owner_id="somebody", created_at=AT),
        Activity(type="note", created_at=AT - timedelta(days=40)),
    )
    rows, totals = await preview(one, "ACTIVITY_BY_OWNER")
    assert rows[0] == ["The member", 2, 1, 3, 1, 1, 8]
    assert sorted(rows[1:]) == [["Nobody", 0, 0, 1, 0, 0, 1], ["somebody", 0, 0, 1, 0, 0, 1]]
    assert totals == [None, 2, 1, 5, 1, 1, 10]
    rows, _ = await preview(one, "ACTIVITY_BY_OWNER", **{"from": "2026-03-01", "to": "2026-03-15"})
    assert [row[0] for row in rows] == ["The member", "somebody"]


async def test_attainment_is_that_of_the_targets(one: Tenant) -> None:
    member = one.subject()
    targets = [
        {"metric": "WON_VALUE", "currency": "EUR", "period": "MONTH", "startsOn": "2026-03-01", "amount": "8"},
        {"metric": "WON_DEALS", "period": "YEAR", "startsOn": "2026-01-01", "amount": "4", "ownerId": member},
        {"metric": "WON_VALUE", "currency": "USD", "period": "MONTH", "startsOn": "2026-05-01", "amount": "8"},
    ]
    document = f"mutation($i: [SalesTargetInput!]!) {{ salesTargetsPut(inputs: $i) {{ {ERRORS} }} }}"
    assert await one.ask(document, one.headers("admin"), i=targets) == {"userErrors": []}
    await one.add(
        Deal(name="d", value=Decimal(6), currency="EUR", status="won", closed_at=AT, owner_id=member),
        Deal(name="d", value=Decimal(9), currency="EUR", close_date=date(2026, 3, 31)),
    )
    rows, totals = await preview(one, "TARGET_ATTAINMENT", to="2026-04-30")
    assert totals is None
    whole = ["Whole organization", "Won value", "2026-03-01", "2026-03-31", "EUR", "8", "6", "0.75", "2", "9"]
    assert rows == [whole, ["The member", "Won deals", "2026-01-01", "2026-12-31", None, "4", "1", "0.25", "3", "0"]]
    shown = "nodes { amount attainment { actual ratio remaining openPipeline } }"
    listed = await one.ask(f'{{ salesTargets(filter: {{startsOn: {{lt: "2026-05-01"}}}}) {{ {shown} }} }}')
    assert [row[5:] for row in rows] == [
        [node["amount"], *(node["attainment"][name] for name in ("actual", "ratio", "remaining", "openPipeline"))]
        for node in listed["nodes"]
    ]
    rows, _ = await preview(one, "TARGET_ATTAINMENT", ownerIds=[member])
    assert [row[0] for row in rows] == ["The member"]


async def test_figures_are_those_of_the_lists_with_the_same_filter(one: Tenant) -> None:
    """Made-up deals, narrowed in many ways: the rows are what the pages of `deals` come to, to the last digit."""
    chance = random.Random(470)
    stages = [PipelineStage(name=f"S{n}", position=n, probability=chance.choice([None, 5, 90])) for n in range(4)]
    accounts = [Account(name=f"A{n}") for n in range(2)]
    await one.add(*stages, *accounts)
    owners = [one.subject(), one.subject("admin"), None]
    deals = [
        Deal(
            name="d",
            stage_id=chance.choice(stages).id,
            account_id=chance.choice(accounts).id,
            owner_id=chance.choice(owners),
            value=chance.choice([None, Decimal(chance.randrange(10**9)) / 10**4]),
            currency=chance.choice(["EUR", "USD", "JPY"]),
            close_date=chance.choice([None, date(2026, 1, 1) + timedelta(days=chance.randrange(90))]),
        )
        for _ in range(120)
    ]
    await one.add(*deals)
    tagged = [deal.id for deal in deals[:40]]
    await one.ask('mutation($i: [ID!]!) { tagsApply(ids: $i, add: ["Big"]) { records { __typename } } }', i=tagged)
    ways: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({}, {}),
        ({"ownerIds": owners[:1]}, {"ownerId": {"in": owners[:1]}}),
        ({"accountIds": [accounts[0].id]}, {"accountId": {"in": [accounts[0].id]}}),
        ({"stageIds": [s.id for s in stages[:2]]}, {"stageId": {"in": [s.id for s in stages[:2]]}}),
        ({"tags": ["big"]}, {"tags": {"any": ["big"]}}),
        ({"from": "2026-01-10", "to": "2026-02-20"}, {"closeDate": {"gte": "2026-01-10", "lte": "2026-02-20"}}),
        ({"currency": "USD", "tags": ["big"]}, {"currency": {"eq": "USD"}, "tags": {"any": ["big"]}}),
    ]
    names = {stage.id: (stage.name, stage.probability) for stage in stages}
    for parameters, filter in ways:
        rows, totals = await preview(one, "PIPELINE_BY_STAGE", **parameters)
        page = "query($f: DealFilter) { deals(filter: $f, first: 500) { nodes { stageId currency value } } }"
        listed = (await one.ask(page, f={**filter, "status": {"eq": "OPEN"}}))["nodes"]
        sums: dict[tuple[str, str], list[Decimal]] = defaultdict(lambda: [Decimal(0)] * 3)
        for deal in listed:
            name, probability = names[deal["stageId"]]
            value = Decimal(deal["value"] or 0)
            added = (1, value, value * (probability or 0) / 100)
            sums[name, deal["currency"]] = [a + b for a, b in zip(sums[name, deal["currency"]], added, strict=True)]
        found = {(row[0], row[1]): [Decimal(row[2]), Decimal(row[3]), Decimal(row[4] or 0)] for row in rows}
        assert found == dict(sums), parameters
        assert totals[2] == len(listed)
        assert [row[:2] for row in rows] == sorted(row[:2] for row in rows)


async def test_what_is_wrong_is_told_at_its_field_and_nothing_is_saved(one: Tenant, two: Tenant) -> None:
    theirs = PipelineStage(name="Theirs")
    await two.add(theirs)
    for kind, parameters, field in (
        ("PIPELINE_BY_STAGE", {"from": "2026-03-02", "to": "2026-03-01"}, ["to"]),
        ("PIPELINE_BY_STAGE", {"from": "2026-03-02", "lastDays": 3}, ["lastDays"]),
        ("PIPELINE_BY_STAGE", {"lastDays": 0}, ["lastDays"]),
        ("PIPELINE_BY_STAGE", {"lastDays": 3661}, ["lastDays"]),
        ("PIPELINE_BY_STAGE", {"from": "1800-01-01"}, ["from"]),
        ("PIPELINE_BY_STAGE", {"to": "9999-12-31"}, ["to"]),
        ("PIPELINE_BY_STAGE", {"currency": "XX"}, ["currency"]),
        ("PIPELINE_BY_STAGE", {"timeZone": "Mars/Base"}, ["timeZone"]),
        ("PIPELINE_BY_STAGE", {"stageIds": []}, ["stageIds"]),
        ("PIPELINE_BY_STAGE", {"stageIds": [theirs.id]}, ["stageIds", "0"]),
        ("PIPELINE_BY_STAGE", {"ownerIds": [one.subject(), two.subject()]}, ["ownerIds", "1"]),
        ("PIPELINE_BY_STAGE", {"accountIds": ["x"]}, ["accountIds", "0"]),
        ("PIPELINE_BY_STAGE", {"tags": ["nowhere"]}, ["tags", "0"]),
        ("PIPELINE_BY_STAGE", {"tags": ["\x00"]}, ["tags", "0"]),
        ("ACTIVITY_BY_OWNER", {"currency": "EUR"}, ["currency"]),
        ("ACTIVITY_BY_OWNER", {"stageIds": [new_id()]}, ["stageIds"]),
        ("TARGET_ATTAINMENT", {"tags": ["x"]}, ["tags"]),
        ("TARGET_ATTAINMENT", {"accountIds": [new_id()]}, ["accountIds"]),
    ):
        made = await one.ask(CREATE, i={"name": "R", "kind": kind, "parameters": parameters})
        at = ["input", "parameters", *field]
        assert [(p["code"], p["field"]) for p in made["userErrors"]] == [("VALIDATION", at)], parameters
        error = await one.error(PREVIEW, k=kind, p=parameters)
        assert error["extensions"]["code"] == "VALIDATION"
    for wrong, field in (
        ({"name": " "}, "name"),
        ({"name": "x" * 201}, "name"),
        ({"description": "x" * 2001}, "description"),
    ):
        made = await one.ask(CREATE, i={"name": "R", "kind": "PIPELINE_BY_STAGE", **wrong})
        assert [p["field"] for p in made["userErrors"]] == [["input", field]]
    assert await one.rows(Report.id) == []
    there = await saved(one)
    for wrong, field in (
        ({"ownerId": two.subject()}, ["ownerId"]),
        ({"ownerId": None}, ["ownerId"]),
        ({"name": None}, ["name"]),
        ({"parameters": {"stageIds": [theirs.id]}}, ["parameters", "stageIds", "0"]),
    ):
        done = await one.ask(UPDATE, id=there["id"], i=wrong)
        assert [(p["code"], p["field"]) for p in done["userErrors"]] == [("VALIDATION", ["input", *field])], wrong
    assert await one.rows(Report.version) == [(1,)]


async def test_a_definition_that_leads_nowhere_any_more_says_so(one: Tenant) -> None:
    stage = PipelineStage(name="Old")
    await one.add(stage)
    made = await saved(one, parameters={"stageIds": [stage.id]})
    await one.ask(
        f"mutation($id: ID!) {{ pipelineStageDelete(id: $id) {{ {ERRORS} }} }}", one.headers("admin"), id=stage.id
    )
    error = await one.error(SAYS, id=made["id"])
    assert (error["extensions"]["code"], "a stage" in error["message"]) == ("INVALID_STATE", True)
    response = await one.gateway.http.get(f"/reports/{made['id']}/rows", headers=one.headers())
    assert (response.status_code, response.json()["code"]) == (409, "invalid_state")


async def test_activities_keep_their_own_rule(one: Tenant) -> None:
    """Reports are read by who reads the CRM; who may not read activities does not count them by a report."""
    narrow = await one.scoped("leads:read")
    made = await saved(one, kind="ACTIVITY_BY_OWNER")
    assert (await one.body("query($id: ID!) { report(id: $id) { name } }", narrow, id=made["id"]))["data"]["report"]
    for document, values in ((SAYS, {"id": made["id"]}), (PREVIEW, {"k": "ACTIVITY_BY_OWNER"})):
        assert (await one.error(document, narrow, **values))["extensions"]["code"] == "FORBIDDEN"
    response = await one.gateway.http.get(f"/reports/{made['id']}/rows", headers=narrow)
    assert response.status_code == 403


async def test_an_organization_has_so_many(one: Tenant) -> None:
    kept = ReportParameters().model_dump(mode="json", by_alias=True)
    await one.add(*(Report(name="r", kind="pipeline_by_stage", parameters=kept) for _ in range(REPORTS_MAX)))
    [problem] = (await one.ask(CREATE, i={"name": "R", "kind": "PIPELINE_BY_STAGE"}))["userErrors"]
    assert problem["field"] == ["input"]


async def test_a_table_is_a_constant_number_of_statements(one: Tenant) -> None:
    counts = []
    for size in (3, 30):
        await one.add(*(Activity(type="note", owner_id=f"o{size}-{n}", created_at=AT) for n in range(size)))
        await one.add(*(Deal(name="d", value=Decimal(1), currency="EUR") for _ in range(size)))
        with statements(one.gateway.world.database) as sent:
            for kind in ("ACTIVITY_BY_OWNER", "PIPELINE_BY_STAGE"):
                await preview(one, kind)
        counts.append(len(sent))
    assert counts[0] == counts[1]


async def test_reports_that_ask_the_same_are_asked_once_and_each_says_its_own(one: Tenant) -> None:
    account, gone = Account(name="a"), Account(name="b")
    await one.add(account, gone)
    await one.add(Deal(name="d", account_id=account.id), Deal(name="e"), Activity(type="note", owner_id="o"))
    of_one = {"accountIds": [account.id]}
    given: list[dict[str, Any]] = [{}, {"parameters": of_one}, {"kind": "ACTIVITY_BY_OWNER"}]
    made = [await saved(one, name=f"{number}", **given[number % 3]) for number in range(6)]
    lost = await saved(one, name="z", parameters={"accountIds": [account.id, gone.id]})
    asked = "query($ids: [ID!]!) { nodes(ids: $ids) { ... on Report { name table { rows { cells } } } } }"
    counts = []
    for number in (3, 6):
        with statements(one.gateway.world.database) as sent:
            found = await one.ask(asked, ids=[report["id"] for report in made[:number]])
        counts.append(len(sent))
        first = [node["table"]["rows"][0]["cells"] for node in found]
        assert [cells[2] for cells in first] == [2, 1, 0] * (number // 3)  # deals, deals on the account, and tasks
    assert counts[0] == counts[1]
    await one.ask("mutation($id: ID!) { accountDelete(id: $id) { deletedId } }", one.headers("admin"), id=gone.id)
    body = await one.body(asked, ids=[lost["id"], made[1]["id"]])
    assert [error["extensions"]["code"] for error in body["errors"]] == ["INVALID_STATE"]
    assert [node and node["table"]["rows"][0]["cells"][2] for node in body["data"]["nodes"]] == [None, 1]


@pytest.mark.parametrize(
    ("moment", "first", "last"),
    [
        ("2026-03-31T21:59:59+00:00", "2026-03-31", "2026-03-31"),
        ("2026-03-31T22:00:00+00:00", "2026-04-01", "2026-04-01"),
    ],
)
async def test_the_last_days_end_with_the_day_of_the_run(moment: str, first: str, last: str) -> None:
    """Decision 471, in Berlin, where April begins two hours before it does in UTC."""
    asked = ReportParameters(last_days=1, time_zone="Europe/Berlin").model_dump(mode="json", by_alias=True)
    days = Narrowing.of(asked, datetime.fromisoformat(moment)).days
    assert (days.first, days.last) == (date.fromisoformat(first), date.fromisoformat(last))
    days = Narrowing.of({**asked, "last_days": 30}, datetime.fromisoformat(moment)).days
    assert days == Days(date.fromisoformat(last) - timedelta(days=29), date.fromisoformat(last))


BODY = {"name": "Won", "kind": "won_lost_by_month", "parameters": {"from": "2026-01-01", "currency": "eur"}}
KEYS = [
    "id",
    "name",
    "description",
    "kind",
    "parameters",
    "schedule",
    "owner_id",
    "created_at",
    "updated_at",
    "version",
]


async def _report(surfaces: Surfaces) -> None:
    world = surfaces.gateway.world
    await world.add(
        world.one,
        Deal(name="d", value=Decimal("2.5"), currency="EUR", status="won", closed_at=AT),
        Deal(name="=1+1", stage_id=None, value=Decimal(1), currency="EUR"),
    )
    made = (await surfaces.rest("POST", "/reports", BODY)).json()
    assert list(made) == KEYS
    assert made["parameters"] == {
        **{"from": "2026-01-01", "to": None, "last_days": None, "owner_ids": None, "account_ids": None},
        **{"stage_ids": None, "tags": None, "currency": "EUR", "time_zone": "UTC"},
    }
    path = f"/reports/{made['id']}"
    assert (await surfaces.rest("GET", path)).json() == made
    [listed] = (await surfaces.rest("GET", "/reports?kind=won_lost_by_month")).json()
    assert listed == made
    assert (await surfaces.rest("GET", "/reports?kind=pipeline_by_stage")).json() == []
    rows = (await surfaces.rest("GET", f"{path}/rows")).json()
    twin = (await surfaces.graphql(SAYS, id=made["id"]))["table"]
    assert [list(column.values()) for column in rows["columns"]] == [
        [column["key"], column["title"], column["type"].lower(), column["currency"]] for column in twin["columns"]
    ]
    assert rows["rows"] == [["2026-03-01", "EUR", 1, 2.5, 0, 0, 1]]
    assert [row["cells"] for row in twin["rows"]] == [["2026-03-01", "EUR", 1, "2.5", 0, "0", "1"]]
    assert (rows["totals"], twin["totals"]) == (
        [None, "EUR", 1, 2.5, 0, 0, None],
        [None, "EUR", 1, "2.5", 0, "0", None],
    )
    file = await surfaces.rest("GET", f"{path}/rows?format=csv")
    assert file.headers["content-type"].startswith("text/csv")
    assert list(csv.reader(file.text.splitlines())) == [
        [column["key"] for column in rows["columns"]],
        ["2026-03-01", "EUR", "1", "2.5", "0", "0", "1"],
    ]
    changed = (await surfaces.rest("PATCH", path, {"description": "x", "parameters": None})).json()
    assert (changed["description"], changed["parameters"]["from"], changed["version"]) == ("x", None, 2)
    for body, loc in (
        (BODY | {"parameters": {"from": "x"}}, ["body", "parameters", "from"]),
        (BODY | {"parameters": {"owner_ids": ["nobody"]}}, ["body", "parameters", "owner_ids", 0]),
        (BODY | {"kind": "x"}, ["body", "kind"]),
    ):
        wrong = await surfaces.rest("POST", "/reports", body)
        assert (wrong.status_code, wrong.json()["detail"][0]["loc"]) == (422, loc), wrong.text
    assert (await surfaces.rest("DELETE", path)).status_code == 204
    assert (await surfaces.rest("GET", f"{path}/rows")).status_code == 404


async def test_all_that_is_wrong_with_a_report_is_told_at_once(one: Tenant) -> None:
    """Decision 986: days, references, and the schedule's days too."""
    some = new_id()
    narrowed = {"from": "2026-12-31", "to": "2026-01-01", "owner_ids": ["nobody"], "stage_ids": [some]}
    schedule = {"frequency": "monthly", "at": "07:00", "weekday": "monday", "to": ["a@example.com"]}
    body = {"name": "R", "kind": "activity_by_owner", "parameters": narrowed, "schedule": schedule}
    refused = await one.gateway.http.post("/reports", json=body, headers=one.headers("admin"))
    assert refused.status_code == 422, refused.text
    assert [each["loc"][1:] for each in refused.json()["detail"]] == [
        ["parameters", "to"],
        ["parameters", "stage_ids"],
        ["parameters", "owner_ids", 0],
        ["schedule", "weekday"],
        ["schedule", "day_of_month"],
    ]
    assert await one.rows(Report.id) == []


def _row(ids: Any, mark: str) -> Report:
    kept = ReportParameters().model_dump(mode="json", by_alias=True)
    return Report(name=mark, description=mark, kind="pipeline_by_stage", parameters=kept, owner_id=mark)


_ONE = "/reports/<saved report>"
RECORD = RecordType(
    typename="Report",
    name="saved report",
    row=_row,
    cases={
        "reports.get_report": Case(
            "CRM_READ", (Rest("GET", _ONE), q("query($id: ID!) { report(id: $id) { id name } }", id="<saved report>"))
        ),
        "reports.list_reports": Case(
            "CRM_READ", (Rest("GET", "/reports"), q("{ reports { nodes { name } totalCount } }"))
        ),
        "reports.preview_report": Case(
            "CRM_READ",
            tuple(
                q(PREVIEW, k="PIPELINE_BY_STAGE", p={name: [named]})
                for name, named in (("accountIds", "<account>"), ("stageIds", "<stage>"), ("ownerIds", "<owner>"))
            ),
        ),
        "reports.table_of_report": Case(
            "CRM_READ",
            (
                Rest("GET", f"{_ONE}/rows"),
                q("query($id: ID!) { report(id: $id) { id table { rows { cells } } } }", id="<saved report>"),
            ),
            below=("reports.get_report",),
            direct=("<saved report>",),
        ),
        "reports.create_report": Case(
            "CRM_MANAGE",
            (
                Rest("POST", "/reports", {"name": "<name>", "kind": "pipeline_by_stage"}),
                put("reportCreate", "ReportCreateInput", "report { name }", name="<name>", kind="PIPELINE_BY_STAGE"),
                put(
                    "reportCreate",
                    "ReportCreateInput",
                    "report { name }",
                    name="<name>",
                    kind="PIPELINE_BY_STAGE",
                    parameters={"accountIds": ["<account>"]},
                ),
            ),
        ),
        "reports.update_report": Case(
            "CRM_MANAGE",
            (
                Rest("PATCH", _ONE, {"name": "<name>"}),
                change("reportUpdate", "ReportUpdateInput", "report { name }", "<saved report>", name="<name>"),
            ),
        ),
        "reports.delete_report": Case(
            "CRM_MANAGE", (Rest("DELETE", _ONE), by_id("reportDelete", "saved report", "deletedId"))
        ),
    },
    paths={
        ("GET", "/reports"): ("CRM_READ", True, 200, "Query.reports"),
        ("POST", "/reports"): ("CRM_MANAGE", True, 201, "Mutation.reportCreate"),
        ("GET", "/reports/{report_id}"): ("CRM_READ", True, 200, "Query.report"),
        ("PATCH", "/reports/{report_id}"): ("CRM_MANAGE", True, 200, "Mutation.reportUpdate"),
        ("DELETE", "/reports/{report_id}"): ("CRM_MANAGE", True, 204, "Mutation.reportDelete"),
        ("GET", "/reports/{report_id}/rows"): ("CRM_READ", True, 200, "Report.table"),
    },
    keys={
        ("/reports", "GET"): KEYS,
        ("/reports", "POST"): KEYS,
        ("/reports/{report_id}", "GET"): KEYS,
        ("/reports/{report_id}", "PATCH"): KEYS,
        ("/reports/{report_id}/rows", "GET"): ["columns", "rows", "totals", "generated_at", "truncated"],
    },
    compared=dict.fromkeys(
        (
            *("Query.reports", "Query.report", "Report.table"),
            *("Mutation.reportCreate", "Mutation.reportUpdate", "Mutation.reportDelete"),
        ),
        _report,
    ),
)
