"""Two organizations at work on one service: nothing of the one reaches the other, in any byte.

Each step is an operation of the registry, by one of its surfaces, as one organization: first with identifiers of the
other and with identifiers of nobody, which has to be the same to the byte and change nothing; then with its own, while
the other organization does the same with its own. `CRM_CANARY_STEPS` says how many steps (`.ci/run`: 500), and
`CRM_CANARY_SHRINK=1` looks for the shortest way to what it found, which takes minutes.
"""

from __future__ import annotations

import asyncio
import os
import zipfile
import zlib
from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from io import BytesIO
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, ClassVar

import httpx
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from sqlalchemy import delete
from sqlmodel import col

from contract.errors import Unavailable
from contract.vocabulary import CredentialKind
from resolvers.shared.access import OPERATIONS
from storage.tables import QueuedJob, WebhookWatch
from tests.isolation.canaries import Side, Watch, new_side, tables_of_organizations, texts
from tests.isolation.cases import CASES, Graph, Rest, names
from tests.isolation.records import missing, plain, send, settle
from tests.isolation.requests import FIRST, OF_CONSENT
from tests.isolation.watching import Rows, Stream, rows_of
from tests.support.gateway import Gateway, open_gateway
from tests.support.loopback import Asked, Loopback, Reply, serving
from tests.support.schemas import built
from tests.support.world import Headers

STEPS = int(os.environ.get("CRM_CANARY_STEPS", "180"))
LONG = STEPS > 500
SHRINK = "CRM_CANARY_SHRINK" in os.environ

CURSORS = ["meetings", "accounts", "contacts", "deals", "leads", "campaigns", "researchRuns", "events"]
EVENTS = "subscription($after: String) { events(after: $after) { id type actor data cursor requestId } }"
LATEST = "{ events(first: 500) { pageInfo { endCursor } } }"
LEAD = "mutation($name: String!) { cardCaptureConfirm(input: {cardId: $name, name: $name}) { lead { id } } }"

REQUESTS = [(name, number) for name, case in CASES.items() for number in range(len(case.requests))]
BESIDES = [
    *(("cursor of another", number) for number in range(len(CURSORS))),
    ("events over server-sent events", 0),
    ("events over a socket", 0),
    ("jobs, webhooks and files", 0),
]
LIMITS = [
    "resolvers.uploads.UPLOADS_MAX",
    "resolvers.integration_feeds.INTEGRATIONS_OF_A_MEMBER_MAX",
    "resolvers.integration_feeds.INTEGRATIONS_MAX",
    "resolvers.webhooks.WEBHOOKS_MAX",
    "resolvers.imports.IMPORTS_WAITING_MAX",
    "resolvers.export_jobs.EXPORTS_WAITING_MAX",
]
"""What an organization has at most of: each filling adds one, and a side is filled dozens of times."""
PLAN = [*REQUESTS, *BESIDES]


