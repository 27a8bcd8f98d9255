from __future__ import annotations

import asyncio
from typing import Any

import pytest

from storage.base import new_id
from storage.tables import Job, Mailbox, OutreachDomain
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

NOWHERE = "00000000-0000-7000-8000-000000000000"
ERRORS = "userErrors { code message field }"
DOMAIN = "id name status spf dkim dmarc mailboxCount createdAt"
PURCHASE = f"mutation($name: String!) {{ domainPurchase(name: $name) {{ domain {{ {DOMAIN} }} {ERRORS} }} }}"
MAILBOX = "id email displayName status dailyLimit domain { name mailboxCount } createdAt"
PROVISION = (
    f"mutation($input: MailboxInput!) {{ mailboxProvision(input: $input) {{ mailbox {{ {MAILBOX} }} {ERRORS} }} }}"
)
DOMAINS = f"{{ outreachDomains {{ {DOMAIN} }} }}"
MAILBOXES = f"{{ mailboxes {{ {MAILBOX} }} }}"


async def buy(one: Tenant, name: str) -> Any:
    return await one.ask(PURCHASE, one.headers("admin") | {"Idempotency-Key": new_id()}, name=name)


async def provision(one: Tenant, **input: Any) -> Any:
    return await one.ask(PROVISION, one.headers("admin") | {"Idempotency-Key": new_id()}, input=input)


async def test_a_domain_is_bought_once(one: Tenant) -> None:
    found = await buy(one, "  ACME-Mail.Example.COM. ")
    domain = found["domain"]
    assert found["userErrors"] == []
    assert domain == {
        "id": domain["id"],
        "name": "acme-mail.example.com",
        "status": "ACTIVE",
        "spf": True,
        "dkim": True,
        "dmarc": True,
        "mailboxCount": 0,
        "createdAt": domain["createdAt"],
    }
    assert (await buy(one, "acme-mail.example.com"))["domain"] == domain
    assert await one.ask(DOMAINS) == [domain]
    log = (await one.ask("{ events { nodes { type data } } }", one.headers("admin")))["nodes"]
    assert [(e["type"], e["data"]["status"]) for e in log] == [
        ("domain_ordered", "pending"),
        ("domain_updated", "active"),
    ]
    assert await one.rows(Job.kind) == [("domain_purchase",)]  # which finds it settled, should it ever run


async def test_a_name_in_another_script_is_one_name(one: Tenant) -> None:
    first, second = await buy(one, "bücher-mail.com"), await buy(one, "XN--BCHER-MAIL-9DB.com")
    assert first["domain"]["name"] == "xn--bcher-mail-9db.com"
    assert first["domain"]["id"] == second["domain"]["id"]


async def test_requests_that_race_buy_once(one: Tenant) -> None:
    found = await asyncio.gather(*(buy(one, "race.example.com") for _ in range(5)))
    assert len({f["domain"]["id"] for f in found}) == 1
    assert len(await one.rows(OutreachDomain.id)) == 1
    domain = found[0]["domain"]["id"]
    made = await asyncio.gather(*(provision(one, domainId=domain, localPart="ada") for _ in range(5)))
    assert len({m["mailbox"]["id"] for m in made}) == 1
    assert len(await one.rows(Mailbox.id)) == 1


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "x",
        "localhost",
        "a b.com",
        "-a.com",
        "a..com",
        "http://a.com",
        "a.com/x",
        "a@b.com",
        "1.2.3.4",
        "a_b.com",
        "x" * 64 + ".com",
        "a\0.com",
    ],
)
async def test_what_is_no_domain(one: Tenant, name: str) -> None:
    found = await buy(one, name)
    assert found["domain"] is None
    assert [(p["code"], p["field"]) for p in found["userErrors"]] == [("VALIDATION", ["name"])]
    assert await one.rows(OutreachDomain.id) == []


async def test_a_mailbox_is_made_once(one: Tenant) -> None:
    domain = (await buy(one, "acme.example.com"))["domain"]["id"]
    found = await provision(one, domainId=domain, localPart="Ada.Park", displayName="Ada Park")
    mailbox = found["mailbox"]
    assert found["userErrors"] == []
    assert mailbox == {
        "id": mailbox["id"],
        "email": "ada.park@acme.example.com",
        "displayName": "Ada Park",
        "status": "ACTIVE",
        "dailyLimit": 50,
        "domain": {"name": "acme.example.com", "mailboxCount": 1},
        "createdAt": mailbox["createdAt"],
    }
    assert (await provision(one, domainId=domain, localPart="ada.park", displayName="Else"))["mailbox"] == mailbox
    second = (await provision(one, domainId=domain, localPart="a"))["mailbox"]
    assert [m["email"] for m in await one.ask(MAILBOXES)] == ["a@acme.example.com", "ada.park@acme.example.com"]
    assert second["displayName"] is None
    assert [d["mailboxCount"] for d in await one.ask(DOMAINS)] == [2]


@pytest.mark.parametrize("local_part", ["", " ", "a b", ".a", "a.", "a..b", "é", "a@b", '"a"', "-a", "a" * 65, "a\n"])
async def test_what_is_no_local_part(one: Tenant, local_part: str) -> None:
    domain = (await buy(one, "acme.example.com"))["domain"]["id"]
    found = await provision(one, domainId=domain, localPart=local_part)
    assert found["mailbox"] is None
    assert [(p["code"], p["field"]) for p in found["userErrors"]] == [("VALIDATION", ["input", "localPart"])]
    assert await one.rows(Mailbox.id) == []


async def test_the_domain_has_to_be_the_organizations_own_and_bought(one: Tenant, two: Tenant) -> None:
    foreign = OutreachDomain(name="f.example", status="active")
    failed = OutreachDomain(name="x.example", status="failed")
    await two.add(foreign)
    await one.add(failed)
    for identifier in (foreign.id, NOWHERE, "x"):
        found = await provision(one, domainId=identifier, localPart="a")
        assert found["userErrors"] == [
            {"code": "VALIDATION", "message": "does not exist in this organization", "field": ["input", "domainId"]}
        ]
    found = await provision(one, domainId=failed.id, localPart="a")
    assert [p["code"] for p in found["userErrors"]] == ["INVALID_STATE"]
    assert await one.ask(MAILBOXES) == await two.ask(MAILBOXES) == []


async def test_what_went_wrong_is_tried_again(one: Tenant) -> None:
    domain = OutreachDomain(name="again.example.com", status="failed")
    await one.add(domain)
    assert (await buy(one, "again.example.com"))["domain"]["status"] == "ACTIVE"
    mailbox = Mailbox(domain_id=domain.id, email="a@again.example.com", status="error")
    await one.add(mailbox)
    assert (await provision(one, domainId=domain.id, localPart="a"))["mailbox"]["status"] == "ACTIVE"


async def test_two_organizations_may_have_the_same_name(one: Tenant, two: Tenant) -> None:
    for tenant in (one, two):
        assert (await buy(tenant, "same.example.com"))["domain"]["status"] == "ACTIVE"


async def test_buying_needs_the_scope_that_costs_money(one: Tenant) -> None:
    manager = await one.scoped("outreach:manage", name="manager")
    for document, variables in (
        (PURCHASE, {"name": "a.com"}),
        (PROVISION, {"input": {"domainId": "x", "localPart": "a"}}),
    ):
        error = await one.error(document, manager, **variables)
        assert error["extensions"]["required_scopes"] == ["outreach:provision"]
    assert await one.ask(DOMAINS, manager) == []
