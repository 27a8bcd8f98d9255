from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio

from storage.tables import Account, Activity, Contact, Deal, DealContact
from tests.support.gateway import Gateway
from tests.support.lists import Listing
from tests.support.tenants import Tenant, new_tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

START = datetime(2026, 1, 1, tzinfo=UTC)
NOWHERE = "00000000-0000-7000-8000-000000000000"
FIELDS = (
    "id firstName lastName email phone title linkedin accountId account { name } ownerId createdAt updatedAt version"
)
CREATE = f"""mutation($input: ContactCreateInput!) {{ contactCreate(input: $input) {{
  contact {{ {FIELDS} }} userErrors {{ code message field }} }} }}"""
UPDATE = f"""mutation($id: ID!, $input: ContactUpdateInput!) {{ contactUpdate(id: $id, input: $input) {{
  contact {{ {FIELDS} }} userErrors {{ code message field }} }} }}"""
DELETE = "mutation($id: ID!) { contactDelete(id: $id) { deletedId userErrors { code message field } } }"
GET = f"query($id: ID!) {{ contact(id: $id) {{ {FIELDS} }} }}"
NOT_FOUND = [{"code": "NOT_FOUND", "message": "Not found", "field": ["id"]}]
FULL = {
    "firstName": "F",
    "lastName": "L",
    "email": "f@example.com",
    "phone": "+49 1",
    "title": "CTO",
    "linkedin": "in/f",
}


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def shelf(gateway: Gateway) -> Listing:
    """Contacts with equal and missing names; nobody changes them."""
    tenant, other = await new_tenant(gateway), await new_tenant(gateway)
    acme, bolt = Account(name="Acme"), Account(name="Bolt", industry="Power")
    await tenant.add(acme, bolt)

    def contact(created: int, updated: int, last_name: str | None, **values: Any) -> Contact:
        times = {"created_at": START + timedelta(minutes=created), "updated_at": START + timedelta(minutes=updated)}
        return Contact(last_name=last_name, **times, **values)

    rows = {
        "a": contact(1, 5, "Doe", first_name="Jo", email="jo@example.com", account_id=acme.id),
        "b": contact(1, 5, "Doe", first_name="jo", email="JO@example.com", account_id=bolt.id),
        "c": contact(2, 4, None, first_name="Al", account_id=acme.id),
        "d": contact(2, 4, None, email="d@example.com"),
        "e": contact(3, 9, "", first_name=""),
        "f": contact(4, 1, "doe"),
    }
    await tenant.add(*rows.values())
    await other.add(Contact(last_name="Doe"))
    return Listing(tenant, "contacts", "Contact", rows)


@pytest.mark.parametrize("direction", ["ASC", "DESC"])
@pytest.mark.parametrize("field", ["LAST_NAME", "CREATED_AT", "UPDATED_AT"])
async def test_every_order_walked_in_pages_of_every_size(shelf: Listing, field: str, direction: str) -> None:
    await shelf.check_order(field, direction)


async def test_the_orders_by_hand(shelf: Listing) -> None:
    ab, cd = (sorted(pair, key=lambda label: shelf.rows[label].id) for pair in ("ab", "cd"))
    for arguments, labels in [
        ({}, ["f", "e", *cd, *ab]),
        ({"orderBy": None}, ["f", "e", *cd, *ab]),
        ({"orderBy": {"field": "LAST_NAME", "direction": "ASC"}}, ["e", *ab, "f", *cd]),
        ({"orderBy": {"field": "LAST_NAME"}}, ["f", *ab, "e", *cd]),
    ]:
        assert (await shelf.page(**arguments)).labels == labels


@pytest.mark.parametrize(
    ("filter", "labels"),
    [
        ({}, "abcdef"),
        ({"firstName": {"eq": "Jo"}}, "a"),
        ({"firstName": {"isNull": True}}, "df"),
        ({"firstName": {"neq": "Jo"}}, "bcdef"),
        ({"lastName": {"eq": "Doe"}}, "ab"),
        ({"lastName": {"eq": None}}, "cd"),
        ({"lastName": {"nin": ["Doe", ""]}}, "cdf"),
        ({"lastName": {"contains": "oe"}}, "abf"),
        ({"lastName": {"startsWith": "D"}}, "ab"),
        ({"email": {"contains": "@example"}}, "abd"),
        ({"email": {"in": ["jo@example.com", "d@example.com"]}}, "ad"),
        ({"email": {"isNull": False}}, "abd"),
        ({"accountId": {"isNull": True}}, "def"),
        ({"accountId": {"eq": "no uuid"}}, ""),
        ({"accountId": {"nin": ["no uuid"]}}, "abcdef"),
        ({"createdAt": {"gte": "2026-01-01T00:02:00Z", "lt": "2026-01-01T00:04:00Z"}}, "cde"),
        ({"account": {"name": {"eq": "Acme"}}}, "ac"),
        ({"account": {"industry": {"neq": "Power"}}}, "ac"),
        ({"account": {"or": []}}, ""),
        ({"account": {"not": {"or": []}}}, "abc"),
        ({"not": {"account": {"industry": {"eq": "Power"}}}}, "acdef"),
        ({"not": {"lastName": {"startsWith": "D"}}}, "cdef"),
        ({"or": [{"lastName": {"isNull": True}}, {"account": {"name": {"eq": "Bolt"}}}]}, "bcd"),
        ({"and": [{"lastName": {"isNull": True}}, {"account": {"name": {"eq": "Acme"}}}]}, "c"),
        ({"id": {"isNull": False}}, "abcdef"),
    ],
)
async def test_filters(shelf: Listing, filter: Any, labels: str) -> None:
    assert await shelf.matching(filter) == labels