class House:
    """The service, and what was learned about it."""

    def __init__(self, gateway: Gateway, rows: Rows, receiver: Loopback) -> None:
        self.gateway = gateway
        self.rows = rows
        self.receiver = receiver
        self.watch = Watch()
        self.sides: list[Side] = []
        self.known: dict[str, Side] = {}
        self.steps = 0
        self.done: Counter[tuple[str, int]] = Counter()
        self.refused: dict[tuple[str, int], str] = {}
        self.calls = 0
        self.busy = 0
        self.files: Counter[str] = Counter()

    async def begin(self) -> None:
        """Two new organizations."""
        self.sides = [await new_side(self.gateway.world) for _ in range(2)]
        for side in self.sides:
            self.known[f"/{side.number}"] = side
            await side.hear(f"{self.receiver.url}/{side.number}")
            self.watch.learn(side)

    async def end(self) -> None:
        """No row of the one holds anything of the other, whatever was done."""
        for side in self.sides:
            for table, rows in (await self.rows.of(side)).items():
                assert self.watch.strange(side, "\n".join(rows).encode()) == set(), (table, side.number)
        # What they still have to do is not the next ones' to wait for.
        for attempt in count():
            try:
                await self._forget()
                return
            except Unavailable:  # as for `send`
                self.busy += 1
                assert attempt < 5

    async def _forget(self) -> None:
        async with self.gateway.runtime.database.directory(writing=True) as session:
            for model in (QueuedJob, WebhookWatch):
                own = col(model.org_id).in_([side.organization.id for side in self.sides])
                await session.execute(delete(model).where(own))

    def look(self, side: Side, response: httpx.Response, request: Rest | Graph | None = None) -> httpx.Response:
        """The response to this side, in which there is nothing that is not for it."""
        heads = b"".join(b"%b: %b\n" % pair for pair in response.headers.raw)
        strange = self.watch.strange(side, heads + response.content, sent=_sent(request))
        assert strange == set(), (side.number, request, response.text)
        return response

    async def send(self, side: Side, request: Rest | Graph, headers: Headers) -> httpx.Response:
        """The answer, which was looked at; asked for again where a busy machine had none in time."""
        while True:
            response = self.look(side, await send(self.gateway, request, headers), request)
            if '"UNAVAILABLE"' not in response.text and response.status_code != 503:
                return response
            self.busy += 1
            assert self.busy < 100, response.text

    async def step(self, plan: tuple[str, int], actor: int, kinds: tuple[CredentialKind, CredentialKind]) -> None:
        side, other = self.sides[actor], self.sides[1 - actor]
        self.steps += 1
        name, number = plan
        if name in CASES:
            await self._operation(plan, side, other, kinds)
            return
        if name == "cursor of another":
            await self._cursor(CURSORS[number], side, other, kinds)
        elif name == "jobs, webhooks and files":
            await self._work()
        else:
            await self._stream(name, side, other, kinds)
        self.done[plan] += 1

    async def _operation(
        self, plan: tuple[str, int], side: Side, other: Side, kinds: tuple[CredentialKind, CredentialKind]
    ) -> None:
        request = CASES[plan[0]].requests[plan[1]]
        named = names(request)
        before = await self._state(request)
        own = {f"own {key}": value for key, value in side.ids.items()}
        text = {"name": side.fresh()}
        headers = side.callers[kinds[0]]
        answers = []
        for values in (missing(other.ids), other.ids) if named else ():
            asked = request.filled(own | values | text)
            answers.append(plain(await self.send(side, asked, headers), values, named))
        assert answers[:1] == answers[1:], request
        assert await self._state(request) == before, request
        ends = await asyncio.gather(
            *(self._own(s, plan[0], request, kind) for s, kind in zip((side, other), kinds, strict=True))
        )
        if all(end is None for end in ends):
            self.done[plan] += 1
        else:
            self.refused[plan] = str(ends)

    async def _state(self, request: Rest | Graph) -> list[str]:
        """What a write with wrong identifiers must leave as it was, of both, once no answer is worked on any more."""
        await settle(self.gateway)
        return [await self.rows.state(side) for side in self.sides] if request.writes and names(request) else []

    async def _own(self, side: Side, name: str, request: Rest | Graph, kind: CredentialKind) -> str | None:
        """Have the side do it with what is its own, with new records where the old ones are gone; None once done."""
        answer = ""
        for attempt in range(2):
            own = {f"own {key}": value for key, value in side.ids.items()}
            if name in FIRST:
                await self.send(side, CASES[FIRST[name]].requests[0].filled(side.ids), side.callers[kind])
            asked = request.filled(side.ids | own | {"name": side.fresh()})
            if isinstance(asked, Graph) and "pipelineStageReorder" in asked.document:
                asked = Graph(asked.document, {"ids": await self._stages(side, kind)})
            # The other side has the same key at the same moment, and another request.
            headers = {**side.callers[kind], "Idempotency-Key": f"step-{self.steps}-{attempt}"}
            response = await self.send(side, asked, headers)
            self.watch.learn(side, response.content)
            if _is_done(response, request):
                return None
            answer = response.text
            await side.fill()
            self.watch.learn(side)
        return answer

    async def _is_rendered(self, side: Side, job: str) -> bool:
        response = await self.gateway.rest("GET", f"/jobs/{job}", side.callers[CredentialKind.SESSION])
        status = self.look(side, response).json()["status"]
        assert status != "failed", response.text
        return bool(status == "succeeded")

    async def _stages(self, side: Side, kind: CredentialKind) -> list[str]:
        """All of the organization's, which are put in order together or not at all."""
        answer = (await self.gateway.graphql("{ pipelineStages { id } }", side.callers[kind])).json()
        return [stage["id"] for stage in answer["data"]["pipelineStages"]]

    async def _cursor(self, field: str, side: Side, other: Side, kinds: tuple[CredentialKind, CredentialKind]) -> None:
        page = "{ pageInfo { endCursor } nodes { id } }"
        document = f"query($after: String) {{ {field}(first: 1, after: $after) {page} }}"
        inside = await self.gateway.graphql(document, other.callers[kinds[1]])
        cursor = self.look(other, inside).json()["data"][field]["pageInfo"]["endCursor"]
        outside = self.look(side, await self.gateway.graphql(document, side.callers[kinds[0]], after=cursor))
        assert "errors" not in outside.json()

    async def _stream(self, name: str, side: Side, other: Side, kinds: tuple[CredentialKind, CredentialKind]) -> None:
        headers = side.callers[kinds[0]]
        latest = (await self.gateway.graphql(LATEST, headers)).json()["data"]["events"]["pageInfo"]["endCursor"]
        stream = Stream(self.gateway, headers, EVENTS, {"after": latest})
        async with stream.over_a_socket() if "socket" in name else stream.over_events():
            for writer, kind in ((other, kinds[1]), (side, kinds[0]), (other, kinds[1]), (side, kinds[0])):
                response = await self.gateway.graphql(LEAD, writer.callers[kind], name=writer.fresh())
                self.watch.learn(writer, response.content)
                lead = response.json()["data"]["cardCaptureConfirm"]["lead"]["id"]
            await stream.told_of(lead)
        assert self.watch.strange(side, stream.heard) == set(), stream.heard

    async def _work(self) -> None:
        """Have reports rendered and events told, and look at what left the service for it and at the files it made."""
        waiting = {f"/{side.number}" for side in self.sides}
        rendering = []
        for side in self.sides:
            edit = CASES["cx_reports.edit_report"].requests[0].filled(side.ids | {"name": side.fresh()})
            answer = await send(self.gateway, edit, side.callers[CredentialKind.SESSION])
            rendering.append((side, answer.json()["job_id"]))
        async with self.gateway.runtime.working(), asyncio.timeout(300):
            while waiting or rendering:
                await asyncio.sleep(0.05)
                waiting -= {asked.path for asked in self.receiver.asked}
                rendering = [each for each in rendering if not await self._is_rendered(*each)]
        for asked in self.receiver.asked:
            side = self.known[asked.path]
            assert self.watch.strange(side, repr(asked).encode()) == set(), asked
            self.calls += 1
        self.receiver.asked.clear()
        for side in self.sides:
            files = self.gateway.runtime.settings.data_dir / "artifacts" / side.organization.id
            for file in filter(Path.is_file, files.rglob("*")):
                assert self.watch.strange(side, file.read_bytes()) == set(), file
                self.files[file.suffix] += 1


