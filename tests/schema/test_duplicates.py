"""Groups of accounts and contacts that may be one, by both doors (decisions 430 to 433)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from contract.limits import DISMISSED_MAX, DUPLICATES_SHOWN, NAMESAKES_MAX
from contract.matching import company_match, name_match, phone_match
from resolvers.duplicates import _together
from storage.base import new_id
from storage.tables import Account, Contact, Deal, Event, MatchGroup
from tests.support.match_groups import counted_anew
from tests.support.statements import statements
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

GROUPS = """query($k: MergeableKind!, $n: Int, $a: String) { duplicates(kind: $k, first: $n, after: $a) { totalCount
  nodes { reasons size records { id __typename } } pageInfo { hasNextPage endCursor } } }"""
DISMISS = "mutation($ids: [ID!]!) { duplicatesDismiss(ids: $ids) { dismissed userErrors { code message field } } }"


async def groups(tenant: Tenant, kind: str = "CONTACT", **window: Any) -> list[tuple[list[str], list[str]]]:
    page = await tenant.ask(GROUPS, k=kind, **window)
    found = [(group["reasons"], [record["id"] for record in group["records"]]) for group in page["nodes"]]
    if not window:
        assert page["totalCount"] == len(found)
    return found


async def test_contacts_are_found_by_what_they_have_in_common(one: Tenant) -> None:
    account = Account(name="A")
    mail = [Contact(first_name="X", email="Ada@Example.com"), Contact(first_name="Y", email="ada@example.COM")]
    calls = [Contact(first_name="P", phone="+49 (0)30 123-4567"), Contact(first_name="Q", phone="0049 30 1234567")]
    named = [Contact(first_name="José", last_name="O’Neil"), Contact(first_name="JOSE", last_name="o neil")]
    there = [Contact(first_name="Max", last_name="Muster", account_id=account.id) for _ in range(3)]
    alone = [Contact(first_name="Max", last_name="Other"), Contact(phone="112"), Contact(phone="112"), Contact()]
    await one.add(account, *mail, *calls, *named, *there, *alone)
    wanted = [
        (["SAME_EMAIL"], [c.id for c in mail]),
        (["SAME_PHONE"], [c.id for c in calls]),
        (["SAME_NAME_AND_ACCOUNT", "SAME_NAME"], [c.id for c in there]),
        (["SAME_NAME"], [c.id for c in named]),
    ]
    assert await groups(one) == wanted
    answer = await one.gateway.http.get("/duplicates?kind=contact", headers=one.headers())
    assert answer.status_code == 200
    shown = [([r.upper() for r in g["reasons"]], [r["id"] for r in g["records"]]) for g in answer.json()]
    assert shown == wanted
    second = await one.gateway.http.get("/duplicates?kind=contact&limit=1&offset=1", headers=one.headers())
    assert second.json() == answer.json()[1:2]
    pages, after = [], None
    for _ in wanted:
        page = await one.ask(GROUPS, k="CONTACT", n=1, a=after)
        pages += [(g["reasons"], [r["id"] for r in g["records"]]) for g in page["nodes"]]
        after = page["pageInfo"]["endCursor"]
    assert pages == wanted
    assert not page["pageInfo"]["hasNextPage"]


async def test_accounts_are_found_by_domain_and_name(one: Tenant) -> None:
    create = "mutation($i: AccountCreateInput!) { accountCreate(input: $i) { account { id } } }"
    made = []
    for fields in (
        {"name": "Müller & Söhne GmbH", "domain": "https://www.mueller.example/"},
        {"name": "MULLER SOHNE", "domain": "mueller.example"},
        {"name": "Other S.A."},
        {"name": "The Other"},
        {"name": "n", "domain": "n/a"},
        {"name": "m", "domain": "n/a"},
    ):
        made.append((await one.ask(create, i=fields))["account"]["id"])
    assert await groups(one, "ACCOUNT") == [(["SAME_DOMAIN", "SAME_NAME"], made[:2]), (["SAME_NAME"], made[2:4])]
    change = "mutation($id: ID!, $i: AccountUpdateInput!) { accountUpdate(id: $id, input: $i) { userErrors { code } } }"
    await one.ask(change, id=made[2], i={"name": "Something else"})
    await one.ask(change, id=made[1], i={"domain": None})
    assert await groups(one, "ACCOUNT") == [(["SAME_NAME"], made[:2])]
    await one.ask("mutation($id: ID!) { accountDelete(id: $id) { deletedId } }", id=made[0])
    assert await groups(one, "ACCOUNT") == []
    assert await one.rows(MatchGroup.size) == [], "nothing is counted of what one record has alone"


async def test_a_name_that_very_many_share_is_no_sign(one: Tenant) -> None:
    some = [Contact(first_name="Ada", last_name="Park") for _ in range(NAMESAKES_MAX)]
    await one.add(*some)
    [(reasons, shown)] = await groups(one)
    assert (reasons, shown) == (["SAME_NAME"], [c.id for c in some[:20]])
    await one.add(Contact(first_name="Ada", last_name="Park"))
    assert await groups(one) == []


async def test_dismissed_pairs_are_in_no_group_again(one: Tenant) -> None:
    a, b, c = [Contact(first_name="Ada", last_name="Park", email="ada@example.com") for _ in range(3)]
    await one.add(a, b, c)
    reasons = ["SAME_EMAIL", "SAME_NAME"]
    assert await groups(one) == [(reasons, [a.id, b.id, c.id])]
    for _ in range(2):
        assert await one.ask(DISMISS, ids=[b.id, a.id]) == {"dismissed": 1, "userErrors": []}
    assert await groups(one) == [(reasons, [a.id, c.id])]
    await one.ask(DISMISS, ids=[a.id, c.id])
    assert await groups(one) == [(reasons, [b.id, c.id])]
    assert (await one.ask(DISMISS, ids=[a.id, b.id, c.id]))["dismissed"] == 3
    assert await groups(one) == []
    await one.add(Contact(email="ADA@example.com"))
    [(_, [first, _])] = await groups(one)
    assert first == a.id
    events = [row for row in await one.rows(Event.type) if row[0] == "duplicates_dismissed"]
    assert len(events) == 3


async def test_what_is_dismissed_must_be_records_of_one_kind(one: Tenant, two: Tenant) -> None:
    contact, account, deal = Contact(first_name="c"), Account(name="a"), Deal(name="d")
    foreign = Contact(first_name="f")
    await one.add(contact, account, deal)
    await two.add(foreign)
    for ids, field in (
        ([contact.id], ["ids"]),
        ([contact.id, contact.id], ["ids"]),
        ([contact.id, account.id], ["ids", "1"]),
        ([contact.id, deal.id], ["ids", "1"]),
        ([contact.id, foreign.id], ["ids", "1"]),
        ([contact.id, "x"], ["ids", "1"]),
        ([new_id() for _ in range(DISMISSED_MAX + 1)], ["ids"]),
    ):
        answer = await one.ask(DISMISS, ids=ids)
        assert answer["dismissed"] == 0
        assert [(e["code"], e["field"]) for e in answer["userErrors"]] == [("VALIDATION", field)], ids
    [error] = (await one.body(GROUPS, k="CONTACT", a="x"))["errors"]
    assert error["extensions"]["code"] == "VALIDATION"
    answer = await one.gateway.http.get("/duplicates", headers=one.headers())
    assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["query", "kind"])


UPSERT = """mutation($r: [ContactUpsertInput!]!) { contactsUpsert(rows: $r) { created updated unchanged failed
  userErrors { message } } }"""


def person(key: int, mail: int, phone: int, name: int) -> dict[str, Any]:
    words = {"email": f"{mail}@example.com", "phone": f"+49 30 {phone:07}", "lastName": f"N{name}"}
    return {"externalKey": f"k{key}"} | {
        field: words[field] for field, n in zip(words, (mail, phone, name), strict=True) if n
    }


async def test_many_records_at_once_have_the_keys_that_each_would_have(
    one: Tenant, two: Tenant
) -> None:  # decision 1050
    await two.ask(UPSERT, r=[person(n, 1, 1, 1) for n in range(12)])
    for rows in (
        [person(n, 1 + n // 2, n, 1) for n in range(12)],  # they share with each other
        [person(n, 1 + n // 2, n, 1) for n in range(20, 32)],  # and with those that are there
        [person(n, 1, 1 + n // 3, 2) for n in range(9, 45)],  # some are changed, others made
        [person(n, 0, 0, 3) for n in range(60, 62)],  # few, by the triggers
    ):
        answer = await one.ask(UPSERT, r=rows)
        assert (answer["created"] + answer["updated"] + answer["unchanged"], answer["failed"]) == (len(rows), 0)
        await counted_anew(one)
    await counted_anew(two)


async def test_records_of_two_writers_at_once_are_counted_together(one: Tenant) -> None:
    both = [[person(100 * writer + n, 1 + n, 1, 1) for n in range(12)] for writer in range(4)]
    await asyncio.gather(*(one.ask(UPSERT, r=rows) for rows in both))
    await counted_anew(one)
    assert max(await one.rows(MatchGroup.size)) == (48,), "all have one telephone and one name"


async def test_a_page_costs_as_many_statements_for_many_groups_as_for_few(one: Tenant) -> None:
    numbers = []
    for start in (0, 3):
        await one.add(*(Contact(email=f"{n}@example.com") for n in range(start, start * 10 + 3) for _ in range(2)))
        with statements(one.gateway.world.database) as sent:
            found = await groups(one, n=500)
        numbers.append(len(sent))
        assert len(found) == start * 10 + 3
    assert numbers[0] == numbers[1]


@pytest.mark.parametrize(
    ("fold", "texts", "same"),
    [
        (company_match, ("Müller GmbH", "Muller", "MÜLLER gmbh & Co. KG", "The Müller"), "muller"),
        (company_match, ("GmbH", "gmbh."), "gmbh"),
        (company_match, ("!", ""), ""),
        (name_match, ("O'Neil", "o neil", "Ｏ’ＮＥＩＬ"), "o neil"),
        (phone_match, ("+49 30 1234567", "0049 (0)30/123 45 67", "+49-30-1234567"), "49301234567"),
        (phone_match, ("112", "x", ""), ""),
    ],
)
async def test_texts_that_mean_the_same(fold: Any, texts: tuple[str, ...], same: str) -> None:
    assert {fold(text) for text in texts} == {same}


async def test_keys_of_any_length_are_kept(one: Tenant) -> None:
    await one.add(*(Contact(first_name="𝒳" * 1_000, last_name="ß" * 1_000, email="x" * 400) for _ in range(2)))
    assert len(await groups(one)) == 1


class Counted(dict[str, set[str]]):
    """Pairs that are dismissed, and how often they were looked at."""

    looked = 0

    def get(self, *given: Any) -> Any:
        self.looked += 1
        return super().get(*given)


async def test_a_large_group_with_dismissed_pairs_is_told_in_few_steps() -> None:
    ids = [new_id() for _ in range(200)]
    pairs = list(zip(ids[::2], ids[1::2], strict=True))
    apart = Counted({one: {other} for pair in pairs for one, other in (pair, pair[::-1])})
    assert _together(ids, apart) == ids[::2]
    assert apart.looked <= len(ids) * (DUPLICATES_SHOWN + 1)
