"""Each documented path beside its GraphQL twin: the same data, the same effects, the same refusals."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any

import httpx
import pytest

import rest_compat.routes as routes
from contract.outreach_vocabulary import CampaignStatus
from contract.scopes import Role
from contract.vocabulary import CredentialKind
from storage.base import now
from storage.tables import (
    Account,
    Activity,
    Campaign,
    Contact,
    CXReport,
    CXReportRevision,
    Deal,
    DealContact,
    Enrollment,
    Feedback,
    Job,
    Mailbox,
    OutreachDomain,
    PipelineStage,
    ResearchResult,
    ResearchRun,
)
from tests.isolation.analytics import COMPARED as ANALYTICS
from tests.isolation.bulk import COMPARED as BULK
from tests.isolation.cases import CASES, Graph, Rest
from tests.isolation.chat import COMPARED as CHAT
from tests.isolation.reading_surfaces import COMPARED as READING
from tests.isolation.records import fill_organization, missing, send
from tests.isolation.surfaces import ERRORS, NOON, Surfaces, camel, plain, selection
from tests.support.costs import uncosted
from tests.support.documented import (
    CAMPAIGN,
    CREDENTIAL,
    DEAL,
    EMBEDDED,
    FACTOR,
    JOB,
    LEAD,
    MEETING,
    OUTREACH_DOMAIN,
    SNAPSHOT,
)
from tests.support.gateway import Gateway
from tests.support.record_types import record_types
from tests.support.world import Headers, bearer

UNKNOWN = "01890a5d-ac96-774b-bcce-b302099a8057"


def exact(response: httpx.Response) -> Any:
    """The body with every digit of its numbers."""
    return json.loads(response.text, parse_float=Decimal)


MEETING_FIELDS = selection(
    [key for key in MEETING if key not in EMBEDDED],
    *(f"{name[:-1]} {{ {selection(keys)} }}" for name, keys in EMBEDDED.items()),
)
LEAD_FIELDS = selection(
    [key for key in LEAD if key not in ("lead_id", "org_id", "account_id", "contact_id", "deal_id")],
    "capturePayload",
    *(f"{name} {{ id }}" for name in ("account", "contact", "deal")),
)
DEAL_FIELDS = selection([key for key in DEAL if key != "org_id"])
FACTOR_FIELDS = selection(FACTOR)
SNAPSHOT_FIELDS = selection([key for key in SNAPSHOT if key != "factors"], f"factors {{ {FACTOR_FIELDS} }}")
KEY_FIELDS = selection(CREDENTIAL)
TOKEN_FIELDS = selection([key for key in CREDENTIAL if not key.startswith("owner")])


def meeting(record: dict[str, Any]) -> dict[str, Any]:
    embedded = {name[:-1]: record[name] and plain(record[name]) for name in EMBEDDED}
    return {key: value for key, value in plain(record).items() if key not in EMBEDDED} | embedded


def unowned(record: dict[str, Any]) -> dict[str, Any]:
    """Whose organization a record is, GraphQL leaves unsaid."""
    return {key: value for key, value in plain(record).items() if key != "orgId"}


def lead(record: dict[str, Any]) -> dict[str, Any]:
    """GraphQL has the records that a lead became where a path has their identifiers."""
    shown = plain(record)
    linked = {name: (i := shown.pop(f"{name}Id")) and {"id": i} for name in ("account", "contact", "deal")}
    return {key: value for key, value in shown.items() if key not in ("leadId", "orgId")} | linked


def snapshot(record: dict[str, Any]) -> dict[str, Any] | None:
    return {**plain(record), "factors": [plain(factor) for factor in record["factors"]]} if record else None


def token(record: dict[str, Any]) -> dict[str, Any]:
    """A token is always the caller's own, so GraphQL has no owner to say."""
    return {key: value for key, value in plain(record).items() if not key.startswith("owner")}


@pytest.fixture
async def surfaces(gateway: Gateway) -> Surfaces:
    return Surfaces(gateway, gateway.world.session("admin@one", gateway.world.one))


ABOUT_BYTES = {"Mutation.fileUploadCreate", "Query.file"}
"""The twins of several paths: those that carry bytes have the one that begins an upload, or finds the file."""


def test_every_guarded_path_has_its_twin_and_every_twin_its_comparison() -> None:
    # An export is a list of a path and a field that are compared with each other.
    guarded = [o for o in routes.OPERATIONS if o.resolver is not None and not o.path.startswith("/export/")]
    twins = [operation.graphql_field for operation in guarded]
    assert sorted({str(twin) for twin in twins}) == sorted(COMPARED)
    assert {twin for twin in twins if twins.count(twin) > 1} == ABOUT_BYTES


