"""Timelines and histories at their edges: cursors that are none, moments that coincide, people who take turns."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from storage.base import new_id
from storage.tables import Account, Activity, Contact, Deal, Lead, RecordChange
from tests.records.test_timeline import NOON, change, history, later, made, timeline, timeline_query, told
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

NOBODY = new_id()


def cursor_of(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


NONE: dict[str, str] = {
    "empty": "",
    "no base64": "***",
    "blanks": "  ",
    "one character": "A",
    "no UTF-8": base64.urlsafe_b64encode(b"\xff\xfe").decode(),
    "other letters": "é",
    "NUL": "\x00",
    "a surrogate": base64.urlsafe_b64encode(b'["\\ud800","x"]').decode(),
    "null": cursor_of(None),
    "a number": cursor_of(7),
    "nothing": cursor_of([]),
    "one": cursor_of(["2026-05-01T12:00:00Z"]),
    "three": cursor_of(["2026-05-01T12:00:00Z", NOBODY, 1]),
    "numbers": cursor_of([1, 2]),
    "nulls": cursor_of([None, None]),
    "lists": cursor_of([["2026-05-01T12:00:00Z"], [NOBODY]]),
    "objects": cursor_of([{}, {}]),
    "an object": cursor_of({"a": 1}),
    "without a zone": cursor_of(["2026-05-01T12:00:00", NOBODY]),
    "a day": cursor_of(["2026-05-01", NOBODY]),
    "no day": cursor_of(["2026-02-30T12:00:00Z", NOBODY]),
    "no identifier": cursor_of(["2026-05-01T12:00:00Z", "x"]),
    "before all time": cursor_of(["0001-01-01T00:00:00+14:00", NOBODY]),
    "after all time": cursor_of(["9999-12-31T23:59:59-14:00", NOBODY]),
    "deep": base64.urlsafe_b64encode(b"[" * 2_000).decode(),
}


@pytest.mark.parametrize("what", NONE)
async def test_what_is_no_cursor_is_told_on_both_surfaces(one: Tenant, what: str) -> None:
    deal = Deal(name="D")
    await one.add(deal)
    for part in ("timeline", "history"):
        document = f"query($id: ID!, $a: String) {{ deal(id: $id) {{ {part}(after: $a) {{ nodes {{ id }} }} }} }}"
        error = await one.error(document, id=deal.id, a=NONE[what])
        assert error["extensions"]["code"] == "VALIDATION", error
        assert "after" in str(error)
        response = await get(one, f"/deals/{deal.id}/{part}", after=NONE[what])
        assert response.status_code == 422, response.text
        assert [each["loc"] for each in response.json()["detail"]] == [["query", "after"]]


async def get(tenant: Tenant, path: str, method: str = "GET", **query: Any) -> Any:
    return await tenant.gateway.http.request(method, path, params=query, headers=tenant.headers())


@pytest.mark.parametrize(
    ("at", "shown"),
    [("0001-01-01T00:00:00Z", 0), ("9999-12-31T23:59:59.999999Z", 2), ("2026-05-01T14:00:00+02:00", 1)],
)
async def test_any_moment_may_stand_in_a_cursor(one: Tenant, at: str, shown: int) -> None:
    account = Account(name="A", created_at=NOON - timedelta(days=1))
    await one.add(account, Activity(subject="s", due_at=NOON + timedelta(minutes=1), account_id=account.id))
    after = cursor_of([at, NOBODY])
    assert len(await timeline(one, "account", account.id, a=after, u=True)) == shown
    assert len((await get(one, f"/accounts/{account.id}/timeline", after=after)).json()) == shown


async def test_a_cursor_of_elsewhere_is_a_place_and_shows_nothing_of_it(one: Tenant, two: Tenant) -> None:
    mine, theirs = Account(name="mine", created_at=NOON), Account(name="theirs", created_at=NOON)
    await one.add(
        mine, *(Activity(subject=f"{n}", due_at=NOON + timedelta(hours=n), account_id=mine.id) for n in (1, 3))
    )
    await two.add(theirs, Activity(subject="x", due_at=NOON + timedelta(hours=2), account_id=theirs.id))
    page = await two.ask(timeline_query("account"), id=theirs.id, n=1)
    cursor = page["timeline"]["pageInfo"]["endCursor"]
    assert [item["kind"] for item in await timeline(one, "account", mine.id, a=cursor)] == ["MEETING", "CHANGE"]
    listed = await one.ask("{ deals(first: 1) { pageInfo { endCursor } } }")
    assert listed["pageInfo"]["endCursor"] is None


async def test_the_sizes_of_a_page(one: Tenant) -> None:
    account = Account(name="A", created_at=NOON)
    await one.add(account, *(Activity(subject="s", due_at=NOON, account_id=account.id) for _ in range(100)))
    document = timeline_query("account")
    for size, shown, has_next in ((0, 0, True), (100, 100, True), (None, 50, True)):
        page = (await one.ask(document, id=account.id, **({} if size is None else {"n": size})))["timeline"]
        assert (len(page["nodes"]), page["pageInfo"]["hasNextPage"]) == (shown, has_next), size
    path = f"/accounts/{account.id}/timeline"
    for given, shown in (("0", 0), ("1", 1), ("100", 100), ("101", 100), ("9" * 40, 100)):
        response = await get(one, path, limit=given)
        assert (response.status_code, len(response.json())) == (200, shown), given
    for given in ("-1", "", "x", "1.5"):
        response = await get(one, path, limit=given)
        assert (response.status_code, response.json()["detail"][0]["loc"]) == (422, ["query", "limit"]), given


async def test_the_path_answers_head_slashes_and_the_next_page(one: Tenant, two: Tenant) -> None:
    account = Account(name="A", created_at=NOON - timedelta(days=1))
    await one.add(account, *(Activity(subject="s", due_at=NOON, account_id=account.id) for _ in range(2)))
    for part in ("timeline", "history"):
        path = f"/accounts/{account.id}/{part}"
        plain = await get(one, path)
        assert (await get(one, path + "/")).json() == plain.json()
        head = await get(one, path, "HEAD")
        assert (head.status_code, head.content) == (plain.status_code, b"")
        assert (await get(one, f"/accounts/{account.id.upper()}/{part}")).json() == plain.json()
        for wrong in (new_id(), "x"):
            assert (await get(one, f"/accounts/{wrong}/{part}")).status_code == 404
        assert (await get(two, path)).status_code == 404
    link = (await get(one, f"/accounts/{account.id}/timeline/", limit=2)).headers["link"]
    following = await one.gateway.http.get(link[1 : link.index(">")], headers=one.headers())
    assert [item["kind"] for item in following.json()] == ["change"]
    assert "link" not in following.headers


async def test_the_same_kind_twice_is_one(one: Tenant) -> None:
    account = Account(name="A", created_at=NOON)
    await one.add(account, Activity(subject="s", due_at=NOON, account_id=account.id))
    assert len(await timeline(one, "account", account.id, k=["MEETING", "MEETING"])) == 1
    assert len(await timeline(one, "account", account.id, k=None, u=None)) == 2


async def test_what_a_path_does_not_say_to_whom_it_does_not_belong(one: Tenant) -> None:
    """History is of the record's own area: who reads accounts alone has it, and of the timeline nothing."""
    account = await made(one, "account", name="A")
    reader = await one.scoped("companies:read", name="reader")
    assert len(await history(one, "account", account, reader)) == 1
    for role in ("viewer", "member", "admin"):
        assert len(await timeline(one, "account", account, one.headers(role))) == 1