async def test_filters_on_identifiers(shelf: Listing) -> None:
    a = shelf.rows["a"]
    assert await shelf.matching({"id": {"in": [a.id, NOWHERE]}}) == "a"
    assert await shelf.matching({"accountId": {"eq": a.account_id}}) == "ac"
    assert await shelf.matching({"accountId": {"neq": a.account_id}}) == "bdef"
    assert await shelf.matching({"account": {"id": {"eq": a.account_id.upper()}}}) == "ac"


async def test_creating_and_reading(one: Tenant, two: Tenant) -> None:
    account = Account(name="A")
    await one.add(account)
    before = datetime.now(UTC)
    made = await one.ask(CREATE, input={**FULL, "accountId": account.id})
    assert made["userErrors"] == []
    contact = made["contact"]
    assert await one.ask(GET, id=contact["id"]) == contact
    assert await one.ask(GET, id=contact["id"].upper()) == contact
    assert await two.ask(GET, id=contact["id"]) is None
    for identifier in (NOWHERE, account.id, "no uuid", ""):
        assert await one.ask(GET, id=identifier) is None
    assert before <= datetime.fromisoformat(contact.pop("createdAt")) <= datetime.now(UTC)
    del contact["updatedAt"], contact["id"]
    linked = {"accountId": account.id, "account": {"name": "A"}}
    assert contact == {**FULL, **linked, "ownerId": one.subject(), "version": 1}
    bare = (await one.ask(CREATE, input={**dict.fromkeys([*FULL, "accountId"]), "email": "f@example.com"}))["contact"]
    assert {bare[name] for name in (*FULL, *linked) if name != "email"} == {None}


UNNAMED = [
    {"code": "VALIDATION", "message": "must be given where there is no name", "field": ["input", "email"]},
]


async def test_a_contact_needs_a_name_or_an_address(one: Tenant) -> None:
    """Decision 212; one that is without already may be changed in other things."""
    for fields in ({}, {"phone": "+49 1"}, {"firstName": " ", "lastName": ""}, dict.fromkeys(FULL)):
        assert await one.ask(CREATE, input=fields) == {"contact": None, "userErrors": UNNAMED}
    assert await one.rows(Contact.id) == []
    for name in ("firstName", "lastName", "email"):
        contact = (await one.ask(CREATE, input={name: FULL[name]}))["contact"]
        for cleared in (None, " ") if name != "email" else (None,):
            refused = await one.ask(UPDATE, id=contact["id"], input={name: cleared, "phone": "1"})
            assert refused == {"contact": None, "userErrors": UNNAMED}
        assert await one.ask(GET, id=contact["id"]) == contact
        swapped = await one.ask(UPDATE, id=contact["id"], input={**FULL, name: None})
        assert swapped["userErrors"] == []
    nameless = Contact(phone="1")
    await one.add(nameless)
    assert (await one.ask(UPDATE, id=nameless.id, input={"phone": "2"}))["contact"]["phone"] == "2"


MISSING = "does not exist in this organization"


@pytest.mark.parametrize(
    ("fields", "problems"),
    [
        ({"email": "nobody"}, {"email": "must look like an e-mail address"}),
        ({"email": ""}, {"email": "must look like an e-mail address"}),
        ({"lastName": "\x00"}, {"lastName": "must not contain the NUL character"}),
        ({"linkedin": "l" * 10_001}, {"linkedin": "must have at most 10000 characters"}),
        ({"accountId": NOWHERE}, {"accountId": MISSING}),
        ({"accountId": ""}, {"accountId": MISSING}),
        (
            {"email": "@", "title": "\x00"},
            {"email": "must look like an e-mail address", "title": "must not contain the NUL character"},
        ),
    ],
)
async def test_refused_creations_and_updates(one: Tenant, fields: dict[str, Any], problems: dict[str, str]) -> None:
    errors = [{"code": "VALIDATION", "message": m, "field": ["input", name]} for name, m in problems.items()]
    fields = {"firstName": "F", **fields}
    assert await one.ask(CREATE, input=fields) == {"contact": None, "userErrors": errors}
    assert await one.rows(Contact.id) == []
    contact = Contact(last_name="kept")
    await one.add(contact)
    assert await one.ask(UPDATE, id=contact.id, input=fields) == {"contact": None, "userErrors": errors}
    assert await one.rows(Contact.last_name, Contact.version) == [("kept", 1)]


