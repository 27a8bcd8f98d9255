"""Compiled selections against the library's own executor: the same answers and errors, byte for byte.

CRM_DIFFERENTIAL says how many random documents, CRM_DIFFERENTIAL_SEED which ones; a failure names its seed and number.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import isawaitable
from random import Random
from typing import Any

import orjson
import pytest
import pytest_asyncio
from graphql import execute
from graphql.execution import Executor as LibraryExecutor

from identity.principal import Organization
from resolvers.health import refresh_many
from resolvers.shared.context import Context
from schema.errors import formatted
from schema.execution import Document, Executor, Request
from schema.execution.planner import steps_of
from schema.execution.sources import Reason
from schema.execution.steps import Steps
from storage.queries.listable import Listable
from storage.seeding import Plan as Seeding
from storage.seeding import seed
from storage.seeding.plan import EPOCH
from storage.tenancy.sessions import ReadingSession, TenantSession
from tests.support.corruption import Corruption
from tests.support.costs import uncosted
from tests.support.documents import document
from tests.support.gateway import Gateway
from tests.support.schemas import built

pytestmark = pytest.mark.asyncio(loop_scope="session")

DOCUMENTS = int(os.environ.get("CRM_DIFFERENTIAL", "150"))
SEED = int(os.environ.get("CRM_DIFFERENTIAL_SEED", "1"))
CALLERS = ("admin", "viewer", "meetings", "crm", "nothing")
RUNS = 3
"""How often each document runs, with other variables, another caller and other rows each time."""
SHARES = {"sqlite": 0.9, "postgresql": 0.1}
NOWHERE = "00000000-0000-7000-8000-000000000000"
CREATE = "mutation($name: String!, $value: Decimal) { dealCreate(input: {name: $name, value: $value}) { deal { id } } }"
CAPTURE = """mutation($name: String!, $payload: JSON) {
  cardCaptureConfirm(input: {name: $name, company: "C", tags: ["t"], capturePayload: $payload}) { lead { id } } }"""
CONVERT = """mutation($id: ID!, $deal: String) {
  leadConvert(input: {leadId: $id, dealName: $deal}) { userErrors { code } } }"""
NAMED = {"name": {"in": ["N1", "N2", "\x00"]}}
FILTERS: dict[str, list[dict[str, Any]]] = {
    "accounts": [{"or": [{"domain": {"startsWith": "a"}}, {"not": {"industry": {"isNull": True}}}]}],
    "contacts": [{"account": {"name": {"contains": "a"}}, "lastName": {"neq": "b"}}],
    "deals": [
        {"value": {"gt": "1.5"}},
        {"value": {"lte": 2, "neq": 1.25}},
        {"or": [NAMED, {"and": [{"closeDate": {"gte": "2025-01-01"}}, {"account": {"name": {"contains": "e"}}}]}]},
    ],
    "meetings": [
        {"source": {"eq": "MANUAL"}},
        {"source": {"in": ["MANUAL", "GMAIL"]}, "dueAt": {"gte": "2025-01-01T00:00:00Z"}},
        {"not": {"deal": {"value": {"gt": "1000"}, "account": {"id": {"nin": [NOWHERE, "no uuid"]}}}}},
    ],
    "leads": [{"status": {"in": ["NEW", "CONVERTED"]}}, {"source": {"in": ["MANUAL"]}, "name": {"eq": "Lead 1"}}],
}
"""Conditions of every kind, with enums, numbers, moments and lists within them, for variables to stand in."""
LISTS = {"accounts": "Account", "contacts": "Contact", "deals": "Deal", "meetings": "Meeting", "leads": "Lead"}


@dataclass
class Bench:
    """One organization with a few rows of everything, and both ways to run a document over it."""

    gateway: Gateway
    executor: Executor
    contexts: dict[str, Callable[[], Context]]
    pool: dict[tuple[str, str], Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    corruption: Corruption | None = None
    remembered: dict[Any, list[Any]] = field(default_factory=dict)

    def remember(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let every statement reach the database once only, and let its rows be corrupted."""
        original = TenantSession.fetch

        async def fetch(session: TenantSession, key: Any, build: Any, **values: Any) -> Sequence[Any]:
            if not isinstance(session, ReadingSession):
                return await original(session, key, build, **values)
            known = (session.org_id, key, repr(sorted(values.items())))
            rows = self.remembered.get(known)
            if rows is None:
                # The library cancels what runs beside a field that failed; what the database is asked goes on.
                rows = list(await asyncio.shield(original(session, key, build, **values)))
                self.remembered[known] = rows
            return list(rows) if self.corruption is None else self.corruption.rows(key, rows)

        async def rows(session: TenantSession, statement: Any) -> Any:
            known = (session.org_id, str(statement), repr(statement.compile().params))
            if known not in self.remembered:
                self.remembered[known] = await read(session, statement)
            return self.remembered[known]

        read = TenantSession.rows
        monkeypatch.setattr(TenantSession, "fetch", fetch)
        monkeypatch.setattr(TenantSession, "rows", rows)

    async def compiled(self, request: Request, caller: str) -> Any:
        """The body that clients get, but for its cost, which has to be at most what was asked for."""
        return uncosted((await self.executor.run(request, self.contexts[caller]())).body)

    async def library(self, request: Request, caller: str) -> Any:
        """The body that the library's own executor leads to."""
        context = self.contexts[caller]()
        found = self.executor.documents.prepare(request.query)
        assert isinstance(found, Document), (request.query, found.errors)
        result = execute(
            self.executor.schema,
            found.outline.document,
            context_value=context,
            variable_values=request.variables,
            operation_name=request.operation_name,
            executor_class=LibraryExecutor,
        )
        if isawaitable(result):
            result = await result
        errors = result.errors or []
        refused = result.data is None and any(error.path is None for error in errors)
        body = {} if refused else {"data": result.data}
        return body | ({"errors": formatted(errors, context.request_id, executed=True)} if errors else {})

    async def ask(self, query: str, **variables: Any) -> Any:
        """The data of an answer without errors."""
        body = await self.compiled(Request(query, variables), "admin")
        assert "errors" not in body, body
        return body["data"]


