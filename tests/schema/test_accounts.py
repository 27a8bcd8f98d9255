from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio

from storage.tables import Account, Activity, Contact, Deal, HealthFactor, HealthSnapshot
from tests.support.gateway import Gateway
from tests.support.lists import Listing
from tests.support.tenants import Tenant, new_tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

START = datetime(2026, 1, 1, tzinfo=UTC)
NOWHERE = "00000000-0000-7000-8000-000000000000"
FIELDS = "id name domain industry ownerId createdAt updatedAt version"
CREATE = f"""mutation($input: AccountCreateInput!) {{ accountCreate(input: $input) {{
  account {{ {FIELDS} }} userErrors {{ code message field }} }} }}"""
UPDATE = f"""mutation($id: ID!, $input: AccountUpdateInput!) {{ accountUpdate(id: $id, input: $input) {{
  account {{ {FIELDS} }} userErrors {{ code message field }} }} }}"""
DELETE = "mutation($id: ID!) { accountDelete(id: $id) { deletedId userErrors { code message field } } }"
SNAPSHOT = """__typename id orgId accountId score trend dataPoints snapshotAt formulaVersion
  factors { id orgId accountId healthScoreId snapshotAt key label score weight value explanation sampleSize }"""
REFRESH = f"""mutation($id: ID!) {{ accountHealthRefresh(id: $id) {{
  snapshot {{ {SNAPSHOT} }} userErrors {{ code message field }} }} }}"""
NOT_FOUND = [{"code": "NOT_FOUND", "message": "Not found", "field": ["id"]}]


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def shelf(gateway: Gateway) -> Listing:
    """Accounts with equal keys and missing values; nobody changes them."""
    tenant, other = await new_tenant(gateway), await new_tenant(gateway)

    def account(created: int, updated: int, name: str, **values: Any) -> Account:
        times = {"created_at": START + timedelta(minutes=created), "updated_at": START + timedelta(minutes=updated)}
        return Account(name=name, **times, **values)

    rows = {
        "a": account(1, 5, "Acme", domain="acme.example", industry="Steel", owner_id="u1"),
        "b": account(1, 5, "Acme", domain="acme.example.org"),
        "c": account(2, 5, "acme", industry="steel"),
        "d": account(3, 4, "Zeta", domain="", owner_id="u2"),
        "e": account(3, 9, "Öl", domain="öl.example", industry=""),
    }
    await tenant.add(*rows.values())
    await other.add(Account(name="Acme"))
    return Listing(tenant, "accounts", "Account", rows)


@pytest.mark.parametrize("direction", ["ASC", "DESC"])
@pytest.mark.parametrize("field", ["NAME", "CREATED_AT", "UPDATED_AT"])
async def test_every_order_walked_in_pages_of_every_size(shelf: Listing, field: str, direction: str) -> None:
    await shelf.check_order(field, direction)


async def test_the_default_order(shelf: Listing) -> None:
    newest = shelf.ordered("created_at", "DESC")
    assert (await shelf.page()).labels == newest
    assert (await shelf.page(orderBy=None)).labels == newest
    assert (await shelf.page(orderBy={})).labels == newest
    by_name = sorted("ab", key=lambda label: shelf.rows[label].id)
    assert (await shelf.page(orderBy={"field": "NAME", "direction": "ASC"})).labels == [*by_name, "d", "c", "e"]


