"""Measures chats: `./run bench chat [--database postgresql] [--quick]`.

With the embedded answerer on 100,000 records: when the first event and the whole answer are with the reader. With a
model on loopback: how long a word of it takes to the reader, and how soon a stop closes its connection. Then what 500
runs at once, each with its reader and a model that has begun to speak and is silent, cost in memory, and what another
caller notices of them, in turns: the 99th percentile of all answers of all turns together.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

from benchmarks import data
from benchmarks.chat_streams import STAMP, Loop, Model, Reader, looping
from benchmarks.contestants import Contestant, gateway
from benchmarks.cores import layout
from benchmarks.data import Known, Place, Profile, known, place
from benchmarks.questions import late, others
from contract.chat import CHAT_RUNS_PER_CALLER
from contract.scopes import Role
from gateway.made import AUDIENCE
from identity.keyfiles import signing_key
from identity.tokens import DEFAULT_ISSUER, EmbeddedIssuer
from storage.connection_pool import IDLE_SECONDS
from storage.database import Database
from storage.seeding import Plan, seed
from storage.seeding.plan import blueprints

ASKED = (
    "my open deals",
    "deals closing this month",
    "top 5 open deals by value",
    "how many open deals do we have?",
    "my meetings today",
    "overdue meetings",
    "show the pipeline",
    "leads by status",
    "what changed since Monday?",
    "what can you do",
)
_MADE = re.compile(rf"{STAMP}(\d+)")


@dataclass(frozen=True, slots=True)
class Size:
    """How often each thing is done; `readers` are the organizations of those who read at once."""

    questions: int
    talks: int
    words: int
    cancels: int
    readers: Plan
    rounds: int
    seconds: float


FULL = Profile("chat", Plan(1, 10_000, 20_000, 30_000, 40_000, seed=7), variants=8)
FULL_SIZE = Size(200, 5, 40, 20, Plan(21, 0, 0, 0, 0, seed=8), 8, 12.0)
QUICK_SIZE = Size(10, 1, 5, 2, Plan(1, 0, 0, 0, 0, seed=8), 1, 0.5)
_CROWD = 500


@dataclass(frozen=True, slots=True)
class Callers:
    """Mints the tokens of members."""

    issuer: EmbeddedIssuer
    port: int

    def reader(self, subject: str, organization: str) -> Reader:
        """Return somebody who may read and write."""
        scopes = sorted(Role.MEMBER.scopes)
        token = self.issuer.mint(subject, organization=organization, scopes=scopes, ttl=3600)
        return Reader(self.port, {"Authorization": f"Bearer {token}"})

    def many(self, plan: Plan) -> list[Reader]:
        """Return as many readers as may have runs at once in these organizations."""
        return [
            self.reader(person.subject, blueprint.id)
            for _ in range(CHAT_RUNS_PER_CALLER)
            for blueprint in blueprints(plan)
            for person in blueprint.team
        ][:_CROWD]


async def _seed(where: Place, plan: Plan) -> None:
    """Add the organizations of those who read at once."""
    database = Database(where.gateway_url)
    try:
        await seed(database, plan)
    finally:
        await database.close()


def _told(name: str, seconds: Sequence[float], goal: float) -> None:
    """Print the median, the 95th percentile and the longest in milliseconds."""
    times = [each * 1_000 for each in seconds]
    figures = f"{statistics.median(times):8.1f} {late(times, 20):8.1f} {max(times):8.1f}"
    print(f"  {name:48} {figures}   (goal {goal:.0f})", flush=True)


async def _asked(reader: Reader, text: str) -> tuple[float, float]:
    """Seconds until the first event, and until the whole answer."""
    thread = await reader.thread()
    await reader.send(thread, text)
    times = await reader.until("run_started"), await reader.until("run_finished")
    reader.close()
    if reader.events[-1][2]["status"] != "succeeded" or not any(kind == "text_delta" for kind, *_ in reader.events):
        raise RuntimeError(f"{text}: {reader.events[-3:]}")
    return times


def _embedded(loop: Loop, callers: Callers, member: tuple[str, str], size: Size) -> None:
    reader = callers.reader(*member)
    for text in ASKED:  # what each statement is prepared with
        loop.run(_asked(reader, text))
    times = [(text, *loop.run(_asked(reader, text))) for text in islice(cycle(ASKED), size.questions)]
    _told("embedded: the first event", [first for _, first, _ in times], 100)
    _told("embedded: the whole answer", [whole for *_, whole in times], 300)
    for text in ASKED:
        found = [whole * 1_000 for asked, _, whole in times if asked == text]
        print(f"    {text:46} {statistics.median(found):8.1f} {'':8} {max(found):8.1f}")


async def _talk(reader: Reader, words: int) -> list[float]:
    """Seconds from the model's word to the reader, word by word."""
    await reader.send(await reader.thread(), f"talk {words}")
    await reader.until("run_finished")
    reader.close()
    found = []
    for kind, moment, said in reader.events:
        if kind == "text_delta":
            found += [moment - int(stamp) / 1_000_000 for stamp in _MADE.findall(said["text"])]
    if len(found) < words * 0.9:
        raise RuntimeError(f"{len(found)} of {words} words came")
    return found