def wordless(body: dict[str, Any]) -> dict[str, Any]:
    """The body without what is said of bad variables, which is ours and not the library's (decision 986)."""
    for error in body.get("errors", ()):
        if error["extensions"]["code"] == "BAD_USER_INPUT":
            error["extensions"].pop("field", None)
            del error["message"]
    return body


def encode(body: Any) -> bytes:
    """The body as the endpoint writes it, or why it cannot."""
    try:
        return orjson.dumps(body, option=orjson.OPT_UTC_Z)
    except TypeError as error:
        return f"cannot be written: {error}".encode()


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def bench(gateway: Gateway) -> AsyncIterator[Bench]:
    """The organization, seeded."""
    world, database = gateway.world, gateway.runtime.database
    [organization_id] = (await seed(database, Seeding(1, 6, 9, 10, 14, seed=77))).organizations
    organization = Organization(organization_id, organization_id, "Seeded")
    subjects = {
        name: await world.join(f"compiled-{name}", organization, scopes=scopes)
        for name, scopes in (("meetings", ["deals:read"]), ("crm", ["api:read"]), ("nothing", []))
    }
    subjects |= {"admin": "user_seed77_1_admin", "viewer": "user_seed77_1_viewer"}
    principals = {name: (await world.context(subject, organization)).principal for name, subject in subjects.items()}
    contexts = {
        name: lambda principal=principal: Context(world.services, principal, "request")
        for name, principal in principals.items()
    }
    bench = Bench(gateway, Executor(built().graphql), contexts)
    accounts = [a["id"] for a in (await bench.ask("{ accounts { nodes { id } } }"))["accounts"]["nodes"]]
    for moment in (EPOCH.replace(month=9), EPOCH.replace(month=10)):
        await refresh_many(database, organization_id, accounts[:4], moment)
    for number in range(4):
        await bench.ask(
            f'mutation {{ dealCreate(input: {{name: "N{number}", value: "{number}.5"}}) {{ deal {{ id }} }} }}'
        )
    for number in range(6):
        made = await bench.ask(CAPTURE, name=f"Lead {number}", payload={"x": number} if number % 2 else None)
        if number > 3:
            await bench.ask(CONVERT, id=made["cardCaptureConfirm"]["lead"]["id"], deal="D" if number > 4 else None)
    await bench.ask('mutation { organizationKeyCreate(input: {name: "k"}) { patKey } }')
    bench.pool = await arguments(bench)
    with pytest.MonkeyPatch.context() as monkeypatch:
        bench.remember(monkeypatch)
        yield bench


