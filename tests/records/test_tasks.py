"""Tasks: what is to be done, its states by time, and what must not be done to it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from storage.base import now
from storage.tables import Account, Activity, Event, Lead
from tests.isolation.requests import EACH_LINK, ERRORS, Case, Rest, by_id, change, put
from tests.support.record_types import RecordType
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
SHOWN = (
    "id kind subject body occurredAt dueAt completedAt remindAt priority state ownerId accountId leadId source version"
)
CREATE = f"mutation($input: TaskCreateInput!) {{ taskCreate(input: $input) {{ task {{ {SHOWN} }} {ERRORS} }} }}"
UPDATE = f"""mutation($id: ID!, $input: TaskUpdateInput!) {{
  taskUpdate(id: $id, input: $input) {{ task {{ {SHOWN} }} {ERRORS} }} }}"""
COMPLETE = f"""mutation($id: ID!, $at: DateTime) {{
  taskComplete(id: $id, at: $at) {{ task {{ {SHOWN} }} {ERRORS} }} }}"""
REOPEN = f"mutation($id: ID!) {{ taskReopen(id: $id) {{ task {{ {SHOWN} }} {ERRORS} }} }}"


async def done(tenant: Tenant, document: str, **variables: Any) -> Any:
    """The task after an operation that worked."""
    payload = await tenant.ask(document, **variables)
    assert payload["userErrors"] == [], payload
    return payload["task"]


async def problems(tenant: Tenant, document: str, **variables: Any) -> list[tuple[str, list[str]]]:
    payload = await tenant.ask(document, **variables)
    assert payload["task"] is None
    return [(error["code"], error["field"]) for error in payload["userErrors"]]


async def told(tenant: Tenant) -> list[tuple[str, Any]]:
    return [(kind, data) for _, kind, data in sorted(await tenant.rows(Event.sequence, Event.type, Event.data))]


async def test_a_task_from_its_beginning_to_its_end(one: Tenant) -> None:
    account, lead = Account(name="A"), Lead(name="L")
    await one.add(account, lead)
    due = now() + timedelta(days=1)
    task = await done(
        one, CREATE, input={"subject": "Call", "dueAt": due.isoformat(), "accountId": account.id, "leadId": lead.id}
    )
    fresh = {"kind": "TASK", "state": "OPEN", "priority": "NORMAL", "source": "MANUAL", "version": 1}
    assert task.items() >= (fresh | {"ownerId": one.subject(), "accountId": account.id, "leadId": lead.id}).items()
    assert task["occurredAt"] == task["dueAt"]
    late = await done(one, UPDATE, id=task["id"], input={"dueAt": "2020-01-01T00:00:00Z", "priority": "HIGH"})
    assert (late["state"], late["occurredAt"], late["version"]) == ("OVERDUE", "2020-01-01T00:00:00Z", 2)
    closed = await done(one, COMPLETE, id=task["id"], at="2026-05-01T12:00:00Z")
    assert (closed["state"], closed["occurredAt"], closed["version"]) == ("DONE", "2026-05-01T12:00:00Z", 3)
    assert await done(one, COMPLETE, id=task["id"]) == closed
    moved = await done(one, COMPLETE, id=task["id"], at="2026-05-02T12:00:00Z")
    assert (moved["completedAt"], moved["version"]) == ("2026-05-02T12:00:00Z", 4)
    opened = await done(one, REOPEN, id=task["id"])
    assert (opened["state"], opened["completedAt"], opened["version"]) == ("OVERDUE", None, 5)
    assert await done(one, REOPEN, id=task["id"]) == opened
    links = {"account_id": account.id, "deal_id": None, "contact_id": None, "lead_id": lead.id}
    assert await told(one) == [
        ("task_created", {"task_id": task["id"], **links}),
        ("task_updated", {"task_id": task["id"], "changed": ["due_at", "priority"]}),
        ("task_completed", {"task_id": task["id"]}),
        ("task_completed", {"task_id": task["id"]}),
        ("task_reopened", {"task_id": task["id"]}),
    ]


async def test_a_task_belongs_to_an_active_member(one: Tenant, two: Tenant) -> None:
    task = await done(one, CREATE, input={"subject": "T", "ownerId": one.subject("viewer")})
    assert task["ownerId"] == one.subject("viewer")
    mine = await done(one, CREATE, input={"subject": "T", "ownerId": None})
    assert mine["ownerId"] == one.subject()  # no other member is named
    for stranger in (two.subject(), "nobody"):
        at_owner = [("VALIDATION", ["input", "ownerId"])]
        assert await problems(one, CREATE, input={"subject": "T", "ownerId": stranger}) == at_owner
        assert await problems(one, UPDATE, id=task["id"], input={"ownerId": stranger}) == at_owner
    assert len(await told(one)) == 2


async def test_what_is_refused_changes_nothing(one: Tenant, two: Tenant) -> None:
    """Links of another kind or another organization, another type, nulls, and stale versions."""
    account, note = Account(name="A"), Activity(type="note", body="N")
    foreign = Account(name="F")
    await one.add(account, note)
    await two.add(foreign)
    task = await done(one, CREATE, input={"subject": "T"})
    for input, expected in (
        ({"dealId": account.id}, ("VALIDATION", ["input", "dealId"])),
        ({"accountId": foreign.id}, ("VALIDATION", ["input", "accountId"])),
        ({"leadId": "no-uuid"}, ("VALIDATION", ["input", "leadId"])),
        ({"subject": ""}, ("VALIDATION", ["input", "subject"])),
    ):
        assert await problems(one, CREATE, input={"subject": "T", **input}) == [expected]
        assert await problems(one, UPDATE, id=task["id"], input=input) == [expected]
    for input, expected in (
        ({"subject": None}, ("VALIDATION", ["input", "subject"])),
        ({"priority": None}, ("VALIDATION", ["input", "priority"])),
        ({"body": "B", "expectedVersion": 7}, ("PRECONDITION_FAILED", ["input", "expectedVersion"])),
    ):
        assert await problems(one, UPDATE, id=task["id"], input=input) == [expected]
    refused = await one.body(CREATE, input={"subject": "T", "priority": None})  # a value with a default is no null
    assert [error["extensions"]["code"] for error in refused["errors"]] == ["BAD_USER_INPUT"]
    assert await problems(one, UPDATE, id=note.id, input={"body": "B"}) == [("VALIDATION", ["id"])]
    for document in (COMPLETE, REOPEN):
        assert await problems(one, document, id=note.id) == [("INVALID_STATE", ["id"])]
        assert await problems(two, document, id=task["id"]) == [("NOT_FOUND", ["id"])]
    assert await problems(two, UPDATE, id=task["id"], input={"body": "B"}) == [("NOT_FOUND", ["id"])]
    assert await told(one) == [("task_created", {"task_id": task["id"], **dict.fromkeys(LINKS)})]
    assert await told(two) == []


LINKS = ("account_id", "deal_id", "contact_id", "lead_id")


def _row(ids: Any, mark: str) -> Activity:
    return Activity(type="task", subject=mark, body=mark, due_at=NOON, account_id=ids["account"])


RECORD = RecordType(
    typename="Task",
    name="task",
    group="MEETINGS_READ",
    row=_row,
    cases={
        "tasks.create_task": Case(
            "CRM_MANAGE",
            (
                Rest("POST", "/activities", {"type": "task", "subject": "<name>", "account_id": "<account>"}),
                *(
                    put("taskCreate", "TaskCreateInput", "task { subject }", subject="<name>", **link)
                    for link in EACH_LINK
                ),
                put("taskCreate", "TaskCreateInput", "task { subject }", subject="<name>", ownerId="<owner>"),
            ),
        ),
        "tasks.update_task": Case(
            "CRM_MANAGE",
            (
                Rest("PATCH", "/activities/<task>", {"subject": "<name>"}),
                change("taskUpdate", "TaskUpdateInput", "task { subject }", "<task>", subject="<name>"),
                *(change("taskUpdate", "TaskUpdateInput", "task { id }", "<own task>", **link) for link in EACH_LINK),
            ),
        ),
        "tasks.complete_task": Case(
            "CRM_MANAGE",
            (Rest("POST", "/activities/<task>/complete"), by_id("taskComplete", "task", "task { id }")),
        ),
        "tasks.reopen_task": Case(
            "CRM_MANAGE", (Rest("POST", "/activities/<task>/reopen"), by_id("taskReopen", "task", "task { id }"))
        ),
    },
)
