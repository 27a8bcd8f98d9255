"""Runs of chats through `kill -9` of their process, and through a database that is away: none loses an event."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest

from storage.base import new_id
from tests.chat.chatting import Event, events_of, text_of
from tests.faults.load import pick
from tests.support.live import Live, going
from tests.support.loopback import Asked, Loopback, Reply, serving
from tests.support.model import DONE, called, delta, events, pieces, used
from tests.support.postgresql import Server
from tests.support.service import Service

pytestmark = pytest.mark.long

KILLS = pick(4, 50)
AWAY_SECONDS = 5.0
ANSWER = "There is Rollout, as far as I can see, and nothing else. "
LOOKING = "Let me look."


def answering(pause: float, times: int = 1) -> Callable[[Asked], Reply]:
    """A model that asks for the deals, and then says its answer so many times over, word by word."""

    def answer(asked: Asked) -> Reply:
        if asked.body["messages"][-1]["role"] != "tool":
            call = delta(tool_calls=[called("list_records", '{"kind": "deal"}')])
            looking = events(delta(content=LOOKING))
            return pieces(looking, pause, events(call, delta("tool_calls"), used(50, 5), DONE))
        words = [events(delta(content=f"{word} ")) for word in (ANSWER * times).split()]
        said = [part for word in words for part in (word, pause)]
        return pieces(*said, events(delta("stop"), used(90, 6), DONE))

    return answer


@dataclass
class Reader:
    """Somebody who reads a run from whichever process is there, and goes on behind the last event."""

    headers: dict[str, str]
    thread: str
    key: str = field(default_factory=new_id)
    read: list[Event] = field(default_factory=list)
    run_id: str = ""

    async def some(self, address: str) -> None:
        """Read until the run or the connection ends."""
        async with httpx.AsyncClient(base_url=address, headers=self.headers, timeout=60) as client:
            if not self.run_id:
                key = {"Idempotency-Key": self.key}
                path = f"/chat/threads/{self.thread}/messages"
                request = client.build_request("POST", path, json={"text": "my deals"}, headers=key)
            else:
                last = {"Last-Event-ID": self.read[-1].id} if self.read else {}
                request = client.build_request("GET", f"/chat/runs/{self.run_id}/events", headers=last)
            answer = await client.send(request, stream=True)
            text = ""
            try:
                assert answer.status_code == 200, (await answer.aread()).decode()
                self.run_id = answer.headers.get("x-chat-run", self.run_id)
                async for piece in answer.aiter_text():
                    text += piece
            finally:
                await answer.aclose()
                self.read += events_of(text[: text.rfind("\n\n") + 2])

    async def whole(self, address: Callable[[], str]) -> list[Event]:
        """Read to the end of the run, however often the connection ends."""
        async with asyncio.timeout(120):
            while not self.read or self.read[-1].event != "run_finished":
                try:
                    await self.some(address())
                except httpx.TransportError:
                    await asyncio.sleep(0.05)
        return self.read


async def get(address: str, path: str, headers: dict[str, str]) -> Any:
    async with httpx.AsyncClient(base_url=address, headers=headers, timeout=60) as client:
        return (await client.get(path)).raise_for_status()


async def new_thread(live: Live) -> str:
    async with httpx.AsyncClient(base_url=live.service.address, headers=live.token(), timeout=60) as client:
        return str((await client.post("/chat/threads")).raise_for_status().json()["id"])


async def check(address: str, headers: dict[str, str], read: list[Event], times: int = 1) -> dict[str, Any]:
    """Everything that holds of a run that has ended, whatever happened to it meanwhile; the run."""
    run_id = read[0].data["run_id"]
    stored = events_of((await get(address, f"/chat/runs/{run_id}/events", headers)).text)
    assert read == stored
    assert [event.sequence for event in read] == list(range(1, len(read) + 1))
    kinds = [event.event for event in read]
    assert (kinds[0], kinds[-1]) == ("run_started", "run_finished")
    assert [kinds.count(kind) for kind in ("run_started", "tool_call", "tool_result", "run_finished")] == [1, 1, 1, 1]
    assert read[-1].data["status"] == "succeeded"
    messages = (await get(address, f"/chat/threads/{read[0].data['thread_id']}/messages", headers)).json()
    assert [message["role"] for message in messages] == ["user", "assistant"]
    assert text_of(read) == messages[1]["text"]
    assert text_of(read).split() == f"{LOOKING}\n\n{ANSWER * times}".split()
    run: dict[str, Any] = (await get(address, f"/chat/runs/{run_id}", headers)).json()
    resumed = [event for event in read if event.event == "run_resumed"]
    assert all(event.data["discard_after"] < event.sequence for event in resumed)
    return run | {"resumed": len(resumed)}


@asynccontextmanager
async def chatting(folder: Path, url: str, pause: float, **settings: Any) -> AsyncIterator[tuple[Live, Loopback]]:
    async with serving(answering(pause)) as server:
        named: dict[str, Any] = {"CRM_MODEL_URL": f"{server.url}/v1", "CRM_MODEL_NAME": "small"}
        async with going(folder, url, **named, **settings) as live:
            await live.create("Rollout")
            yield live, server


async def test_another_process_takes_up_what_a_killed_one_was_at(database_url: str, tmp_path: Path) -> None:
    """Killed at any moment, from before its first event to behind its last word."""
    random = Random(9)
    async with chatting(tmp_path, database_url, 0.03, CRM_JOB_LEASE_SECONDS="1") as (live, server):
        settings: dict[str, Any] = {
            **{"CRM_DATABASE_URL": database_url, "CRM_RATE_LIMIT": "off", "CRM_JOB_LEASE_SECONDS": "1"},
            **{"CRM_MODEL_URL": f"{server.url}/v1", "CRM_MODEL_NAME": "small"},
        }
        headers, taken, cut = live.token(), 0, 0
        with Service(tmp_path, "--no-worker", **settings) as other:
            for number in range(KILLS):
                reader = Reader(headers, await new_thread(live))
                asked = len(server.asked)
                place = iter([live.service.address])
                reading = asyncio.create_task(reader.whole(lambda place=place: next(place, other.address)))  # type: ignore[misc]  # bound as it is now
                if number % 2:  # in the middle of its text, which is void then
                    while len(server.asked) < asked + 2:  # noqa: ASYNC110 # the model has no event
                        await asyncio.sleep(0.01)
                    await asyncio.sleep(0.15)
                else:
                    await asyncio.sleep(random.uniform(0.0, 0.5))
                killed = time.monotonic()
                assert await asyncio.to_thread(live.service.end, signal.SIGKILL) == -signal.SIGKILL
                run = await check(other.address, headers, await reading)
                assert run["attempts"] == 1 + run["resumed"] <= 2
                taken += run["resumed"]
                cut += any(event.event == "run_resumed" and event.data["discard_after"] > 3 for event in reader.read)
                print(f"{number}: resumed {run['resumed']}, whole {time.monotonic() - killed:.2f} s after the kill")
                live.service = await asyncio.to_thread(Service, tmp_path, "--no-worker", **settings)
            assert taken >= KILLS // 2
            assert cut >= 1
            assert other.end() == 0
        assert live.service.end() == 0


async def _away(live: Live, away: Callable[[], object]) -> None:
    """A run whose database is away in the middle of it."""
    headers = live.token()
    reader = Reader(headers, await new_thread(live))
    reading = asyncio.create_task(reader.whole(lambda: live.service.address))
    async with httpx.AsyncClient(base_url=live.service.address, headers=headers, timeout=60) as client:
        while not reader.run_id:  # noqa: ASYNC110 # the reader tells nobody
            await asyncio.sleep(0.02)
        path = f"/chat/runs/{reader.run_id}"
        while (await client.get(path)).json()["status"] != "running":  # noqa: ASYNC110 # another process
            await asyncio.sleep(0.02)
    await asyncio.sleep(1)
    await asyncio.to_thread(away)
    run = await check(live.service.address, headers, await reading, times=TIMES)
    assert (run["attempts"], run["resumed"]) == (1, 0)


def _for_a_while(away: AbstractContextManager[None]) -> None:
    with away:
        time.sleep(AWAY_SECONDS)


TIMES = 6
"""So often is the answer said while the database is away, which makes it longer than that is."""


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_a_run_goes_on_when_its_database_has_been_locked(database_url: str, tmp_path: Path) -> None:
    async with chatting(tmp_path, database_url, 0.12) as (live, server):
        server.answer = answering(0.12, TIMES)
        await _away(live, lambda: _for_a_while(live.held()))


async def test_a_run_goes_on_when_its_database_has_been_away(cluster: Server, hurt_url: str, tmp_path: Path) -> None:
    """It answers nothing for five seconds, and the next time it loses every connection."""
    async with chatting(tmp_path, hurt_url, 0.12) as (live, server):
        server.answer = answering(0.12, TIMES)
        await _away(live, lambda: _for_a_while(cluster.paused()))
        await _away(live, cluster.restart)
        assert "Traceback" not in live.service.log.read_text()
