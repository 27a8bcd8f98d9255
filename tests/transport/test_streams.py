"""What one process does for all of its streams (decision 975)."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from operator import itemgetter
from typing import Any, cast

import pytest

from contract.errors import GatewayError, Unauthenticated, Unavailable
from contract.vocabulary import CredentialKind
from identity.authenticate import Identity
from identity.coalescing import CoalescedReads
from identity.principal import Organization, Principal
from identity.standing import Standing
from resolvers.shared.pacing import Pacing
from transport import streams as module
from transport.credential_watch import CredentialWatch
from transport.event_stream import CLOSED, PING, EventStream
from transport.streams import Streams

pytestmark = pytest.mark.asyncio(loop_scope="function")  # where nobody else has a task

ORGANIZATION = Organization("1", "org_one", "One")
CALLER = Principal("ada", CredentialKind.SESSION, frozenset({"accounts:read"}), ORGANIZATION, (ORGANIZATION,))


class Directory:
    """Says who has a credential, and how often it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.answer: Principal | Exception = CALLER

    def aside(self) -> Directory:
        return self

    async def standing(self, authorization: str, _organization: str | None) -> Standing:
        return Standing(await self.authenticate(authorization), (), lambda: False)

    async def authenticate(self, authorization: str, _organization: str | None = None, _address: str = "") -> Principal:
        self.asked.append(authorization)
        await asyncio.sleep(0)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Client:
    """Somebody who reads a stream until told to leave; a slow one takes nothing."""

    def __init__(self, *, is_slow: bool = False) -> None:
        self.text = b""
        self.is_whole = False
        self.leaving = asyncio.Event()
        self._is_slow = is_slow

    async def receive(self) -> Any:
        await self.leaving.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        if self._is_slow and message.get("body") == PING:
            await asyncio.Event().wait()
        self.text += message.get("body", b"")
        self.is_whole |= message.get("more_body") is False


class Place:
    """A process with streams of one credential."""

    def __init__(self) -> None:
        self.directory = Directory()
        self.stopping = asyncio.Event()
        self.pacing = Pacing()
        self.streams = Streams(cast(Identity, self.directory), self.stopping, pacing=self.pacing)
        self.tasks: list[asyncio.Task[None]] = []

    def stream(
        self, client: Client, events: AsyncIterator[bytes] | None = None, credential: str = "Bearer x"
    ) -> asyncio.Task[None]:
        watch = CredentialWatch(self.streams, credential, None, "", principal=CALLER)
        refused = lambda error: f"event: {error.code}\n\n".encode()  # noqa: E731
        stream = EventStream(events or nothing(), watch, "id", begin=b"", end=b"end", closed=CLOSED, refused=refused)
        self.tasks.append(asyncio.create_task(stream(client.receive, client.send)))
        return self.tasks[-1]


async def nothing() -> AsyncIterator[bytes]:
    await asyncio.Event().wait()
    yield b""


@asynccontextmanager
async def process(monkeypatch: pytest.MonkeyPatch, **seconds: float) -> AsyncIterator[Place]:
    for name, value in {"LOOK_SECONDS": 0.05, "_FRESH_SECONDS": 0.01, "_TURN_SECONDS": 0.01, **seconds}.items():
        monkeypatch.setattr(module, name, value)
    place = Place()
    try:
        async with asyncio.timeout(30):
            yield place
    finally:
        for task in place.tasks:
            task.cancel()
        await asyncio.gather(*place.tasks, return_exceptions=True)


async def test_a_stream_holds_two_tasks_and_all_of_them_one_more(monkeypatch: pytest.MonkeyPatch) -> None:
    before = len(asyncio.all_tasks())
    async with process(monkeypatch, LOOK_SECONDS=60) as place:
        clients = [Client() for _ in range(50)]
        for client in clients:
            place.stream(client)
        await asyncio.sleep(0.05)
        assert len(asyncio.all_tasks()) - before <= 2 * len(clients) + 1
        for client in clients:
            client.leaving.set()
        await asyncio.gather(*place.tasks)
        await asyncio.sleep(0)
        assert len(asyncio.all_tasks()) == before  # the one that keeps them ends with the last


async def test_a_credential_is_looked_at_once_for_all_of_its_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    async with process(monkeypatch) as place:
        clients = [Client() for _ in range(20)]
        tasks = [place.stream(client) for client in clients]
        while len(place.directory.asked) < 3:  # noqa: ASYNC110 # the directory tells nobody
            await asyncio.sleep(0.01)
        assert not any(task.done() for task in tasks)
        place.directory.answer = Unavailable()  # which refuses nobody
        asked = len(place.directory.asked)
        while len(place.directory.asked) < asked + 3:  # noqa: ASYNC110 # the same
            await asyncio.sleep(0.01)
        assert not any(task.done() for task in tasks)
        place.directory.answer = Unauthenticated()
        await asyncio.gather(*tasks)
        assert {client.text for client in clients} == {b"event: UNAUTHENTICATED\n\n" + CLOSED + b"end"}
        assert all(client.is_whole for client in clients)
        assert len(place.directory.asked) < 20


