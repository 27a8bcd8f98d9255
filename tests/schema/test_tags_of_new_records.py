"""Tags that a new record comes with: with it or not at all, on both surfaces (decision 246)."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from storage.base import new_id
from storage.tables import Account, Activity, Contact, Deal, Event, Tag, TagLink
from tests.isolation.requests import ERRORS
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

CREATED: dict[str, tuple[str, str, dict[str, Any], str, str]] = {
    "account": ("accountCreate", "AccountCreateInput", {"name": "A"}, "ACCOUNT", "account_created"),
    "contact": ("contactCreate", "ContactCreateInput", {"lastName": "C"}, "CONTACT", "contact_created"),
    "deal": ("dealCreate", "DealCreateInput", {"name": "D"}, "DEAL", "deal_created"),
    "task": ("taskCreate", "TaskCreateInput", {"subject": "T"}, "ACTIVITY", "task_created"),
    "note": ("noteCreate", "NoteCreateInput", {"body": "N"}, "ACTIVITY", "note_created"),
    "call": ("callLog", "CallLogInput", {"subject": "C"}, "ACTIVITY", "call_logged"),
    "email": ("emailLog", "EmailLogInput", {"subject": "E"}, "ACTIVITY", "email_logged"),
    "meeting": ("meetingLog", "MeetingLogInput", {"subject": "M"}, "ACTIVITY", "meeting_logged"),
}
"""By the noun: mutation, input, the fields that one needs, the kind that it is tagged as, and the event."""
BY_PATH = {
    "task": {"type": "task", "subject": "T"},
    "note": {"type": "note", "body": "N"},
    "call": {"type": "call", "subject": "C"},
    "email": {"type": "email", "subject": "E"},
}
WRONG: tuple[tuple[Any, list[Any]], ...] = (
    (["ok", " "], ["tags", 1]),
    (["x" * 101], ["tags", 0]),
    (["a", "\x00"], ["tags", 1]),
    ([f"{n}" for n in range(101)], ["tags"]),
)
each_record = pytest.mark.parametrize("noun", CREATED)
each_activity = pytest.mark.parametrize("noun", BY_PATH)


def mutation(noun: str) -> str:
    name, input, *_ = CREATED[noun]
    return f"mutation($i: {input}!) {{ {name}(input: $i) {{ {noun} {{ id version tags }} {ERRORS} }} }}"


async def fields_of(tenant: Tenant, noun: str) -> dict[str, Any]:
    """The fields that one needs; a note is on an account."""
    return CREATED[noun][2] | ({"accountId": await _account(tenant)} if noun == "note" else {})


async def create(tenant: Tenant, noun: str, tags: Any, **fields: Any) -> Any:
    return await tenant.ask(mutation(noun), i={**await fields_of(tenant, noun), "tags": tags, **fields})


async def _account(tenant: Tenant) -> str:
    """The account that notes are on."""
    known = [identifier for (identifier,) in await tenant.rows(Account.id)]
    if known:
        return known[0]
    account = Account(name="of notes")
    await tenant.add(account)
    return account.id


async def post(tenant: Tenant, noun: str, tags: Any) -> httpx.Response:
    body = {**BY_PATH[noun], "tags": tags} | ({"account_id": await _account(tenant)} if noun == "note" else {})
    return await tenant.gateway.rest("POST", "/activities", tenant.headers(), body)


async def everything(tenant: Tenant) -> list[Any]:
    """All that a creation may leave."""
    columns = [(Contact.id,), (Deal.id,), (Activity.id,), (Tag.name,), (TagLink.record_id,), (Event.type,)]
    return [sorted(await tenant.rows(*each)) for each in columns]


@each_record
async def test_a_new_record_has_its_tags_in_their_order(one: Tenant, noun: str) -> None:
    await one.add(Tag(name="Known"))
    payload = await create(one, noun, ["zoo", " VIP ", "known", "Zoo", "vip"])
    record = payload[noun]
    assert payload == {noun: {"id": record["id"], "version": 1, "tags": ["zoo", "VIP", "Known"]}, "userErrors": []}
    assert sorted(await one.rows(Tag.name)) == [("Known",), ("VIP",), ("zoo",)]
    kind = CREATED[noun][3]
    assert {(row[0].upper(), row[1]) for row in await one.rows(TagLink.kind, TagLink.record_id)} == {
        (kind, record["id"])
    }
    [(event, data)] = await one.rows(Event.type, Event.data)
    assert (event, data[f"{noun}_id"]) == (CREATED[noun][4], record["id"])
    assert "tags" not in data
    found = "activity" if kind == "ACTIVITY" else noun
    shown = await one.ask(f"query($id: ID!) {{ {found}(id: $id) {{ tags }} }}", id=record["id"])
    assert shown["tags"] == ["zoo", "VIP", "Known"]


@each_record
async def test_without_tags_there_are_none(one: Tenant, noun: str) -> None:
    for tags in (None, []):
        payload = await create(one, noun, tags)
        assert (payload["userErrors"], payload[noun]["tags"]) == ([], [])
    assert await one.rows(Tag.id) == []


@each_record
async def test_wrong_tags_are_told_and_nothing_is_written(one: Tenant, noun: str) -> None:
    await _account(one)
    before = await everything(one), await one.rows(Account.id)
    for tags, at in WRONG:
        payload = await create(one, noun, tags)
        [problem] = payload["userErrors"]
        assert payload[noun] is None
        assert (problem["code"], problem["field"]) == ("VALIDATION", ["input", *map(str, at)]), tags
    assert (await everything(one), await one.rows(Account.id)) == before


@each_record
async def test_where_an_organization_is_full_of_tags_nothing_is_written(
    one: Tenant, noun: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resolvers.shared.tagging.ORGANIZATION_TAGS_MAX", 2)
    await _account(one)
    await one.add(Tag(name="a"), Tag(name="b"))
    before = await everything(one), await one.rows(Account.id)
    payload = await create(one, noun, ["A", "c"])
    [problem] = payload["userErrors"]
    assert payload[noun] is None
    assert (problem["code"], problem["field"]) == ("VALIDATION", ["input", "tags"])
    assert (await everything(one), await one.rows(Account.id)) == before
    assert (await create(one, noun, ["B", "A"]))[noun]["tags"] == ["b", "a"]


@pytest.mark.parametrize("noun", ["contact", "deal", "task", "meeting"])
async def test_a_reference_that_leads_nowhere_leaves_no_tags(one: Tenant, two: Tenant, noun: str) -> None:
    theirs = Account(name="theirs")
    await two.add(theirs)
    for account_id in (theirs.id, new_id()):
        [problem] = (await create(one, noun, ["new"], accountId=account_id))["userErrors"]
        assert (problem["code"], problem["field"]) == ("VALIDATION", ["input", "accountId"])
    assert await everything(one) == [[]] * 6


async def test_the_tags_are_the_organization_s_own(one: Tenant, two: Tenant) -> None:
    for tenant, name in ((one, "Vip"), (two, "VIP")):
        assert (await create(tenant, "deal", [name]))["deal"]["tags"] == [name]
    assert [await tenant.rows(Tag.name) for tenant in (one, two)] == [[("Vip",)], [("VIP",)]]


async def test_a_deal_in_a_stage_has_its_tags_too(one: Tenant) -> None:
    stage = "mutation($i: PipelineStageInput!) { pipelineStageCreate(input: $i) { stage { id } } }"
    made = await one.ask(stage, one.headers("admin"), i={"name": "Won", "type": "WON"})
    document = "mutation($i: DealCreateInput!) { dealCreate(input: $i) { deal { tags status stage { id } } } }"
    input = {"name": "D", "stageId": made["stage"]["id"], "tags": ["a"]}
    assert (await one.ask(document, i=input))["deal"] == {
        "tags": ["a"],
        "status": "WON",
        "stage": {"id": made["stage"]["id"]},
    }
    assert (await one.ask('{ deals(filter: {tags: {any: ["A"]}}) { totalCount } }'))["totalCount"] == 1


@pytest.mark.parametrize("noun", ["account", "contact", "deal"])
async def test_the_search_finds_a_record_that_came_with_tags(one: Tenant, noun: str) -> None:
    name = "lastName" if noun == "contact" else "name"
    made = (await create(one, noun, ["vip"], **{name: "Findable"}))[noun]
    document = '{ search(query: "findable") { node { id } } }'
    assert await one.ask(document) == [{"node": {"id": made["id"]}}]


async def test_a_message_that_is_there_stays_as_it_is(one: Tenant) -> None:
    """Decision 230: however many log it, and whatever tags they give it."""
    first = await create(one, "email", ["first"], messageId="<1@example.com>")
    assert await create(one, "email", ["second"], messageId="<1@example.com>") == first
    body = {"type": "email", "subject": "E", "message_id": "<1@example.com>", "tags": ["third"]}
    answer = await one.gateway.rest("POST", "/activities", one.headers(), body)
    assert (answer.status_code, answer.json()) == (201, {"id": first["email"]["id"]})
    assert await one.rows(Tag.name) == [("first",)]
    raced = await asyncio.gather(*(create(one, "email", [f"tag {n}"], messageId="<2@example.com>") for n in range(6)))
    assert all(payload == raced[0] for payload in raced)
    assert len(await one.rows(TagLink.tag_id)) == len(await one.rows(Tag.id)) == 2


async def test_many_who_make_the_same_tags_at_once_all_have_them(one: Tenant) -> None:
    names = ["a", "b", "c"]
    orders = [names[n % 3 :] + names[: n % 3] for n in range(9)]
    payloads = await asyncio.gather(*(create(one, "deal", order) for order in orders))
    assert [payload["deal"]["tags"] for payload in payloads] == orders
    assert sorted(await one.rows(Tag.name)) == [("a",), ("b",), ("c",)]


@each_record
async def test_the_same_order_under_the_same_key_is_made_once(one: Tenant, noun: str) -> None:
    document, fields = mutation(noun), await fields_of(one, noun)
    keyed = one.headers() | {"Idempotency-Key": new_id()}
    first, again = [await one.ask(document, keyed, i={**fields, "tags": ["b", "a"]}) for _ in range(2)]
    assert first == again
    assert first[noun]["tags"] == ["b", "a"]
    [refusal] = (await one.ask(document, keyed, i={**fields, "tags": ["b"]}))["userErrors"]
    assert refusal["message"] == "Idempotency-Key was used before, with other arguments"
    assert [kind for (kind,) in await one.rows(Event.type)] == [CREATED[noun][4]]
    assert len(await one.rows(TagLink.tag_id)) == 2


@each_activity
async def test_by_its_path_an_activity_has_the_same_tags(one: Tenant, noun: str) -> None:
    answer = await post(one, noun, ["zoo", " VIP ", "Zoo"])
    assert answer.status_code == 201, answer.text
    assert "x-ignored-fields" not in answer.headers
    shown = await one.gateway.rest("GET", answer.headers["location"], one.headers())
    assert (shown.json()["tags"], shown.json()["version"]) == (["zoo", "VIP"], 1)
    assert shown.json()["tags"] == (await create(one, noun, ["zoo", "VIP"]))[noun]["tags"]
    listed = (await one.gateway.rest("GET", "/activities?tag=vip", one.headers())).json()
    assert answer.json()["id"] in [row["id"] for row in listed]
    assert len(listed) == 2


@each_activity
async def test_by_its_path_wrong_tags_are_told_and_nothing_is_written(
    one: Tenant, noun: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resolvers.shared.tagging.ORGANIZATION_TAGS_MAX", 1)
    await _account(one)
    await one.add(Tag(name="a"))
    before = await everything(one)
    for tags, at in (*WRONG, (["A", "b"], ["tags"])):
        answer = await post(one, noun, tags)
        assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["body", *at]), tags
    assert await everything(one) == before


async def test_post_deals_keeps_the_fields_of_its_specification(one: Tenant) -> None:
    """Specification 2.2 and 4.4 name what is accepted there; tags are not, and the answer says so."""
    answer = await one.gateway.rest("POST", "/deals", one.headers(), {"name": "D", "tags": ["a"]})
    assert (answer.status_code, answer.headers["x-ignored-fields"]) == (201, "tags")
    assert await one.rows(Tag.id) == []
