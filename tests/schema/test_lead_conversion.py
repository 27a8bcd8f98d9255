"""Conversion of leads, and what they may be converted into (decisions 39, 40)."""

from __future__ import annotations

import asyncio
import threading
from datetime import UTC, datetime
from typing import Any

import pytest

from contract.matching import company_key
from storage.tables import Account, Contact, Deal, DealContact, Event, Lead
from tests.support.statements import statements
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

NOWHERE = "00000000-0000-7000-8000-000000000000"
CONVERT = """mutation($input: LeadConvertInput!) { leadConvert(input: $input) {
  lead { id status convertedAt version account { id } contact { id } deal { id } }
  account { id name domain ownerId version contacts { nodes { id } } }
  contact { id firstName lastName email phone title linkedin accountId ownerId version }
  deal { id name accountId source notes status stageId ownerId version
         contacts { edges { isPrimary node { id } } } }
  userErrors { code message field } } }"""
PREVIEW = """query($id: ID!) { leadConversionPreview(id: $id) {
  accounts { reason node { id __typename ... on Account { name domain } } }
  contacts { reason node { id __typename ... on Contact { lastName account { name } } } } } }"""
NOTHING = dict.fromkeys(("lead", "account", "contact", "deal"))


def full(**values: Any) -> Lead:
    facts = {
        "name": "Ada Lovelace Park",
        "title": "CTO",
        "company": "Acme Inc.",
        "company_domain": "https://www.Acme.example/team",
        "email": "ada@acme.example",
        "phone": "+49 1",
        "linkedin": "in/ada",
        "notes": "n",
        "source": "scan_badge",
    }
    return Lead(**{**facts, **values})


async def test_everything_new(one: Tenant) -> None:
    lead = full()
    await one.add(lead)
    before = datetime.now(UTC)
    done = await one.ask(CONVERT, input={"leadId": lead.id.upper(), "dealName": "Pilot"})
    assert done["userErrors"] == []
    account, contact, deal = done["account"], done["contact"], done["deal"]
    ids = {name: {"id": done[name]["id"]} for name in ("account", "contact", "deal")}
    assert before <= datetime.fromisoformat(done["lead"].pop("convertedAt")) <= datetime.now(UTC)
    assert done["lead"] == {"id": lead.id, "status": "CONVERTED", "version": 2, **ids}
    assert account == {
        "id": account["id"],
        "name": "Acme Inc.",
        "domain": "acme.example",
        "ownerId": one.subject(),
        "version": 1,
        "contacts": {"nodes": [ids["contact"]]},
    }
    assert contact == {
        "id": contact["id"],
        "firstName": "Ada Lovelace",
        "lastName": "Park",
        "email": "ada@acme.example",
        "phone": "+49 1",
        "title": "CTO",
        "linkedin": "in/ada",
        "accountId": account["id"],
        "ownerId": one.subject(),
        "version": 1,
    }
    assert deal == {
        "id": deal["id"],
        "name": "Pilot",
        "accountId": account["id"],
        "source": "scan_badge",
        "notes": "n",
        "status": "OPEN",
        "stageId": None,
        "ownerId": one.subject(),
        "version": 1,
        "contacts": {"edges": [{"isPrimary": True, "node": ids["contact"]}]},
    }
    events = await one.rows(Event.type, Event.actor, Event.sequence, Event.data)
    assert [(t, a, s) for t, a, s, _ in events] == [
        (type_, one.subject(), number)
        for number, type_ in enumerate(("account_created", "contact_created", "deal_created", "lead_converted"), 1)
    ]
    assert events[3][3] == {
        "lead_id": lead.id,
        "account_id": account["id"],
        "contact_id": contact["id"],
        "deal_id": deal["id"],
    }


