"""What somebody tries who means no good: with approvals, and with the places of a stream."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest
from sqlmodel import col

from contract.canonical_json import sha256_of
from storage.base import new_id
from storage.tables import Event
from tests.chat.chatting import Chatter, another_process
from tests.chat.test_approvals import deal_of, decide, note_on, noted, proposed, state
from tests.support.chat_model import ScriptedModel
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_yes_and_no_and_stop_at_once_write_once_or_not_at_all(
    one: Tenant, chat: Chatter, model: ScriptedModel
) -> None:
    """Sixteen say yes and sixteen no, in two processes, while the run is stopped: one of them comes first."""
    approval = await note_on(one, chat, model)
    before, _ = await noted(one)
    async with another_process(one.gateway, model) as other:
        there = Chatter(other.http, other.app, chat.headers)
        who = [chat, there] * 16
        decisions = [decide(by, approval, "approve" if place % 4 < 2 else "reject") for place, by in enumerate(who)]
        stop = there.call("POST", f"/chat/runs/{approval['run_id']}/cancel")
        *answers, stopped = await asyncio.gather(*decisions, stop)
        events = await chat.follow(approval["run_id"])
    assert stopped.status_code == 202
    assert {answer.status_code for answer in answers} <= {200, 409}
    after, told = await noted(one)
    written = after - before
    status = await state(chat, approval)
    assert (status, written) in {("executed", 1), ("failed", 0), ("rejected", 0), ("expired", 0)}
    assert len([data for data in told if data.get("approval_id") == approval["id"]]) == written
    kinds = Counter(event.event for event in events)
    assert kinds["approval_decided"] == 1
    assert kinds["tool_result"] == written
    assert kinds["run_finished"] == 1


@pytest.mark.parametrize(
    "changed",
    [
        {"tool": "log_note "},
        {"record_version": 10**6},
        {"record_version": None},
        {"arguments": {}},
        {"more": None},
    ],
    ids=str,
)
async def test_the_hash_of_anything_else_decides_nothing(
    one: Tenant, chat: Chatter, model: ScriptedModel, changed: dict[str, Any]
) -> None:
    deal = await deal_of(one)
    approval = await proposed(chat, model, "update_record", kind="deal", id=deal.id, fields={"name": "Other"})
    bound = {name: approval[name] for name in ("arguments", "record_version", "tool")}
    assert sha256_of(bound) == approval["arguments_sha256"]
    wrong = await decide(chat, approval, arguments_sha256=sha256_of({**bound, **changed}))
    assert (wrong.status_code, wrong.json()["code"]) == (409, "conflict")
    assert await state(chat, approval) == "pending"
    for bad in ("", "0" * 63, "0" * 65, "g" * 64, f" {approval['arguments_sha256']}", None, 7, ["0" * 64]):
        assert (await decide(chat, approval, arguments_sha256=bad)).status_code == 422, bad
    assert await state(chat, approval) == "pending"
    assert (await decide(chat, approval, "reject")).status_code == 200
    await chat.follow(approval["run_id"])
    assert [data for (data,) in await one.rows(col(Event.data)) if data.get("approval_id") == approval["id"]] == []


@pytest.mark.parametrize("more", [{"arguments": {"name": "Mine"}}, {"tool": "log_note"}, {"id": "x"}], ids=str)
async def test_a_decision_says_nothing_of_what_is_written(
    one: Tenant, chat: Chatter, model: ScriptedModel, more: dict[str, Any]
) -> None:
    approval = await note_on(one, chat, model)
    refused = await decide(chat, approval, **more)
    assert refused.status_code == 422
    assert refused.json()["detail"][0]["type"] == "extra_forbidden"
    assert await state(chat, approval) == "pending"
    assert (await decide(chat, approval, "reject")).status_code == 200
    await chat.follow(approval["run_id"])


async def test_no_form_of_an_events_id_but_its_own_is_taken(one: Tenant, chat: Chatter) -> None:
    """The first event has the number 1, so 0 is none, and no number begins with a zero."""
    events = await chat.send(await chat.thread())
    run_id = events[0].data["run_id"]
    forms = (
        *(f"{run_id}.", f"{run_id}.1.1", f".{run_id}.1", f"{run_id}.+1", f"{run_id}.1e0", f"{run_id}.0x1"),
        *(f"{run_id.upper()}.1", f"{run_id.replace('-', '')}.1", f"{{{run_id}}}.1", f"{new_id()}.1"),
        *(f"{run_id}.0", f"{run_id}.01", f"{run_id}.{'9' * 18}", f"{run_id}.{'9' * 400}", "null", "*"),
    )
    for wrong in forms:
        refused = await chat.call("GET", f"/chat/runs/{run_id}/events", **{"Last-Event-ID": wrong})
        assert refused.status_code == 422, wrong
        [problem] = refused.json()["detail"]
        assert problem["loc"] == ["header", "Last-Event-ID"], wrong
    for wrong in ("%00", f"{run_id}.1%00", f"{run_id}.%D9%A1", "%FF"):
        refused = await chat.call("GET", f"/chat/runs/{run_id}/events?after={wrong}")
        assert refused.status_code in {400, 422}, wrong
    assert await chat.follow(run_id, f"{run_id}.1") == events[1:]