async def test_late_looks_do_one_step_in_a_turn_of_the_loop_and_wait_for_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Decision 1153: a service that is never at rest looks as often as another."""
    turn, steps = 0, Counter[int]()

    async def authenticate(*_: object) -> Principal:
        for _ in range(5):
            steps[turn] += 1
            await asyncio.sleep(0)
        return CALLER

    async with process(monkeypatch, _PATIENCE=3_600, _LATE_SECONDS=0) as place:
        monkeypatch.setattr(place.directory, "authenticate", authenticate)
        place.pacing.others = lambda: 1
        for number in range(12):
            place.stream(Client(), credential=f"Bearer {number}")
        while steps.total() < 12 * 5 * 3:
            turn += 1
            await asyncio.sleep(0)
        assert max(steps.values()) == 1


@pytest.mark.parametrize("number", [3, 30])
async def test_who_stands_as_before_is_found_together(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Decision 1196: one statement for all of them, and nobody is judged whose rows are the same."""
    rows = {f"Bearer {each}": ["before"] for each in range(number)}
    asked, fails = list[set[str]](), list[Exception]()

    async def read(keys: Sequence[str]) -> list[tuple[str, str]]:
        asked.append(set(keys))
        await asyncio.sleep(0)
        if fails:
            raise fails[0]
        return [(key, value) for key in keys for value in rows[key]]

    reads = CoalescedReads[Any](read, itemgetter(0))
    async with process(monkeypatch) as place:
        directory, gone = place.directory, set[str]()

        async def standing(authorization: str, _organization: str | None) -> Standing:
            directory.asked.append(authorization)
            if authorization in gone:
                raise Unauthenticated()
            found = [(authorization, value) for value in rows[authorization]]
            return Standing(CALLER, ((reads, authorization, found),), lambda: True)

        monkeypatch.setattr(directory, "standing", standing)
        clients = [Client() for _ in rows]
        tasks = [place.stream(client, credential=credential) for client, credential in zip(clients, rows, strict=True)]

        async def looks(more: int) -> None:
            expected = len(asked) + more
            while len(asked) < expected:  # noqa: ASYNC110 # nobody is told
                await asyncio.sleep(0.01)

        await looks(4)
        assert set(directory.asked) == set(rows)
        directory.asked.clear()
        before = len(asked)
        async with asyncio.timeout(60):
            while asked[before:].count(set(rows)) < 3:  # a starved machine may find one of them alone now and then
                await looks(1)
        assert not directory.asked

        rows["Bearer 0"] = ["after"]  # judged, and as it was: it goes on, by its new rows
        await looks(4)
        assert directory.asked == ["Bearer 0"]
        fails.append(Unavailable())  # which refuses nobody, and has nobody judged
        await looks(3)
        assert directory.asked == ["Bearer 0"]
        assert not any(task.done() for task in tasks)
        fails[:] = [ValueError("of one of them")]  # who it is about is found out alone
        gone.add("Bearer 1")
        await tasks[1]
        assert clients[1].text.startswith(b"event: UNAUTHENTICATED")
        assert [task.done() for task in tasks].count(True) == 1
        assert {authorization for authorization, _ in place.streams._standings} == set(rows) - {"Bearer 1"}
        for client in clients:
            client.leaving.set()
        await asyncio.gather(*tasks)
        assert not place.streams._standings


@pytest.mark.parametrize("what", ["slow", "away"])
async def test_who_may_no_more_is_refused_though_the_database_is(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """Decision 1196: where each look comes late, and where a token's time is over while nothing can be read."""
    is_revoked = is_over = False

    async def read(keys: Sequence[str]) -> list[tuple[str, bool]]:
        if is_over:
            raise Unavailable()
        await asyncio.sleep(0.05)
        return [(key, is_revoked) for key in keys]

    reads = CoalescedReads[Any](read, itemgetter(0))
    async with process(monkeypatch, _GROUP_SECONDS=0.01) as place:

        async def standing(authorization: str, _organization: str | None) -> Standing:
            rows = [] if is_over else await reads.of(authorization)
            if is_over or rows[0][1]:
                raise Unauthenticated()
            return Standing(CALLER, ((reads, authorization, rows),), lambda: not is_over)

        monkeypatch.setattr(place.directory, "standing", standing)
        client = Client()
        task = place.stream(client)
        while not place.streams._standings:  # noqa: ASYNC110 # nobody is told
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.2)
        assert not task.done()
        is_revoked, is_over = what == "slow", what == "away"
        await task
        assert client.text.startswith(b"event: UNAUTHENTICATED")


