"""Notes: texts on records, never blank and never on nothing."""

from __future__ import annotations

from typing import Any

import pytest

from storage.tables import Account, Activity, Deal
from tests.isolation.requests import EACH_LINK, ERRORS, Case, change, put
from tests.support.record_types import RecordType
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

SHOWN = "id kind subject body isPinned accountId dealId occurredAt createdAt version"
CREATE = f"mutation($input: NoteCreateInput!) {{ noteCreate(input: $input) {{ note {{ {SHOWN} }} {ERRORS} }} }}"
UPDATE = f"""mutation($id: ID!, $input: NoteUpdateInput!) {{
  noteUpdate(id: $id, input: $input) {{ note {{ {SHOWN} }} {ERRORS} }} }}"""


async def problems(tenant: Tenant, document: str, **variables: Any) -> list[tuple[str, list[str]]]:
    payload = await tenant.ask(document, **variables)
    assert payload["note"] is None
    return [(error["code"], error["field"]) for error in payload["userErrors"]]


async def test_a_note_is_written_pinned_and_moved(one: Tenant) -> None:
    account, deal = Account(name="A"), Deal(name="D")
    await one.add(account, deal)
    made = (await one.ask(CREATE, input={"body": " They like blue.\n", "accountId": account.id}))["note"]
    assert (made["kind"], made["body"], made["isPinned"]) == ("NOTE", " They like blue.\n", False)
    assert made["occurredAt"] == made["createdAt"]
    moved = {"isPinned": True, "accountId": None, "dealId": deal.id, "subject": "Colour"}
    note = (await one.ask(UPDATE, id=made["id"], input=moved))["note"]
    assert note == made | moved | {"version": 2}


async def test_a_note_has_a_text_and_a_record(one: Tenant) -> None:
    account = Account(name="A")
    await one.add(account)
    for body in ("", " \n\t", "\u200b\ufeff", "x" * 500_001):
        assert await problems(one, CREATE, input={"body": body, "accountId": account.id}) == [
            ("VALIDATION", ["input", "body"])
        ]
    for links in ({}, {"accountId": None}):
        assert await problems(one, CREATE, input={"body": "N", **links}) == [("VALIDATION", ["input"])]
    refused = await one.body(CREATE, input={"body": "N", "accountId": account.id, "isPinned": None})
    assert [error["extensions"]["code"] for error in refused["errors"]] == ["BAD_USER_INPUT"]
    assert await one.rows(Activity.id) == []
    made = (await one.ask(CREATE, input={"body": "x" * 500_000, "accountId": account.id}))["note"]
    assert await problems(one, UPDATE, id=made["id"], input={"accountId": None}) == [("VALIDATION", ["input"])]
    assert await problems(one, UPDATE, id=made["id"], input={"body": None}) == [("VALIDATION", ["input", "body"])]
    assert await problems(one, UPDATE, id=made["id"], input={"body": " "}) == [("VALIDATION", ["input", "body"])]


async def test_a_note_whose_record_was_deleted_can_be_changed(one: Tenant) -> None:
    account = Account(name="A")
    await one.add(account)
    made = (await one.ask(CREATE, input={"body": "N", "accountId": account.id}))["note"]
    await one.ask("mutation($id: ID!) { accountDelete(id: $id) { deletedId } }", id=account.id)
    note = (await one.ask(UPDATE, id=made["id"], input={"body": "M"}))["note"]
    assert (note["body"], note["accountId"]) == ("M", None)


def _row(ids: Any, mark: str) -> Activity:
    return Activity(type="note", subject=mark, body=mark, account_id=ids["account"])


RECORD = RecordType(
    typename="Note",
    name="note",
    group="MEETINGS_READ",
    row=_row,
    cases={
        "notes.create_note": Case(
            "CRM_MANAGE",
            tuple(put("noteCreate", "NoteCreateInput", "note { body }", body="<name>", **link) for link in EACH_LINK),
        ),
        "notes.update_note": Case(
            "CRM_MANAGE",
            (
                change("noteUpdate", "NoteUpdateInput", "note { body }", "<note>", body="<name>"),
                *(change("noteUpdate", "NoteUpdateInput", "note { id }", "<own note>", **link) for link in EACH_LINK),
            ),
        ),
    },
)
