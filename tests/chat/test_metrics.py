"""What /metrics tells of chats: runs, tokens, the time to the first text, who follows, and nobody's name (518)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator

import pytest

from contract.chat import ChatErrorCode, ChatRunStatus
from gateway.observability.metrics import REGISTRY
from providers.chat_models import Conversation, Delta, Text, Usage
from providers.models import ModelAway
from tests.chat.chatting import Chatter, another_process
from tests.support.chat_model import ScriptedModel, says
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")


def value(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


def figures() -> dict[str, float]:
    outcomes = ("succeeded", "cancelled", "model_unavailable")
    return {
        **{outcome: value("crm_chat_runs_total", provider="scripted", outcome=outcome) for outcome in outcomes},
        **{way: value("crm_chat_tokens_total", provider="scripted", direction=way) for way in ("read", "written")},
        "first": value("crm_chat_first_text_seconds_count", provider="scripted"),
        "seconds": value("crm_chat_first_text_seconds_sum", provider="scripted"),
    }


async def test_runs_and_tokens_are_counted_by_how_runs_ended(chat: Chatter, model: ScriptedModel) -> None:
    before, thread = figures(), await chat.thread()
    model.plays([Text("one"), Text(" more"), Usage(7, 2)])
    await chat.send(thread)

    async def fails(_: Conversation) -> AsyncIterator[Delta]:
        for nothing in list[Delta]():
            yield nothing
        raise ModelAway("secret")

    model.plays(fails)
    await chat.send(thread)
    model.plays(says("a", "b")).going.clear()
    run = await chat.begin(thread)
    await model.asking.wait()
    await chat.call("POST", f"/chat/runs/{run['id']}/cancel")
    usage = (await chat.follow(run["id"]))[-2].data
    model.going.set()
    rose = {name: number - before[name] for name, number in figures().items()}
    assert 0 < rose.pop("seconds") < 60
    assert rose == {
        **{"succeeded": 1, "cancelled": 1, "model_unavailable": 1},
        **{"read": 7 + usage["input_tokens"], "written": 2 + usage["output_tokens"], "first": 2},
    }


async def test_who_follows_a_run_is_counted_as_long_as_they_do(one: Tenant, chat: Chatter) -> None:
    before = value("crm_chat_streams")
    model = ScriptedModel().plays(says("a", "b"))
    model.going.clear()
    async with another_process(one.gateway, model) as process:
        there = Chatter(process.http, process.app, chat.headers)
        run = await there.begin(await there.thread())
        following = [asyncio.create_task(there.follow(run["id"])) for _ in range(3)]
        async with asyncio.timeout(30):
            while value("crm_chat_streams") < before + 3:  # noqa: ASYNC110 # a metric has no event
                await asyncio.sleep(0.02)
        model.going.set()
        await asyncio.gather(*following)
        assert value("crm_chat_streams") == before


async def test_labels_are_words_of_the_service(one: Tenant, chat: Chatter) -> None:
    await chat.send(await chat.thread())
    text = (await one.gateway.http.get("/metrics")).text
    lines = [line for line in text.splitlines() if line.startswith("crm_chat_")]
    labels = {
        name: set(re.findall(rf'{name}="([^"]*)"', "\n".join(lines))) for name in ("provider", "outcome", "direction")
    }
    assert labels["provider"] <= {"scripted", "embedded", "openai", "anthropic"}
    assert labels["outcome"] <= {*ChatRunStatus, *ChatErrorCode}
    assert labels["direction"] == {"read", "written"}
    assert set(re.findall(r'(\w+)="', "\n".join(lines))) == {*labels, "le"}
    assert one.id not in text
    assert one.subject() not in text