async def arguments(bench: Bench) -> dict[tuple[str, str], Sequence[Mapping[str, Any]]]:
    """What each field may be asked with: found and missing ids, pages from both ends, filters, and mistakes."""
    ids: dict[str, list[str]] = {}
    cursors: dict[str, list[str]] = {}
    pool: dict[tuple[str, str], Sequence[Mapping[str, Any]]] = {}
    for name, kind in LISTS.items():
        edges = (await bench.ask(f"{{ {name} {{ edges {{ cursor node {{ id }} }} }} }}"))[name]["edges"]
        ids[kind] = [edge["node"]["id"] for edge in edges]
        cursors[name] = [edge["cursor"] for edge in edges]
    stages = [stage["id"] for stage in (await bench.ask("{ pipelineStages { id } }"))["pipelineStages"]]
    health = await bench.ask("{ accounts { nodes { health { id factors { id } } } } }")
    snapshots = [account["health"] for account in health["accounts"]["nodes"] if account["health"]]
    keys = [key["id"] for key in (await bench.ask("{ organizationKeys { id } }"))["organizationKeys"]]
    everything = [*ids.values(), stages, [s["id"] for s in snapshots], [s["factors"][0]["id"] for s in snapshots], keys]
    some = [i for group in everything for i in group[:3]]

    for name, kind in LISTS.items():
        forward: list[Mapping[str, Any]] = [{"first": size} for size in (1, 2, 3, 3, 5)]
        forward += [{"first": 2, "after": cursor} for cursor in cursors[name][:3]]
        forward += [{}, {"first": 0}, {"first": None}, {"first": 501}, {"first": 1, "after": "none"}]
        pages = [*forward, {"last": 2}, {"last": 3, "before": cursors[name][4]}, {"first": 2, "offset": 2}]
        pages += [{"first": 1, "last": 1}]
        fields = {"accounts": "NAME", "contacts": "LAST_NAME", "deals": "VALUE", "meetings": "DUE_AT", "leads": "NAME"}
        orders = [{"field": fields[name], "direction": d} for d in ("ASC", "DESC")] + [{"field": "CREATED_AT"}]
        found = ids[kind]
        filters = [None, {}, {"id": {"in": found[:3]}}, {"not": {"id": {"eq": found[0]}}}, {"not": {}}]
        pool["Query", name] = [
            *pages,
            *({"first": 3, "orderBy": order} for order in orders),
            *({"first": 3, "filter": filter} for filter in (*filters, *FILTERS[name])),
            {"first": 4, "filter": filters[3], "orderBy": orders[0]},
        ]
        for parent in ("Account", "Deal", "Contact", "DealBoardColumn"):
            pool[parent, name] = forward
        if name in ("deals", "meetings"):
            pool["Account", name] = [*forward, *({"first": 2, "filter": filter} for filter in FILTERS[name])]
        pool["Query", kind.lower()] = [{"id": i} for i in [*found[:6], *found[:6], NOWHERE, "no uuid"]]
    pool["Query", "account"] = [*pool["Query", "account"], {"domain": "no.example"}, {}, {"id": NOWHERE, "domain": "x"}]
    pool["Query", "leadConversionPreview"] = pool["Query", "lead"]
    pool["Query", "node"] = [{"id": i} for i in [*some, NOWHERE]]
    pool["Query", "nodes"] = [{"ids": some[start : start + 4]} for start in range(0, len(some), 3)]
    pool["Query", "nodes"] = [*pool["Query", "nodes"], {"ids": []}, {"ids": [NOWHERE, *some[:1]]}]
    pool["Query", "events"] = [{"first": 3}, {"first": 2, "types": ["deal_created"]}, {"types": ["x"]}, {"first": -1}]
    long_ago = {"since": "2000-01-01T00:00:00Z"}
    pool["Query", "changes"] = [long_ago | {"first": 3}, {"since": "2100-01-01T00:00:00Z"}, long_ago | {"after": "x"}]
    pool["Query", "dealBoard"] = [{}, *({"filter": filter} for filter in FILTERS["deals"])]
    groupings = [{}, {"groupBy": ["STAGE"]}, {"groupBy": ["ACCOUNT", "CREATED_AT"], "first": 2}, {"first": 501}]
    pool["Query", "dealAggregate"] = [*groupings, {"groupBy": ["STATUS"], "orderBy": {"field": "COUNT"}}]
    pool["Query", "meetingAggregate"] = [{}, {"groupBy": ["STATE", "DUE_AT"]}, {"groupBy": ["OWNER", "OWNER"]}]
    pool["Query", "leadAggregate"] = [{}, {"groupBy": ["TAG"], "first": 1}, {"timeZone": "none"}]
    pool["Query", "accountAggregate"] = [{}, {"groupBy": ["HEALTH_TREND", "OWNER"]}, {"first": 501}]
    pool["Query", "dealForecast"] = [{}, {"months": 2, "from": "2026-02-03"}, {"months": 25}]
    pool["Query", "dealFunnel"] = [{}, {"enteredFrom": "2026-01-01T00:00:00Z"}, {"filter": FILTERS["deals"][0]}]
    pool["Query", "campaignAggregate"] = [{}, {"groupBy": ["CAMPAIGN"]}, {"first": -1}]
    pool["Account", "healthHistory"] = [{"first": 1}, {"first": 3}, {"first": 2, "after": "none"}]
    pool["Viewer", "can"] = [{"operation": "deals"}, {"operation": "dealCreate"}, {"operation": "none"}]
    return pool


