"""What is wrong in what people do with activities, tags and targets is told at its field, and never written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from storage.base import new_id
from storage.tables import Account, Activity, Deal, Event, RecordChange, SalesTarget, Tag, TagLink
from tests.isolation.requests import ERRORS
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

PROBLEMS = "userErrors { message field }"
TASK = f"mutation($i: TaskCreateInput!) {{ taskCreate(input: $i) {{ task {{ id }} {ERRORS} }} }}"
CHANGED_TASK = f"mutation($id: ID!, $i: TaskUpdateInput!) {{ taskUpdate(id: $id, input: $i) {{ {ERRORS} }} }}"
NOTE = f"mutation($i: NoteCreateInput!) {{ noteCreate(input: $i) {{ {ERRORS} }} }}"
TARGETS = f"mutation($i: [SalesTargetInput!]!) {{ salesTargetsPut(inputs: $i) {{ {ERRORS} }} }}"
APPLY = f"mutation($ids: [ID!]!, $add: [String!]) {{ tagsApply(ids: $ids, add: $add) {{ {ERRORS} }} }}"
MERGE = f"mutation($from: [ID!]!, $into: ID!) {{ tagMerge(from: $from, into: $into) {{ {ERRORS} }} }}"
TARGET = {"metric": "WON_VALUE", "currency": "EUR", "period": "MONTH", "startsOn": "2026-03-01", "amount": "1000"}
KEPT = {"metric": "won_value", "currency": "EUR", "period": "month", "starts_on": "2026-03-01", "amount": 1000}


@dataclass(frozen=True)
class Wrong:
    """The same wrong thing by both surfaces, from the identifiers of what there is."""

    document: str
    variables: Callable[[dict[str, str]], dict[str, Any]]
    field: list[str]
    method: str
    path: str
    body: Callable[[dict[str, str]], Any]
    at: list[str | int]
    code: str = "VALIDATION"


def _target(at: str, kept: str, **wrong: Any) -> Wrong:
    given = {name: value for name, value in (TARGET | wrong).items() if value is not None}
    snake = {"timeZone": "time_zone", "startsOn": "starts_on", "ownerId": "owner_id"}
    lower = {snake.get(n, n): v.lower() if n in ("metric", "period") else v for n, v in wrong.items()}
    body = KEPT | lower
    return Wrong(
        TARGETS,
        lambda _: {"i": [given]},
        ["inputs", "0", at],
        "PUT",
        "/sales-targets",
        lambda _: [body],
        ["body", 0, kept],
    )


CASES = {
    "an unknown subject": Wrong(
        TASK,
        lambda _: {"i": {"subject": "T", "ownerId": "nobody"}},
        ["input", "ownerId"],
        "POST",
        "/activities",
        lambda _: {"type": "task", "subject": "T", "owner_id": "nobody"},
        ["body", "owner_id"],
    ),
    "another organization's record": Wrong(
        TASK,
        lambda ids: {"i": {"subject": "T", "accountId": ids["foreign"]}},
        ["input", "accountId"],
        "POST",
        "/activities",
        lambda ids: {"type": "task", "subject": "T", "account_id": ids["foreign"]},
        ["body", "account_id"],
    ),
    "a link of another kind": Wrong(
        TASK,
        lambda ids: {"i": {"subject": "T", "dealId": ids["account"]}},
        ["input", "dealId"],
        "POST",
        "/activities",
        lambda ids: {"type": "task", "subject": "T", "deal_id": ids["account"]},
        ["body", "deal_id"],
    ),
    "an activity of another type": Wrong(
        CHANGED_TASK,
        lambda ids: {"id": ids["note"], "i": {"priority": "HIGH"}},
        ["id"],
        "PATCH",
        "/activities/{note}",
        lambda _: {"priority": "high"},
        ["body", "priority"],
    ),
    "a blank note": Wrong(
        NOTE,
        lambda ids: {"i": {"body": " \n", "accountId": ids["account"]}},
        ["input", "body"],
        "POST",
        "/activities",
        lambda ids: {"type": "note", "body": " \n", "account_id": ids["account"]},
        ["body", "body"],
    ),
    "an unknown zone": _target("timeZone", "time_zone", timeZone="Mars/Base"),
    "a currency of counts": _target("currency", "currency", metric="WON_DEALS"),
    "a period that begins on another day": _target("startsOn", "starts_on", startsOn="2026-03-02"),
    "a target of nobody": _target("ownerId", "owner_id", ownerId="nobody"),
    "201 targets": Wrong(
        TARGETS,
        lambda _: {"i": [TARGET] * 201},
        ["inputs"],
        "PUT",
        "/sales-targets",
        lambda _: [KEPT] * 201,
        ["body"],
    ),
    "a tag of 101 characters": Wrong(
        APPLY,
        lambda ids: {"ids": [ids["account"]], "add": ["x" * 101]},
        ["add", "0"],
        "POST",
        "/records/tags",
        lambda ids: {"ids": [ids["account"]], "add": ["x" * 101]},
        ["body", "add", 0],
    ),
    "a record of another organization among those to tag": Wrong(
        APPLY,
        lambda ids: {"ids": [ids["account"], ids["foreign"]], "add": ["new"]},
        ["ids", "1"],
        "POST",
        "/records/tags",
        lambda ids: {"ids": [ids["account"], ids["foreign"]], "add": ["new"]},
        ["body", "ids", 1],
    ),
    "a tag merged into itself": Wrong(
        MERGE,
        lambda ids: {"from": [ids["tag"]], "into": ids["tag"]},
        ["from", "0"],
        "POST",
        "/tags/{tag}/merge",
        lambda ids: {"from": [ids["tag"]]},
        ["body", "from", 0],
    ),
}


async def everything(tenant: Tenant) -> list[list[tuple[Any, ...]]]:
    columns: list[list[Any]] = [
        [Account.id, Account.version, Account.owner_id],
        [Activity.id, Activity.version],
        [SalesTarget.id],
        [Tag.id, Tag.name],
        [TagLink.record_id, TagLink.tag_id],
        [Event.sequence],
        [RecordChange.id],
    ]
    return [sorted(await tenant.rows(*each)) for each in columns]


@pytest.mark.parametrize("what", CASES)
async def test_it_is_told_at_its_field_by_both_surfaces_and_never_written(one: Tenant, two: Tenant, what: str) -> None:
    case = CASES[what]
    account, note, tag, foreign = Account(name="A"), Activity(type="note", body="N"), Tag(name="vip"), Deal(name="F")
    theirs = Account(name="F")
    await one.add(account, note, tag)
    await two.add(theirs, foreign)
    ids = {"account": account.id, "note": note.id, "tag": tag.id, "foreign": theirs.id}
    before = await everything(one), await everything(two)
    done = await one.ask(case.document, one.headers("admin"), **case.variables(ids))
    assert [(p["code"], p["field"]) for p in done["userErrors"]] == [(case.code, case.field)]
    answer = await one.gateway.rest(case.method, case.path.format(**ids), one.headers("admin"), case.body(ids))
    assert (answer.status_code, [each["loc"] for each in answer.json()["detail"]]) == (422, [case.at]), answer.text
    assert (await everything(one), await everything(two)) == before


async def test_500_records_one_of_which_is_another_organization_s_are_all_as_they_were(
    one: Tenant, two: Tenant
) -> None:
    mine, theirs = [Deal(name="D") for _ in range(499)], Deal(name="F")
    await one.add(*mine)
    await two.add(theirs)
    before = await everything(one)
    ids = [*(deal.id for deal in mine[:250]), theirs.id, *(deal.id for deal in mine[250:])]
    done = await one.ask(APPLY, ids=ids, add=["vip"])
    assert [(p["code"], p["field"]) for p in done["userErrors"]] == [("VALIDATION", ["ids", "250"])]
    answer = await one.gateway.rest("POST", "/records/tags", one.headers(), {"ids": ids, "add": ["vip"]})
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["body", "ids", 250])
    assert await everything(one) == before
    assert {version for (version,) in await one.rows(Deal.version)} == {1}


async def test_a_stale_version_is_a_precondition_that_failed(one: Tenant) -> None:
    task = Activity(type="task", subject="T", version=3)
    await one.add(task)
    before = await everything(one)
    done = await one.ask(CHANGED_TASK, id=task.id, i={"subject": "U", "expectedVersion": 2})
    assert [p["code"] for p in done["userErrors"]] == ["PRECONDITION_FAILED"]
    stale = one.headers() | {"If-Match": '"2"'}
    answer = await one.gateway.rest("PATCH", f"/activities/{task.id}", stale, {"subject": "U"})
    assert answer.status_code == 412
    assert await everything(one) == before


async def test_problems_of_connections_name_the_fields_of_their_surface(one: Tenant) -> None:
    """Fields within fields, and fields that a sentence names, are written as each surface writes them."""
    admin = one.headers("admin")
    policy = f"mutation($i: IntegrationPolicyInput!) {{ integrationPolicyUpdate(input: $i) {{ {PROBLEMS} }} }}"
    done = await one.ask(policy, admin, i={"defaults": {"autoCreateContacts": None}})
    assert [p["field"] for p in done["userErrors"]] == [["input", "defaults", "autoCreateContacts"]]
    body = {"defaults": {"auto_create_contacts": None}}
    answer = await one.gateway.rest("PATCH", "/integrations/policy", admin, body)
    assert [p["loc"] for p in answer.json()["detail"]] == [["body", "defaults", "auto_create_contacts"]]
    link = f"mutation($i: IntegrationChannelLinkInput!) {{ integrationChannelLink(input: $i) {{ {PROBLEMS} }} }}"
    done = await one.ask(link, admin, i={"integrationId": new_id(), "channelId": "C1"})
    assert [p["message"] for p in done["userErrors"]] == ["needs exactly one of accountId, dealId"]
    answer = await one.gateway.rest("PUT", f"/integrations/{new_id()}/channels/C1", admin, {})
    assert [p["msg"] for p in answer.json()["detail"]] == ["needs exactly one of account_id, deal_id"]