@pytest.mark.parametrize(
    ("facts", "name", "domain"),
    [
        ({"company": None}, "acme.example", "acme.example"),
        ({"company": " ", "company_domain": "none"}, "Ada Lovelace Park", None),
        ({"company": None, "company_domain": None}, "Ada Lovelace Park", None),
        ({}, "Acme Inc.", "acme.example"),
    ],
)
async def test_what_a_new_account_is_called(one: Tenant, facts: Any, name: str, domain: str | None) -> None:
    lead = full(**facts)
    await one.add(lead)
    done = await one.ask(CONVERT, input={"leadId": lead.id, "dealName": None, "accountId": None})
    assert (done["account"]["name"], done["account"]["domain"], done["deal"]) == (name, domain, None)
    assert await one.rows(Deal.id) == []


async def test_only_what_is_empty_is_filled(one: Tenant) -> None:
    other = Account(name="Other")
    accounts = [Account(name="A"), Account(name="B", domain="b.example", owner_id="o")]
    await one.add(other, *accounts)
    contacts = [
        Contact(email="", phone=" "),
        Contact(first_name="F", email="f@b.example", phone="2", title="T", linkedin="l", account_id=other.id),
    ]
    deals = [Deal(name="D"), Deal(name="E", account_id=other.id, source="Fair", notes="kept", value=5)]
    await one.add(*contacts, *deals)
    await one.add(DealContact(deal_id=deals[1].id, contact_id=contacts[1].id, role="r", is_primary=False))
    answers = []
    for account, contact, deal in zip(accounts, contacts, deals, strict=True):
        lead = full()
        await one.add(lead)
        into = {"accountId": account.id, "contactId": contact.id, "dealId": deal.id}
        answers.append(await one.ask(CONVERT, input={"leadId": lead.id, **into}))
    filled, kept = answers
    assert (filled["account"]["name"], filled["account"]["domain"], filled["account"]["version"]) == (
        "A",
        "acme.example",
        2,
    )
    assert filled["contact"] == {
        "id": contacts[0].id,
        "firstName": "Ada Lovelace",
        "lastName": "Park",
        "email": "ada@acme.example",
        "phone": "+49 1",
        "title": "CTO",
        "linkedin": "in/ada",
        "accountId": accounts[0].id,
        "ownerId": None,
        "version": 2,
    }
    deal = filled["deal"]
    assert (deal["name"], deal["accountId"], deal["source"], deal["notes"], deal["version"]) == (
        "D",
        accounts[0].id,
        "scan_badge",
        "n",
        2,
    )
    assert deal["contacts"] == {"edges": [{"isPrimary": False, "node": {"id": contacts[0].id}}]}
    assert [kept[name]["version"] for name in ("account", "contact", "deal")] == [1, 1, 1]
    assert (kept["contact"]["lastName"], kept["contact"]["accountId"]) == (None, other.id)
    assert (kept["deal"]["accountId"], kept["deal"]["notes"]) == (other.id, "kept")
    links = await one.rows(DealContact.deal_id, DealContact.contact_id, DealContact.role)
    expected = [(deal.id, contact.id, role) for deal, contact, role in zip(deals, contacts, (None, "r"), strict=True)]
    assert sorted(links) == sorted(expected)
    by_number = sorted(await one.rows(Event.sequence, Event.type, Event.data), key=lambda row: int(row[0]))
    told = [(type_, data) for _, type_, data in by_number]
    assert [type_ for type_, _ in told] == [
        "account_updated",
        "contact_updated",
        "deal_updated",
        "lead_converted",
        "lead_converted",
    ]
    assert told[1][1]["changed"] == sorted(
        ["account_id", "email", "first_name", "last_name", "linkedin", "phone", "title"]
    )


async def test_repeating_it_answers_the_first_conversion(one: Tenant) -> None:
    lead, account = full(), Account(name="Second thought")
    await one.add(lead, account)
    first = await one.ask(CONVERT, input={"leadId": lead.id, "dealName": "Pilot"})
    for more in ({}, {"dealName": "Other"}, {"accountId": account.id}, {"contactId": NOWHERE}):
        assert await one.ask(CONVERT, input={"leadId": lead.id, **more}) == first
    assert len(await one.rows(Event.id)) == 4
    assert sorted(await one.rows(Account.name)) == [("Acme Inc.",), ("Second thought",)]