async def test_an_account_of_another_organization_is_missing(one: Tenant, two: Tenant) -> None:
    account = Account(name="A")
    await two.add(account)
    errors = [{"code": "VALIDATION", "message": MISSING, "field": ["input", "accountId"]}]
    assert await one.ask(CREATE, input={"lastName": "L", "accountId": account.id}) == {
        "contact": None,
        "userErrors": errors,
    }


async def test_updating(one: Tenant) -> None:
    account, contact = Account(name="A"), Contact(last_name="before", owner_id="o", updated_at=START)
    await one.add(account, contact)
    full = {**FULL, "accountId": account.id, "ownerId": one.subject("viewer")}
    changed = (await one.ask(UPDATE, id=contact.id, input=full))["contact"]
    assert {name: changed[name] for name in full} == full
    assert (changed["account"], changed["version"]) == ({"name": "A"}, 2)
    assert datetime.fromisoformat(changed["updatedAt"]) > START
    assert (await one.ask(UPDATE, id=contact.id, input={}))["contact"] == changed
    kept = (await one.ask(UPDATE, id=contact.id, input={"phone": "2", "expectedVersion": 2}))["contact"]
    assert {name: kept[name] for name in full} == full | {"phone": "2"}
    cleared = (await one.ask(UPDATE, id=contact.id, input={**dict.fromkeys(full), "email": "g@example.com"}))["contact"]
    assert {cleared[name] for name in (*full, "account") if name != "email"} == {None}
    assert cleared["version"] == 4
    assert await one.ask(UPDATE, id=contact.id, input={"phone": "3", "expectedVersion": 2}) == {
        "contact": None,
        "userErrors": [
            {
                "code": "PRECONDITION_FAILED",
                "message": "The record has changed since it was read",
                "field": ["input", "expectedVersion"],
            }
        ],
    }
    assert await one.rows(Contact.phone, Contact.version) == [(None, 4)]


async def test_deletion_removes_links_and_champion(one: Tenant) -> None:
    contact, other = Contact(last_name="c"), Contact(last_name="o")
    await one.add(contact, other)
    deal = Deal(name="d", champion_id=contact.id)
    await one.add(deal, Activity(subject="m", contact_id=contact.id))
    await one.add(*(DealContact(deal_id=deal.id, contact_id=c.id) for c in (contact, other)))
    assert await one.ask(DELETE, id=contact.id) == {"deletedId": contact.id, "userErrors": []}
    assert await one.rows(Contact.last_name) == [("o",)]
    assert await one.rows(Deal.name, Deal.champion_id) == [("d", None)]
    assert await one.rows(Activity.subject, Activity.contact_id) == [("m", None)]
    assert await one.rows(DealContact.contact_id) == [(other.id,)]
    assert await one.ask(DELETE, id=contact.id) == {"deletedId": None, "userErrors": NOT_FOUND}


async def test_changing_what_is_not_there(one: Tenant, two: Tenant) -> None:
    other = Contact(last_name="other")
    await two.add(other)
    for identifier in (other.id, NOWHERE, "no uuid", ""):
        assert await one.ask(UPDATE, id=identifier, input={"title": "x"}) == {"contact": None, "userErrors": NOT_FOUND}
        assert await one.ask(DELETE, id=identifier) == {"deletedId": None, "userErrors": NOT_FOUND}
    assert await two.rows(Contact.last_name, Contact.title) == [("other", None)]


async def test_the_deals_and_meetings_of_contacts(one: Tenant) -> None:
    contacts = [Contact(last_name=name) for name in "AB"]
    deals = [Deal(name=str(i), created_at=START + timedelta(i)) for i in range(3)]
    await one.add(*contacts, *deals)
    first, second = contacts
    await one.add(
        *(DealContact(deal_id=deal.id, contact_id=first.id) for deal in deals),
        DealContact(deal_id=deals[1].id, contact_id=second.id),
        *(Activity(subject=str(i), contact_id=first.id, due_at=START + timedelta(i) if i else None) for i in range(3)),
    )
    query = """query($first: Int, $deals: String, $meetings: String) {
      contacts(orderBy: {field: LAST_NAME, direction: ASC}) { nodes {
        deals(first: $first, after: $deals) { nodes { name } pageInfo { hasNextPage endCursor } totalCount }
        meetings(first: $first, after: $meetings) { nodes { subject } pageInfo { hasNextPage endCursor } totalCount }
    } } }"""

    def lists(found: Any) -> list[Any]:
        return [
            ("".join(d["name"] for d in c["deals"]["nodes"]), "".join(m["subject"] for m in c["meetings"]["nodes"]))
            for c in found["nodes"]
        ]

    found = await one.ask(query)
    assert lists(found) == [("210", "210"), ("1", "")]
    assert [(c["deals"]["totalCount"], c["meetings"]["totalCount"]) for c in found["nodes"]] == [(3, 3), (1, 0)]
    found = await one.ask(query, first=2)
    assert lists(found) == [("21", "21"), ("1", "")]
    ends = {name: found["nodes"][0][name]["pageInfo"]["endCursor"] for name in ("deals", "meetings")}
    assert lists(await one.ask(query, first=2, **ends))[0] == ("0", "0")