def _sent(request: Rest | Graph | None) -> list[str]:
    """The identifiers that a request names."""
    if request is None:
        return []
    if isinstance(request, Rest):
        return [part for part in request.path.replace("?", "/").replace("=", "/").split("/") if part.count("-") == 4]
    values: list[Any] = [*request.variables.values()]
    sent = []
    while values:
        value = values.pop()
        if isinstance(value, str):
            sent.append(value)
        elif isinstance(value, dict | list):
            values += value.values() if isinstance(value, dict) else value
    return sent


def _is_done(response: httpx.Response, request: Rest | Graph) -> bool:
    """Whether the operation was done, and not refused or in vain."""
    if isinstance(request, Rest):
        return response.status_code < 300
    body = response.json()
    if "errors" in body or not body.get("data"):
        return False
    value = next(iter(body["data"].values()))
    return value is not None and not (isinstance(value, dict) and value.get("userErrors"))


@asynccontextmanager
async def _house(database_url: str, folder: Path, request: pytest.FixtureRequest) -> AsyncIterator[House]:
    server = request.getfixturevalue("postgresql") if database_url.startswith("postgresql") else None

    def take(_asked: Asked) -> Reply:
        return Reply(None, 204)

    async with (
        serving(take) as receiver,
        open_gateway(database_url, folder, outbound_allow_loopback=True) as gateway,
        rows_of(database_url, server) as rows,
    ):
        yield House(gateway, rows, receiver)


