"""Questions and statements of analytics beside other work: how soon an answer begins, and what others notice of it.

Part of `./run bench aggregates`. What others notice is the 99th percentile of another caller's page of deals, alone and
beside 20 answers at a time or a statement without an end, in turns: of all answers of all turns together, since that of
one turn is the fourth longest of its few hundred answers. Who asks the 20 is a process of its own (decision 1150).
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

import httpx

from benchmarks.askers import asking
from benchmarks.asking import Request, graphql
from benchmarks.contestants import Contestant
from benchmarks.others import noted
from identity.tokens import EmbeddedIssuer
from storage.seeding.plan import Blueprint

ASKED = "Pipeline value by stage"
RUNAWAY = (
    "SELECT COUNT(*) AS pairs FROM (SELECT currency, name, ROW_NUMBER() OVER (ORDER BY name, id) AS n FROM deals) a "
    "JOIN (SELECT currency, name, ROW_NUMBER() OVER (ORDER BY id) AS n FROM deals) b ON a.currency = b.currency "
    "WHERE a.name < b.name"
)
_PAGE = "{ deals(first: 20) { nodes { id name value account { name } } } }"
_AT_A_TIME = 20
_OF_AN_ORGANIZATION = 10
_OF_A_CALLER = 2
_READING = 1.0
"""Seconds for which a caller reads before asking again."""
_LATEST = 5.5
_ENDS = (504, 422, 200)
"""Its time is over, PostgreSQL has refused it by what it would cost, or the data were few."""
Disturbance = Callable[[], AbstractContextManager[None]]


@dataclass(frozen=True, slots=True)
class Turns:
    """How often each thing is done, and for how many seconds."""

    asked: int
    rounds: int
    seconds: float


FULL, QUICK = Turns(40, 5, 6.0), Turns(3, 1, 1.0)


def tokens(issuer: EmbeddedIssuer, teams: Sequence[Blueprint]) -> list[str]:
    """One for each answer that there may be at a time."""
    found = []
    for blueprint in teams:
        people = [person for person in blueprint.team for _ in range(_OF_A_CALLER)][:_OF_AN_ORGANIZATION]
        found += [
            issuer.mint(person.subject, organization=blueprint.id, scopes=sorted(person.role.scopes), ttl=3600)
            for person in people
        ]
    return found[:_AT_A_TIME]


def measure(contestant: Contestant, callers: Sequence[str], turns: Turns) -> None:
    """Print the figures."""
    with httpx.Client(timeout=60) as client:  # one: to make it takes as long as half an answer
        asked = [_asked(client, contestant, callers[0]) for _ in range(turns.asked)]
    firsts, statements, rows = zip(*asked, strict=True)
    for name, times in (("first event", firsts), ("the SQL", statements), ("the rows", rows)):
        print(f"  {f'a question: {name}':48} {statistics.median(times):8.1f} {late(times, 20):8.1f} {max(times):8.1f}")
    before = contestant.memory()
    for name, disturb in (
        (f"{_AT_A_TIME} answers at a time", _answering(contestant, callers)),
        ("a statement without an end", _running_away(contestant)),
    ):
        alone, beside = _noticed(contestant, disturb, turns)
        told = f"{alone:8.1f} {beside:8.1f} {beside / alone:8.2f}"
        print(f"  {f'99th percentile of others: {name}':48} {told}", flush=True)
    print(f"  {'more memory for them, MiB':48} {contestant.memory() - before:8.1f}", flush=True)


def late(times: Sequence[float], parts: int) -> float:
    return statistics.quantiles(times, n=parts)[-1]


def _asked(client: httpx.Client, contestant: Contestant, token: str) -> tuple[float, float, float]:
    """Milliseconds until the first event, the statement and the rows of an answer."""
    found: dict[str, float] = {}
    before = time.perf_counter()
    with client.stream(
        "POST",
        f"http://127.0.0.1:{contestant.port}/analytics/ask",
        json={"question": ASKED},
        headers={"Authorization": f"Bearer {token}", "Accept": "text/event-stream"},
    ) as response:
        for line in response.iter_lines():
            if line.startswith("event: "):
                found.setdefault(line[7:], (time.perf_counter() - before) * 1_000)
    return found["run_started"], found["sql"], found["rows"]


def _noticed(contestant: Contestant, disturb: Disturbance, turns: Turns) -> tuple[float, float]:
    alone: list[float] = []
    beside: list[float] = []
    for _ in range(turns.rounds):
        alone += others(contestant, turns.seconds)
        with disturb():
            beside += others(contestant, turns.seconds)
    return late(alone, 100), late(beside, 100)


def others(contestant: Contestant, seconds: float) -> list[float]:
    """The milliseconds of each answer to a caller who asks for a page again and again, in a process of its own."""
    return noted(contestant.port, contestant.encoded(graphql(_PAGE, {})), seconds)


@contextmanager
def _meanwhile(work: Callable[[], object]) -> Iterator[None]:
    """Have this done again and again by a thread."""
    ended = threading.Event()

    def again(pause: float = 0) -> None:
        while not ended.wait(pause):
            work()
            pause = _READING

    thread = threading.Thread(target=again)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _answering(contestant: Contestant, callers: Sequence[str]) -> Disturbance:
    """Each caller asks, reads, and asks again."""
    asked = Request("POST", "/analytics/ask", {"question": ASKED})
    requests = [
        asked.encoded({"Authorization": f"Bearer {token}", "Connection": "close"}, accept="text/event-stream")
        for token in callers
    ]
    return lambda: asking(contestant.port, requests, _READING)


def _running_away(contestant: Contestant) -> Disturbance:
    """One caller sends the statement, and is told that its time was over; little data may be read to the end."""

    def send() -> None:
        before = time.perf_counter()
        status, body = contestant.ask(Request("POST", "/analytics/sql", {"sql": RUNAWAY}))
        seconds = time.perf_counter() - before
        if status not in _ENDS or seconds > _LATEST:
            raise RuntimeError(f"{status} after {seconds:.1f} s: {body[:300]!r}")

    return lambda: _meanwhile(send)
