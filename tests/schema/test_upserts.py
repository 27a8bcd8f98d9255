"""Upserts: rows of another system become records, are found again, and are judged one by one."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

import pytest
from pydantic import ValidationError

from resolvers.shared.inputs import Input, problems_of
from resolvers.upsert_rows import ACCOUNTS, AT_A_TIME, CONTACTS, DEALS, LEADS, Kind
from storage.base import new_id
from storage.tables import (
    Account,
    Contact,
    Deal,
    Event,
    ExternalKey,
    Lead,
    PipelineStage,
    RecordChange,
    StageChange,
    Tag,
)
from tests.support.connections import taken_from
from tests.support.statements import statements
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

RESULTS = "results { index outcome id externalKey errors { code message field } }"
COUNTS = "created updated unchanged failed dryRun userErrors { code message field }"


def upsert(noun: str) -> str:
    kind = noun.capitalize()[:-1]
    return (
        f"mutation($rows: [{kind}UpsertInput!]!, $on: {kind}Match! = EXTERNAL_KEY, $p: BulkPolicy! = SKIP_FAILED,"
        f" $dry: Boolean! = false) {{ {noun}Upsert(rows: $rows, matchOn: $on, policy: $p, dryRun: $dry)"
        f" {{ {RESULTS} {COUNTS} }} }}"
    )


def told(done: Any) -> list[tuple[str, str | None]]:
    return [(each["outcome"], each["externalKey"]) for each in done["results"]]


async def test_rows_become_records_and_are_found_again(one: Tenant) -> None:
    rows = [
        {"externalKey": "a-1", "name": "First", "domain": "https://www.First.example", "tags": ["vip", "VIP"]},
        {"externalKey": "a-2", "name": "Second"},
    ]
    done = await one.ask(upsert("accounts"), rows=rows)
    assert told(done) == [("CREATED", "a-1"), ("CREATED", "a-2")]
    assert (done["created"], done["failed"], done["dryRun"], done["userErrors"]) == (2, 0, False, [])
    made = await one.rows(Account.id, Account.name, Account.domain, Account.owner_id, Account.version)
    assert sorted(row[1:] for row in made) == [
        ("First", "first.example", one.subject(), 1),
        ("Second", None, one.subject(), 1),
    ]
    again = await one.ask(upsert("accounts"), rows=rows)
    assert told(again) == [("UNCHANGED", "a-1"), ("UNCHANGED", "a-2")]
    assert [each["id"] for each in again["results"]] == [each["id"] for each in done["results"]]
    third = await one.ask(
        upsert("accounts"), rows=[{"externalKey": "a-2", "name": "Second, renamed", "tags": ["new"]}, rows[0]]
    )
    assert told(third) == [("UPDATED", "a-2"), ("UNCHANGED", "a-1")]
    assert sorted(await one.rows(Account.version)) == [(1,), (2,)]
    events = [data for type, data in await one.rows(Event.type, Event.data) if type == "accounts_upserted"]
    ids = [each["id"] for each in done["results"]]
    assert events == [{"created": ids, "updated": []}, {"created": [], "updated": [ids[1]]}]
    [(fields,)] = await one.rows(RecordChange.fields)
    assert fields == {"name": ["Second", "Second, renamed"], "tags": [[], ["new"]]}


async def test_each_row_is_judged_by_itself(one: Tenant) -> None:
    await one.add(Contact(last_name="There", external_key="c-0", email="There@Example.com"))
    rows: list[dict[str, Any]] = [
        {"externalKey": "c-1", "lastName": "Good"},
        {"externalKey": "c-2", "email": "no address"},
        {"externalKey": "c-3"},
        {"externalKey": "c-4", "lastName": "x", "accountId": new_id()},
        {"externalKey": "c-5", "lastName": "x", "accountKey": "nobody's"},
        {"externalKey": "c-6", "lastName": "x", "ownerId": "nobody"},
        {"externalKey": "c-1", "lastName": "Second"},
        {"externalKey": "c-0", "lastName": None, "email": None},
        {"externalKey": "", "lastName": "x"},
        {"externalKey": "x" * 256, "lastName": "x"},
        {"externalKey": "c-7", "lastName": "x", "tags": [" "]},
        {"externalKey": "c-8", "lastName": "x", "accountKey": "a", "accountId": new_id()},
    ]
    done = await one.ask(upsert("contacts"), rows=rows)
    assert (done["created"], done["failed"]) == (1, 11)
    problems = {each["index"]: [(e["code"], e["field"]) for e in each["errors"]] for each in done["results"]}
    assert problems == {
        0: [],
        1: [("VALIDATION", ["email"])],
        2: [("VALIDATION", ["email"])],
        3: [("VALIDATION", ["accountId"])],
        4: [("VALIDATION", ["accountKey"])],
        5: [("VALIDATION", ["ownerId"])],
        6: [("DUPLICATE", ["externalKey"])],
        7: [("VALIDATION", ["email"])],
        8: [("VALIDATION", ["externalKey"])],
        9: [("VALIDATION", ["externalKey"])],
        10: [("VALIDATION", ["tags", "0"])],
        11: [("VALIDATION", ["accountKey"])],
    }
    assert done["results"][6]["errors"][0]["message"] == "is that of row 0, too"
    assert sorted(await one.rows(Contact.last_name, Contact.external_key)) == [("Good", "c-1"), ("There", "c-0")]
    assert await one.rows(Tag.name) == []


async def test_the_messages_are_those_of_the_single_mutation(one: Tenant) -> None:
    create = "mutation($i: DealCreateInput!) { dealCreate(input: $i) { userErrors { message field } } }"
    for row in (
        {"name": ""},
        {"name": "d", "value": "-1"},
        {"name": "d", "value": "1000000000000000"},
        {"name": "d", "currency": "XYZ"},
        {"name": "d", "stageId": new_id()},
        {"name": "d", "accountId": "no id"},
        {"name": "d", "currency": None},
        {"name": "x" * 10_001},
    ):
        single = (await one.ask(create, i=row))["userErrors"]
        [result] = (await one.ask(upsert("deals"), rows=[row]))["results"]
        assert result["outcome"] == "FAILED"
        assert [(["input", *e["field"]], e["message"]) for e in result["errors"]] == [
            (e["field"], e["message"]) for e in single
        ], row
    assert await one.rows(Deal.id) == []


VALUES: tuple[object, ...] = (
    *(
        "",
        " ",
        " x ",
        "x" * 201,
        "x" * 10_001,
        "x" * 500_001,
        "\0",
        "a@b.example",
        "a@",
        "EUR",
        "XYZ",
        "http://a.example/b",
    ),
    *(-1, 1, 1e15, True, [], [""], ["t"], ["t"] * 101, {}, new_id(), "2026-12-31", "2026-02-31", "local", "1.23456"),
)


@pytest.mark.parametrize("kind", [ACCOUNTS, CONTACTS, DEALS, LEADS], ids=lambda kind: kind.model.__tablename__)
async def test_a_row_is_read_as_a_new_record_is(kind: Kind) -> None:
    """Else a row that becomes a new record has to be read once more, by the input of one."""

    def read(input: type[Input], field: str, value: object) -> object:
        try:
            return input.model_validate({**whole, field: value}).given().get(field)
        except ValidationError as error:
            return problems_of(error)

    both = kind.new.model_fields.keys() & kind.row.model_fields.keys()
    whole = {"name": "n", "card_id": "c"}
    unlike = [
        (field, value)
        for field in both
        for value in VALUES
        if str(read(kind.row, field, value)) != str(read(kind.new, field, value))
    ]
    assert bool(unlike) is not kind.reads_alike, unlike
    assert {name for name, info in kind.new.model_fields.items() if info.is_required()} <= both


async def test_all_or_nothing_and_a_dry_run_write_nothing(one: Tenant) -> None:
    good, bad = {"externalKey": "1", "name": "d", "tags": ["t"]}, {"externalKey": "2", "value": "1"}
    done = await one.ask(upsert("deals"), rows=[good, bad], p="ALL_OR_NOTHING")
    assert (done["results"], done["created"], done["failed"]) == ([], 0, 1)
    assert done["userErrors"] == [{"code": "VALIDATION", "message": "is required", "field": ["rows", "1", "name"]}]
    dry = await one.ask(upsert("deals"), rows=[good, bad], dry=True)
    assert [(r["outcome"], r["id"]) for r in dry["results"]] == [("CREATED", None), ("FAILED", None)]
    assert await one.rows(Deal.id) == await one.rows(Tag.id) == await one.rows(Event.id) == []
    real = await one.ask(upsert("deals"), rows=[good, bad])
    assert [r["outcome"] for r in real["results"]] == [r["outcome"] for r in dry["results"]]
    renamed = {**good, "name": "e"}
    dry, real = [await one.ask(upsert("deals"), rows=[renamed], dry=d) for d in (True, False)]
    assert dry["results"] == real["results"]
    assert dry["results"][0]["outcome"] == "UPDATED"


async def test_what_rows_match_by(one: Tenant, two: Tenant) -> None:
    first, second = sorted(new_id() for _ in range(2))
    older = Account(id=first, name="older", domain="x.example")
    newer = Account(id=second, name="newer", domain="x.example")
    mine, theirs = (
        Contact(last_name="mine", email="ÄDA@example.com"),
        Contact(last_name="theirs", email="q@example.com"),
    )
    await one.add(newer, older, mine)
    await two.add(theirs, Account(name="theirs", external_key="k", domain="y.example"))
    [found] = (await one.ask(upsert("accounts"), rows=[{"domain": "WWW.X.example", "name": "n"}], on="DOMAIN"))[
        "results"
    ]
    assert (found["outcome"], found["id"]) == ("UPDATED", older.id)
    [made] = (await one.ask(upsert("accounts"), rows=[{"domain": "y.example", "name": "n"}], on="DOMAIN"))["results"]
    assert made["outcome"] == "CREATED"  # another organization's is nobody's
    [found] = (await one.ask(upsert("contacts"), rows=[{"email": "äda@EXAMPLE.com", "title": "t"}], on="EMAIL"))[
        "results"
    ]
    assert (found["outcome"], found["id"]) == ("UPDATED", mine.id)
    for wrong in (theirs.id, new_id(), "x"):
        [refused] = (await one.ask(upsert("contacts"), rows=[{"id": wrong, "title": "t"}], on="ID"))["results"]
        assert [(e["code"], e["field"]) for e in refused["errors"]] == [("NOT_FOUND", ["id"])]
    [refused] = (await one.ask(upsert("contacts"), rows=[{"title": "t"}], on="ID"))["results"]
    assert [(e["code"], e["field"]) for e in refused["errors"]] == [("VALIDATION", ["id"])]
    [found] = (await one.ask(upsert("contacts"), rows=[{"id": mine.id.upper(), "title": "u"}], on="ID"))["results"]
    assert (found["outcome"], found["id"]) == ("UPDATED", mine.id)
    [keyless] = (await one.ask(upsert("contacts"), rows=[{"lastName": "x", "id": mine.id}]))["results"]
    assert keyless["outcome"] == "CREATED"  # decision 411
    assert keyless["id"] != mine.id


async def test_leads_are_matched_while_they_are_not_converted_and_move_as_they_may(one: Tenant) -> None:
    rows: list[dict[str, Any]]
    done, open_ = Lead(name="done", email="a@example.com", status="converted"), Lead(name="open", email="b@example.com")
    await one.add(done, open_)
    rows = [{"name": "n", "email": "A@example.com"}, {"name": "n", "email": "b@example.com", "status": "QUALIFIED"}]
    result = await one.ask(upsert("leads"), rows=rows, on="EMAIL")
    assert [each["outcome"] for each in result["results"]] == ["CREATED", "UPDATED"]
    rows = [
        {"externalKey": "1", "name": "n", "status": "CONVERTED"},
        {"externalKey": "2", "name": "n", "status": "WORKING", "tags": ["Fair", "fair", "x"]},
        {"externalKey": "3", "name": "n", "status": None},
    ]
    result = await one.ask(upsert("leads"), rows=rows)
    assert [each["outcome"] for each in result["results"]] == ["FAILED", "CREATED", "FAILED"]
    assert [e["code"] for each in result["results"] for e in each["errors"]] == ["INVALID_STATE", "VALIDATION"]
    shown = '{ leads(filter: {externalKey: {eq: "2"}}) { nodes { tags source status externalKey } } }'
    assert (await one.ask(shown))["nodes"] == [
        {"tags": ["Fair", "x"], "source": "MANUAL", "status": "WORKING", "externalKey": "2"}
    ]


async def test_deals_go_into_their_stages(one: Tenant) -> None:
    won, open_ = PipelineStage(name="won", type="won", position=2), PipelineStage(name="open", position=1)
    account, champion = Account(name="a", external_key="a"), Contact(last_name="c", external_key="c")
    await one.add(won, open_, account, champion)
    row = {
        "externalKey": "d",
        "name": "d",
        "value": "1.50005",
        "stageId": won.id,
        "accountKey": "a",
        "championKey": "c",
    }
    await one.ask(upsert("deals"), rows=[row])
    [deal] = await one.rows(Deal.status, Deal.value, Deal.account_id, Deal.champion_id, Deal.closed_at)
    assert deal[:4] == ("won", Decimal("1.5"), account.id, champion.id)
    assert deal[4] is not None
    assert (await one.ask(upsert("deals"), rows=[row]))["unchanged"] == 1
    await one.ask(upsert("deals"), rows=[{"externalKey": "d", "stageId": open_.id, "accountKey": None}])
    await one.ask(upsert("deals"), rows=[{"externalKey": "d", "stageId": None}])
    assert await one.rows(Deal.status, Deal.closed_at, Deal.account_id, Deal.stage_id) == [("open", None, None, None)]
    moves = await one.rows(StageChange.from_stage_id, StageChange.to_stage_id)
    assert sorted(moves, key=str) == sorted([(None, won.id), (won.id, open_.id), (open_.id, None)], key=str)


async def test_a_key_belongs_to_one_record_of_its_kind(one: Tenant) -> None:
    create = """mutation($i: AccountCreateInput!) { accountCreate(input: $i)
      { account { id externalKey } userErrors { code message field } } }"""
    change = """mutation($id: ID!, $i: AccountUpdateInput!) { accountUpdate(id: $id, input: $i)
      { account { externalKey version } userErrors { code field } } }"""
    made = (await one.ask(create, i={"name": "a", "externalKey": "k"}))["account"]
    assert made["externalKey"] == "k"
    taken = await one.ask(create, i={"name": "b", "externalKey": "k"})
    words = {"code": "DUPLICATE", "message": "The key is that of another record", "field": ["input", "externalKey"]}
    assert taken == {"account": None, "userErrors": [words]}
    other = (await one.ask(create, i={"name": "b", "externalKey": "l"}))["account"]
    refused = await one.ask(change, id=other["id"], i={"externalKey": "k"})
    assert refused["userErrors"] == [{"code": "DUPLICATE", "field": ["input", "externalKey"]}]
    rows = [{"id": other["id"], "externalKey": "k"}, {"id": made["id"], "name": "n"}]
    done = await one.ask(upsert("accounts"), rows=rows, on="ID")
    assert [each["outcome"] for each in done["results"]] == ["FAILED", "UPDATED"]
    assert done["results"][0]["errors"][0]["code"] == "DUPLICATE"
    assert (await one.ask(change, id=made["id"], i={"externalKey": None}))["account"]["externalKey"] is None
    assert (await one.ask(change, id=other["id"], i={"externalKey": "k"}))["account"]["externalKey"] == "k"
    await one.add(ExternalKey(kind="account", key="old", record_id=made["id"]))
    assert (await one.ask(create, i={"name": "c", "externalKey": "old"}))["userErrors"][0]["code"] == "DUPLICATE"
    done = await one.ask(upsert("accounts"), rows=[{"externalKey": "old", "name": "by its old key"}])
    assert [(r["outcome"], r["id"], r["externalKey"]) for r in done["results"]] == [("UPDATED", made["id"], None)]
    done = await one.ask(upsert("contacts"), rows=[{"lastName": "x", "accountKey": "old"}])
    assert done["created"] == 1
    assert await one.rows(Contact.account_id) == [(made["id"],)]


@pytest.mark.parametrize("how", ["EXTERNAL_KEY", "EMAIL"])
async def test_two_at_once_make_each_record_once(one: Tenant, how: str) -> None:
    rows = [{"externalKey": f"c-{n}", "lastName": "x", "email": f"c{n}@example.com"} for n in range(20)]
    done = await asyncio.gather(
        one.ask(upsert("contacts"), rows=rows, on=how), one.ask(upsert("contacts"), rows=rows[::-1], on=how)
    )
    assert sorted(each["created"] for each in done) == [0, 20]
    assert sorted(each["unchanged"] for each in done) == [0, 20]
    assert len(await one.rows(Contact.id)) == 20


async def test_a_single_write_that_takes_a_key_meanwhile_makes_no_second_record(one: Tenant) -> None:
    create = "mutation($i: ContactCreateInput!) { contactCreate(input: $i) { userErrors { code } } }"
    rows = [{"externalKey": f"k-{n}", "lastName": "x"} for n in range(10)]
    results = await asyncio.gather(
        one.ask(upsert("contacts"), rows=rows),
        *(one.ask(create, i={"externalKey": f"k-{n}", "lastName": "x"}) for n in range(10)),
    )
    assert results[0]["failed"] == 0
    assert sorted(key for (key,) in await one.rows(Contact.external_key)) == [f"k-{n}" for n in range(10)]


async def test_as_many_statements_for_ten_times_the_rows(one: Tenant) -> None:
    stage = PipelineStage(name="s")
    await one.add(
        stage, *(Account(name=f"{n}", external_key=f"a-{n}") for n in range(50)), *(Tag(name=n) for n in "xyz")
    )
    deal = {"stageId": stage.id, "tags": ["x"], "ownerId": one.subject()}
    for noun, row in (
        ("accounts", {"tags": ["x"]}),
        ("contacts", {"accountKey": "a-1", "tags": ["y"]}),
        ("deals", deal),
        ("leads", {"tags": ["z"]}),
    ):
        counts = []
        field = "lastName" if noun == "contacts" else "name"
        for size in (15, 150):
            rows = [{"externalKey": f"{size} {n}", field: "made", **row} for n in range(size)]
            with statements(one.gateway.world.database) as made:
                assert (await one.ask(upsert(noun), rows=rows))["created"] == size
            rows = [{**each, field: "changed", "tags": ["x", f"new {noun} {size}"]} for each in rows]
            with statements(one.gateway.world.database) as changed:
                assert (await one.ask(upsert(noun), rows=rows))["updated"] == size
            counts.append((len(made), len(changed)))
        assert counts[0] == counts[1], (noun, counts)


@pytest.mark.parametrize("keyed", [False, True])
async def test_many_rows_give_way_on_the_processor(one: Tenant, keyed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Decision 1194: on SQLite, whose threads share the processor with the loop."""
    database = one.gateway.world.database
    found = taken_from(database.connections, monkeypatch)
    for size, expected in ((AT_A_TIME, 0), (AT_A_TIME + 1, 1)):
        headers = one.headers() | ({"Idempotency-Key": new_id()} if keyed else {})
        rows = [{"externalKey": f"{size} {n}", "name": "made"} for n in range(size)]
        assert (await one.ask(upsert("accounts"), headers, rows=rows))["created"] == size
        giving_way = sum(writing and taken.at_hand is database.connections.give_way for taken, writing in found)
        assert giving_way == (expected if database.dialect == "sqlite" else 0)