async def test_two_people_who_take_turns_have_an_item_each_time(one: Tenant) -> None:
    account = await made(one, "account", name="A")
    for role, name in (("member", "B"), ("admin", "C"), ("member", "D"), ("member", "A")):
        await change(one, "account", account, role, name=name)
    assert [(item["actor"], told(item)) for item in (await history(one, "account", account))[:-1]] == [
        (one.subject(), {"name": ("C", "A")}),
        (one.subject("admin"), {"name": ("B", "C")}),
        (one.subject(), {"name": ("A", "B")}),
    ]


async def test_exactly_two_minutes_apart_are_two(one: Tenant) -> None:
    for seconds, items in ((115, 2), (121, 3)):
        account = await made(one, "account", name="A")
        await change(one, "account", account, name="B")
        await later(one, seconds=seconds)
        await change(one, "account", account, name="C")
        assert len(await history(one, "account", account)) == items, seconds


@pytest.mark.parametrize("noun", ["lead", "deal", "contact"])
async def test_a_chain_of_edits_is_one_item_however_long(one: Tenant, noun: str) -> None:
    """Each within two minutes of the last, not of the first."""
    name, day = "name" if noun != "contact" else "lastName", NOON - timedelta(days=1)
    rows = {"lead": Lead(name="0"), "deal": Deal(name="0"), "contact": Contact(last_name="0")}
    row: Any = rows[noun]
    row.created_at, record = day, row.id
    await one.add(row)
    for number in range(1, 4):
        await change(one, noun, record, **{name: f"{number}"})
        await later(one, seconds=100)
    [edit, *rest] = await history(one, noun, record)
    assert told(edit) == {name: ("0", "3")}
    assert len(rest) == 1
    await change(one, noun, record, **{name: "0"})
    assert [each["type"] for each in await history(one, noun, record)] == [f"{noun}_created"]


async def test_every_kind_of_value_is_told_as_the_paths_show_it(one: Tenant) -> None:
    account, contact = await made(one, "account", name="A"), await made(one, "contact", lastName="C")
    deal = await made(one, "deal", name="D")
    given = {
        "value": "1234.5",
        "currency": "EUR",
        "closeDate": "2026-12-31",
        "notes": "n" * 2_000 + "😀",
        "accountId": account,
        "championId": contact,
    }
    await change(one, "deal", deal, **given)
    after = (await get(one, f"/deals/{deal}")).json()
    [edit, _] = (await get(one, f"/deals/{deal}/history")).json()
    found = {field["field"]: (field["before"], field["after"]) for field in edit["fields"]}
    assert found["notes"] == (None, "n" * 1_000)
    assert found["value"] == (None, "1234.5")
    assert found["currency"] == ("USD", "EUR")
    for name in ("close_date", "account_id", "champion_id"):
        assert found[name] == (None, after[name]), name
    await change(one, "deal", deal, **(dict.fromkeys(given) | {"currency": "USD"}), name="E")
    assert told((await history(one, "deal", deal))[0]) == {"name": ("D", "E")}


async def test_what_was_told_at_one_moment_comes_in_one_order(one: Tenant) -> None:
    account = Account(name="A", created_at=datetime(2026, 1, 1, tzinfo=UTC))
    rows = [
        RecordChange(subject_kind="account", subject_id=account.id, at=NOON, actor="x", type="t", fields={"a": [1, n]})
        for n in range(9)
    ]
    await one.add(account, *rows)
    ids = [item["id"] for item in await history(one, "account", account.id)]
    assert ids == [*sorted(row.id for row in rows), account.id]