async def test_raced_conversions_are_one(one: Tenant) -> None:
    lead = full()
    await one.add(lead)
    answers = await asyncio.gather(
        *(one.ask(CONVERT, input={"leadId": lead.id, "dealName": f"D{number}"}) for number in range(6))
    )
    assert all(answer == answers[0] for answer in answers)
    for model in (Account, Contact, Deal, DealContact):
        assert len(await one.rows(model.org_id)) == 1
    assert len(await one.rows(Event.id)) == 4


async def test_refusals_change_nothing(one: Tenant, two: Tenant) -> None:
    lead, gone = full(), full(status="disqualified", disqualified_reason="r")
    theirs, their_lead = Account(name="T"), full()
    await one.add(lead, gone)
    await two.add(theirs, their_lead)
    own = Account(name="Own")
    await one.add(own)
    missing = "does not exist in this organization"

    def problem(field: str, message: str, code: str = "VALIDATION") -> dict[str, Any]:
        return {"code": code, "message": message, "field": ["input", field]}

    for given, problems in [
        ({"leadId": NOWHERE}, [problem("leadId", "Not found", "NOT_FOUND")]),
        ({"leadId": "no uuid", "dealName": "D"}, [problem("leadId", "Not found", "NOT_FOUND")]),
        ({"leadId": their_lead.id}, [problem("leadId", "Not found", "NOT_FOUND")]),
        (
            {"leadId": gone.id},
            [problem("leadId", "A lead cannot go from DISQUALIFIED to CONVERTED", "INVALID_STATE")],
        ),
        ({"leadId": lead.id, "accountId": theirs.id}, [problem("accountId", missing)]),
        ({"leadId": lead.id, "accountId": own.id, "contactId": own.id}, [problem("contactId", missing)]),
        (
            {"leadId": lead.id, "accountId": "", "contactId": NOWHERE, "dealId": "x"},
            [problem("accountId", missing), problem("contactId", missing), problem("dealId", missing)],
        ),
        ({"leadId": lead.id, "dealName": ""}, [problem("dealName", "must not be empty")]),
        (
            {"leadId": lead.id, "dealId": NOWHERE, "dealName": "D"},
            [problem("dealName", "does not go with an existing deal"), problem("dealId", missing)],
        ),
    ]:
        assert await one.ask(CONVERT, input=given) == {**NOTHING, "userErrors": problems}
    assert await one.rows(Account.name, Account.domain, Account.version) == [("Own", None, 1)]
    assert await one.rows(Contact.id) == await one.rows(Deal.id) == await one.rows(Event.id) == []
    assert sorted(await one.rows(Lead.status, Lead.version)) == [("disqualified", 1), ("new", 1)]
    assert await two.rows(Lead.status) == [("new",)]


async def test_a_conversion_shows_what_is_left_of_it(one: Tenant) -> None:
    lead = full()
    await one.add(lead)
    first = await one.ask(CONVERT, input={"leadId": lead.id, "dealName": "D"})
    await one.ask("mutation($id: ID!) { dealDelete(id: $id) { deletedId } }", id=first["deal"]["id"])
    again = await one.ask(CONVERT, input={"leadId": lead.id, "dealName": "D"})
    assert (again["account"]["id"], again["deal"], again["userErrors"]) == (first["account"]["id"], None, [])
    assert await one.rows(Deal.id) == []


