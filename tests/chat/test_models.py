"""Runs with real answerers: the embedded one, and a model server on loopback (decisions 352 to 357)."""

from __future__ import annotations

import asyncio
import gc
import time
from collections import Counter
from typing import Any

import pytest
from sqlalchemy import select
from sqlmodel import col

from contract.chat import ChatEventType
from providers import wire
from providers.embedded.answerer import NO_MODEL, Embedded
from providers.openai_chat import OpenaiChat
from resolvers.chat_log import keep
from resolvers.chat_work import Work
from resolvers.shared.leases import Lease
from resolvers.shared.pacing import Pacing
from storage.base import new_id
from storage.tables import Account, Activity, ChatEvent, ChatMessage, ChatRun, ChatStep, Deal, ModelUsage
from tests.chat.chatting import Chatter, another_process, text_of
from tests.support.loopback import Asked, Reply, serving
from tests.support.model import DONE, KEY, called, delta, streamed, used
from tests.support.tenants import Tenant
from transport.credential_watch import CredentialWatch
from transport.event_stream import EventStream

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_the_embedded_answerer_names_the_records_that_it_found(one: Tenant) -> None:
    account = Account(name="Acme")
    await one.add(account)
    mine = Deal(name="Renewal", account_id=account.id, owner_id=one.subject(), value=1500, currency="EUR")
    await one.add(mine, Deal(name="Theirs", account_id=account.id))
    async with another_process(one.gateway, Embedded()) as process:
        chat = Chatter(process.http, process.app, one.headers())
        thread = await chat.thread()
        events = await chat.send(thread, "My open deals with Acme", time_zone="Europe/Berlin")
        text = text_of(events)
        assert text.startswith(NO_MODEL + "Your open deals with Acme, 1 in all:\n- Renewal · 1,500 EUR · Acme · open")
        cited = [event.data for event in events if event.event == "citation"]
        assert [(one["kind"], one["id"], text[one["start"] : one["end"]]) for one in cited] == [
            ("account", account.id, "Acme"),
            ("deal", mine.id, "Renewal"),
        ]
        assert [event.data["tool"] for event in events if event.event == "tool_call"] == ["search", "list_records"]
        assert not [event for event in events if event.event in ("warning", "error")]
        assert NO_MODEL not in text_of(await chat.send(thread, "What can you do?"))


async def test_which_one_is_meant_is_answered_by_its_number(one: Tenant) -> None:
    await one.add(Account(name="Globex GmbH"), Account(name="Globex Labs"))
    async with another_process(one.gateway, Embedded()) as process:
        chat = Chatter(process.http, process.app, one.headers())
        thread = await chat.thread()
        asked = text_of(await chat.send(thread, "Health of Globex"))
        name = next(line for line in asked.splitlines() if line.startswith("2. "))[3:].partition(" · ")[0]
        assert text_of(await chat.send(thread, "2")) == f"The health of {name} has not been worked out yet."


async def test_details_cite_what_they_are_linked_to(one: Tenant) -> None:
    account = Account(name="Acme")
    await one.add(account)
    await one.add(Deal(name="Renewal", account_id=account.id), Activity(type="meeting", subject="Kickoff"))
    async with another_process(one.gateway, Embedded()) as process:
        chat = Chatter(process.http, process.app, one.headers())
        events = await chat.send(await chat.thread(), "Show Acme")
        assert {event.data["label"] for event in events if event.event == "citation"} == {"Acme", "Renewal"}
        assert not [event for event in events if event.event == "warning"]


