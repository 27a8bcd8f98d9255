"""Timelines and histories: what happened to a record, newest first, page by page."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import update
from sqlmodel import col

from contract.criteria import PageWindow
from contract.vocabulary import TimelineKind
from storage.base import new_id
from storage.queries import timeline as feeds
from storage.tables import (
    Account,
    Activity,
    Campaign,
    Contact,
    Deal,
    DealContact,
    Enrollment,
    Lead,
    PipelineStage,
    RecordChange,
    StageChange,
)
from tests.isolation.requests import ERRORS, Case, Rest, of
from tests.isolation.surfaces import Surfaces, camel
from tests.support.record_types import RecordType
from tests.support.statements import statements
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
OWNERS = ("account", "contact", "deal", "lead")
ITEM = [
    *("id", "kind", "at", "actor", "activity", "deal_id", "stage_change", "change", "file_id", "enrollment_id"),
]
CHANGE = ["id", "at", "actor", "type", "fields"]
FIELDS = "fields { field before after }"
ITEMS = f"""nodes {{ id kind at actor actorMember {{ id }} activity {{ id kind subject }} deal {{ id }}
  stageChange {{ by fromStage {{ id }} toStage {{ id }} }} change {{ id type actor {FIELDS} }} }}
  pageInfo {{ hasNextPage endCursor }}"""
ARGUMENTS = "$id: ID!, $k: [TimelineKind!], $u: Boolean, $n: Int, $a: String"
GIVEN = "kinds: $k, includeUpcoming: $u, first: $n, after: $a"
ENROLLED = "enrollment { id email }"


def timeline_query(noun: str, selected: str = ITEMS) -> str:
    return f"query({ARGUMENTS}) {{ {noun}(id: $id) {{ timeline({GIVEN}) {{ {selected} }} }} }}"


async def timeline(tenant: Tenant, noun: str, record_id: str, headers: Any = None, **given: Any) -> list[Any]:
    found = await tenant.ask(timeline_query(noun), headers, id=record_id, **given)
    items: list[Any] = found["timeline"]["nodes"]
    return items


async def history(tenant: Tenant, noun: str, record_id: str, headers: Any = None) -> list[Any]:
    document = f"""query($id: ID!) {{ {noun}(id: $id) {{
      history {{ nodes {{ id at actor actorMember {{ id }} type {FIELDS} }} totalCount }} }} }}"""
    found = (await tenant.ask(document, headers, id=record_id))["history"]
    assert found["totalCount"] == len(found["nodes"])
    nodes: list[Any] = found["nodes"]
    return nodes


def told(item: Any) -> dict[str, tuple[Any, Any]]:
    return {field["field"]: (field["before"], field["after"]) for field in item["fields"]}


async def change(tenant: Tenant, noun: str, record_id: str, role: str = "member", **fields: Any) -> None:
    name = noun.capitalize()
    document = f"""mutation($id: ID!, $i: {name}UpdateInput!) {{
      {noun}Update(id: $id, input: $i) {{ {noun} {{ id }} {ERRORS} }} }}"""
    done = await tenant.ask(document, tenant.headers(role), id=record_id, i=fields)
    assert done["userErrors"] == []


async def made(tenant: Tenant, noun: str, **fields: Any) -> str:
    name = noun.capitalize()
    document = f"mutation($i: {name}CreateInput!) {{ {noun}Create(input: $i) {{ {noun} {{ id }} {ERRORS} }} }}"
    done = await tenant.ask(document, i=fields)
    identifier: str = done[noun]["id"]
    return identifier


async def later(tenant: Tenant, **by: float) -> None:
    """As if so much time had passed since the last change of everything."""
    async with tenant.gateway.world.database.writing(tenant.id) as session:
        rows = await session.rows(RecordChange.__table__.select().where(col(RecordChange.org_id) == tenant.id))  # type: ignore[attr-defined]
        await session.execute(
            update(Account).where(col(Account.org_id) == tenant.id).values(created_at=NOON - timedelta(days=1))
        )
        for row in rows:
            of_it = col(RecordChange.org_id) == tenant.id, col(RecordChange.id) == row.id
            await session.execute(update(RecordChange).where(*of_it).values(at=row.at - timedelta(**by)))


async def test_edits_of_one_person_within_two_minutes_are_one_item(one: Tenant) -> None:
    account = await made(one, "account", name="A")
    await change(one, "account", account, name="B", industry="x")
    await change(one, "account", account, name="C", domain="c.example")
    [edit, creation] = await history(one, "account", account)
    assert told(edit) == {"name": ("A", "C"), "industry": (None, "x"), "domain": (None, "c.example")}
    assert (edit["type"], edit["actor"], edit["actorMember"]) == (
        "account_updated",
        one.subject(),
        {"id": one.subject()},
    )
    assert (creation["id"], creation["type"], creation["actor"]) == (account, "account_created", one.subject())
    assert creation["fields"] == []
    await change(one, "account", account, "admin", name="D")
    assert told((await history(one, "account", account))[0]) == {"name": ("C", "D")}
    await change(one, "account", account, name="E")  # another edit came between
    assert len(await history(one, "account", account)) == 4
    await later(one, minutes=2, seconds=1)
    await change(one, "account", account, name="F")
    assert [told(each).get("name") for each in await history(one, "account", account)] == [
        *(("E", "F"), ("D", "E"), ("C", "D"), ("A", "C"), None)
    ]


async def test_what_came_back_is_dropped(one: Tenant) -> None:
    deal = await made(one, "deal", name="A", value="1.5")
    await change(one, "deal", deal, name="B", value="2", closeDate="2026-05-01")
    await change(one, "deal", deal, name="A")
    assert told((await history(one, "deal", deal))[0]) == {"value": ("1.5", "2"), "closeDate": (None, "2026-05-01")}
    await change(one, "deal", deal, value="1.5", closeDate=None)
    assert [each["type"] for each in await history(one, "deal", deal)] == ["deal_created"]
    await change(one, "deal", deal, notes="x" * 1_001)
    assert told((await history(one, "deal", deal))[0]) == {"notes": (None, "x" * 1_000)}


async def test_a_move_is_told_once_on_the_deal_and_on_its_account(one: Tenant) -> None:
    stages = [PipelineStage(name=kind, type=kind, position=n) for n, kind in enumerate(("open", "won"))]
    await one.add(*stages)
    account, other = await made(one, "account", name="A"), await made(one, "account", name="B")
    deal = await made(one, "deal", name="D", accountId=account, stageId=stages[0].id)
    await change(one, "deal", deal, stageId=stages[1].id, name="E")
    await change(one, "deal", deal, accountId=other)
    moves = ["STAGE_CHANGE"]
    of_deal = await timeline(one, "deal", deal)
    assert [item["kind"] for item in of_deal] == ["CHANGE", *moves, *moves, "CHANGE"]
    assert told(of_deal[0]["change"]) == {"name": ("D", "E"), "accountId": (account, other)}
    of_account = await timeline(one, "account", account, k=moves)
    assert of_account == [item for item in of_deal if item["kind"] == "STAGE_CHANGE"]
    assert [item["stageChange"] for item in of_account] == [
        {"by": one.subject(), "fromStage": {"id": stages[0].id}, "toStage": {"id": stages[1].id}},
        {"by": one.subject(), "fromStage": None, "toStage": {"id": stages[0].id}},
    ]
    assert {item["deal"]["id"] for item in of_account} == {deal}
    assert await timeline(one, "account", other, k=moves) == []
    changed = "mutation($id: ID!) { pipelineStageUpdate(id: $id, input: {type: LOST}) { userErrors { message } } }"
    await one.ask(changed, one.headers("admin"), id=stages[1].id)
    assert told((await history(one, "deal", deal))[0]) == {"status": ("won", "lost")}


async def test_links_are_told_on_both_each_by_itself(one: Tenant) -> None:
    deal = await made(one, "deal", name="D")
    contacts = [await made(one, "contact", lastName=name) for name in "ab"]
    link = """mutation($d: ID!, $c: ID!, $r: String) {
      dealContactLink(dealId: $d, contactId: $c, role: $r) { userErrors { message } } }"""
    for contact in contacts:
        await one.ask(link, d=deal, c=contact, r="Buyer")
    await one.ask(link, d=deal, c=contacts[0], r="Payer")
    off = "mutation($d: ID!, $c: ID!) { dealContactUnlink(dealId: $d, contactId: $c) { userErrors { message } } }"
    await one.ask(off, d=deal, c=contacts[0])
    assert [(each["type"], told(each)) for each in await history(one, "deal", deal)] == [
        ("contact_unlinked", {"contactId": (contacts[0], None)}),
        ("contact_link_updated", {"contactId": (contacts[0], contacts[0]), "role": ("Buyer", "Payer")}),
        ("contact_linked", {"contactId": (None, contacts[1]), "role": (None, "Buyer"), "isPrimary": (None, False)}),
        ("contact_linked", {"contactId": (None, contacts[0]), "role": (None, "Buyer"), "isPrimary": (None, False)}),
        ("deal_created", {}),
    ]
    assert told((await history(one, "contact", contacts[0]))[0]) == {"dealId": (deal, None)}


async def test_a_deletion_takes_the_history_and_tells_those_who_named_the_record(one: Tenant) -> None:
    account = await made(one, "account", name="A")
    contact = await made(one, "contact", lastName="C", accountId=account)
    deal = await made(one, "deal", name="D", accountId=account)
    lead = Lead(name="L", account_id=account)
    await one.add(lead, DealContact(deal_id=deal, contact_id=contact))
    await change(one, "deal", deal, championId=contact)
    await change(one, "account", account, name="B")
    delete = "mutation($id: ID!) { %sDelete(id: $id) { userErrors { message } } }"
    await one.ask(delete % "account", id=account)
    for noun, record in (("contact", contact), ("deal", deal), ("lead", lead.id)):
        newest = (await history(one, noun, record))[0]
        assert (newest["type"], told(newest)) == ("account_deleted", {"accountId": (account, None)})
        assert newest["actor"] == one.subject()
    await one.ask(delete % "contact", id=contact)
    newest, second, *_ = await history(one, "deal", deal)
    both = {key: value for each in (newest, second) for key, value in told(each).items()}
    assert both == {"championId": (contact, None), "contactId": (contact, None)}
    assert await one.rows(RecordChange.subject_kind) != []
    await one.ask(delete % "deal", id=deal)
    assert {kind for (kind,) in await one.rows(RecordChange.subject_kind)} == {"lead"}


async def test_planned_things_only_when_asked_for(one: Tenant) -> None:
    at = datetime.now(UTC)
    account = Account(name="A", created_at=at - timedelta(days=9))
    past, coming = (
        Activity(subject=str(d), type="task", due_at=at + timedelta(days=d), account_id=account.id) for d in (-1, 1)
    )
    await one.add(account, past, coming)
    assert [item["id"] for item in await timeline(one, "account", account.id)] == [past.id, account.id]
    shown = await timeline(one, "account", account.id, u=True)
    assert [item["id"] for item in shown] == [coming.id, past.id, account.id]


async def _everything(tenant: Tenant) -> tuple[dict[str, str], str]:
    """A contact with one item of each kind, and the stage of its deal."""
    account, stage, campaign = Account(name="A"), PipelineStage(name="S"), Campaign(name="C", provider="local")
    contact = Contact(last_name="C", account_id=account.id, created_at=NOON - timedelta(days=1))
    deal = Deal(name="D", account_id=account.id)
    await tenant.add(account, stage, campaign, contact, deal)
    links = {"contact_id": contact.id, "deal_id": deal.id, "account_id": account.id}
    kinds = ("meeting", "task", "note", "call", "email")
    await tenant.add(
        *(
            Activity(type=kind, subject=kind, due_at=NOON + timedelta(minutes=n), created_at=NOON, **links)
            for n, kind in enumerate(kinds)
        ),
        StageChange(deal_id=deal.id, to_stage_id=stage.id, at=NOON + timedelta(hours=1), account_id=account.id),
        *(
            RecordChange(
                subject_kind=k, subject_id=i, at=NOON + timedelta(hours=2), actor="x", type="t", fields={"a": [1, 2]}
            )
            for k, i in (("contact", contact.id), ("account", account.id), ("deal", deal.id))
        ),
        Enrollment(
            campaign_id=campaign.id,
            contact_id=contact.id,
            email="e",
            email_key="e",
            enrolled_at=NOON + timedelta(hours=3),
        ),
    )
    return {"account": account.id, "contact": contact.id, "deal": deal.id}, stage.id


async def test_each_kind_is_found_by_itself(one: Tenant) -> None:
    ids, _ = await _everything(one)
    expected = {kind.name: 1 for kind in TimelineKind} | {"FILE": 0, "CHANGE": 2}
    for noun, others in (("contact", {"STAGE_CHANGE": 0}), ("deal", {"ENROLLMENT": 0}), ("account", {"ENROLLMENT": 0})):
        for kind, number in (expected | others).items():
            found = await timeline(one, noun, ids[noun], k=[kind])
            assert [item["kind"] for item in found] == [kind] * number, (noun, kind)
        assert await timeline(one, noun, ids[noun], k=[]) == []


async def test_what_the_caller_may_not_read_is_left_out(one: Tenant) -> None:
    ids, _ = await _everything(one)
    for scopes, sees in ((("activities:read",), False), (("activities:read", "outreach:read"), True)):
        headers = await one.scoped(*scopes, name=f"scoped {sees}")
        kinds = {item["kind"] for item in await timeline(one, "contact", ids["contact"], headers)}
        assert ("ENROLLMENT" in kinds) is sees
    document = timeline_query("contact", f"nodes {{ kind {ENROLLED} }}")
    shown = (await one.ask(document, headers, id=ids["contact"]))["timeline"]["nodes"]
    assert shown[0] == {"kind": "ENROLLMENT", "enrollment": {"id": shown[0]["enrollment"]["id"], "email": "e"}}


async def test_pages_follow_each_other_at_any_size(one: Tenant) -> None:
    at = NOON
    deal = Deal(name="D", created_at=at - timedelta(days=1), owner_id="o")
    stage = PipelineStage(name="S")
    await one.add(deal, stage)
    # Several of each kind at the same moments, so that the identifiers decide.
    for n in range(12):
        moment = at + timedelta(minutes=n // 4)
        await one.add(
            Activity(subject=str(n), due_at=moment, deal_id=deal.id),
            StageChange(deal_id=deal.id, to_stage_id=stage.id, at=moment),
            RecordChange(
                subject_kind="deal", subject_id=deal.id, at=moment, actor="x", type="t", fields={"name": ["", n]}
            ),
        )
    whole = [item["id"] for item in await timeline(one, "deal", deal.id)]
    assert len(whole) == len(set(whole)) == 37
    for size in (1, 5, 36, 37, 100):
        after, ids = None, list[str]()
        while True:
            page = (await one.ask(timeline_query("deal"), id=deal.id, n=size, a=after))["timeline"]
            ids += [item["id"] for item in page["nodes"]]
            if not page["pageInfo"]["hasNextPage"]:
                break
            after = page["pageInfo"]["endCursor"]
        assert ids == whole, size


async def test_what_is_wrong_is_told_at_its_argument(one: Tenant) -> None:
    deal = Deal(name="D")
    await one.add(deal)
    for given, argument in (
        ({"n": 101}, "first"),
        ({"n": -1}, "first"),
        ({"a": "x"}, "after"),
        ({"a": "WyJhIl0"}, "after"),
    ):
        error = await one.error(timeline_query("deal"), id=deal.id, **given)
        assert argument in error["message"] or argument in str(error["extensions"]), error


def _of_records(sent: list[str]) -> list[str]:
    """Without the look for the caller, which each process has at hand for a while."""
    return [statement for statement in sent if "FROM memberships" not in statement]


async def test_timelines_below_a_list_are_one_statement(one: Tenant) -> None:
    document = (
        "{ deals(first: 100) { nodes { id timeline(first: 3) { nodes { id kind } pageInfo { hasNextPage } } } } }"
    )
    counted = []
    for number in (2, 20):
        deals = [Deal(name=str(n)) for n in range(number)]
        await one.add(
            *deals, *(Activity(subject="a", deal_id=deal.id, due_at=NOON) for deal in deals for _ in range(4))
        )
        with statements(one.gateway.world.database) as sent:
            pages = (await one.ask(document))["nodes"]
        counted.append(len(_of_records(sent)))
        alone = [(await one.ask(timeline_query("deal"), id=each["id"], n=3))["timeline"] for each in pages[:3]]
        for page, of_one in zip(pages, alone, strict=False):
            assert [item["id"] for item in page["timeline"]["nodes"]] == [item["id"] for item in of_one["nodes"]]
            assert page["timeline"]["pageInfo"]["hasNextPage"] is of_one["pageInfo"]["hasNextPage"] is True
    assert counted[0] == counted[1] == 2


async def test_what_is_read_is_one_statement_a_page(one: Tenant) -> None:
    ids, _ = await _everything(one)
    with statements(one.gateway.world.database) as sent:
        document = timeline_query("contact", "nodes { id kind at actor change { type } }")
        assert len((await one.ask(document, id=ids["contact"]))["timeline"]["nodes"]) == 8
    assert len(_of_records(sent)) == 2  # the contact, and the page


async def test_another_organization_s_history_is_nobody_s(one: Tenant, two: Tenant) -> None:
    ids, _ = await _everything(two)
    for noun in ("account", "contact", "deal"):
        assert await one.ask(timeline_query(noun), id=ids[noun]) is None
    async with one.gateway.world.database.reading(one.id) as session:
        feed = feeds.Feed("contact", frozenset(TimelineKind), 50)
        found = await feeds.pages(session, feed, [ids["contact"]])
        several = await feeds.pages(session, feed, [ids["contact"], new_id()])
    assert found[ids["contact"]].rows == several[ids["contact"]].rows == []


def _next(response: Any) -> str | None:
    link = response.headers.get("link")
    if link is None:
        return None
    [(address, relation)] = re.findall(r'<([^>]+)>; rel="(\w+)"', link)
    assert relation == "next"
    return str(address)


def _compared(noun: str, part: str) -> Any:
    async def compare(surfaces: Surfaces) -> None:
        ids, document = await _filled(surfaces, noun), ""
        record = ids[noun]
        path = f"/{noun}s/{record}/{part}"
        whole = (await surfaces.rest("GET", path)).json()
        ids_of = [item["id"] for item in whole]
        paged, address = list[str](), f"{path}?limit=1"
        while address:
            response = await surfaces.rest("GET", address)
            paged += [item["id"] for item in response.json()]
            address = _next(response) or ""
        assert paged == ids_of != []
        if part == "history":
            document = (
                f"query($id: ID!) {{ {noun}(id: $id) {{ history {{ nodes {{ id at actor type {FIELDS} }} }} }} }}"
            )
            twins = (await surfaces.graphql(document, id=record))["history"]["nodes"]
            shown = [{**item, "fields": _camel(item["fields"])} for item in whole]
            assert [{**item, "at": None} for item in shown] == [{**item, "at": None} for item in twins]
            return
        twins = (await surfaces.graphql(timeline_query(noun), id=record))["timeline"]["nodes"]
        for item, twin in zip(whole, twins, strict=True):
            assert (item["id"], item["kind"].upper(), item["actor"]) == (twin["id"], twin["kind"], twin["actor"])
            assert item["deal_id"] == (twin["deal"] and twin["deal"]["id"])
            assert (item["activity"] and item["activity"]["subject"]) == (
                twin["activity"] and twin["activity"]["subject"]
            )
            moved = twin["stageChange"] and {e: twin["stageChange"][e] for e in ("fromStage", "toStage")}
            ends = item["stage_change"] and {camel(k)[:-2]: v and {"id": v} for k, v in item["stage_change"].items()}
            assert moved == ends
            changed = item["change"] and {**item["change"], "fields": _camel(item["change"]["fields"])}
            assert changed == (twin["change"] and {k: twin["change"][k] for k in ("type", "fields")})
            assert (item["enrollment_id"] is not None) is (item["kind"] == "enrollment")
        kinds = [item["id"] for item in whole if item["kind"] in ("change", "note")]
        for query in ("kind=change,note", "kind=change&kind=note", "kind=note,change&include_upcoming=true"):
            assert [item["id"] for item in (await surfaces.rest("GET", f"{path}?{query}")).json()] == kinds
        narrowed = _next(await surfaces.rest("GET", f"{path}?kind=change,note&include_upcoming=true&limit=1"))
        if len(kinds) > 1:
            assert narrowed is not None
            assert "kind=change&kind=note&include_upcoming=true&limit=1&after=" in narrowed
        assert (await surfaces.rest("GET", f"{path}?kind=nothing")).status_code == 422
        assert (await surfaces.rest("GET", f"{path}?after=x")).json()["detail"][0]["loc"] == ["query", "after"]

    return compare


def _camel(fields: list[Any]) -> list[Any]:
    return [{**field, "field": camel(field["field"])} for field in fields]


async def _filled(surfaces: Surfaces, noun: str) -> dict[str, str]:
    world = surfaces.gateway.world
    tenant = Tenant(surfaces.gateway, world.one)
    ids, _ = await _everything(tenant)
    lead = Lead(name="L", created_at=NOON - timedelta(days=1))
    await world.add(world.one, lead, Activity(subject="n", type="note", created_at=NOON, lead_id=lead.id))
    record = {**ids, "lead": lead.id}
    await surfaces.change(
        f"{noun}Update",
        f"$id: ID!, $i: {noun.capitalize()}UpdateInput! -> id: $id, input: $i",
        f"{noun} {{ id }}",
        id=record[noun],
        i={"lastName" if noun == "contact" else "name": "Anew"},
    )
    return record


RECORD = RecordType(
    typename="RecordChange",
    name="change",
    row=lambda ids, mark: RecordChange(
        subject_kind="deal", subject_id=ids["deal"], actor=mark, type="deal_updated", fields={"name": [mark, mark]}
    ),
    is_node=False,
    cases={
        **{
            f"timeline.timeline_of_{noun}": Case(
                "MEETINGS_READ",
                (Rest("GET", f"/{noun}s/<{noun}>/timeline"), of(noun, f"timeline {{ {ITEMS} }}")),
                below=(f"{noun}s.get_{noun}",),
                direct=(f"<{noun}>", PageWindow()),
            )
            for noun in OWNERS
        },
        **{
            f"timeline.history_of_{noun}": Case(
                "CRM_READ",
                (
                    Rest("GET", f"/{noun}s/<{noun}>/history"),
                    of(noun, f"history {{ nodes {{ id actor {FIELDS} }} totalCount }}"),
                ),
                below=(f"{noun}s.get_{noun}",),
                direct=(f"<{noun}>", PageWindow()),
            )
            for noun in OWNERS
        },
        "timeline.history_of_campaign": Case(
            "OUTREACH_READ",
            (of("campaign", f"history {{ nodes {{ id actor {FIELDS} }} totalCount }}"),),
            below=("campaigns.get_campaign",),
            direct=("<campaign>", PageWindow()),
        ),
        "enrollments.get_enrollment": Case(
            "OUTREACH_READ",
            (of("contact", f"timeline {{ nodes {{ {ENROLLED} }} }}"),),
            below=("contacts.get_contact", "timeline.timeline_of_contact"),
            direct=("<enrollment>",),
        ),
    },
    paths={
        ("GET", f"/{noun}s/{{{noun}_id}}/{part}"): (group, True, 200, f"{noun.capitalize()}.{part}")
        for noun in OWNERS
        for part, group in (("timeline", "MEETINGS_READ"), ("history", "CRM_READ"))
    },
    keys={
        (f"/{noun}s/{{{noun}_id}}/{part}", "GET"): keys
        for noun in OWNERS
        for part, keys in (("timeline", ITEM), ("history", CHANGE))
    },
    compared={
        f"{noun.capitalize()}.{part}": _compared(noun, part) for noun in OWNERS for part in ("timeline", "history")
    },
)