@pytest.mark.parametrize(
    ("filter", "labels"),
    [
        ({}, "abcde"),
        ({"name": {"eq": "Acme"}}, "ab"),
        ({"name": {"neq": "Acme"}}, "cde"),
        ({"name": {"in": ["acme", "Zeta"]}}, "cd"),
        ({"name": {"nin": ["acme", "Zeta"]}}, "abe"),
        ({"name": {"contains": "cm"}}, "abc"),
        ({"name": {"startsWith": "Ö"}}, "e"),
        ({"name": {"isNull": True}}, ""),
        ({"domain": {"eq": "acme.example"}}, "a"),
        ({"domain": {"eq": "HTTPS://www.Acme.example/x?y"}}, "a"),  # decision 215
        ({"domain": {"neq": "WWW.ACME.example."}}, "bcde"),
        ({"domain": {"in": ["www.ÖL.example", "ACME.EXAMPLE.org"]}}, "be"),
        ({"domain": {"nin": ["www.ÖL.example", "ACME.EXAMPLE.org"]}}, "acd"),
        ({"domain": {"startsWith": "ACME.EX"}}, "ab"),
        ({"domain": {"contains": ".ORG"}}, "b"),
        ({"domain": {"eq": None}}, "c"),
        ({"domain": {"neq": ""}}, "abce"),
        ({"domain": {"contains": "example"}}, "abe"),
        ({"domain": {"isNull": False}}, "abde"),
        ({"industry": {"in": ["Steel", "steel"]}}, "ac"),
        ({"industry": {"nin": ["Steel"]}}, "bcde"),
        ({"industry": {"isNull": True}}, "bd"),
        ({"ownerId": {"neq": "u1"}}, "bcde"),
        ({"createdAt": {"lt": "2026-01-01T00:02:00Z"}}, "ab"),
        ({"createdAt": {"gte": "2026-01-01T00:03:00Z"}}, "de"),
        ({"createdAt": {"eq": None}}, ""),
        ({"id": {"eq": "no uuid"}}, ""),
        ({"id": {"neq": "no uuid"}}, "abcde"),
        ({"not": {"industry": {"eq": "Steel"}}}, "bcde"),
        ({"not": {"industry": {"contains": "teel"}}}, "bde"),
        ({"or": [{"industry": {"eq": "Steel"}}, {"ownerId": {"eq": "u2"}}]}, "ad"),
        ({"and": [{"name": {"eq": "Acme"}}, {"domain": {"startsWith": "A"}}]}, "ab"),
        ({"or": [{"and": []}]}, "abcde"),
        ({"and": [{"or": []}]}, ""),
    ],
)
async def test_filters(shelf: Listing, filter: Any, labels: str) -> None:
    assert await shelf.matching(filter) == labels


async def test_one_account_by_id_or_domain(one: Tenant, two: Tenant) -> None:
    account = Account(name="A", domain="a.example", created_at=START, updated_at=START)
    graphql_field = Account(name="B", domain="a.example", created_at=START + timedelta(1), updated_at=START)
    await one.add(account, graphql_field)
    query = f"query($id: ID, $domain: String) {{ account(id: $id, domain: $domain) {{ {FIELDS} }} }}"
    expected = {
        "id": account.id,
        "name": "A",
        "domain": "a.example",
        "industry": None,
        "ownerId": None,
        "createdAt": "2026-01-01T00:00:00Z",
        "updatedAt": "2026-01-01T00:00:00Z",
        "version": 1,
    }
    assert await one.ask(query, id=account.id) == expected
    assert await one.ask(query, id=account.id, domain=None) == expected
    assert await one.ask(query, domain="a.example") == expected
    assert await one.ask(query, domain="https://WWW.A.example/about") == expected
    for arguments in (
        {"id": NOWHERE},
        {"id": "no uuid"},
        {"id": ""},
        {"domain": "b.example"},
        {"domain": ""},
        {"domain": "\x00"},
    ):
        assert await one.ask(query, **arguments) is None, arguments
    assert await two.ask(query, id=account.id) is None
    assert await two.ask(query, domain="a.example") is None
    for arguments in (
        {},
        {"id": None, "domain": None},
        {"id": account.id, "domain": "a.example"},
        {"id": "", "domain": ""},
    ):
        error = await one.error(query, **arguments)
        assert error["extensions"]["code"] == "VALIDATION"
        assert error["extensions"]["problems"] == [
            {"field": ["id"], "message": "give exactly one of id and domain", "type": "exactly_one"}
        ]