async def test_a_model_server_answers_through_the_tools(one: Tenant) -> None:
    deal = Deal(name="Renewal")
    await one.add(deal)
    call = delta(tool_calls=[called("list_records", '{"kind": "deal"}')])
    script = [
        streamed(call, delta("tool_calls"), used(50, 5), DONE),
        streamed(delta(content="It is [[deal:"), delta(content=f"{deal.id}]]."), delta("stop"), used(90, 6), DONE),
    ]
    async with serving(lambda _: script.pop(0)) as server:
        model = OpenaiChat(f"{server.url}/v1", "small", KEY)
        async with another_process(one.gateway, model) as process:
            chat = Chatter(process.http, process.app, one.headers())
            events = await chat.send(await chat.thread(), "my deals")
        assert text_of(events) == "It is Renewal."
        assert (events[0].data["provider"], events[0].data["model"]) == ("openai", "small")
        [usage] = [event.data for event in events if event.event == "usage"]
        assert (usage["input_tokens"], usage["output_tokens"], usage["is_estimated"]) == (140, 11, False)
        told = server.asked[1].body["messages"][-1]
        assert told["role"] == "tool"
        assert told["content"].startswith("<data-")
        assert "Renewal" in told["content"]


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        (Reply({"error": KEY}, 401), "model_misconfigured"),
        (Reply({"error": KEY}, 503), "model_unavailable"),
        (streamed({"error": {"message": KEY}}), "model_unavailable"),
        (streamed(KEY), "model_invalid_answer"),
        (streamed(delta(content="Hi"), stays=True), "model_timeout"),
    ],
)
async def test_what_goes_wrong_is_told_by_its_code_alone(
    one: Tenant, reply: Reply, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither what the provider said nor the key is anywhere else: in no log line, and in no table."""
    async with serving(lambda _: reply) as server:
        model = OpenaiChat(f"{server.url}/v1", "small", KEY, silence=0.5)
        async with another_process(one.gateway, model) as process:
            chat = Chatter(process.http, process.app, one.headers())
            events = await chat.send(await chat.thread(), "hello")
    assert [event.data["error_code"] for event in events if event.event == "run_finished"] == [code]
    assert KEY not in str(events) + caplog.text
    async with one.gateway.world.database.reading(one.id) as session:
        for table in (ChatEvent, ChatMessage, ChatRun, ChatStep, ModelUsage):  # five
            rows = await session.rows(select(table).where(col(table.org_id) == one.id))
            assert rows or table is ChatStep
            assert KEY not in str(rows)


async def test_an_answer_leaves_no_ring_that_waits_for_the_garbage_collector(one: Tenant) -> None:
    """What a stream, its run and the model's connection are made of goes with them (decision 1170)."""
    kinds = (Work, Lease, EventStream, CredentialWatch)

    def left() -> Counter[str]:
        found = gc.get_objects()
        answers = [each for each in found if isinstance(each, wire.Response) and str(each.url).startswith(server.url)]
        return Counter(type(each).__name__ for each in [*answers, *(each for each in found if isinstance(each, kinds))])

    async with (
        serving(lambda _: streamed(delta(content="Hi"), delta("stop"), used(9, 1), DONE)) as server,
        another_process(one.gateway, OpenaiChat(f"{server.url}/v1", "small", KEY)) as process,
    ):
        chat = Chatter(process.http, process.app, one.headers())
        assert text_of(await chat.send(await chat.thread(), "hello")).startswith("Hi")
        await asyncio.sleep(0)
        gc.collect()
        gc.disable()
        try:
            before = left()
            for _ in range(3):
                await chat.send(await chat.thread(), "hello")
            await asyncio.sleep(0.1)
            assert left() - before == Counter()
        finally:
            gc.enable()


async def test_a_run_is_kept_for_who_works_on_it_and_for_nobody_else(
    one: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Renewed are the leases of these holders whose runs go on; a holder that lost its run hears so.

    Requests go before it (decision 1199).
    """
    async with (
        serving(lambda _: streamed(delta(content="Once upon a time"), stays=True)) as server,
        another_process(one.gateway, OpenaiChat(f"{server.url}/v1", "small", KEY)) as process,
    ):
        chat = Chatter(process.http, process.app, one.headers())
        [*_, last] = await chat.begin_some(await chat.thread(), 2)
        run_id, services = last.id.partition(".")[0], one.gateway.runtime.services

        async def run() -> Any:
            async with one.gateway.world.database.reading(one.id) as session:
                return await session.row(
                    select(col(ChatRun.holder), col(ChatRun.leased_until)).where(
                        col(ChatRun.org_id) == one.id, col(ChatRun.id) == run_id
                    )
                )

        paced, pacing = Pacing.paced, list[str]()

        def noted(self: Pacing, work: Any, **options: Any) -> Any:
            pacing.append(work.__qualname__)
            return paced(self, work, **options)

        monkeypatch.setattr(Pacing, "paced", noted)
        before = await run()
        assert await keep(services, one.id, [before.holder, new_id()]) == {before.holder}
        assert any(name.startswith(keep.__name__) for name in pacing)
        after = await run()
        assert after.holder == before.holder
        assert after.leased_until > before.leased_until
        assert (await chat.call("POST", f"/chat/runs/{run_id}/cancel")).status_code == 202
        await chat.follow(run_id)
        assert await keep(services, one.id, [before.holder]) == set()


async def test_a_word_is_stored_once_no_request_is_worked_on(one: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words come slowly, and wait for requests, which come in between (decision 1199)."""
    waiting, free = asyncio.Event(), asyncio.Event()

    async def waited(_: Pacing) -> None:
        waiting.set()
        await free.wait()

    async def words() -> int:
        async with one.gateway.world.database.reading(one.id) as session:
            told = col(ChatEvent.type) == ChatEventType.TEXT_DELTA.value
            return len(await session.rows(select(ChatEvent).where(col(ChatEvent.org_id) == one.id, told)))

    monkeypatch.setattr(Pacing, "free", waited)
    async with (
        serving(lambda _: streamed(delta(content="Once upon a time"), stays=True)) as server,
        another_process(one.gateway, OpenaiChat(f"{server.url}/v1", "small", KEY)) as process,
    ):
        chat = Chatter(process.http, process.app, one.headers())
        begun = asyncio.create_task(chat.begin_some(await chat.thread(), 2))
        async with asyncio.timeout(30):
            await waiting.wait()
        assert await words() == 0
        free.set()
        [*_, word] = await begun
        assert (word.event, await words()) == ("text_delta", 1)
        run_id = word.id.partition(".")[0]
        assert (await chat.call("POST", f"/chat/runs/{run_id}/cancel")).status_code == 202
        await chat.follow(run_id)


async def test_stopping_a_run_closes_the_models_connection(one: Tenant) -> None:
    def answer(_asked: Asked) -> Reply:
        return streamed(delta(content="Once upon a time"), stays=True)

    async with (
        serving(answer) as server,
        another_process(one.gateway, OpenaiChat(f"{server.url}/v1", "small", KEY)) as process,
    ):
        chat = Chatter(process.http, process.app, one.headers())
        [*_, last] = await chat.begin_some(await chat.thread(), 2)
        assert last.event == "text_delta"
        run_id = last.id.partition(".")[0]
        began = time.monotonic()
        assert (await chat.call("POST", f"/chat/runs/{run_id}/cancel")).status_code == 202
        while not server.left and time.monotonic() - began < 30:  # noqa: ASYNC110 # the server has no event
            await asyncio.sleep(0.02)
        assert server.left == 1
        assert (await chat.follow(run_id))[-1].data["status"] == "cancelled"