async def _meetings(surfaces: Surfaces) -> None:
    world = surfaces.gateway.world
    account, other = Account(name="A", domain="a.example"), Account(name="B")
    contact = Contact(first_name="C", account_id=account.id)
    stage = PipelineStage(name="S")
    of_account = Deal(name="D", account_id=account.id, stage_id=stage.id)
    await world.add(world.one, account, other, contact, stage, of_account)
    links = [
        {},
        {"account_id": account.id},
        {"account_id": other.id, "deal_id": of_account.id},
        {"contact_id": contact.id},
    ]
    for number in range(8):
        await world.add(
            world.one,
            Activity(
                subject=f"Meeting {number}" if number else None,
                due_at=None if number % 4 == 3 else NOON + timedelta(hours=number // 2),
                completed_at=NOON if number == 5 else None,
                duration_minutes=number or None,
                details={"location": "Here", "started_at": "x"} if number == 2 else None,
                source=["manual", "calendar", "gmail"][number % 3],
                owner_id=f"owner {number % 2}",
                direction="inbound" if number == 6 else None,
                **links[number % 4],
            ),
        )
    at = (NOON + timedelta(hours=1)).isoformat().replace("+00:00", "Z")
    ordered = "orderBy: {field: DUE_AT, direction: ASC}"
    for query, arguments in (
        ("", "first: 200"),
        ("order=asc", f"first: 200, {ordered}"),
        ("order=ASC&limit=3&offset=2", f"first: 3, offset: 2, {ordered}"),
        ("limit=3&offset=6", "first: 3, offset: 6"),
        ("limit=0", "first: 0"),
        ("offset=100", "offset: 100"),
        (f"from={at}", f'filter: {{dueAt: {{gte: "{at}"}}}}'),
        (f"to={at}", f'filter: {{dueAt: {{lte: "{at}"}}}}'),
        (f"from={at}&to={at}", f'filter: {{dueAt: {{gte: "{at}", lte: "{at}"}}}}'),
        ("owner_id=owner 1", 'filter: {ownerId: {eq: "owner 1"}}'),
        (f"account_id={account.id}", f'filter: {{accountId: {{eq: "{account.id}"}}}}'),
        ("account_id=no-uuid", 'filter: {accountId: {eq: "no-uuid"}}'),
        (f"deal_id={of_account.id}", f'filter: {{dealId: {{eq: "{of_account.id}"}}}}'),
        ("unlinked_account=true", "filter: {accountId: {isNull: true}}"),
        ("unlinked_deal=true", "filter: {dealId: {eq: null}}"),
        (
            f"unlinked_account=true&account_id={account.id}",
            f'filter: {{accountId: {{isNull: true, eq: "{account.id}"}}}}',
        ),
    ):
        listed = exact(await surfaces.rest("GET", f"/activities/meetings?{query}"))
        page = await surfaces.graphql(f"{{ meetings({arguments}) {{ nodes {{ {MEETING_FIELDS} }} }} }}")
        assert [meeting(record) for record in listed] == page["nodes"], query


async def _some_deals(surfaces: Surfaces) -> tuple[Account, PipelineStage]:
    world = surfaces.gateway.world
    account, stage, contact = Account(name="A"), PipelineStage(name="S", type="won"), Contact(first_name="C")
    await world.add(world.one, account, stage, contact)
    for number, value in enumerate(("0", "0.1", "1500", "12.5", "999999999999999.9999", None)):
        await world.add(
            world.one,
            Deal(
                name=f"Deal {number}",
                value=None if value is None else Decimal(value),
                currency=["USD", "EUR"][number % 2],
                account_id=account.id if number % 2 else None,
                stage_id=stage.id if number % 3 else None,
                status="won" if number % 3 else "open",
                geo_scope=["local", "regional", "international", None][number % 4],
                close_date=NOON.date() if number % 2 else None,
                champion_id=contact.id if number == 4 else None,
                source="Fair" if number == 1 else None,
                notes="Text\n" if number == 2 else None,
                owner_id=f"owner {number % 2}",
                created_at=NOON + timedelta(microseconds=number // 2),
            ),
        )
    return account, stage


async def _deals(surfaces: Surfaces) -> None:
    account, stage = await _some_deals(surfaces)
    for query, arguments in (
        ("", "first: 200"),
        ("limit=2&offset=1", "first: 2, offset: 1"),
        ("limit=0", "first: 0"),
        (f"stage_id={stage.id}", f'filter: {{stageId: {{eq: "{stage.id}"}}}}'),
        (f"account_id={account.id}", f'filter: {{accountId: {{eq: "{account.id}"}}}}'),
        ("owner_id=owner 0", 'filter: {ownerId: {eq: "owner 0"}}'),
        ("unstaged=true", "filter: {stageId: {isNull: true}}"),
        ("status=won", "filter: {status: {eq: WON}}"),
        ("source=Fair", 'filter: {source: {eq: "Fair"}}'),
        ("geo_scope=regional", "filter: {geoScope: {eq: REGIONAL}}"),
        ("updated_since=2020-01-01T00:00:00z", 'filter: {updatedAt: {gte: "2020-01-01T00:00:00Z"}}'),
    ):
        listed = exact(await surfaces.rest("GET", f"/deals?{query}"))
        page = await surfaces.graphql(f"{{ deals({arguments}) {{ nodes {{ {DEAL_FIELDS} }} }} }}")
        assert [unowned(record) for record in listed] == page["nodes"], query
        assert listed or query == "limit=0"
    board = await surfaces.graphql(f"{{ dealBoard {{ unstaged {{ nodes {{ {DEAL_FIELDS} }} }} }} }}")
    unstaged = exact(await surfaces.rest("GET", "/deals?unstaged=true"))
    assert [unowned(record) for record in unstaged] == board["unstaged"]["nodes"]


async def _deal(surfaces: Surfaces) -> None:
    await _some_deals(surfaces)
    for record in exact(await surfaces.rest("GET", "/deals")):
        shown = await surfaces.graphql(f"query($id: ID!) {{ deal(id: $id) {{ {DEAL_FIELDS} }} }}", id=record["id"])
        assert unowned(exact(await surfaces.rest("GET", f"/deals/{record['id']}"))) == unowned(record) == shown


def _without(record: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in record.items() if key not in keys}


async def _deal_create(surfaces: Surfaces) -> None:
    world = surfaces.gateway.world
    account, stage = Account(name="A"), PipelineStage(name="S", type="lost")
    await world.add(world.one, account, stage)
    for body in (
        {"name": "Only"},
        {"name": " ", "value": None, "currency": "eur"},
        {"name": "é", "value": 0.1, "account_id": account.id.upper(), "stage_id": stage.id, "close_date": "2026-12-31"},
        {"name": "N", "value": 999999999999999.5, "geo_scope": "international", "stage_id": None},
    ):
        by_path = (await surfaces.rest("POST", "/deals", body)).json()["id"]
        input = {camel(key): value for key, value in body.items()}
        if isinstance(body.get("geo_scope"), str):
            input["geoScope"] = body["geo_scope"].upper()
        made = await surfaces.change(
            "dealCreate", "$i: DealCreateInput! -> input: $i", f"deal {{ {DEAL_FIELDS} }}", i=input
        )
        record = unowned(exact(await surfaces.rest("GET", f"/deals/{by_path}")))
        fresh = ("id", "createdAt", "updatedAt", "closedAt")
        assert _without(record, *fresh) == _without(made["deal"], *fresh)
        history = "query($id: ID!) { deal(id: $id) { stageHistory { by fromStage { name } toStage { name } } } }"
        assert await surfaces.graphql(history, id=by_path) == await surfaces.graphql(history, id=made["deal"]["id"])
    events = await surfaces.graphql("{ events { nodes { type actor data } } }")
    told = [(event["type"], event["actor"], _without(event["data"], "deal_id")) for event in events["nodes"]]
    assert told[::2] == told[1::2]
    assert len(told) == 8


async def _deal_update(surfaces: Surfaces) -> None:
    world = surfaces.gateway.world
    stage, contact, account = PipelineStage(name="S", type="won"), Contact(first_name="C"), Account(name="A")
    twins = [Deal(name="Before", value=Decimal(7), notes="Text") for _ in range(2)]
    await world.add(world.one, stage, contact, account, *twins)
    for changes in (
        {"name": "After"},
        {"name": "After"},
        {"value": 12.25, "currency": "chf", "stage_id": stage.id, "champion_id": contact.id, "geo_scope": "local"},
        {"value": None, "stage_id": None, "champion_id": None, "notes": None, "geo_scope": None},
        {"account_id": account.id, "close_date": "2027-01-01", "source": "Fair", "notes": "More"},
        {},
    ):
        response = await surfaces.rest("PATCH", f"/deals/{twins[0].id}", changes)
        input = {camel(key): value for key, value in changes.items()}
        if changes.get("geo_scope"):
            input["geoScope"] = "LOCAL"
        arguments = "$id: ID!, $i: DealUpdateInput! -> id: $id, input: $i"
        shown = await surfaces.change("dealUpdate", arguments, f"deal {{ {DEAL_FIELDS} }}", id=twins[1].id, i=input)
        fresh = ("id", "createdAt", "updatedAt", "closedAt")
        assert _without(unowned(exact(response)), *fresh) == _without(shown["deal"], *fresh)
    stale, tag = {"name": "No", "expectedVersion": 1}, {"If-Match": '"1"'}
    refused = await surfaces.rest("PATCH", f"/deals/{twins[0].id}", {"name": "No"}, **tag)
    document = (
        f"mutation($id: ID!, $i: DealUpdateInput!) {{ dealUpdate(id: $id, input: $i) {{ deal {{ id }} {ERRORS} }} }}"
    )
    shown = await surfaces.graphql(document, id=twins[1].id, i=stale)
    [problem] = shown["userErrors"]
    assert (refused.status_code, refused.json()["code"]) == (412, "precondition_failed")
    assert (problem["code"], problem["field"]) == ("PRECONDITION_FAILED", ["input", "expectedVersion"])
    assert problem["message"] == refused.json()["detail"]


async def _unlink(surfaces: Surfaces) -> None:
    world = surfaces.gateway.world
    contact, twins = Contact(first_name="C"), [Deal(name="D") for _ in range(2)]
    await world.add(world.one, contact, *twins, *(DealContact(deal_id=d.id, contact_id=contact.id) for d in twins))
    for _ in range(2):
        assert (await surfaces.rest("DELETE", f"/deals/{twins[0].id}/contacts/{contact.id}")).status_code == 204
        arguments = "$d: ID!, $c: ID! -> dealId: $d, contactId: $c"
        assert await surfaces.change(
            "dealContactUnlink", arguments, "dealId contactId", d=twins[1].id, c=contact.id
        ) == {
            "dealId": twins[1].id,
            "contactId": contact.id,
        }
        for twin in twins:
            left = await surfaces.graphql("query($id: ID!) { deal(id: $id) { contacts { totalCount } } }", id=twin.id)
            assert left == {"contacts": {"totalCount": 0}}


CAPTURES: list[dict[str, Any]] = [
    {"name": "Only", "source": "manual"},
    {"name": " Ada Park ", "title": None, "tags": ["a", "b", " a "], "source": "scan_badge", "email": "a@b.example"},
    {"name": "é", "company": "E", "capture_payload": {"x": [1, 2.5, None, {"y": "z"}]}, "source": "scan_card"},
]


def _capture(body: dict[str, Any]) -> dict[str, Any]:
    return {camel(key): value.upper() if key == "source" else value for key, value in body.items()}


async def _confirm(surfaces: Surfaces) -> None:
    fresh = ("id", "createdAt", "updatedAt", "cardId")
    for number, body in enumerate(CAPTURES):
        for change in ({}, {"name": "Again", "notes": "n", "capture_payload": {"x": 1}}):
            by_path = await surfaces.rest(
                "POST", "/cards/captures/confirm", {**body, **change, "card_id": f"p{number}"}
            )
            input = _capture({**body, **change, "card_id": f"g{number}"})
            made = await surfaces.change(
                "cardCaptureConfirm", "$i: CardCaptureInput! -> input: $i", f"lead {{ {LEAD_FIELDS} }}", i=input
            )
            record = lead((await surfaces.rest("GET", f"/leads/{by_path.json()['lead_id']}")).json())
            assert _without(record, *fresh) == _without(made["lead"], *fresh)
    events = await surfaces.graphql("{ events { nodes { type actor data } } }")
    told = [(e["type"], e["actor"], _without(e["data"], "lead_id", "card_id")) for e in events["nodes"]]
    assert told[::2] == told[1::2]
    assert [kind for kind, _, _ in told[::2]] == ["lead_created", "lead_updated"] * 3


async def _some_leads(surfaces: Surfaces) -> None:
    for number in range(6):
        body = {**CAPTURES[number % 3], "card_id": f"{number}"}
        made = (await surfaces.rest("POST", "/cards/captures/confirm", body)).json()["lead_id"]
        if number > 3:
            await surfaces.rest("POST", f"/leads/{made}/convert", {"deal_name": "D"} if number == 4 else None)


async def _leads(surfaces: Surfaces) -> None:
    await _some_leads(surfaces)
    for query, arguments in (
        ("", "first: 200"),
        ("limit=2&offset=1", "first: 2, offset: 1"),
        ("limit=0", "first: 0"),
        ("updated_since=2020-01-01", 'filter: {updatedAt: {gte: "2020-01-01T00:00:00Z"}}'),
        ("status=converted", "filter: {status: {eq: CONVERTED}}"),
        ("source=scan_badge", "filter: {source: {eq: SCAN_BADGE}}"),
        ("owner_id=admin@one", 'filter: {ownerId: {eq: "admin@one"}}'),
        ("tag=b", 'filter: {tags: {contains: "b"}}'),
    ):
        listed = (await surfaces.rest("GET", f"/leads?{query}")).json()
        fields = LEAD_FIELDS.replace("capturePayload", "")
        page = await surfaces.graphql(f"{{ leads({arguments}) {{ nodes {{ {fields} }} }} }}")
        assert [lead(record) for record in listed] == page["nodes"], query
        assert listed or query == "limit=0"


async def _lead(surfaces: Surfaces) -> None:
    await _some_leads(surfaces)
    for record in (await surfaces.rest("GET", "/leads")).json():
        shown = await surfaces.graphql(f"query($id: ID!) {{ lead(id: $id) {{ {LEAD_FIELDS} }} }}", id=record["id"])
        one = (await surfaces.rest("GET", f"/leads/{record['id']}")).json()
        assert lead(one) == shown
        assert _without(one, "capture_payload") == record


async def _lead_convert(surfaces: Surfaces) -> None:
    world = surfaces.gateway.world
    account, contact, known = Account(name="A"), Contact(first_name="C"), Deal(name="D")
    await world.add(world.one, account, contact, known)
    for into in (
        {},
        {"deal_name": "N"},
        {"account_id": account.id, "contact_id": contact.id.upper(), "deal_id": known.id},
        {"account_id": None, "contact_id": None, "deal_id": None, "deal_name": None},
    ):
        ids = [
            (await surfaces.rest("POST", "/cards/captures/confirm", CAPTURES[2])).json()["lead_id"] for _ in range(2)
        ]
        for _ in range(2):
            by_path = (await surfaces.rest("POST", f"/leads/{ids[0]}/convert", into)).json()
            input = {"leadId": ids[1], **{camel(key): value for key, value in into.items()}}
            record = "lead { id status } account { id name } contact { id lastName } deal { id name }"
            shown = await surfaces.change("leadConvert", "$i: LeadConvertInput! -> input: $i", record, i=input)
            assert (by_path["lead_id"], shown["lead"]) == (ids[0], {"id": ids[1], "status": "CONVERTED"})
            for name in ("account", "contact", "deal"):
                if into.get(f"{name}_id"):
                    assert by_path[f"{name}_id"] == shown[name]["id"] == into[f"{name}_id"].lower()
                assert (by_path[f"{name}_id"] is None) == (shown[name] is None)
    events = await surfaces.graphql("{ events { nodes { type } } }")
    told = Counter(event["type"] for event in events["nodes"])
    assert (told["lead_converted"], told["account_created"], told["deal_created"]) == (8, 6, 2)


async def _feedback(surfaces: Surfaces) -> None:
    world = surfaces.gateway.world
    for body in (
        {"kind": "bug", "message": " Broken "},
        {"kind": "idea", "message": "x", "page": "/p", "request_id": "r"},
    ):
        by_path = (await surfaces.rest("POST", "/feedback", body)).json()["id"]
        input = {camel(key): value.upper() if key == "kind" else value for key, value in body.items()}
        shown = await surfaces.change("feedbackSubmit", "$i: FeedbackInput! -> input: $i", "id", i=input)
        async with world.database.directory() as session:
            rows = [await session.find(Feedback, id=identifier) for identifier in (by_path, shown["id"])]
        [first, second] = [
            {n: v for n, v in row._asdict().items() if n not in ("id", "created_at")}  # type: ignore[union-attr]
            for row in rows
        ]
        assert (
            first
            == second
            == {
                "page": None,
                "request_id": None,
                **body,
                "message": body["message"].strip(),
                "org_id": world.one.id,
                "subject": "admin@one",
            }
        )
    events = await surfaces.graphql("{ events { nodes { type data } } }")
    assert [event["data"]["kind"] for event in events["nodes"]] == ["bug", "bug", "idea", "idea"]


async def _health_latest(surfaces: Surfaces) -> None:
    world = surfaces.gateway.world
    account = Account(name="A")
    await world.add(world.one, account, Contact(first_name="C", account_id=account.id))
    document = f"query($id: ID!) {{ account(id: $id) {{ health {{ {SNAPSHOT_FIELDS} }} }} }}"
    for number in range(3):
        response = await surfaces.rest("GET", f"/accounts/{account.id}/health/latest")
        shown = await surfaces.graphql(document, id=account.id)
        assert snapshot(exact(response)) == shown["health"]
        assert (shown["health"] is None) == (number == 0)
        await surfaces.rest("POST", f"/accounts/{account.id}/health/refresh")


async def _health_refresh(surfaces: Surfaces) -> None:
    world = surfaces.gateway.world
    twins = [Account(name="A") for _ in range(2)]
    await world.add(world.one, *twins)
    for twin in twins:
        contact = Contact(first_name="C", account_id=twin.id)
        held = Activity(account_id=twin.id, contact_id=contact.id, due_at=NOON, completed_at=NOON)
        await world.add(world.one, contact, Deal(name="D", account_id=twin.id, champion_id=contact.id), held)
    fresh = ("id", "accountId", "healthScoreId", "snapshotAt")
    for trend in (None, "STABLE"):
        by_path = snapshot(exact(await surfaces.rest("POST", f"/accounts/{twins[0].id}/health/refresh")))
        record = f"snapshot {{ {SNAPSHOT_FIELDS} }}"
        shown = await surfaces.change("accountHealthRefresh", "$id: ID! -> id: $id", record, id=twins[1].id)
        assert by_path is not None
        for each in (by_path, shown["snapshot"]):
            each["factors"] = [_without(factor, *fresh) for factor in each["factors"]]
            assert each["trend"] == trend
        assert _without(by_path, *fresh) == _without(shown["snapshot"], *fresh)


def _credentials(path: str, noun: str, fields: str, translate: Callable[[Any], Any]) -> dict[str, Compare]:
    """The four operations on keys, or on tokens."""

    async def create(surfaces: Surfaces) -> None:
        later = (now() + timedelta(days=1)).isoformat().replace("+00:00", "Z")
        for body in ({"name": "N"}, {"name": "é" * 120, "expires_at": later}, {"name": "N", "expires_at": None}):
            response = await surfaces.rest("POST", path, body)
            input = {camel(key): value for key, value in body.items()}
            record = f"{noun} {{ {fields} }} patKey"
            shown = await surfaces.change(f"{noun}Create", "$i: CredentialCreateInput! -> input: $i", record, i=input)
            by_path = translate(response.json())
            texts = by_path.pop("patKey"), shown["patKey"]
            for text, each in zip(texts, (by_path, shown[noun]), strict=True):
                prefix, _, secret = text.partition(".")
                assert prefix == f"{'ak' if noun == 'organizationKey' else 'pat'}_{each['keyId']}"
                assert secret.endswith(each["hint"])
                viewer = await surfaces.gateway.graphql("{ viewer { subject } }", bearer(text))
                assert viewer.json()["data"] == {"viewer": {"subject": "admin@one"}}
            fresh = ("id", "keyId", "hint", "createdAt")
            assert _without(by_path, *fresh) == _without(shown[noun], *fresh)

    async def listing(surfaces: Surfaces) -> None:
        world = surfaces.gateway.world
        organization = world.one if noun == "organizationKey" else None
        for number, subject in enumerate(("admin@one", "member@one", "admin@one", "viewer@one")):
            await world.credential(
                subject, organization, name=f"Number {number}", last_used_at=[None, NOON][number % 2]
            )
        for subject, count in (("admin@one", 4 if organization else 2), ("member@one", 1)):
            member = Surfaces(surfaces.gateway, world.session(subject, world.one))
            listed = (await member.rest("GET", path)).json()
            assert [translate(record) for record in listed] == await member.graphql(f"{{ {noun}s {{ {fields} }} }}")
            assert len(listed) == count

    async def rename(surfaces: Surfaces) -> None:
        made = (await surfaces.rest("POST", path, {"name": "Before"})).json()
        by_path = translate((await surfaces.rest("PATCH", f"{path}/{made['id']}", {"name": "After"})).json())
        arguments = "$id: ID!, $n: String! -> id: $id, name: $n"
        shown = await surfaces.change(f"{noun}Rename", arguments, f"{noun} {{ {fields} }}", id=made["id"], n="After")
        assert by_path == shown[noun] == {**translate(_without(made, "pat_key")), "name": "After"}

    async def revoke(surfaces: Surfaces) -> None:
        made = [(await surfaces.rest("POST", path, {"name": "N"})).json() for _ in range(2)]
        assert (await surfaces.rest("DELETE", f"{path}/{made[0]['id']}")).status_code == 204
        shown = await surfaces.change(f"{noun}Revoke", "$id: ID! -> id: $id", "deletedId", id=made[1]["id"])
        assert shown == {"deletedId": made[1]["id"]}
        for each in made:
            viewer = await surfaces.gateway.graphql("{ viewer { subject } }", bearer(each["pat_key"]))
            assert viewer.status_code == 401
        assert (await surfaces.rest("GET", path)).json() == await surfaces.graphql(f"{{ {noun}s {{ id }} }}") == []

    return {
        f"Mutation.{noun}Create": create,
        f"Query.{noun}s": listing,
        f"Mutation.{noun}Rename": rename,
        f"Mutation.{noun}Revoke": revoke,
    }


async def _job(surfaces: Surfaces) -> None:
    world = surfaces.gateway.world
    waiting = Job(kind="w", arguments={})
    failed = Job(
        kind="f",
        arguments={},
        status="failed",
        attempts=5,
        error="E",
        progress=0.25,
        started_at=NOON,
        finished_at=NOON,
    )
    await world.add(world.one, waiting, failed)
    document = f"query($id: ID!) {{ job(id: $id) {{ {selection([key for key in JOB if key != 'org_id'])} }} }}"
    for job in (waiting, failed):
        response = await surfaces.rest("GET", f"/jobs/{job.id}")
        assert unowned(exact(response)) == await surfaces.graphql(document, id=job.id)
    assert (await surfaces.rest("GET", f"/jobs/{UNKNOWN}")).status_code == 404
    assert await surfaces.graphql(document, id=UNKNOWN) is None


async def _cx_report_edit(surfaces: Surfaces) -> None:
    world = surfaces.gateway.world
    run = ResearchRun(name="R", status="completed", result_count=2)
    results = [
        ResearchResult(run_id=run.id, position=n, company_name="C", status="scored", score=50, factors=[])
        for n in range(2)
    ]
    reports = [CXReport(result_id=result.id) for result in results]
    written = [
        CXReportRevision(report_id=report.id, revision=1, copy_blobs={"a": "1"}, analysis={"b": 2}, brand={})
        for report in reports
    ]
    await world.add(world.one, run, *results, *reports, *written)
    fields = "revision copyBlobs analysis brand bpoPrefix render { kind status attempts error progress }"
    document = f"query($id: ID!) {{ researchResult(id: $id) {{ cxReport {{ {fields} }} }} }}"
    arguments = "$r: ID!, $id: ID!, $i: CXReportEditInput! -> runId: $r, resultId: $id, input: $i"
    for body in (
        {"copy_blobs": {"a": None, "headline": "Ü"}, "analysis_patch": {"c": {"d": 1.5}}},
        {"brand_patch": {"colors": {"primary": "#123456"}}, "bpo_prefix": "P"},
        {"bpo_prefix": None, "copy_blobs": None},
    ):
        path = f"/customer-intelligence/runs/{run.id}/results/{results[0].id}/cx-report"
        response = await surfaces.rest("PATCH", path, body)
        assert response.status_code == 202
        shown = await surfaces.change(
            "cxReportEdit",
            arguments,
            f"report {{ {fields} }} job {{ status }}",
            r=run.id,
            id=results[1].id,
            i=plain(body) | {"copyBlobs": body.get("copy_blobs")},
        )
        by_path = (await surfaces.graphql(document, id=results[0].id))["cxReport"]
        assert by_path == shown["report"]
        assert (by_path["revision"], by_path["render"]["status"]) == (exact(response)["revision"], "QUEUED")
    for run_id, result_id in ((run.id, UNKNOWN), (UNKNOWN, results[0].id)):
        path = f"/customer-intelligence/runs/{run_id}/results/{result_id}/cx-report"
        assert (await surfaces.rest("PATCH", path, {"bpo_prefix": "x"})).status_code == 404


CAMPAIGN_FIELDS = selection([key for key in CAMPAIGN if key != "org_id"])
DOMAIN_FIELDS = selection([key for key in OUTREACH_DOMAIN if key != "org_id"])


async def _twin_campaigns(surfaces: Surfaces, status: str) -> list[Campaign]:
    twins = [Campaign(name="C", provider="local", status=status, daily_limit=7) for _ in range(2)]
    for campaign in twins:
        enrollment = Enrollment(campaign_id=campaign.id, email="a@example.com", email_key="a@example.com")
        await surfaces.gateway.world.add(surfaces.gateway.world.one, campaign, enrollment)
    return twins


async def _campaign_pause(surfaces: Surfaces) -> None:
    for status in CampaignStatus:
        twins = await _twin_campaigns(surfaces, status.value)
        response = await surfaces.rest("POST", f"/outreach/campaigns/{twins[0].id}/pause")
        document = f"mutation($id: ID!) {{ campaignPause(id: $id) {{ campaign {{ {CAMPAIGN_FIELDS} }} {ERRORS} }} }}"
        shown = await surfaces.graphql(document, id=twins[1].id)
        fresh = ("id", "createdAt", "updatedAt")
        if response.status_code == 200:
            by_path = _without(plain(response.json()), "orgId", *fresh)
            assert by_path == _without(shown["campaign"], *fresh)
            assert by_path["status"] == "PAUSED"
        else:
            [problem] = shown["userErrors"]
            assert response.status_code == 409
            assert {"code": problem["code"].lower(), "detail": problem["message"]}.items() <= response.json().items()


async def _campaign_delete(surfaces: Surfaces) -> None:
    for status in CampaignStatus:
        twins = await _twin_campaigns(surfaces, status.value)
        assert (await surfaces.rest("DELETE", f"/outreach/campaigns/{twins[0].id}")).status_code == 204
        record = "deletedId deletedEnrollmentCount providerOutcome"
        assert await surfaces.change("campaignDelete", "$id: ID! -> id: $id", record, id=twins[1].id) == {
            "deletedId": twins[1].id,
            "deletedEnrollmentCount": 1,
            "providerOutcome": "not_created",
        }
        assert await surfaces.graphql("{ campaigns { nodes { id } } }") == {"nodes": []}


async def _domains(surfaces: Surfaces) -> None:
    domains = [
        OutreachDomain(name="b.example", status="active", spf=True, dkim=False),
        OutreachDomain(name="a.example", created_at=NOON),
    ]
    await surfaces.gateway.world.add(
        surfaces.gateway.world.one, *domains, Mailbox(domain_id=domains[0].id, email="x@b.example")
    )
    listed = (await surfaces.rest("GET", "/outreach/domains")).json()
    shown = await surfaces.graphql(f"{{ outreachDomains {{ {DOMAIN_FIELDS} }} }}")
    assert [_without(plain(record), "orgId") for record in listed] == shown
    assert [(record["name"], record["mailbox_count"]) for record in listed] == [("a.example", 0), ("b.example", 1)]


Compare = Callable[[Surfaces], Awaitable[None]]
COMPARED: dict[str, Compare] = {
    "Query.meetings": _meetings,
    "Query.deals": _deals,
    "Query.deal": _deal,
    "Mutation.dealCreate": _deal_create,
    "Mutation.dealUpdate": _deal_update,
    "Mutation.dealContactUnlink": _unlink,
    "Account.health": _health_latest,
    "Mutation.accountHealthRefresh": _health_refresh,
    "Query.job": _job,
    "Mutation.cardCaptureConfirm": _confirm,
    "Query.leads": _leads,
    "Query.lead": _lead,
    "Mutation.leadConvert": _lead_convert,
    "Mutation.feedbackSubmit": _feedback,
    "Mutation.cxReportEdit": _cx_report_edit,
    "Mutation.campaignPause": _campaign_pause,
    "Mutation.campaignDelete": _campaign_delete,
    "Query.outreachDomains": _domains,
    **_credentials("/organization-pats", "organizationKey", KEY_FIELDS, plain),
    **_credentials("/user-pats", "userToken", TOKEN_FIELDS, token),
    **READING,
    **ANALYTICS,
    **BULK,
    **CHAT,
    **{graphql_field: compare for record in record_types() for graphql_field, compare in record.compared.items()},
}


@pytest.mark.long_on("postgresql")  # whose differences are none of the surfaces' (tests/fuzz/test_parity.py)
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("graphql_field", COMPARED)
async def test_the_same_data_and_effects(anew: Gateway, graphql_field: str) -> None:
    await COMPARED[graphql_field](Surfaces(anew, anew.world.session("admin@one", anew.world.one)))


def _pairs() -> list[tuple[str, Rest, Graph]]:
    """A request by each surface for every operation that has both."""
    pairs = []
    for name, case in CASES.items():
        by_path = [request for request in case.requests if isinstance(request, Rest)]
        by_graph = [request for request in case.requests if isinstance(request, Graph)]
        if by_path and by_graph:
            pairs.append((name, by_path[0], by_graph[0]))
    assert len(pairs) == len(COMPARED)
    return pairs


def _said(response: httpx.Response) -> dict[str, Any]:
    """What a refusal says, by either surface: a whole answer, or the only error in one."""
    body = response.json()
    if "errors" not in body:
        return {**body, "request_id": body["request_id"] == response.headers["x-request-id"]}
    [error] = body["errors"]
    said = {"detail": error["message"], **error["extensions"]}
    return {**said, "code": said["code"].lower(), "request_id": said["request_id"] == response.headers["x-request-id"]}


async def test_the_same_refusals(gateway: Gateway) -> None:
    world = gateway.world
    records = await fill_organization(world, world.one, "admin@one", "Kept") | {"name": "Changed"}
    await world.join("nobody@one", world.one, scopes=["outreach:read", "api:read"])
    await world.join("nobody@one", world.two, scopes=["outreach:read"])
    await world.join("outsider@one", world.one, scopes=["api:read"])
    key = await world.headers("admin@one", world.one, CredentialKind.ORGANIZATION_KEY)
    user_token = await world.headers("admin@one", None, CredentialKind.USER_TOKEN)
    ended = await world.headers("viewer@two", world.two, CredentialKind.ORGANIZATION_KEY)
    await world.leave("viewer@two", world.two)
    before = await world.dump()
    challenge = {"www-authenticate": "Bearer"}
    for name, by_path, by_graph in _pairs():
        case = CASES[name]
        whole: list[tuple[Headers, int]] = [
            ({}, 401),
            (bearer("nonsense"), 401),
            ({"Authorization": "Basic YTpi"}, 401),
            (ended, 401),
            (key | {"X-Service-Org": "org_one"}, 400),
            (user_token | {"X-Service-Org": "org_two"}, 403),
            (world.session("admin@one", world.one) | {"X-Service-Org": "org_two"}, 403),
        ]
        for headers, status in whole:
            answers = [await send(gateway, request.filled(records), headers) for request in (by_path, by_graph)]
            assert [answer.status_code for answer in answers] == [status, status], name
            assert _said(answers[0]) == _said(answers[1])
            for answer in answers:
                assert challenge.items() <= dict(answer.headers).items() or status != 401
        # Reading takes fewer scopes than anything else: who may not even that is another member.
        subject = "outsider@one" if case.group == "OUTREACH_READ" else "nobody@one"
        refused = world.session(subject, world.two if case.group == "CRM_READ" else world.one)
        inside = [*([(refused, 403)] if case.group else []), *([(user_token, 400)] if case.organization else [])]
        for headers, status in inside:
            answers = [await send(gateway, request.filled(records), headers) for request in (by_path, by_graph)]
            assert [answer.status_code for answer in answers] == [status, 200], name
            assert _said(answers[0]) == _said(answers[1]), name
    assert await world.dump() == before


async def test_without_an_organization_there_is_what_is_the_caller_s_own(gateway: Gateway) -> None:
    """A user token without X-Service-Org (specification 5.6)."""
    headers = await gateway.world.headers("member@one", None, CredentialKind.USER_TOKEN)
    [record] = (await gateway.rest("GET", "/user-pats", headers)).json()
    made = await gateway.rest("POST", "/user-pats", headers, {"name": "N"})
    assert made.status_code == 201
    one = f"/user-pats/{made.json()['id']}"
    assert (await gateway.rest("PATCH", one, headers, {"name": "M"})).json()["name"] == "M"
    assert (await gateway.rest("DELETE", one, headers)).status_code == 204
    document = "{ viewer { subject organization { id } organizations { id } } userTokens { id } }"
    assert uncosted((await gateway.graphql(document, headers)).json()) == {
        "data": {
            "viewer": {"subject": "member@one", "organization": None, "organizations": [{"id": "org_one"}]},
            "userTokens": [{"id": record["id"]}],
        }
    }
    for path in ("/deals", "/activities/meetings", "/organization-pats", f"/accounts/{UNKNOWN}/health/latest"):
        refused = await gateway.rest("GET", path, headers)
        assert (refused.status_code, refused.json()["detail"]) == (400, "Active organization required")


RECORDS = [
    *("account", "contact", "deal", "job", "lead", "run", "result", "campaign", "running campaign", "key", "token"),
    *("question", "conversation", "thread", "message", "chat run", "approval", "item", "stream", "meeting"),
]
RECORDS += ["owner", "record", "second tag", "second account", "second contact"]
RECORDS += [record.name for record in record_types()]


WITHOUT_A_TWIN = [
    *("HEAD /files/uploads/{upload_id}", "PATCH /files/uploads/{upload_id}", "DELETE /files/uploads/{upload_id}"),
    *("GET /files/{file_id}/content", "DELETE /records/{record_id}/files/{file_id}"),
]
"""Paths about bytes, which GraphQL does not carry, and one that answers the same for every identifier."""


NEVER_NULL = ("saved_queries.run_saved_query", "integration_items.list_items")
"""Operations whose answer has no null for what is missing: an error says so."""


async def test_the_same_missing_records(surfaces: Surfaces) -> None:
    values = missing(RECORDS) | {"name": "Changed"}
    compared = 0
    for name, by_path, by_graph in _pairs():
        if "<" not in by_path.path or "?" in by_path.path or name in ("deals.unlink_contact", "health.latest_health"):
            continue
        if by_graph.document.startswith("subscription"):  # which says so in an event of its own
            continue
        if name == "files.detach_file":  # whose path answers the same for every identifier
            continue
        response = await send(surfaces.gateway, by_path.filled(values), surfaces.headers)
        answer = (await send(surfaces.gateway, by_graph.filled(values), surfaces.headers)).json()
        assert (response.status_code, _said(response)["detail"]) == (404, "Not found")
        compared += 1
        if name in NEVER_NULL:
            [error] = answer["errors"]
            assert (error["extensions"]["code"], error["message"]) == ("NOT_FOUND", "Not found")
            continue
        [shown] = answer["data"].values()
        if shown is not None:
            named = {
                "lead_conversion.convert_lead": ["input", "leadId"],
                "competitors.detect_competitors": ["dealId"],
                "deals.link_contact": ["dealId"],
                "cx_reports.edit_report": ["resultId"],
                "tags.merge_tags": ["into"],
                "chat_runs.send": ["input", "threadId"],
                "integration_channels.link_channel": ["input", "integrationId"],
                "integration_channels.unlink_channel": ["integrationId"],
                "chat_approvals.decide": ["input", "id"],
            }
            at = named.get(name, ["id"])
            assert shown["userErrors"] == [{"code": "NOT_FOUND", "message": "Not found", "field": at}]
        assert (shown is None) == by_graph.document.startswith("query"), name
    of_record_types = [path for record in record_types() for _, path in record.paths if "{" in path]
    assert compared == 32 + len(of_record_types) - len(WITHOUT_A_TWIN)


DEAL_PROBLEMS: list[dict[str, Any]] = [
    {"name": ""},
    {"name": "N\0"},
    {"name": "n" * 10_001},
    {"name": "N", "value": -1},
    {"name": "N", "value": 1e15},
    {"name": "N", "value": -0.00006},
    {"name": "N", "currency": "XXQ"},
    {"name": "N", "account_id": UNKNOWN},
    {"name": "N", "stage_id": "no-uuid"},
    {"name": "N", "account_id": UNKNOWN, "stage_id": UNKNOWN},
    {"name": "", "currency": "", "value": -5},
]
CAPTURE_PROBLEMS: list[dict[str, Any]] = [
    {"name": "  "},
    {"name": "n" * 201},
    {"name": "N", "card_id": ""},
    {"name": "N", "email": "nobody"},
    {"name": "N", "card_id": "c" * 501},
    {"name": "N", "phone": "1" * 101},
    {"name": "N", "tags": [" ", "t" * 101]},
    {"name": "N", "tags": [f"{n}" for n in range(101)]},
    {"name": "N", "capture_payload": [1]},
    {"name": "N", "capture_payload": {"x": "y" * 262_140}},
    {"name": "", "card_id": "", "title": "\0", "email": "@"},
]
FEEDBACK_PROBLEMS: list[dict[str, Any]] = [
    {"message": " "},
    {"message": "m" * 10_001},
    {"message": "m", "page": "p" * 2_001},
    {"message": "\0", "request_id": "r" * 129},
]
CREDENTIAL_PROBLEMS: list[dict[str, Any]] = [
    {"name": ""},
    {"name": " \u2003"},
    {"name": "n" * 121},
    {"name": "\0"},
    {"name": "", "expires_at": "2020-01-01T00:00:00Z"},
]


def _by_path(response: httpx.Response) -> list[tuple[list[Any], str]]:
    assert response.status_code == 422, response.text
    for problem in response.json()["detail"]:
        assert problem["loc"][0] in ("body", "query")
    return sorted(([camel(str(part)) for part in p["loc"][1:]], p["msg"]) for p in response.json()["detail"])


def _by_graph(payload: dict[str, Any], nested: bool) -> list[tuple[list[Any], str]]:
    assert {problem["code"] for problem in payload["userErrors"]} == {"VALIDATION"}
    assert not nested or {problem["field"][0] for problem in payload["userErrors"]} == {"input"}
    return sorted((p["field"][1 if nested else 0 :], p["message"]) for p in payload["userErrors"])


async def test_the_same_problems(surfaces: Surfaces) -> None:
    """At the same field and in the same words."""
    world = surfaces.gateway.world
    record = Deal(name="D")
    await world.add(world.one, record)
    lead_id = (await surfaces.rest("POST", "/cards/captures/confirm", {"name": "N"})).json()["lead_id"]
    made = {
        path: (await surfaces.rest("POST", path, {"name": "N"})).json() for path in ("/organization-pats", "/user-pats")
    }
    before = await world.dump()

    async def compare(
        method: str, path: str, body: dict[str, Any], mutation: str, arguments: str, **given: Any
    ) -> None:
        declared, passed = arguments.split(" -> ")
        payload = await surfaces.graphql(f"mutation({declared}) {{ {mutation}({passed}) {{ {ERRORS} }} }}", **given)
        response = await surfaces.rest(method, path, body)
        assert _by_path(response) == _by_graph(payload, "input" in passed), body

    for body in DEAL_PROBLEMS:
        input = {camel(key): value for key, value in body.items()}
        await compare("POST", "/deals", body, "dealCreate", "$i: DealCreateInput! -> input: $i", i=input)
        arguments = "$id: ID!, $i: DealUpdateInput! -> id: $id, input: $i"
        await compare("PATCH", f"/deals/{record.id}", body, "dealUpdate", arguments, id=record.id, i=input)
    for body in CAPTURE_PROBLEMS:
        input = {camel(key): value for key, value in body.items()}
        arguments = "$i: CardCaptureInput! -> input: $i"
        await compare("POST", "/cards/captures/confirm", body, "cardCaptureConfirm", arguments, i=input)
    for body in FEEDBACK_PROBLEMS:
        input = {camel(key): value for key, value in body.items()} | {"kind": "BUG"}
        arguments = "$i: FeedbackInput! -> input: $i"
        await compare("POST", "/feedback", body | {"kind": "bug"}, "feedbackSubmit", arguments, i=input)
    for into in (
        {"account_id": UNKNOWN, "contact_id": "no"},
        {"deal_name": ""},
        {"deal_id": UNKNOWN, "deal_name": "N"},
    ):
        input = {camel(key): value for key, value in into.items()} | {"leadId": lead_id}
        arguments = "$i: LeadConvertInput! -> input: $i"
        await compare("POST", f"/leads/{lead_id}/convert", into, "leadConvert", arguments, i=input)
    for noun, path in (("organizationKey", "/organization-pats"), ("userToken", "/user-pats")):
        for body in CREDENTIAL_PROBLEMS:
            input = {camel(key): value for key, value in body.items()}
            await compare("POST", path, body, f"{noun}Create", "$i: CredentialCreateInput! -> input: $i", i=input)
        for body in CREDENTIAL_PROBLEMS[:3]:
            identifier = made[path]["id"]
            arguments = "$id: ID!, $n: String! -> id: $id, name: $n"
            one = f"{path}/{identifier}"
            await compare("PATCH", one, body, f"{noun}Rename", arguments, id=identifier, n=body["name"])
    assert await world.dump() == before


async def test_a_page_that_cannot_be(surfaces: Surfaces) -> None:
    """The two surfaces cap differently, as documented, and refuse what lies below zero alike."""
    for path, field in (("/activities/meetings", "meetings"), ("/deals", "deals"), ("/leads", "leads")):
        for parameter, argument in (("limit", "first"), ("offset", "offset")):
            response = await surfaces.rest("GET", f"{path}?{parameter}=-1")
            [problem] = response.json()["detail"]
            assert (response.status_code, problem["loc"]) == (422, ["query", parameter])
            document = f"{{ {field}({argument}: -1) {{ totalCount }} }}"
            [error] = (await surfaces.gateway.graphql(document, surfaces.headers)).json()["errors"]
            assert error["extensions"]["code"] == "VALIDATION"
            assert [problem["field"] for problem in error["extensions"]["problems"]] == [[argument]]


async def test_who_may_by_one_surface_may_by_the_other(gateway: Gateway) -> None:
    """What `viewer.can` says is what both surfaces do, for each role."""
    world = gateway.world
    for role in Role:
        headers = world.session(f"{role.value}@one", world.one)
        for name, by_path, by_graph in _pairs():
            kinds = [*RECORDS, "stage", "campaign", "running campaign"]
            values = missing(kinds) | {"name": ""}
            twins = {
                o.graphql_field
                for o in routes.OPERATIONS
                if o.resolver and f"{o.resolver.__module__}.{o.resolver.__name__}" == f"resolvers.{name}"
            }
            [graphql_field] = twins
            allowed = (await send(gateway, by_path.filled(values), headers)).status_code != 403
            shown = (await send(gateway, by_graph.filled(values), headers)).text
            assert ("FORBIDDEN" not in shown) == allowed
            if str(graphql_field).partition(".")[0] in ("Query", "Mutation"):
                document = "query($o: String!) { viewer { can(operation: $o) } }"
                can = (await gateway.graphql(document, headers, o=graphql_field)).json()["data"]["viewer"]["can"]
                assert can == allowed, (role, graphql_field)