async def test_creating(one: Tenant) -> None:
    before = datetime.now(UTC)
    made = await one.ask(CREATE, input={"name": "A", "domain": "a.example", "industry": "Steel"})
    assert made["userErrors"] == []
    account = made["account"]
    assert await one.ask(f"query($id: ID!) {{ account(id: $id) {{ {FIELDS} }} }}", id=account["id"]) == account
    assert before <= datetime.fromisoformat(account.pop("createdAt")) <= datetime.now(UTC)
    del account["updatedAt"], account["id"]
    assert account == {"name": "A", "domain": "a.example", "industry": "Steel", "ownerId": one.subject(), "version": 1}
    bare = (await one.ask(CREATE, input={"name": "B", "domain": None}))["account"]
    assert (bare["domain"], bare["industry"]) == (None, None)


@pytest.mark.parametrize(
    ("fields", "problems"),
    [
        ({"name": ""}, {"name": "must not be empty"}),
        ({"name": "n" * 10_001}, {"name": "must have at most 10000 characters"}),
        ({"domain": "\x00"}, {"domain": "must not contain the NUL character"}),
        (
            {"name": "", "industry": "\x00"},
            {"name": "must not be empty", "industry": "must not contain the NUL character"},
        ),
    ],
)
async def test_refused_creations_and_updates(one: Tenant, fields: dict[str, Any], problems: dict[str, str]) -> None:
    errors = [{"code": "VALIDATION", "message": m, "field": ["input", name]} for name, m in problems.items()]
    assert await one.ask(CREATE, input={"name": "n", **fields}) == {"account": None, "userErrors": errors}
    assert await one.rows(Account.id) == []
    account = Account(name="kept")
    await one.add(account)
    assert await one.ask(UPDATE, id=account.id, input=fields) == {"account": None, "userErrors": errors}
    assert await one.rows(Account.name, Account.version) == [("kept", 1)]


async def test_updating(one: Tenant) -> None:
    account = Account(name="before", owner_id="o", updated_at=START)
    await one.add(account)
    full = {"name": "after", "domain": "d", "industry": "i", "ownerId": one.subject("viewer")}
    changed = (await one.ask(UPDATE, id=account.id, input=full))["account"]
    assert {name: changed[name] for name in full} == full
    assert changed["version"] == 2
    assert datetime.fromisoformat(changed["updatedAt"]) > START
    assert (await one.ask(UPDATE, id=account.id, input={"expectedVersion": 2}))["account"] == changed
    assert (await one.ask(UPDATE, id=account.id, input=full))["account"] == changed
    kept = (await one.ask(UPDATE, id=account.id, input={"domain": "e"}))["account"]
    assert {name: kept[name] for name in full} == full | {"domain": "e"}
    nulls = {"domain": None, "industry": None, "ownerId": None}
    cleared = (await one.ask(UPDATE, id=account.id, input=nulls))["account"]
    assert {name: cleared[name] for name in full} == {"name": "after", **nulls}
    assert cleared["version"] == 4
    assert await one.ask(UPDATE, id=account.id, input={"name": None}) == {
        "account": None,
        "userErrors": [{"code": "VALIDATION", "message": "must not be null", "field": ["input", "name"]}],
    }
    assert await one.ask(UPDATE, id=account.id, input={"name": "x", "expectedVersion": 3}) == {
        "account": None,
        "userErrors": [
            {
                "code": "PRECONDITION_FAILED",
                "message": "The record has changed since it was read",
                "field": ["input", "expectedVersion"],
            }
        ],
    }
    assert await one.rows(Account.name, Account.version) == [("after", 4)]


async def test_changing_what_is_not_there(one: Tenant, two: Tenant) -> None:
    other = Account(name="other")
    await two.add(other)
    for identifier in (other.id, NOWHERE, "no uuid", ""):
        assert await one.ask(UPDATE, id=identifier, input={"name": "x"}) == {"account": None, "userErrors": NOT_FOUND}
        assert await one.ask(DELETE, id=identifier) == {"deletedId": None, "userErrors": NOT_FOUND}
        assert await one.ask(REFRESH, id=identifier) == {"snapshot": None, "userErrors": NOT_FOUND}
    assert await two.rows(Account.name) == [("other",)]


