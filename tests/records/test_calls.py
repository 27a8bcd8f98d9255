"""Calls: logged by hand, those that were in the table before, and their times."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from storage.tables import Activity
from tests.isolation.requests import EACH_LINK, ERRORS, Case, change, put
from tests.support.record_types import RecordType
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
SHOWN = "id kind subject direction startedAt durationMinutes phone outcome occurredAt createdAt version"
LOG = f"mutation($input: CallLogInput!) {{ callLog(input: $input) {{ call {{ {SHOWN} }} {ERRORS} }} }}"
UPDATE = f"""mutation($id: ID!, $input: CallUpdateInput!) {{
  callUpdate(id: $id, input: $input) {{ call {{ {SHOWN} }} {ERRORS} }} }}"""


async def test_a_call_is_logged_and_changed(one: Tenant) -> None:
    call = (await one.ask(LOG, input={"subject": "C"}))["call"]
    assert (call["kind"], call["direction"], call["startedAt"]) == ("CALL", "OUTBOUND", None)
    assert call["occurredAt"] == call["createdAt"]
    changes = {"direction": "INBOUND", "startedAt": "2026-05-01T12:00:00Z", "durationMinutes": 0, "outcome": "busy"}
    changed = (await one.ask(UPDATE, id=call["id"], input=changes))["call"]
    assert changed == call | changes | {"occurredAt": changes["startedAt"], "version": 2}
    assert await one.rows(Activity.due_at, Activity.completed_at) == [(NOON, NOON)]


async def test_what_is_wrong_with_a_call(one: Tenant) -> None:
    for input, field, words in (
        ({"durationMinutes": -1}, "durationMinutes", "must be at least 0"),
        ({"outcome": "x" * 201}, "outcome", "must have at most 200 characters"),
        ({"phone": "1" * 101}, "phone", "must have at most 100 characters"),
        ({"subject": ""}, "subject", "must not be empty"),
    ):
        [error] = (await one.ask(LOG, input={"subject": "C", **input}))["userErrors"]
        assert (error["code"], error["field"], error["message"]) == ("VALIDATION", ["input", field], words)
    assert await one.rows(Activity.id) == []


async def test_what_was_synced_keeps_its_content(one: Tenant) -> None:
    """Decision 229: but links and owner may change, and what stays as it is may be named."""
    call = Activity(type="call", source="zoom", direction="inbound", subject="C", due_at=NOON, completed_at=NOON)
    await one.add(call)
    for input, field in (({"subject": "D"}, "subject"), ({"startedAt": None}, "startedAt")):
        [error] = (await one.ask(UPDATE, id=call.id, input=input))["userErrors"]
        assert (error["code"], error["field"]) == ("VALIDATION", ["input", field])
    same = {"subject": "C", "startedAt": "2026-05-01T12:00:00Z", "ownerId": one.subject()}
    assert (await one.ask(UPDATE, id=call.id, input=same))["call"]["version"] == 2


def _row(ids: Any, mark: str) -> Activity:
    return Activity(type="call", subject=mark, outcome=mark, direction="inbound", contact_id=ids["contact"])


RECORD = RecordType(
    typename="Call",
    name="call",
    group="MEETINGS_READ",
    row=_row,
    cases={
        "calls.log_call": Case(
            "CRM_MANAGE",
            tuple(put("callLog", "CallLogInput", "call { subject }", subject="<name>", **link) for link in EACH_LINK),
        ),
        "calls.update_call": Case(
            "CRM_MANAGE",
            (
                change("callUpdate", "CallUpdateInput", "call { subject }", "<call>", subject="<name>"),
                *(change("callUpdate", "CallUpdateInput", "call { id }", "<own call>", **link) for link in EACH_LINK),
            ),
        ),
    },
)