async def _cancelled(reader: Reader, model: Model, number: int) -> float:
    """Seconds from the stop to the end of the model's connection."""
    text = f"stay {number}"
    await reader.send(await reader.thread(), text)
    await reader.until("text_delta")
    began = time.monotonic()
    await reader.cancel()
    await reader.until("run_finished")
    while text not in model.left:  # noqa: ASYNC110 # the model tells nobody
        await asyncio.sleep(0.002)
    reader.close()
    return model.left[text] - began


@contextmanager
def _reading(loop: Loop, readers: Sequence[Reader], text: str) -> Iterator[None]:
    """Each reader has a run, whose events it goes on reading."""
    tasks: list[asyncio.Task[float]] = []

    async def begin() -> None:
        turn = asyncio.Semaphore(16)

        async def one(reader: Reader) -> None:
            async with turn:
                await reader.send(await reader.thread(), text)
                await reader.until("text_delta")

        await asyncio.gather(*map(one, readers))
        tasks.extend(asyncio.create_task(reader.until("run_finished")) for reader in readers)

    async def end() -> None:
        turn = asyncio.Semaphore(16)

        async def one(reader: Reader) -> None:
            async with turn:
                await reader.cancel()

        await asyncio.gather(*map(one, readers))
        await asyncio.gather(*tasks)
        for reader in readers:
            reader.close()

    loop.run(begin())
    try:
        yield
    finally:
        loop.run(end())


def _crowd(contestant: Contestant, loop: Loop, callers: Callers, size: Size, text: str) -> None:
    readers = callers.many(size.readers)
    others(contestant, size.seconds / 2)
    before = contestant.resident()
    alone: list[float] = []
    beside: list[float] = []
    more = []
    for _ in range(size.rounds):
        alone += others(contestant, size.seconds)
        with _reading(loop, readers, text):
            time.sleep(size.seconds / 4)
            beside += others(contestant, size.seconds)
            time.sleep(2 * IDLE_SECONDS)
            more.append(contestant.resident() - before)
        time.sleep(size.seconds / 4)
    late_alone, late_beside = late(alone, 100), late(beside, 100)
    told = f"{late_alone:8.2f} {late_beside:8.2f} {late_beside / late_alone:8.2f}"
    print(f"  {f'99th percentile of others: {len(readers)} runs, {text}':48} {told}   (goal 1.2)")
    told = f"{max(more):8.1f}   (goal 47.7, 50 MB; at the most {contestant.memory() - before:.1f})"
    print(f"  {'more memory while they run, MiB':48} {told}", flush=True)


def _run(profile: Profile, where: Place, facts: list[Known], scratch: Path, size: Size) -> None:
    issuer = EmbeddedIssuer(signing_key(scratch / "gateway"), DEFAULT_ISSUER, AUDIENCE)
    [largest, *_] = blueprints(profile.plan)
    member = (largest.owners[0], largest.id)
    asyncio.run(_seed(where, size.readers))
    print(f"{where.dialect}: median, 95th percentile, longest, in milliseconds")
    with looping() as (loop, model):
        with gateway(where, facts, scratch, layout().contestant) as contestant:
            _embedded(loop, Callers(issuer, contestant.port), member, size)
        settings = {"CRM_MODEL_URL": model.url, "CRM_MODEL_NAME": "scripted", "CRM_MODEL_TOKENS_PER_DAY": "0"}
        settings["CRM_MODEL_TIMEOUT_SECONDS"] = "100"
        with gateway(where, facts, scratch, layout().contestant, settings=settings) as contestant:
            callers = Callers(issuer, contestant.port)
            talks = [loop.run(_talk(callers.reader(*member), size.words)) for _ in range(size.talks)]
            _told("a word of the model", [time for times in talks for time in times], 120)
            reader = callers.reader(*member)
            stops = [loop.run(_cancelled(reader, model, number)) for number in range(size.cancels)]
            _told("a stop, to the end of the model's connection", stops, 1_000)
            for text in ("stay", "slowly 10"):
                _crowd(contestant, loop, callers, size, text)


def main(arguments: list[str] | None = None) -> None:
    """Seed where it is needed, and print the figures."""
    parser = argparse.ArgumentParser(prog="./run bench chat", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="little data: that it runs, not how fast")
    parser.add_argument("--database", choices=("postgresql", "sqlite"), help="both unless told")
    asked = parser.parse_args(arguments)
    profile, size = (data.QUICK, QUICK_SIZE) if asked.quick else (FULL, FULL_SIZE)
    for dialect in [asked.database] if asked.database else ["postgresql", "sqlite"]:
        with (
            tempfile.TemporaryDirectory(prefix="crm-bench-") as folder,
            place(dialect, profile, Path(folder), layout().database) as where,
        ):
            _run(profile, where, list(known(profile)), Path(folder), size)