async def test_deletion_takes_the_health_and_unlinks_the_rest(one: Tenant) -> None:
    account, other = Account(name="A"), Account(name="B")
    await one.add(account, other)
    await one.add(
        Contact(last_name="c", account_id=account.id),
        Contact(last_name="d", account_id=other.id),
        Deal(name="e", account_id=account.id),
        Activity(subject="m", account_id=account.id),
    )
    for identifier in (account.id, other.id):
        await one.ask(REFRESH, id=identifier)
    assert await one.ask(DELETE, id=account.id) == {"deletedId": account.id, "userErrors": []}
    assert await one.rows(Account.name) == [("B",)]
    assert sorted(await one.rows(Contact.last_name, Contact.account_id), key=str) == [("c", None), ("d", other.id)]
    assert await one.rows(Deal.name, Deal.account_id) == [("e", None)]
    assert await one.rows(Activity.subject, Activity.account_id) == [("m", None)]
    assert await one.rows(HealthSnapshot.account_id) == [(other.id,)]
    assert await one.rows(HealthFactor.account_id) == [(other.id,)] * 9
    assert await one.ask(DELETE, id=account.id) == {"deletedId": None, "userErrors": NOT_FOUND}


async def test_what_hangs_on_an_account(one: Tenant) -> None:
    account, other = Account(name="A"), Account(name="B")
    await one.add(account, other)
    for i in range(3):
        created = START + timedelta(minutes=i)
        await one.add(
            Contact(last_name=str(i), account_id=account.id, created_at=created),
            Deal(name=str(i), account_id=account.id, created_at=created, value=i),
            Activity(subject=str(i), account_id=account.id, created_at=created, due_at=None if i == 2 else created),
        )
    await one.add(
        Contact(last_name="o", account_id=other.id),
        Contact(last_name="n"),
        Activity(type="call", account_id=account.id),
    )
    query = """query($first: Int, $after: String, $deals: DealFilter, $meetings: MeetingFilter) {
      accounts(first: 5, orderBy: {field: NAME, direction: ASC}) { nodes {
        contacts(first: $first, after: $after) { nodes { lastName } pageInfo { hasNextPage endCursor } totalCount }
        deals(first: $first, filter: $deals) { nodes { name } pageInfo { hasNextPage } totalCount }
        meetings(first: $first, filter: $meetings) { nodes { subject } pageInfo { hasNextPage } totalCount } } } }"""

    def lists(found: Any) -> Any:
        return [
            tuple(
                (
                    "".join(next(iter(n.values())) for n in node[name]["nodes"]),
                    node[name]["totalCount"],
                    node[name]["pageInfo"]["hasNextPage"],
                )
                for name in ("contacts", "deals", "meetings")
            )
            for node in found["nodes"]
        ]

    assert lists(await one.ask(query)) == [
        (("210", 3, False), ("210", 3, False), ("102", 3, False)),
        (("o", 1, False), ("", 0, False), ("", 0, False)),
    ]
    found = await one.ask(query, first=1, deals={"value": {"lt": "2"}}, meetings={"dueAt": {"isNull": True}})
    assert lists(found) == [
        (("2", 3, True), ("1", 2, True), ("2", 1, False)),
        (("o", 1, False), ("", 0, False), ("", 0, False)),
    ]
    after = found["nodes"][0]["contacts"]["pageInfo"]["endCursor"]
    assert lists(await one.ask(query, first=1, after=after))[0][0] == ("1", 3, True)
    assert lists(await one.ask(query, first=0))[0] == (("", 3, True), ("", 3, True), ("", 3, True))
    for first in (-1, 501):
        errors = (await one.body(query, first=first))["errors"]
        assert {error["extensions"]["problems"][0]["field"][0] for error in errors} == {"first"}