class Canaries(RuleBasedStateMachine):
    """Goes through the plan in any order; what each example does begins with new organizations."""

    house: ClassVar[House]
    loop: ClassVar[asyncio.Runner]

    @initialize(seed=st.integers(0, 2**32 - 1))
    def begin(self, seed: int) -> None:
        self.plan = Random(seed).sample(PLAN, len(PLAN))  # a drawn permutation would leave no draws for all the steps
        self.place = 0
        self.loop.run(self.house.begin())

    @rule(
        actor=st.integers(0, 1),
        kinds=st.tuples(st.sampled_from(CredentialKind), st.sampled_from(CredentialKind)),
    )
    def step(self, actor: int, kinds: tuple[CredentialKind, CredentialKind]) -> None:
        self.loop.run(self.house.step(self.plan[self.place % len(PLAN)], actor, kinds))
        self.place += 1

    def teardown(self) -> None:
        self.loop.run(self.house.end())


@pytest.fixture
def loop() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.mark.long
def test_no_canary_crosses(
    loop: asyncio.Runner,
    database_url: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    built()
    for limit in LIMITS:
        monkeypatch.setattr(limit, 10_000)
    context = _house(database_url, tmp_path / "data", request)
    house = loop.run(context.__aenter__())
    try:
        machine = type("Machine", (Canaries,), {"house": house, "loop": loop})
        examples = -(-STEPS // len(PLAN))
        run_state_machine_as_test(  # type: ignore[no-untyped-call]  # it has no annotations
            machine,
            settings=settings(
                max_examples=examples,
                stateful_step_count=len(PLAN) + 1,  # the first is the beginning
                derandomize=not LONG,
                phases=[Phase.generate, Phase.shrink] if SHRINK else [Phase.generate],
                database=None,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
    finally:
        loop.run(context.__aexit__(None, None, None))
    print(f"{house.steps} steps, {house.calls} webhook calls, {house.files.total()} files")
    assert house.steps >= max(STEPS, len(PLAN))
    assert house.calls > 0
    assert set(house.files) == {"", ".pdf", ".pptx", ".xlsx"}  # what was uploaded has no ending there
    undone = {plan: house.refused.get(plan, "never tried") for plan in PLAN if not house.done[plan]}
    undone = {plan: why for plan, why in undone.items() if plan[0] not in OF_CONSENT}
    assert undone == {}, sorted(undone)
    assert {name for name, _ in house.done} >= set(OPERATIONS) - OF_CONSENT


def test_what_is_looked_through() -> None:
    """Bytes as they are, cursors, archives and deflated streams; and the identifiers that one was not told."""
    side, other = (
        Side(None, number, None, ids={"deal": f"0189{number:04}-0000-7000-8000-000000000000"}) for number in (1, 22)
    )  # type: ignore[arg-type]  # nobody acts
    archive = BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("xl/sheet.xml", "<v>cnry22q3</v>")
    pdf = b"%PDF-1.7\n1 0 obj stream\n" + zlib.compress(b"(cnry22q3)") + b"\nendstream"
    cursor = b'{"cursor": "' + urlsafe_b64encode(b'["name","a","cnry22q3"]').rstrip(b"=") + b'"}'
    watch = Watch()
    for each in (side, other):
        watch.learn(each)
    for content in (b"...CNRY22Q3...", archive.getvalue(), pdf, cursor):
        assert watch.strange(side, content) == {b"cnry22q"}
        assert watch.strange(other, content) == set()
    told = other.ids["deal"].encode()
    assert watch.strange(side, told) == {told}
    assert watch.strange(side, told, sent=[other.ids["deal"]]) == set()
    assert watch.strange(other, told) == set()


async def test_every_text_holds_a_canary(
    gateway: Gateway, database_url: str, dialect: str, request: pytest.FixtureRequest
) -> None:
    """What the machine looks for is everywhere: in every column of text or JSON of every table of an organization."""
    side = await new_side(gateway.world)
    server = request.getfixturevalue("postgresql") if dialect == "postgresql" else None
    async with rows_of(database_url, server) as rows:
        found = await rows.columns(side)
    wanted = {(m.__tablename__, column.name) for m in tables_of_organizations() for column in texts(m)}
    assert {place for place in wanted if f"cnry{side.number}q" not in found[place]} == set()