@pytest.fixture(autouse=True)
def _shared_in_short_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of any length have rows in common where they can (decision 970); on SQLite all links are joined."""
    monkeypatch.setattr("storage.queries.shared_rows.SHARED_FROM", 1)


@pytest.fixture
def full_rows(monkeypatch: pytest.MonkeyPatch) -> dict[str, bool]:
    """While it says `on`, resolvers fetch whole rows, whatever is selected."""
    switch = {"on": False}
    selecting = Listable.selecting

    def maybe(listable: Listable, selection: Any, order: Any = None) -> Listable:
        return listable if switch["on"] else selecting(listable, selection, order)

    monkeypatch.setattr(Listable, "selecting", maybe)
    return switch


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How the operations ran: by steps, by steps to the end, or by the library, and why by that."""
    counter: Counter[str] = Counter()
    original = Steps.run

    async def counting(self: Steps, *args: Any) -> Any:
        counter["steps"] += 1
        answer = await original(self, *args)
        counter["to the end"] += 1
        return answer

    monkeypatch.setattr(Steps, "run", counting)
    return counter


def settled(body: dict[str, Any]) -> tuple[Any, list[Any], set[str]]:
    """An answer without what a race decides: the data, the errors that stand alone, and where others were raised.

    Where a null goes up through non-null fields, several of them may have failed, and the first to be noticed cancels
    the rest: which of them are told is open (GraphQL specification, 6.4.4), and depends on how the tasks took turns.
    """
    alone, together = [], set()
    for error in body.get("errors", ()):
        place = nulled(body.get("data"), error.get("path", []))
        if len(place) == len(error.get("path", [])):
            alone.append(error)
        else:
            together.add(repr(place))
    return encode(body.get("data")), alone, together


def nulled(data: Any, path: Sequence[str | int]) -> Sequence[str | int]:
    """The part of the path that leads to the null which the data has in its place."""
    for length, step in enumerate(path):
        if data is None:
            return path[:length]
        data = data[step]
    return path