async def test_health(one: Tenant, two: Tenant) -> None:
    account = Account(name="A")
    await one.add(account)
    query = f"""query($id: ID!, $first: Int, $after: String) {{ account(id: $id) {{ health {{ {SNAPSHOT} }}
      healthHistory(first: $first, after: $after) {{
        nodes {{ {SNAPSHOT} }} pageInfo {{ hasNextPage endCursor }} totalCount }} }} }}"""
    never = {"nodes": [], "pageInfo": {"hasNextPage": False, "endCursor": None}, "totalCount": 0}
    assert await one.ask(query, id=account.id) == {"health": None, "healthHistory": never}
    made = await one.ask(REFRESH, id=account.id)
    assert made["userErrors"] == []
    first = made["snapshot"]
    assert {name: first[name] for name in ("__typename", "orgId", "accountId", "trend", "dataPoints")} == {
        "__typename": "HealthSnapshot",
        "orgId": one.id,
        "accountId": account.id,
        "trend": None,
        "dataPoints": 9,
    }
    keys = """MEETING_RECENCY MEETING_CADENCE STAKEHOLDER_BREADTH CHAMPION_PRESENCE PIPELINE_MOMENTUM DEAL_OUTCOMES
      OUTREACH_ENGAGEMENT FOLLOW_THROUGH DATA_COMPLETENESS"""
    assert [factor["key"] for factor in first["factors"]] == keys.split()
    for factor in first["factors"]:
        assert (factor["orgId"], factor["accountId"]) == (one.id, account.id)
        assert (factor["healthScoreId"], factor["snapshotAt"]) == (first["id"], first["snapshotAt"])
    assert sum(factor["weight"] for factor in first["factors"]) == pytest.approx(1)
    second = (await one.ask(REFRESH, id=account.id.upper()))["snapshot"]
    assert second["trend"] == "STABLE"
    found = await one.ask(query, id=account.id)
    assert found["health"] == second
    assert (found["healthHistory"]["nodes"], found["healthHistory"]["totalCount"]) == ([second, first], 2)
    page = (await one.ask(query, id=account.id, first=1))["healthHistory"]
    assert (page["nodes"], page["pageInfo"]["hasNextPage"]) == ([second], True)
    page = (await one.ask(query, id=account.id, first=1, after=page["pageInfo"]["endCursor"]))["healthHistory"]
    assert (page["nodes"], page["pageInfo"]["hasNextPage"]) == ([first], False)


async def test_a_domain_is_kept_in_its_one_spelling(one: Tenant) -> None:
    """Decision 215."""
    create = 'mutation($d: String) { accountCreate(input: {name: "A", domain: $d}) { account { id domain version } } }'
    made = (await one.ask(create, d=" HTTPS://www.Acme.Example:8080/about?x "))["account"]
    assert (made["domain"], made["version"]) == ("acme.example", 1)
    update = """mutation($id: ID!, $d: String) { accountUpdate(id: $id, input: {domain: $d}) {
      account { domain version } } }"""
    same = await one.ask(update, id=made["id"], d="WWW.acme.example")
    assert same["account"] == {"domain": "acme.example", "version": 1}
    other = await one.ask(update, id=made["id"], d="Öl.example/")
    assert other["account"] == {"domain": "öl.example", "version": 2}
    capture = """mutation($d: String) { cardCaptureConfirm(input: {name: "N", companyDomain: $d}) {
      lead { id companyDomain } } }"""
    lead = (await one.ask(capture, d="http://Www.Acme.example/x"))["lead"]
    assert lead["companyDomain"] == "acme.example"
    change = """mutation($id: ID!, $d: String) { leadUpdate(id: $id, input: {companyDomain: $d}) {
      lead { companyDomain } } }"""
    assert (await one.ask(change, id=lead["id"], d="N/A"))["lead"] == {"companyDomain": "n/a"}
