"""E-mails: logged by hand, each Message-ID once however many requests race, and never changed once synced."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from storage.tables import Activity, Deal, Event
from tests.isolation.requests import EACH_LINK, ERRORS, Case, change, put
from tests.support.record_types import RecordType
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
SHOWN = "id kind subject body direction sentAt fromAddress toAddresses ccAddresses messageId threadId dealId version"
LOG = f"mutation($input: EmailLogInput!) {{ emailLog(input: $input) {{ email {{ {SHOWN} }} {ERRORS} }} }}"
UPDATE = f"""mutation($id: ID!, $input: EmailUpdateInput!) {{
  emailUpdate(id: $id, input: $input) {{ email {{ {SHOWN} }} {ERRORS} }} }}"""


async def test_a_message_is_logged_and_changed(one: Tenant) -> None:
    input = {
        "subject": "Offer",
        "sentAt": "2026-05-01T12:00:00Z",
        "fromAddress": "Max <max@example.com>",
        "toAddresses": ["ada@example.com"],
        "messageId": "<1@example.com>",
        "threadId": "t",
    }
    email = (await one.ask(LOG, input=input))["email"]
    assert email.items() >= (input | {"kind": "EMAIL", "direction": "OUTBOUND", "ccAddresses": []}).items()
    changed = (await one.ask(UPDATE, id=email["id"], input={"toAddresses": None, "ccAddresses": ["b"]}))["email"]
    assert (changed["toAddresses"], changed["ccAddresses"], changed["version"]) == ([], ["b"], 2)


async def test_a_message_is_kept_once_however_many_race(one: Tenant, two: Tenant) -> None:
    """The same Message-ID answers the same record, as it is; another organization's is another message."""

    async def log(number: int) -> Any:
        payload = await one.ask(LOG, input={"subject": f"Offer {number}", "messageId": "<1@example.com>"})
        assert payload["userErrors"] == []
        return payload["email"]

    logged = await asyncio.gather(*map(log, range(12)))
    assert all(email == logged[0] for email in logged)
    assert await log(99) == logged[0]
    assert len(await one.rows(Activity.id)) == 1
    assert [kind for (kind,) in await one.rows(Event.type)] == ["email_logged"]
    other = (await two.ask(LOG, input={"subject": "S", "messageId": "<1@example.com>"}))["email"]
    assert other["id"] != logged[0]["id"]


async def test_what_is_wrong_with_a_message(one: Tenant) -> None:
    for input, field in (
        ({"messageId": ""}, "messageId"),
        ({"messageId": "<a b>"}, "messageId"),
        ({"messageId": "<é@example.com>"}, "messageId"),
        ({"messageId": "x" * 999}, "messageId"),
        ({"toAddresses": ["a"] * 501}, "toAddresses"),
    ):
        [error] = (await one.ask(LOG, input={"subject": "S", **input}))["userErrors"]
        assert (error["code"], error["field"]) == ("VALIDATION", ["input", field])
    assert await one.rows(Activity.id) == []


async def test_what_was_synced_keeps_its_content(one: Tenant) -> None:
    """Decision 229."""
    deal = Deal(name="D")
    email = Activity(type="email", source="gmail", direction="inbound", subject="S", body="B", message_id="<m>")
    await one.add(deal, email)
    for input, field in (
        ({"subject": "Another"}, "subject"),
        ({"body": None}, "body"),
        ({"direction": "OUTBOUND"}, "direction"),
        ({"sentAt": "2026-05-01T12:00:00Z"}, "sentAt"),
        ({"toAddresses": ["a"]}, "toAddresses"),
    ):
        [error] = (await one.ask(UPDATE, id=email.id, input={**input, "dealId": deal.id}))["userErrors"]
        assert (error["code"], error["field"]) == ("VALIDATION", ["input", field])
    changed = (await one.ask(UPDATE, id=email.id, input={"dealId": deal.id, "subject": "S"}))["email"]
    assert (changed["dealId"], changed["version"]) == (deal.id, 2)


def _row(ids: Any, mark: str) -> Activity:
    addresses = {"from_address": mark, "to_addresses": [mark], "cc_addresses": [mark]}
    threading = {"message_id": mark, "thread_id": mark}
    said = {"subject": mark, "body": mark, **addresses, **threading}
    return Activity(type="email", direction="inbound", deal_id=ids["deal"], **said)


RECORD = RecordType(
    typename="Email",
    name="email",
    group="MEETINGS_READ",
    row=_row,
    cases={
        "emails.log_email": Case(
            "CRM_MANAGE",
            tuple(
                put("emailLog", "EmailLogInput", "email { subject }", subject="<name>", **link) for link in EACH_LINK
            ),
        ),
        "emails.update_email": Case(
            "CRM_MANAGE",
            (
                change("emailUpdate", "EmailUpdateInput", "email { subject }", "<email>", subject="<name>"),
                *(
                    change("emailUpdate", "EmailUpdateInput", "email { id }", "<own email>", **link)
                    for link in EACH_LINK
                ),
            ),
        ),
    },
)