async def test_a_thousand_rows_fit_and_one_more_does_not(one: Tenant) -> None:
    rows = [
        {
            "externalKey": f"c-{n}",
            "firstName": "Ada",
            "lastName": f"Park {n}",
            "email": f"c{n}@example.com",
            "title": "t",
        }
        for n in range(1001)
    ]
    assert (await one.ask(upsert("contacts"), rows=rows[:1000]))["created"] == 1000
    for wrong in (rows, []):
        done = await one.ask(upsert("contacts"), rows=wrong)
        assert [error["field"] for error in done["userErrors"]] == [["rows"]]
    assert len(await one.rows(Contact.id)) == 1000


async def merged(tenant: Tenant, kind: str, into: str, other: str) -> None:
    document = "mutation($i: MergeInput!) { recordsMerge(input: $i) { userErrors { code } } }"
    assert (await tenant.ask(document, i={"kind": kind, "into": into, "from": [other]}))["userErrors"] == []


async def test_identifiers_that_a_merge_took_away_lead_on(one: Tenant) -> None:
    accounts = Account(name="a"), Account(name="b")
    people = Contact(first_name="a"), Contact(first_name="b")
    await one.add(*accounts, *people)
    await merged(one, "ACCOUNT", *(account.id for account in accounts))
    await merged(one, "CONTACT", *(person.id for person in people))
    done = await one.ask(upsert("accounts"), rows=[{"id": accounts[1].id, "name": "new"}], on="ID")
    assert [(each["outcome"], each["id"]) for each in done["results"]] == [("UPDATED", accounts[0].id)]
    both = [{"id": account.id, "name": "twice"} for account in accounts]
    [_, second] = (await one.ask(upsert("accounts"), rows=both, on="ID"))["results"]
    assert (second["outcome"], [e["field"] for e in second["errors"]]) == ("FAILED", [["id"]])
    row = {"externalKey": "c", "lastName": "c", "accountId": accounts[1].id}
    assert (await one.ask(upsert("contacts"), rows=[row]))["created"] == 1
    row = {"externalKey": "d", "name": "d", "accountId": accounts[1].id, "championId": people[1].id}
    assert (await one.ask(upsert("deals"), rows=[row]))["created"] == 1
    assert (await one.ask(upsert("deals"), rows=[row]))["unchanged"] == 1
    assert await one.rows(Deal.account_id, Deal.champion_id) == [(accounts[0].id, people[0].id)]
    assert (accounts[0].id,) in await one.rows(Contact.account_id)


async def test_an_upsert_beside_a_merge_makes_no_second_record(one: Tenant) -> None:
    for n in range(4):
        stays, goes = (Account(name=name, external_key=f"{name}{n}") for name in "sg")
        await one.add(stays, goes)
        person = {"externalKey": f"c{n}", "lastName": "c", "accountKey": f"g{n}"}
        _, done, linked = await asyncio.gather(
            merged(one, "ACCOUNT", stays.id, goes.id),
            one.ask(upsert("accounts"), rows=[{"externalKey": f"g{n}", "name": "new"}]),
            one.ask(upsert("contacts"), rows=[person]),
        )
        assert (done["created"], done["failed"], linked["created"]) == (0, 0, 1), (done, linked)
        assert [row for row in await one.rows(Account.id) if row == (goes.id,)] == []
    assert len(await one.rows(Account.id)) == 4
    assert None not in {account for (account,) in await one.rows(Contact.account_id)}