async def test_the_preview_finds_candidates_with_reasons(one: Tenant, two: Tenant) -> None:
    accounts = {
        "both": Account(name="ÁCME", domain="www.acme.example"),
        "domain": Account(name="Other", domain="HTTP://ACME.example/"),
        "email": Account(name="Mail", domain="mail.example"),
        "name": Account(name="The Acme Company Ltd"),
        "near": Account(name="Acme Labs", domain="notacme.example"),
        "far": Account(name="Zeta"),
    }
    await one.add(*accounts.values())
    contacts = {
        "both": Contact(first_name="Ada", last_name="Pärk", email="ADA@mail.example", account_id=accounts["far"].id),
        "email": Contact(last_name="Somebody", email="ada@Mail.example"),
        "name": Contact(first_name="PARK", last_name="Ada"),
        "near": Contact(first_name="Ada", last_name="Parker", email="xada@mail.example"),
        "empty": Contact(),
    }
    await one.add(*contacts.values())
    await two.add(Account(name="Acme", domain="acme.example"), Contact(first_name="Ada", last_name="Park"))
    lead = full(name="Park, Ada", email="ada@mail.example")
    await one.add(lead)
    found = await one.ask(PREVIEW, id=lead.id)
    labels = {record.id: label for label, record in (*accounts.items(), *contacts.items())}
    assert {labels[c["node"]["id"]]: c["reason"] for c in found["accounts"]} == {
        "both": "same domain acme.example, same company name",
        "domain": "same domain acme.example",
        "email": "e-mail domain mail.example",
        "name": "same company name",
    }
    assert found["accounts"][0]["node"] == {
        "id": accounts["both"].id,
        "__typename": "Account",
        "name": "ÁCME",
        "domain": "www.acme.example",
    }
    assert {labels[c["node"]["id"]]: c["reason"] for c in found["contacts"]} == {
        "both": "same e-mail ada@mail.example, same name",
        "email": "same e-mail ada@mail.example",
        "name": "same name",
    }
    assert found["contacts"][0]["node"] == {
        "id": contacts["both"].id,
        "__typename": "Contact",
        "lastName": "Pärk",
        "account": {"name": "Zeta"},
    }
    for facts in (
        {"company": None, "company_domain": None, "email": None, "name": "Nobody"},
        {"company": "%", "name": "*"},
    ):
        bare = full(**{"company_domain": None, "email": None, **facts})
        await one.add(bare)
        assert await one.ask(PREVIEW, id=bare.id) == {"accounts": [], "contacts": []}


async def test_a_preview_of_no_lead(one: Tenant, two: Tenant) -> None:
    theirs = full()
    await two.add(theirs)
    for identifier in (theirs.id, NOWHERE, "no uuid"):
        error = await one.error(PREVIEW, id=identifier)
        assert (error["message"], error["extensions"]["code"]) == ("Not found", "NOT_FOUND")


async def test_a_preview_is_bounded(one: Tenant) -> None:
    await one.add(*(Account(name="Acme", domain="acme.example") for _ in range(25)))
    lead = full()
    await one.add(lead)
    assert len((await one.ask(PREVIEW, id=lead.id))["accounts"]) == 20


COMPANIES = {
    "thousands of words": " ".join(f"w{number}" for number in range(1_600)),
    "one word": "oa" * 5_000,
    "brackets and stars": "[*?]^" * 2_000,
    "thousands of letters": " ".join("abcdefghij" * 500),
    "s": "s" * 10_000,
}


@pytest.mark.parametrize("company", COMPANIES.values(), ids=COMPANIES)
async def test_a_company_s_name_may_be_as_long_as_it_may(one: Tenant, company: str) -> None:
    """The statement that looks for it is no longer than for any other."""
    same, other = Account(name=f"{company.upper()[:9_990]} Inc."[:10_000]), Account(name=company[:-1])
    lead = Lead(name="s" * 200, company=same.name, source="scan_card")
    await one.add(lead, same, other, Contact(last_name="S" * 200))
    with statements(one.gateway.world.database) as sent:
        found = await one.ask(PREVIEW, id=lead.id)
    named = [c["node"]["id"] for c in found["accounts"] if c["reason"] == "same company name"]
    assert named == [same.id]
    assert [c["reason"] for c in found["contacts"]] == ["same name"]
    assert max(map(len, sent)) < 6_000


async def test_long_names_are_compared_beside_other_requests(one: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    company = " ".join(f"w{number}" for number in range(1_600))
    lead = Lead(name="Ada", company=company, source="scan_card")
    await one.add(lead, *(Account(name=company.replace("w7 ", f"v{number} ")) for number in range(20)))
    compared = []

    def key(name: str | None) -> tuple[str, ...]:
        compared.append(threading.current_thread() is threading.main_thread())
        return company_key(name)

    monkeypatch.setattr("resolvers.lead_conversion.company_key", key)
    await one.ask(PREVIEW, id=lead.id)
    assert compared == [True, *[False] * 20]  # the lead's own
