"""Tokens of a day: reserved before a model is asked, settled by what it used, never passed (decisions 515 to 517)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from sqlalchemy import update
from sqlmodel import col

from contract.chat import CHAT_OUTPUT_TOKENS
from contract.scopes import Role
from providers.chat_models import Conversation, Delta, Text, Usage
from providers.models import ModelAway, ModelError, ModelSlow
from resolvers.chat_taking import take
from storage.base import new_id, now
from storage.new_rows import new_row
from storage.queries.records import insert_missing
from storage.tables import ChatRun, ChatWatch, ModelUsage
from tests.chat.chatting import JSON, Chatter, another_process
from tests.support.chat_model import ScriptedModel, calls, says
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.fixture
def metered() -> ScriptedModel:
    """A model that has a name, and so tokens."""
    return ScriptedModel(name="small")


async def day_of(one: Tenant) -> tuple[int, int]:
    """The tokens of all days, and those that runs hold that have not ended."""
    booked = await one.rows(col(ModelUsage.input_tokens), col(ModelUsage.output_tokens))
    held = await one.rows(col(ChatRun.input_tokens), col(ChatRun.output_tokens), col(ChatRun.reserved))
    finished = await one.rows(col(ChatRun.finished_at))
    open_ = [sum(row) for row, (end,) in zip(held, finished, strict=True) if end is None]  # type: ignore[arg-type]  # numbers
    return sum(sum(row) for row in booked), sum(open_)  # type: ignore[arg-type,misc]  # numbers


async def reserved_by(one: Tenant, chat: Chatter) -> int:
    """What the first question of a run reserves at the door, as its row says while it is answered."""
    model = ScriptedModel(name="small").plays(says("a", "b"))
    model.going.clear()
    async with another_process(one.gateway, model) as process:
        there = Chatter(process.http, process.app, chat.headers)
        run = await there.begin(await there.thread())
        await model.asking.wait()
        [reserved] = [row[0] for row in await one.rows(col(ChatRun.reserved), col(ChatRun.id)) if row[1] == run["id"]]
        model.going.set()
        await there.follow(run["id"])
        assert (0, 0) not in [row[:2] for row in await one.rows(col(ChatRun.input_tokens), col(ChatRun.output_tokens))]
        assert {row[0] for row in await one.rows(col(ChatRun.reserved))} == {0}
    assert isinstance(reserved, int)
    assert reserved > CHAT_OUTPUT_TOKENS
    return reserved


async def test_what_is_spent_is_refused_at_the_door_until_midnight(
    one: Tenant, chat: Chatter, metered: ScriptedModel
) -> None:
    needed = await reserved_by(one, chat)
    before, _ = await day_of(one)
    async with another_process(one.gateway, metered, model_tokens_per_day=before + needed + 8) as other:
        there = Chatter(other.http, other.app, chat.headers)
        thread = await there.thread()
        metered.plays([Text("a"), Usage(7, 2)])
        assert (await there.send(thread))[-1].data["status"] == "succeeded"
        assert await day_of(one) == (before + 9, 0)
        refused = await there.call("POST", f"/chat/threads/{thread}/messages", {"text": "hello"})
        assert (refused.status_code, refused.json()["code"]) == (429, "model_budget_spent")
        midnight = (now() + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
        assert abs(int(refused.headers["retry-after"]) - (midnight - now()).total_seconds()) < 5
        assert len(await there.messages(thread)) == 2
        assert len(metered.asked) == 1
        metered.plays([Text("b"), Usage(0, 0)])  # a shorter text has room, where nothing was said before
        assert (await there.send(await there.thread(), "h"))[-1].data["status"] == "succeeded"


async def test_what_runs_out_between_two_steps_ends_the_run(one: Tenant, chat: Chatter, metered: ScriptedModel) -> None:
    needed = await reserved_by(one, chat)
    before, _ = await day_of(one)
    async with another_process(one.gateway, metered, model_tokens_per_day=before + needed + 500) as other:
        there = Chatter(other.http, other.app, chat.headers)
        thread = await there.thread()
        metered.plays([*calls(("describe", {}), text="Let me look."), Usage(600, 300)], says("never"))  # type: ignore[misc]
        events = await there.send(thread)
        assert [event.event for event in events if event.event != "text_delta"] == [
            *("run_started", "tool_call", "tool_result", "usage", "error", "run_finished")
        ]
        assert events[-2].data == {
            **{"code": "model_budget_spent", "message": "The organization's tokens of this day are spent"},
            "retryable": False,
        }
        assert (events[-3].data["input_tokens"], events[-3].data["output_tokens"]) == (600, 300)
        assert (await there.messages(thread))[-1]["text"] == "Let me look."
    assert len(metered.asked) == 1
    assert await day_of(one) == (before + 900, 0)


async def test_fifty_at_once_hold_no_more_than_there_is(one: Tenant, chat: Chatter, metered: ScriptedModel) -> None:
    """Exactly as many begin as have room, and the others leave nothing behind."""
    needed = await reserved_by(one, chat)
    before, _ = await day_of(one)
    world, room = one.gateway.world, 7
    limit = before + room * needed + needed // 2
    names = [f"member{number}" for number in range(50)]
    async with another_process(one.gateway, metered, model_tokens_per_day=limit) as other:
        chatters = []
        for name in names:  # each has three runs at most
            subject = await world.join(f"{name}@{one.id}", one.organization, role=Role.MEMBER)
            chatters.append(Chatter(other.http, other.app, await world.headers(subject, one.organization)))
        threads = await asyncio.gather(*(each.thread() for each in chatters))
        metered.plays(*(says("a", "b") for _ in names)).going.clear()
        answers = await asyncio.gather(
            *(
                each.call("POST", f"/chat/threads/{thread}/messages", {"text": "hello"}, **JSON)
                for each, thread in zip(chatters, threads, strict=True)
            )
        )
        assert [answer.status_code for answer in answers].count(202) == room
        refused = [answer for answer in answers if answer.status_code != 202]
        assert {(answer.status_code, answer.json()["code"]) for answer in refused} == {(429, "model_budget_spent")}
        # What is left is only held by those that are being answered, so it is worth asking again soon.
        assert {answer.headers["retry-after"] for answer in refused} == {"5"}
        async with asyncio.timeout(30):
            while len(metered.asked) < room:  # noqa: ASYNC110 # the model has no event for so many
                await asyncio.sleep(0.02)
        assert await day_of(one) == (before, room * needed)
        metered.going.set()
        for each, answer in zip(chatters, answers, strict=True):
            if answer.status_code == 202:
                assert (await each.follow(answer.json()["id"]))[-1].data["status"] == "succeeded"
        booked, held = await day_of(one)
        assert (held, before < booked < before + room * needed) == (0, True)
        assert len(metered.asked) == room


@pytest.mark.parametrize(("error", "used"), [(ModelAway("x"), False), (ModelSlow("x"), True)])
async def test_a_question_that_failed_counts_where_the_model_had_it(
    one: Tenant, chat: Chatter, metered: ScriptedModel, error: ModelError, used: bool
) -> None:
    async def fails(_: Conversation) -> AsyncIterator[Delta]:
        if False:
            yield Text("")
        raise error

    async with another_process(one.gateway, metered) as other:
        there = Chatter(other.http, other.app, chat.headers)
        metered.plays(fails)
        usage = (await there.send(await there.thread()))[-3].data
    assert ((usage["input_tokens"] > 100), usage["output_tokens"], usage["is_estimated"]) == (used, 0, used)
    assert await day_of(one) == (usage["input_tokens"], 0)


@pytest.mark.parametrize("ends", ["stopped", "deleted", "interrupted"])
async def test_a_run_that_is_cut_off_holds_nothing_any_more(
    one: Tenant, chat: Chatter, metered: ScriptedModel, ends: str
) -> None:
    """Of a question that nobody heard to its end, what was asked counts; of a lost process all that was reserved."""
    metered.plays(says("a" * 400, "b")).going.clear()
    async with another_process(one.gateway, metered) as other:
        there = Chatter(other.http, other.app, chat.headers)
        thread = await there.thread()
        run = await there.begin(thread)
        await metered.asking.wait()
        await asyncio.sleep(0.2)
        booked, held = await day_of(one)
        assert (booked, held > CHAT_OUTPUT_TOKENS) == (0, True)
        match ends:
            case "stopped":
                await there.call("POST", f"/chat/runs/{run['id']}/cancel")
                await there.follow(run["id"])
            case "deleted":
                assert (await there.call("DELETE", f"/chat/threads/{thread}")).status_code == 204
            case _:
                await _killed(one, run["id"], attempts=3)
                await take(other.runtime.services)
    booked, left = await day_of(one)
    assert left == 0
    assert booked == (held if ends == "interrupted" else held - CHAT_OUTPUT_TOKENS + 100)


async def _killed(one: Tenant, run_id: str, attempts: int) -> None:
    async with one.gateway.world.database.writing(one.id) as session:
        own = col(ChatRun.org_id) == one.id, col(ChatRun.id) == run_id
        values = {"holder": new_id(), "leased_until": now(), "attempts": attempts}
        await session.execute(update(ChatRun).where(*own).values(**values))
        await session.execute(update(ChatWatch).where(col(ChatWatch.org_id) == one.id).values(next_at=now()))


async def test_who_takes_a_run_up_counts_what_its_dead_process_had_reserved(
    one: Tenant, chat: Chatter, metered: ScriptedModel
) -> None:
    metered.plays(says("a", "b"), [Text("Whole."), Usage(5, 1)]).going.clear()
    async with another_process(one.gateway, metered) as other:
        there = Chatter(other.http, other.app, chat.headers)
        run = await there.begin(await there.thread())
        await metered.asking.wait()
        await asyncio.sleep(0.2)
        _, held = await day_of(one)
        await _killed(one, run["id"], attempts=1)
        await take(other.runtime.services)
        metered.going.set()
        usage = (await there.follow(run["id"]))[-2].data
    assert usage["input_tokens"] + usage["output_tokens"] == held + 6
    assert usage["is_estimated"]
    assert await day_of(one) == (held + 6, 0)


async def test_the_embedded_answerer_has_no_tokens_to_spend(one: Tenant, chat: Chatter) -> None:
    async with one.gateway.world.database.writing(one.id) as session:
        day = now().date().isoformat()
        row = new_row(ModelUsage, org_id=one.id, day=day, subject="x", provider="openai", model="m", input_tokens=10**9)
        assert await insert_missing(session, row)
    assert (await chat.send(await chat.thread()))[-1].data["status"] == "succeeded"
    async with another_process(one.gateway, ScriptedModel(name="small")) as other:
        there = Chatter(other.http, other.app, chat.headers)
        path = f"/chat/threads/{await there.thread()}/messages"
        assert (await there.call("POST", path, {"text": "x"})).status_code == 429
    async with another_process(one.gateway, ScriptedModel(name="small"), model_tokens_per_day=0) as other:
        there = Chatter(other.http, other.app, chat.headers)
        assert (await there.send(await there.thread()))[-1].data["status"] == "succeeded"