async def test_a_stream_that_begins_is_followed_though_its_credential_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    """It began with more than its credential stands for, before and since."""
    async with process(monkeypatch) as place:
        narrower = Principal("ada", CredentialKind.SESSION, frozenset(), ORGANIZATION, (ORGANIZATION,))
        place.streams._standings["Bearer x", None] = Standing(narrower, (), lambda: True)
        client = Client()
        await place.stream(client)
        assert client.text.startswith(b"event: UNAUTHENTICATED")
        assert not place.directory.asked


async def test_who_may_less_is_refused_and_a_broken_look_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    narrower = Principal("ada", CredentialKind.SESSION, frozenset(), ORGANIZATION, (ORGANIZATION,))
    for answer, code in ((narrower, Unauthenticated.code), (LookupError("secret"), GatewayError.code)):
        async with process(monkeypatch) as place:
            place.directory.answer = answer
            client = Client()
            await place.stream(client)
            assert client.text == f"event: {code}\n\n".encode() + CLOSED + b"end"


async def test_a_look_that_hangs_keeps_no_other_from_being_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is its own credential looked at again meanwhile."""
    asked, refused, left = Counter[str](), set[str](), asyncio.Event()

    async def authenticate(authorization: str, *_: object) -> Principal:
        asked[authorization] += 1
        if authorization in refused:
            raise Unauthenticated()
        if authorization == "Bearer hangs" and asked[authorization] > 1:  # not when the stream begins
            try:
                await asyncio.sleep(3_600)
            finally:
                left.set()
        return CALLER

    async with process(monkeypatch, _GROUP_SECONDS=0.02) as place:
        monkeypatch.setattr(place.directory, "authenticate", authenticate)
        hangs, other = Client(), Client()
        place.stream(hangs, credential="Bearer hangs")
        ended = place.stream(other, credential="Bearer other")
        while asked["Bearer other"] < 5:  # noqa: ASYNC110 # the directory tells nobody
            await asyncio.sleep(0.01)
        assert asked["Bearer hangs"] == 2
        refused.add("Bearer other")
        await ended
        assert other.text.startswith(b"event: UNAUTHENTICATED")
        hangs.leaving.set()
        await left.wait()


async def test_what_goes_wrong_with_one_stream_is_its_own_matter(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with process(monkeypatch, SILENT_SECONDS=0.02) as place:
        broken, whole = Client(), Client()
        with monkeypatch.context() as patched:
            patched.setattr(EventStream, "beat", _raising)
            place.stream(broken)
            while "cannot be told" not in caplog.text:  # noqa: ASYNC110 # nobody is told
                await asyncio.sleep(0.01)
        place.stream(whole, credential="Bearer other")
        while PING not in whole.text[len(PING) :]:  # noqa: ASYNC110 # the client tells nobody
            await asyncio.sleep(0.01)
        while "Bearer other" not in place.directory.asked:  # noqa: ASYNC110 # the directory tells nobody
            await asyncio.sleep(0.01)
        with monkeypatch.context() as patched:
            patched.setattr(CredentialWatch, "_may_go_on", _raising)
            await asyncio.gather(*place.tasks)
        assert all(f"event: {GatewayError.code}".encode() in client.text for client in (broken, whole))
        assert "cannot be refused type=LookupError" in caplog.text


def _raising(*_: object) -> None:
    raise LookupError


async def test_a_silent_stream_is_told_something_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    async with process(monkeypatch, SILENT_SECONDS=0.05) as place:
        client = Client()
        place.stream(client)
        while client.text.count(PING) < 3:  # noqa: ASYNC110 # it tells nobody
            await asyncio.sleep(0.01)


async def test_a_client_that_does_not_take_even_that_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    from starlette.requests import ClientDisconnect

    monkeypatch.setattr("transport.event_stream.STREAM_SEND_SECONDS", 0.05)
    async with process(monkeypatch, SILENT_SECONDS=0.02) as place:
        with pytest.raises(ClientDisconnect):
            await place.stream(Client(is_slow=True))


async def test_the_end_of_the_service_is_that_of_streams_also_of_late_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    async with process(monkeypatch) as place:
        early = Client()
        task = place.stream(early)
        await asyncio.sleep(0.02)
        place.stopping.set()
        await task
        late = Client()
        await place.stream(late)
        assert (early.text, late.text) == (CLOSED + b"end", CLOSED + b"end")


async def test_a_stream_that_ends_by_itself_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    async def two() -> AsyncIterator[bytes]:
        yield b"a"
        yield b"b"

    async with process(monkeypatch) as place:
        client = Client()
        await place.stream(client, two())
        assert (client.text, client.is_whole) == (b"abend", True)