# The library does so itself when it cancels what waits beside a field that failed.
@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
@pytest.mark.filterwarnings("ignore:Exception ignored in. <coroutine:pytest.PytestUnraisableExceptionWarning")
async def test_random_documents(
    bench: Bench,
    full_rows: dict[str, bool],
    ran: Counter[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(logging.getLogger("schema.errors"), "disabled", True)
    monkeypatch.setattr(bench.executor.documents.parsed, "entries", 20)  # the collector is slow with many of them
    # What is compared is how documents run, be they larger than clients' may be.
    monkeypatch.setattr("schema.execution.limits.check", lambda _: None)
    monkeypatch.setattr("schema.execution.documents.TOKENS_MAX", 1_000_000)
    monkeypatch.setattr("resolvers.shared.settling.time_points", lambda _: 0)  # a busy machine makes answers dearer
    for name in ("COST_MAX", "OPERATION_NODES_MAX"):
        monkeypatch.setattr(f"schema.execution.admission.{name}", 10**12)
    for name in ("ERRORS_MAX", "ERRORS_TEXT_MAX"):
        monkeypatch.setattr(f"schema.errors.{name}", 1_000_000)
    monkeypatch.setattr(bench.executor, "_fallen_back", lambda reason: ran.update([reason]))
    dialect = bench.gateway.runtime.database.dialect
    totals: Counter[str] = Counter()
    for number in range(round(DOCUMENTS * SHARES[dialect])):
        random = Random(f"{SEED}/{dialect}/{number}")
        made = document(bench.executor.schema, lambda kind, name: bench.pool.get((kind, name), ()), random)
        # What the writer writes is valid, which takes longer to see than all the rest; every eighth is looked at.
        with monkeypatch.context() as unchecked:
            if number % 8:
                unchecked.setattr("schema.execution.documents.validate", lambda *_, **__: [])
            bench.executor.documents.prepare(made.text)
        # Every eighth is run by the library in the executor, as where steps do not hold.
        left = Reason("test", made.text)
        monkeypatch.setattr("schema.execution.compiled.steps_of", steps_of if number % 8 else lambda _, why=left: why)
        for run in range(RUNS):
            request = Request(made.text, made.values(random), made.operation)
            caller = random.choices(CALLERS, (70, 8, 8, 8, 3))[0]
            bench.corruption = Corruption(random.getrandbits(32), random.choice((5, 30, 120))) if run == 1 else None
            broken = ran["value"]
            actual = await bench.compiled(request, caller)
            assert bench.corruption is not None or ran["value"] == broken, made.text
            if "errors" in actual:
                # Which field fails first is a matter of time while something waits for the database: now nothing does.
                actual = await bench.compiled(request, caller)
            # Columns by selection and links that came along are enough where nothing is missing from whole rows.
            full_rows["on"] = bench.corruption is None and "errors" not in actual
            expected = await bench.library(request, caller)
            full_rows["on"] = False
            actual, expected = wordless(actual), wordless(expected)
            if encode(actual) != encode(expected):
                totals["raced"] += 1
            if encode(actual) != encode(expected) and settled(actual) != settled(expected):
                place = f"CRM_DIFFERENTIAL_SEED={SEED}, document {number} on {dialect}, as {caller}, {bench.corruption}"
                answers = f"compiled {encode(actual).decode()}\nlibrary  {encode(expected).decode()}"
                pytest.fail(f"{place}\n{made.text}\nvariables {request.variables}\n{answers}", pytrace=False)
            totals["errors"] += "errors" in expected
            totals["runs"] += 1
    bench.corruption = None
    gc.collect()  # what the library dropped is told here, where it is expected
    assert totals["raced"] <= 2 + totals["runs"] / 300
    print(f"{dialect}: {totals['runs']} runs, {totals['errors']} with errors, {totals['raced']} raced; {dict(ran)}")
    # Nothing is left to the library but values that break a promise, which every third run has, and open conditions.
    assert set(ran) <= {"steps", "to the end", "test", "value", "condition"}
    assert ran["steps"] > totals["runs"] / 2
    assert ran["to the end"] > ran["steps"] / 2
    assert 0.1 < totals["errors"] / totals["runs"] < 0.9
