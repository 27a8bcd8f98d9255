"""Tags: on records of every kind, found by their names, renamed, merged and deleted."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from storage.base import new_id
from storage.link_triggers import OF_KINDS
from storage.queries import tags as tagging
from storage.tables import Account, Activity, Campaign, Contact, Deal, Event, Lead, Tag, TagLink
from storage.tables.tags import TAGGED
from tests.isolation.requests import ERRORS, Case, Rest, by_id, change, put, q
from tests.isolation.surfaces import Surfaces, plain
from tests.support.record_types import RecordType
from tests.support.statements import statements
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

TAG = ["id", "name", "color", "created_at"]
APPLY = f"""mutation($ids: [ID!]!, $add: [String!], $remove: [String!]) {{
  tagsApply(ids: $ids, add: $add, remove: $remove) {{ records {{ id kind tags }} {ERRORS} }} }}"""
TAGS = "query($f: TagListFilter, $o: TagOrder) { tags(filter: $f, orderBy: $o) { nodes { name usage { total } } } }"
MERGE = (
    f"mutation($from: [ID!]!, $into: ID!) {{ tagMerge(from: $from, into: $into) {{ tag {{ name }} moved {ERRORS} }} }}"
)
RENAME = f"mutation($id: ID!, $i: TagInput!) {{ tagUpdate(id: $id, input: $i) {{ tag {{ name color }} {ERRORS} }} }}"
INVISIBLE = ("\u200b", "\ufeff\u200d", "\u3164", "\u00ad \u202e", "\ufe0f", "\u0301", "\u2800", "\U000e0041", "\x07")


def records() -> list[Any]:
    return [
        Account(name="a"),
        Contact(last_name="c"),
        Deal(name="d"),
        Lead(name="l"),
        Activity(subject="m"),
        Campaign(name="g", provider="local"),
    ]


async def apply(tenant: Tenant, ids: list[str], add: Any = None, remove: Any = None) -> Any:
    return await tenant.ask(APPLY, ids=ids, add=add, remove=remove)


async def tag_ids(tenant: Tenant) -> dict[str, str]:
    return {name: identifier for identifier, name in await tenant.rows(Tag.id, Tag.name)}


async def test_records_of_every_kind_are_tagged_together_and_found(one: Tenant) -> None:
    mine = records()
    await one.add(*mine)
    done = await apply(one, [record.id for record in mine], ["vip", "Berlin"])
    kinds = ["ACCOUNT", "CONTACT", "DEAL", "LEAD", "ACTIVITY", "CAMPAIGN"]
    expected = [{"id": r.id, "kind": k, "tags": ["vip", "Berlin"]} for r, k in zip(mine, kinds, strict=True)]
    assert done == {"records": expected, "userErrors": []}
    for noun, kind in (
        ("accounts", "Account"),
        ("contacts", "Contact"),
        ("deals", "Deal"),
        ("leads", "Lead"),
        ("meetings", "Meeting"),
        ("campaigns", "Campaign"),
    ):
        document = f"query($f: {kind}Filter) {{ {noun}(filter: $f) {{ nodes {{ tags }} totalCount }} }}"
        for filter, found in (
            ({"all": ["VIP", "berlin"]}, 1),
            ({"all": ["vip", "other"]}, 0),
            ({"any": ["other", "BERLIN", "vip"]}, 1),
            ({"none": ["Vip"]}, 0),
            ({"none": ["other"]}, 1),
            ({"isEmpty": True}, 0),
            ({"isEmpty": False}, 1),
            ({"contains": "vip"}, 1),
            ({"contains": "VIP"}, 0),
            ({"any": []}, 0),
            ({"all": []}, 1),
            ({"none": []}, 1),
            ({"any": ["\x00"]}, 0),
        ):
            page = await one.ask(document, f={"tags": filter})
            assert page == {"nodes": [{"tags": ["vip", "Berlin"]}] * found, "totalCount": found}, (noun, filter)
    assert sorted(await one.rows(Deal.version)) == [(2,)]
    assert [data["ids"] for (kind, data) in await one.rows(Event.type, Event.data) if kind == "records_tagged"] == [
        [record.id for record in mine]
    ]


async def test_any_number_of_tags_to_have_is_one_statement(one: Tenant) -> None:
    """How many names there are is no part of the statement from six on, and who has one less of them is not found."""
    names = [f"tag {number}" for number in range(100)]
    all_of_them, but_one = Deal(name="a"), Deal(name="b")
    await one.add(all_of_them, but_one)
    await apply(one, [all_of_them.id], names)
    await apply(one, [but_one.id], names[:-1])
    document = "query($f: DealFilter) { deals(filter: $f) { nodes { name } } }"
    sent = []
    for asked, found in (
        (names[:6], ["a", "b"]),
        ([*names[94:], *(name.upper() for name in names[94:])], ["a"]),
        (names, ["a"]),
        (names[:-1], ["a", "b"]),
        ([*names[:6], "nobody's"], []),
        ([f"tag {number}" for number in range(1000)], []),
    ):
        with statements(one.gateway.world.database) as texts:
            page = await one.ask(document, f={"tags": {"all": asked}})
            others = await one.ask(document, f={"not": {"tags": {"all": asked}}})
        assert sorted(node["name"] for node in page["nodes"]) == found
        assert sorted(node["name"] for node in others["nodes"]) == sorted({"a", "b"} - set(found))
        sent.append(texts)
    assert sent[0] == sent[1] == sent[2] == sent[3] == sent[4]


MOMENTS = [datetime(2026, 3, day, 12, tzinfo=UTC) for day in (1, 2, 3)]
PAGES = """query($f: DealFilter, $o: DealOrder, $first: Int, $after: String, $last: Int, $before: String) {
  deals(filter: $f, orderBy: $o, first: $first, after: $after, last: $last, before: $before) {
    totalCount nodes { id } pageInfo { startCursor endCursor hasNextPage hasPreviousPage } } }"""


async def through(tenant: Tenant, *, backward: bool, **asked: Any) -> list[str]:
    """The identifiers of a list that is read page by page from one of its ends."""
    size, behind, end = ("last", "before", "start") if backward else ("first", "after", "end")
    found: list[str] = []
    cursor = None
    while True:
        page = await tenant.ask(PAGES, **{size: 4, behind: cursor}, **asked)
        ids = [node["id"] for node in page["nodes"]]
        found = ids + found if backward else found + ids
        if not page["pageInfo"]["hasPreviousPage" if backward else "hasNextPage"]:
            assert page["totalCount"] == len(found)
            return found
        cursor = page["pageInfo"][f"{end}Cursor"]


@pytest.mark.parametrize("names", [["a"], ["a", "b"], ["b", "A", "c"]], ids=len)
async def test_a_list_by_tags_is_the_list_without_what_lacks_one(one: Tenant, names: list[str]) -> None:
    """In every order, from both ends, and where many records were made at one moment."""
    account = Account(name="theirs")
    deals = [
        Deal(name=f"{n * 7 % 5}", created_at=MOMENTS[n % 3], account_id=account.id if n % 2 else None)
        for n in range(36)
    ]
    await one.add(account, *deals)
    for part, name in ((1, "a"), (2, "b"), (3, "c")):
        await apply(one, [deal.id for n, deal in enumerate(deals) if n % part == 0], [name])
    part = {1: 1, 2: 2, 3: 6}[len(names)]
    expected = {deal.id for n, deal in enumerate(deals) if n % part == 0}
    wanted = {"f": {"tags": {"all": names}}}
    for order in (None, *({"field": f, "direction": d} for f in ("CREATED_AT", "NAME") for d in ("ASC", "DESC"))):
        every = [i for i in await through(one, backward=False, o=order) if i in expected]
        for backward in (False, True):
            assert await through(one, backward=backward, o=order, **wanted) == every, (order, backward)
    for more in ({"name": {"eq": "0"}}, {"account": {"name": {"eq": "theirs"}}}, {"tags": {"any": ["b", "c"]}}):
        narrower = {i for i in await through(one, backward=False, f=more) if i in expected}
        both = {"and": [wanted["f"], more]}
        assert set(await through(one, backward=False, f=both)) == narrower, more
        either = {"or": [wanted["f"], more]}
        assert set(await through(one, backward=True, f=either)) >= expected
    children = "query($f: DealFilter) { accounts { nodes { deals(filter: $f, first: 50) { nodes { id } } } } }"
    found = await one.ask(children, **wanted)
    theirs = {node["id"] for each in found["nodes"] for node in each["deals"]["nodes"]}
    assert theirs == {deal.id for deal in deals if deal.account_id and deal.id in expected}


async def test_every_link_knows_when_its_record_was_made(one: Tenant) -> None:
    """Whoever wrote it; else its record would not be found by its tags (decision 820)."""
    kept, gone = (Account(name=name, created_at=moment) for name, moment in zip("ab", MOMENTS, strict=False))
    mine = [kept, gone, *records()]
    await one.add(*mine)
    await apply(one, [record.id for record in mine], ["vip"])
    await apply(one, [gone.id], ["theirs"])
    made = f"mutation($i: AccountCreateInput!) {{ accountCreate(input: $i) {{ account {{ id }} {ERRORS} }} }}"
    assert (await one.ask(made, i={"name": "n", "tags": ["vip"]}))["userErrors"] == []
    upsert = f"mutation($r: [DealUpsertInput!]!) {{ dealsUpsert(rows: $r) {{ created updated {ERRORS} }} }}"
    for done in ({"created": 1, "updated": 0}, {"created": 0, "updated": 1}):
        tags = ["vip", "new"] if done["created"] else ["vip"]
        result = await one.ask(upsert, r=[{"externalKey": "k", "name": "n", "tags": tags}])
        assert {name: result[name] for name in done} == done
    await one.ask(MERGE, **{"from": [(await tag_ids(one))["new"]], "into": (await tag_ids(one))["vip"]})
    merge = f"mutation($i: MergeInput!) {{ recordsMerge(input: $i) {{ merge {{ id }} {ERRORS} }} }}"
    undo = f"mutation($id: ID!) {{ mergeUndo(id: $id) {{ restored {{ id }} {ERRORS} }} }}"
    merged = await one.ask(merge, i={"kind": "ACCOUNT", "into": kept.id, "from": [gone.id]})
    await _check_moments(one)
    has = "query($n: String!) { accounts(filter: {tags: {all: [$n]}}) { nodes { id } } }"
    assert (await one.ask(has, n="theirs"))["nodes"] == [{"id": kept.id}]
    await one.ask(undo, id=merged["merge"]["id"])
    await _check_moments(one)
    assert (await one.ask(has, n="theirs"))["nodes"] == [{"id": gone.id}]


async def _check_moments(tenant: Tenant) -> None:
    found = {(kind, record): at for kind, record, at in await tenant.rows(*_LINK)}
    assert len(found) > len(TAGGED)
    for kind, model in tagging.MODELS.items():
        moments = dict(await tenant.rows(model.id, model.created_at))  # type: ignore[attr-defined]
        of_kind = {record: at for (called, record), at in found.items() if called == kind.value}
        assert of_kind == {record: moments[record] for record in of_kind}, kind


_LINK: tuple[Any, ...] = (TagLink.kind, TagLink.record_id, TagLink.record_created_at)


async def test_the_triggers_know_every_kind_that_has_tags() -> None:
    assert {table: kind for kind, table in OF_KINDS.items()} == TAGGED


async def test_names_that_differ_in_case_are_one_tag(one: Tenant) -> None:
    deal = Deal(name="d")
    await one.add(deal)
    assert (await apply(one, [deal.id], ["Straße", "STRASSE", "ｖｉｐ"]))["records"][0]["tags"] == ["Straße", "ｖｉｐ"]
    assert (await apply(one, [deal.id, deal.id], ["VIP", "x"]))["records"][1]["tags"] == ["Straße", "ｖｉｐ", "x"]
    assert (await apply(one, [deal.id], None, ["STRASSE"]))["records"][0]["tags"] == ["ｖｉｐ", "x"]
    assert sorted(await tag_ids(one)) == ["Straße", "x", "ｖｉｐ"]
    before = (await one.rows(Deal.version))[0]
    await apply(one, [deal.id], ["X"], ["nobody's"])
    assert (await one.rows(Deal.version))[0] == before  # nothing changed, and nothing is told


async def test_a_call_that_names_another_organization_s_record_changes_none(one: Tenant, two: Tenant) -> None:
    mine, theirs = [Deal(name=f"{n}") for n in range(3)], Deal(name="theirs")
    await one.add(*mine)
    await two.add(theirs)
    for wrong in (theirs.id, new_id(), "no uuid"):
        done = await apply(one, [*(deal.id for deal in mine), wrong], ["vip"])
        words = {"code": "VALIDATION", "message": "does not exist in this organization", "field": ["ids", "3"]}
        assert done == {"records": [], "userErrors": [words]}
    assert await one.rows(TagLink.tag_id) == await two.rows(TagLink.tag_id) == await one.rows(Tag.id) == []


async def test_what_is_wrong_is_told_at_its_field(one: Tenant) -> None:
    deal = Deal(name="d")
    await one.add(deal)
    for given, field in (
        ({"ids": []}, ["ids"]),
        ({"ids": [deal.id] * 501}, ["ids"]),
        ({"ids": [deal.id], "add": ["x" * 101]}, ["add", "0"]),
        ({"ids": [deal.id], "add": ["x", " "]}, ["add", "1"]),
        ({"ids": [deal.id], "add": ["x", "\u200b\u2060"]}, ["add", "1"]),  # decision 191
        ({"ids": [deal.id], "remove": ["\x00"]}, ["remove", "0"]),
        ({"ids": [deal.id], "add": [f"{n}" for n in range(101)]}, ["add"]),
    ):
        [problem] = (await one.ask(APPLY, **given))["userErrors"]
        assert (problem["code"], problem["field"]) == ("VALIDATION", field), given
    await apply(one, [deal.id], [f"{n}" for n in range(100)])
    [problem] = (await apply(one, [deal.id], ["one more"]))["userErrors"]
    assert problem["field"] == ["ids", "0"]
    assert len(await one.rows(TagLink.tag_id)) == 100
    create = f"mutation($i: TagInput!) {{ tagCreate(input: $i) {{ tag {{ name }} {ERRORS} }} }}"
    for given, code, field in (
        ({}, "VALIDATION", ["input", "name"]),
        ({"name": "\u2003"}, "VALIDATION", ["input", "name"]),
        *(({"name": name}, "VALIDATION", ["input", "name"]) for name in INVISIBLE),
        ({"name": "n", "color": "red"}, "VALIDATION", ["input", "color"]),
        ({"name": "1"}, "DUPLICATE", ["input", "name"]),
    ):
        [problem] = (await one.ask(create, i=given))["userErrors"]
        assert (problem["code"], problem["field"]) == (code, field), given


async def test_an_organization_s_tags_are_full_some_time(one: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resolvers.shared.tagging.ORGANIZATION_TAGS_MAX", 2)
    deal, lead = Deal(name="d"), await _lead(one, ["a"])
    await one.add(deal)
    create = f"mutation($i: TagInput!) {{ tagCreate(input: $i) {{ tag {{ name }} {ERRORS} }} }}"
    update = f"mutation($id: ID!, $t: [String!]) {{ leadUpdate(id: $id, input: {{tags: $t}}) {{ {ERRORS} }} }}"
    await apply(one, [deal.id], ["a", "b"])
    for payload, field in (
        (await apply(one, [deal.id], ["A", "c"]), ["add"]),
        (await one.ask(update, id=lead["id"], t=["c"]), ["input", "tags"]),
        (await one.ask(create, i={"name": "c"}), ["input"]),
    ):
        [problem] = payload["userErrors"]
        assert (problem["code"], problem["field"]) == ("VALIDATION", field)
    assert sorted(await tag_ids(one)) == ["a", "b"]


async def test_campaigns_need_the_outreach_rule_too(one: Tenant) -> None:
    campaign = Campaign(name="g", provider="local")
    await one.add(campaign)
    await one.gateway.world.join("rep@tags", one.organization, scopes=["deals:manage"])
    headers = one.gateway.world.session("rep@tags", one.organization)
    body = await one.body(APPLY, headers, ids=[campaign.id], add=["x"])
    assert [error["extensions"]["code"] for error in body["errors"]] == ["FORBIDDEN"]
    assert await one.rows(Tag.id) == []


async def test_renaming_shows_at_once_and_names_stay_apart(one: Tenant) -> None:
    deal, lead = Deal(name="d"), Lead(name="l")
    await one.add(deal, lead)
    await apply(one, [deal.id, lead.id], ["old", "other"])
    ids = await tag_ids(one)
    done = await one.ask(RENAME, id=ids["old"], i={"name": "New", "color": "#abCDef"})
    assert done == {"tag": {"name": "New", "color": "#ABCDEF"}, "userErrors": []}
    shown = await one.ask("query($id: ID!) { deal(id: $id) { tags } }", id=deal.id)
    assert shown == {"tags": ["New", "other"]}
    assert await one.ask("query($id: ID!) { lead(id: $id) { tags } }", id=lead.id) == shown
    [problem] = (await one.ask(RENAME, id=ids["other"], i={"name": "NEW"}))["userErrors"]
    assert (problem["code"], problem["field"]) == ("DUPLICATE", ["input", "name"])
    assert (await one.ask(RENAME, id=ids["old"], i={"name": "NEW"}))["tag"] == {"name": "NEW", "color": "#ABCDEF"}
    [problem] = (await one.ask(RENAME, id=new_id(), i={"name": "x"}))["userErrors"]
    assert problem["code"] == "NOT_FOUND"


async def test_merging_puts_one_tag_wherever_another_was(one: Tenant) -> None:
    both, first, lead = Deal(name="b"), Deal(name="f"), Lead(name="l")
    await one.add(both, first, lead)
    await apply(one, [both.id], ["a", "b"])
    await apply(one, [first.id, lead.id], ["b", "c"])
    ids = await tag_ids(one)
    for given, field in (({"from": [ids["a"]]}, ["from", "0"]), ({"from": [ids["b"], new_id()]}, ["from", "1"])):
        [problem] = (await one.ask(MERGE, into=ids["a"], **given))["userErrors"]
        assert (problem["code"], problem["field"]) == ("VALIDATION", field)
    done = await one.ask(MERGE, into=ids["a"], **{"from": [ids["b"], ids["c"], ids["b"]]})
    assert done == {"tag": {"name": "a"}, "moved": 2, "userErrors": []}
    page = await one.ask('{ deals(filter: {tags: {all: ["A"]}}) { nodes { name tags } totalCount } }')
    assert sorted(node["name"] for node in page["nodes"]) == ["b", "f"]
    assert [node["tags"] for node in page["nodes"]] == [["a"], ["a"]]
    assert (await one.ask("query($id: ID!) { lead(id: $id) { tags } }", id=lead.id)) == {"tags": ["a"]}
    assert await tag_ids(one) == {"a": ids["a"]}


async def test_deleting_takes_a_tag_off_and_a_record_s_links_go_with_it(one: Tenant) -> None:
    mine = records()
    await one.add(*mine)
    await apply(one, [record.id for record in mine], ["a", "b"])
    ids = await tag_ids(one)
    await one.ask("mutation($id: ID!) { tagDelete(id: $id) { deletedId } }", id=ids["a"])
    assert (await one.ask("query($id: ID!) { lead(id: $id) { tags } }", id=mine[3].id)) == {"tags": ["b"]}
    account, contact, deal, _, meeting, campaign = mine
    for noun, record in (
        ("account", account),
        ("contact", contact),
        ("deal", deal),
        ("meeting", meeting),
        ("campaign", campaign),
    ):
        await one.ask(f"mutation($id: ID!) {{ {noun}Delete(id: $id) {{ deletedId }} }}", id=record.id)
    assert await one.rows(TagLink.record_id) == [(mine[3].id,)]


@pytest.mark.parametrize("what", ["rename", "merge", "delete"])
async def test_what_becomes_of_a_tag_becomes_of_the_records_that_show_it(one: Tenant, what: str) -> None:
    """A sync finds them, and a copy of before is no longer current (decision 1104)."""
    mine, other = records(), Deal(name="other")
    await one.add(*mine, other)
    await apply(one, [record.id for record in mine], ["vip"])
    await apply(one, [other.id], ["fair"])
    ids = await tag_ids(one)
    since = {"updatedAt": {"gt": datetime.now(UTC).isoformat()}}
    path, client = f"/deals/{mine[2].id}", one.gateway.http
    seen = (await client.get(path, headers=one.headers())).headers["etag"]
    assert (await client.get(path, headers={**one.headers(), "If-None-Match": seen})).status_code == 304
    await one.ask(RENAME, id=ids["vip"], i={"color": "#ABCDEF"})
    assert (await client.get(path, headers={**one.headers(), "If-None-Match": seen})).status_code == 304
    changes: dict[str, tuple[str, dict[str, Any], list[str]]] = {
        "rename": (RENAME, {"id": ids["vip"], "i": {"name": "key"}}, ["key"]),
        "merge": (MERGE, {"from": [ids["vip"]], "into": ids["fair"]}, ["fair"]),
        "delete": (DELETE, {"id": ids["vip"]}, []),
    }
    document, variables, shown = changes[what]
    assert (await one.ask(document, **variables))["userErrors"] == []
    answer = await client.get(path, headers={**one.headers(), "If-None-Match": seen})
    assert (answer.status_code, answer.json()["tags"]) == (200, shown)
    for noun, record in zip(("account", "contact", "deal", "lead", "activity", "campaign"), mine, strict=True):
        nouns = f"{noun.capitalize()}Filter", "activities" if noun == "activity" else f"{noun}s"
        found = await one.ask(f"query($f: {nouns[0]}) {{ {nouns[1]}(filter: $f) {{ nodes {{ id tags }} }} }}", f=since)
        assert found == {"nodes": [{"id": record.id, "tags": shown}]}, noun


DELETE = f"mutation($id: ID!) {{ tagDelete(id: $id) {{ deletedId {ERRORS} }} }}"


@pytest.mark.parametrize("what", ["rename", "merge", "delete"])
async def test_who_tags_a_lead_and_who_changes_its_tags_never_wait_for_each_other(one: Tenant, what: str) -> None:
    lead = Lead(name="l")
    await one.add(lead)
    await apply(one, [lead.id], ["vip", "other"])
    ids = await tag_ids(one)
    changes: dict[str, tuple[str, dict[str, Any]]] = {
        "rename": (RENAME, {"id": ids["vip"], "i": {"name": "key"}}),
        "merge": (MERGE, {"from": [ids["vip"]], "into": ids["other"]}),
        "delete": (DELETE, {"id": ids["vip"]}),
    }
    document, variables = changes[what]
    async with one.gateway.world.database.writing(one.id) as session:
        await tagging.lock_records(session, [lead.id])
        task = asyncio.create_task(one.ask(document, **variables))
        await asyncio.sleep(0.2)  # for it to wait for the lock; a slower machine proves less and fails nothing
        assert await tagging.named(session, ["vip", "other"])
    assert (await task)["userErrors"] == []
    tags = {"rename": ["key", "other"], "merge": ["other"], "delete": ["other"]}[what]
    assert await one.rows(Lead.tags) == [(tags,)]


async def test_changes_to_a_tag_are_the_same_statements_for_any_number_of_leads(one: Tenant) -> None:
    sent = []
    for count in (1, 12):
        leads = [Lead(name=f"{n}") for n in range(count)]
        await one.add(*leads)
        await apply(one, [lead.id for lead in leads], ["a", "b"])
        ids = await tag_ids(one)
        with statements(one.gateway.world.database) as texts:
            await one.ask(RENAME, id=ids["a"], i={"name": "A"})
            await one.ask(MERGE, **{"from": [ids["b"]], "into": ids["a"]})
            await one.ask(DELETE, id=ids["a"])
        sent.append(texts)
    assert sent[0] == sent[1]


async def test_tags_are_listed_counted_and_ordered(one: Tenant) -> None:
    mine = [*records(), Deal(name="e")]
    await one.add(*mine)
    await apply(one, [record.id for record in mine], ["Zoo"])
    await apply(one, [mine[2].id], ["alpha", "Beta"])

    async def names(f: Any = None, o: Any = None) -> list[tuple[str, int]]:
        return [(node["name"], node["usage"]["total"]) for node in (await one.ask(TAGS, f=f, o=o))["nodes"]]

    assert await names() == [("Beta", 1), ("Zoo", 7), ("alpha", 1)]
    assert (await names(o={"field": "USAGE", "direction": "DESC"}))[0] == ("Zoo", 7)
    assert await names({"query": "ZO"}) == [("Zoo", 7)]
    assert await names({"usedOn": ["CAMPAIGN", "LEAD"]}) == [("Zoo", 7)]
    assert await names({"usedOn": []}) == []
    walked, cursor = [], None
    document = """query($after: String) { tags(orderBy: {field: USAGE, direction: ASC}, first: 1, after: $after) {
      nodes { name } pageInfo { endCursor hasNextPage } } }"""
    while True:
        page = await one.ask(document, after=cursor)
        walked += [node["name"] for node in page["nodes"]]
        if not page["pageInfo"]["hasNextPage"]:
            break
        cursor = page["pageInfo"]["endCursor"]
    assert sorted(walked) == ["Beta", "Zoo", "alpha"]
    assert walked[-1] == "Zoo"


async def test_the_tags_of_a_page_cost_one_statement(one: Tenant) -> None:
    deals = [Deal(name=f"{n}") for n in range(60)]
    await one.add(*deals)
    await apply(one, [deal.id for deal in deals], ["a", "b"])
    counts = []
    for size in (5, 50):
        with statements(one.gateway.world.database) as sent:
            await one.ask(f"{{ deals(first: {size}) {{ nodes {{ tags }} }} }}")
        counts.append(len(sent))
    assert counts[0] == counts[1]


async def test_a_lead_s_own_tags_are_tags(one: Tenant) -> None:
    await apply(one, [(await _lead(one, ["Fair", "fair", "VIP"]))["id"]], ["x"])
    lead = await _lead(one, ["FAIR"])
    assert lead["tags"] == ["Fair"]  # the spelling that the tag has
    update = "mutation($id: ID!, $t: [String!]) { leadUpdate(id: $id, input: {tags: $t}) { lead { tags version } } }"
    assert (await one.ask(update, id=lead["id"], t=["new", "FAIR"]))["lead"] == {"tags": ["new", "Fair"], "version": 2}
    assert (await one.ask(update, id=lead["id"], t=["NEW", "fair"]))["lead"] == {"tags": ["new", "Fair"], "version": 2}
    assert sorted(await tag_ids(one)) == ["Fair", "VIP", "new", "x"]
    assert (await one.ask(update, id=lead["id"], t=None))["lead"]["tags"] == []
    assert (await one.ask('{ leads(filter: {tags: {any: ["fair"]}}) { totalCount } }'))["totalCount"] == 1


async def _lead(tenant: Tenant, tags: list[str]) -> Any:
    document = 'mutation($t: [String!]) { cardCaptureConfirm(input: {name: "n", tags: $t}) { lead { id tags } } }'
    return (await tenant.ask(document, t=tags))["lead"]


USAGE = "usage { accounts contacts deals leads activities campaigns total }"


async def _some(surfaces: Surfaces) -> list[Deal]:
    deals = [Deal(name=f"{n}") for n in range(2)]
    await surfaces.gateway.world.add(surfaces.gateway.world.one, *deals)
    for body in ({"ids": [deal.id for deal in deals], "add": ["b", "A"]}, {"ids": [deals[0].id], "add": ["c"]}):
        assert (await surfaces.rest("POST", "/records/tags", body)).status_code == 200
    return deals


async def _tags(surfaces: Surfaces) -> None:
    await _some(surfaces)
    for query, arguments in (
        ("", ""),
        ("query=B", '(filter: {query: "B"})'),
        ("limit=1&offset=1", "(first: 1, offset: 1)"),
    ):
        listed = (await surfaces.rest("GET", f"/tags?{query}")).json()
        shown = await surfaces.graphql(f"{{ tags{arguments} {{ nodes {{ id name color createdAt {USAGE} }} }} }}")
        counted = (await surfaces.rest("GET", f"/tags?with_usage=true&{query}")).json()
        assert [{**plain(tag), "usage": tag["usage"]} for tag in counted] == shown["nodes"]
        assert [{k: v for k, v in tag.items() if k != "usage"} for tag in counted] == listed != []
    assert (await surfaces.rest("GET", "/tags?limit=0")).json() == []


async def _create(surfaces: Surfaces) -> None:
    for number, body in enumerate(({"name": " n "}, {"name": "c", "color": "#abcdef"})):
        response = await surfaces.rest("POST", "/tags", {**body, "name": f"{body['name']}{number} path"})
        assert (response.status_code, response.headers["location"]) == (201, f"/tags/{response.json()['id']}")
        input = {**body, "name": f"{body['name']}{number} graph"}
        twin = await surfaces.change("tagCreate", "$i: TagInput! -> input: $i", "tag { name color }", i=input)
        by_path = {"name": response.json()["name"].replace("path", "graph"), "color": response.json()["color"]}
        assert by_path == twin["tag"]
        again = await surfaces.rest("POST", "/tags", {"name": response.json()["name"].upper()})
        assert (again.status_code, again.json()["code"]) == (409, "duplicate")


async def _update(surfaces: Surfaces) -> None:
    await _some(surfaces)
    tags = (await surfaces.rest("GET", "/tags")).json()
    response = await surfaces.rest("PATCH", f"/tags/{tags[0]['id']}", {"color": "#aaaaaa"})
    arguments = "$id: ID!, $i: TagInput! -> id: $id, input: $i"
    twin = await surfaces.change("tagUpdate", arguments, "tag { color }", id=tags[1]["id"], i={"color": "#aaaaaa"})
    assert response.json()["color"] == twin["tag"]["color"] == "#AAAAAA"


async def _delete(surfaces: Surfaces) -> None:
    await _some(surfaces)
    tags = (await surfaces.rest("GET", "/tags")).json()
    assert (await surfaces.rest("DELETE", f"/tags/{tags[0]['id']}")).status_code == 204
    await surfaces.change("tagDelete", "$id: ID! -> id: $id", "deletedId", id=tags[1]["id"])
    assert [tag["name"] for tag in (await surfaces.rest("GET", "/tags")).json()] == ["c"]


async def _merge(surfaces: Surfaces) -> None:
    await _some(surfaces)
    a, b, c = [tag["id"] for tag in (await surfaces.rest("GET", "/tags")).json()]
    response = await surfaces.rest("POST", f"/tags/{b}/merge", {"from": [c]})
    assert (response.json()["tag"]["id"], response.json()["moved"]) == (b, 0)
    wrong = await surfaces.rest("POST", f"/tags/{b}/merge", {"from": [a, b]})
    assert (wrong.status_code, wrong.json()["detail"][0]["loc"]) == (422, ["body", "from", 1])
    arguments = "$f: [ID!]!, $i: ID! -> from: $f, into: $i"
    twin = await surfaces.change("tagMerge", arguments, "tag { id } moved", f=[b], i=a)
    assert twin == {"tag": {"id": a}, "moved": 0}


async def _apply(surfaces: Surfaces) -> None:
    deals = await _some(surfaces)
    shown = (await surfaces.rest("POST", "/records/tags", {"ids": [deals[0].id], "remove": ["A"]})).json()
    arguments = "$ids: [ID!]!, $r: [String!] -> ids: $ids, remove: $r"
    twin = await surfaces.change("tagsApply", arguments, "records { id kind tags }", ids=[deals[1].id], r=["A", "C"])
    assert shown == [{"id": deals[0].id, "kind": "deal", "tags": ["b", "c"]}]
    assert twin["records"] == [{"id": deals[1].id, "kind": "DEAL", "tags": ["b"]}]
    wrong = await surfaces.rest("POST", "/records/tags", {"ids": [deals[0].id, new_id()], "add": ["x"]})
    assert (wrong.status_code, wrong.json()["detail"][0]["loc"]) == (422, ["body", "ids", 1])
    for query, number in (("tag=B", 2), ("tag=c", 1), ("tag=x", 0)):
        listed = (await surfaces.rest("GET", f"/deals?{query}")).json()
        assert len(listed) == number
        assert all("b" in deal["tags"] for deal in listed)


_TAGS = ("GET", "/tags"), ("POST", "/tags"), ("PATCH", "/tags/{tag_id}"), ("DELETE", "/tags/{tag_id}")
RECORD = RecordType(
    typename="Tag",
    name="tag",
    row=lambda ids, mark: Tag(name=mark),
    cases={
        "tags.list_tags": Case("CRM_READ", (Rest("GET", "/tags"), q("{ tags { nodes { name } totalCount } }"))),
        "tags.usage_of_tag": Case(
            "CRM_READ", (q("{ tags { nodes { usage { total } } } }"),), below=("tags.list_tags",), direct=("<tag>",)
        ),
        "tags.create_tag": Case(
            "CRM_MANAGE",
            (Rest("POST", "/tags", {"name": "<name>"}), put("tagCreate", "TagInput", "tag { name }", name="<name>")),
        ),
        "tags.update_tag": Case(
            "CRM_MANAGE",
            (
                Rest("PATCH", "/tags/<tag>", {"name": "<name>"}),
                change("tagUpdate", "TagInput", "tag { name }", "<tag>", name="<name>"),
            ),
        ),
        "tags.delete_tag": Case("CRM_MANAGE", (Rest("DELETE", "/tags/<tag>"), by_id("tagDelete", "tag", "deletedId"))),
        "tags.merge_tags": Case(
            "CRM_MANAGE",
            tuple(
                request
                for into, other in (
                    ("<tag>", "<second tag>"),
                    ("<own tag>", "<second tag>"),
                    ("<tag>", "<own second tag>"),
                )
                for request in (
                    Rest("POST", f"/tags/{into}/merge", {"from": [other]}),
                    q(MERGE, into=into, **{"from": [other]}),
                )
            ),
        ),
        "tags.apply_tags": Case(
            "CRM_MANAGE",
            (
                Rest("POST", "/records/tags", {"ids": ["<deal>", "<contact>"], "add": ["<name>"]}),
                q(APPLY, ids=["<deal>", "<contact>"], add=["<name>"], remove=[]),
                q(APPLY, ids=["<own deal>", "<deal>"], add=["<name>"], remove=[]),
            ),
        ),
    },
    paths={
        _TAGS[0]: ("CRM_READ", True, 200, "Query.tags"),
        _TAGS[1]: ("CRM_MANAGE", True, 201, "Mutation.tagCreate"),
        _TAGS[2]: ("CRM_MANAGE", True, 200, "Mutation.tagUpdate"),
        _TAGS[3]: ("CRM_MANAGE", True, 204, "Mutation.tagDelete"),
        ("POST", "/tags/{tag_id}/merge"): ("CRM_MANAGE", True, 200, "Mutation.tagMerge"),
        ("POST", "/records/tags"): ("CRM_MANAGE", True, 200, "Mutation.tagsApply"),
    },
    keys={
        ("/tags", "GET"): TAG,
        ("/tags", "POST"): TAG,
        ("/tags/{tag_id}", "PATCH"): TAG,
        ("/tags/{tag_id}/merge", "POST"): ["tag", "moved"],
        ("/records/tags", "POST"): ["id", "kind", "tags"],
    },
    compared={
        "Query.tags": _tags,
        "Mutation.tagCreate": _create,
        "Mutation.tagUpdate": _update,
        "Mutation.tagDelete": _delete,
        "Mutation.tagMerge": _merge,
        "Mutation.tagsApply": _apply,
    },
)


async def test_names_that_show_anything_are_names(one: Tenant) -> None:
    deal = Deal(name="d")
    await one.add(deal)
    names = [
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "\U0001f468\u200d\U0001f469",
        "\U0001fae9",
        "\ue000",
        "#\ufe0f\u20e3",
    ]
    assert (await apply(one, [deal.id], names))["records"][0]["tags"] == names


async def test_a_lead_s_tags_show_something_or_are_blank(one: Tenant) -> None:
    lead = await _lead(one, ["\u200b", "fair"])
    assert lead["tags"] == ["fair"]
    update = f"mutation($id: ID!, $t: [String!]) {{ leadUpdate(id: $id, input: {{tags: $t}}) {{ {ERRORS} }} }}"
    [problem] = (await one.ask(update, id=lead["id"], t=["x", "\u3164"]))["userErrors"]
    assert (problem["code"], problem["field"]) == ("VALIDATION", ["input", "tags", "1"])
