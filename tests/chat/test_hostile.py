"""Whatever a model says, a run ends with an answer or with what the model did wrong, and its thread goes on."""

from __future__ import annotations

from typing import Any

import pytest

from tests.chat.chatting import Chatter, text_of
from tests.support.chat_model import ScriptedModel, calls, says
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")


def nested(depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(depth):
        found = {"not": found}
    return {"kind": "deal", "where": found}


@pytest.mark.parametrize(
    "asked",
    [
        ("log_note", {"kind": "deal", "id": "\0", "text": "\0"}),
        ("list_records\0", {}),
        ("list_records", nested(110)),
        ("list_records", {"kind": {"a": 1}}),
        ("list_records", {"": "", "__proto__": {}, "kind\0": 1}),
        ("search", {"query": "\u202e" * 10_000}),
        ("get_record", {"kind": "deal", "id": ["x"]}),
    ],
    ids=range(7),
)
async def test_a_call_that_is_none_is_told_and_the_run_goes_on(one: Tenant, model: ScriptedModel, asked: Any) -> None:
    chat = Chatter(one.gateway.http, one.gateway.app, one.headers())
    thread = await chat.thread()
    model.plays(calls(asked), says("Sorry."))
    events = await chat.send(thread)
    assert (events[-1].data["status"], text_of(events)) == ("succeeded", "Sorry."), events[-1].data
    [call] = [event.data for event in events if event.event == "tool_call"]
    assert (call["tool"], call["arguments"]) == asked
    [result] = [event.data for event in events if event.event == "tool_result"]
    assert not result["ok"]
    assert text_of(await chat.send(thread, "again")) == "Done."
