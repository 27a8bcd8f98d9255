"""Questions that are asked: the steps of their answers in order, whoever follows them, from wherever.

Decisions 285 to 290.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from random import Random
from time import monotonic
from typing import Any

import pytest
from sqlalchemy import text, update
from sqlmodel import col

from contract.analytics_events import AnalyticsPlanner
from contract.errors import Unavailable
from contract.limits import RUN_EVENT_ROWS_MAX, RUNS_PER_ORGANIZATION
from jobs import analytics_upkeep
from resolvers.analytics_inputs import AnalyticsQuery
from resolvers.questions.plans import Declined, Plan, Question
from resolvers.shared.context import Context
from schema.adapters.strawberry import to_camel_case
from storage.base import new_id, now
from storage.queries import analytics_runs as statements
from storage.tables import AnalyticsConversation, AnalyticsEvent, AnalyticsRun, AnalyticsWatch, Deal
from storage.tenancy.sessions import TenantSession
from tests.analytics.asking import STREAMED, Asker, Reader, another_process, events_of, use
from tests.support.connections import taken_from
from tests.support.statements import statements as sent_to
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

ORDER = ["run_started", "plan", "sql", "columns", "rows", "chart", "explanation", "run_finished"]
SLOW = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 4000000000) SELECT count(*) FROM n"
GRAPHQL = """subscription($input: AnalyticsAskInput!) { analyticsAsk(input: $input) { __typename runId sequence
  ... on AnalyticsRunStarted { conversationId question limits { rows bytes statementSeconds runSeconds } }
  ... on AnalyticsPlanned { planner query assumptions followsRunId }
  ... on AnalyticsSqlShown { sql { text parameters dialect tables filters digest } }
  ... on AnalyticsColumnsShown { columns { name label kind unit currencyColumn } }
  ... on AnalyticsRowsShown { offset rows } ... on AnalyticsChartShown { chart { kind spec } }
  ... on AnalyticsExplained { text } ... on AnalyticsNotice { code message }
  ... on AnalyticsFailed { code message retryable layer }
  ... on AnalyticsRunFinished { status rowCount truncated durationMs unread suggestions } } }"""


def asker(tenant: Tenant, headers: Any = None) -> Asker:
    gateway = tenant.gateway
    return Asker(gateway.http, gateway.app, tenant.headers() if headers is None else headers)


def a_list(**more: Any) -> Plan:
    """A plan that lists deals."""
    return Plan(AnalyticsQuery.model_validate({"entity": "deals", **more}))


@pytest.fixture(autouse=True)
def reader(monkeypatch: pytest.MonkeyPatch) -> Reader:
    """Plans to count deals, at once; a test may have it plan something else, or wait."""
    return use(monkeypatch, Reader())


async def kinds(tenant: Tenant, run_id: str) -> list[str]:
    rows = await tenant.rows(col(AnalyticsEvent.run_id), col(AnalyticsEvent.sequence), col(AnalyticsEvent.type))
    return [kind for owner, _, kind in sorted(rows) if owner == run_id]


async def test_the_steps_come_in_their_order_numbered_without_gaps(one: Tenant) -> None:
    await one.add(Deal(name="1"), Deal(name="2"))
    events = await asker(one).stream("  how many\n deals ")
    assert [event.event for event in events] == ORDER
    assert [event.id for event in events] == list(range(1, 9))
    started, planned, sql, columns, rows, chart, explanation, finished = (event.data for event in events)
    assert started["question"] == "how many deals"
    assert started["limits"] == {"rows": 1000, "bytes": 1_000_000, "statement_seconds": 8, "run_seconds": 30}
    assert planned == {
        "planner": "parser",
        "query": {"entity": "deals", "measures": ["count"]},
        "assumptions": [],
        "follows_run_id": None,
    }
    assert sorted(sql) == ["dialect", "digest", "filters", "parameters", "tables", "text"]
    assert [column["name"] for column in columns["columns"]] == ["count"]
    assert rows == {"offset": 0, "rows": [[2]]}
    assert chart == {"kind": "number", "spec": None}
    assert explanation["text"]
    assert finished.pop("duration_ms") >= 0
    assert finished == {"status": "succeeded", "row_count": 1, "truncated": False, "unread": [], "suggestions": []}

    whole = (await asker(one).ask("how many deals")).json()
    assert whole["result"]["rows"] == [[2]]
    assert whole["result"]["sql"] == sql
    assert whole["result"]["columns"] == columns["columns"]
    assert whole["result"]["chart"] == chart
    assert whole["plan"] == {name: planned[name] for name in ("query", "assumptions", "follows_run_id")}
    assert (whole["status"], whole["planner"], whole["explanation"]) == ("succeeded", "parser", explanation["text"])
    assert (whole["error"], whole["unread"], whole["suggestions"]) == (None, [], [])
    assert await asker(one).run(whole["id"]) == whole
    listed = (await asker(one).call("GET", "/analytics/runs")).json()
    assert {run["id"]: run for run in listed}[whole["id"]] == whole
    assert len(listed) == 2


async def test_an_answer_waits_for_others_requests_and_not_for_its_own(
    one: Tenant, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither as a stream, which is no request any more once it has begun, nor as a whole (decision 1151)."""
    monkeypatch.setattr("resolvers.shared.pacing._PATIENCE", 3_600.0)
    others, worked_on = one.gateway.runtime.services.pacing.others, []

    async def noting(ctx: Context, question: Question) -> Plan | Declined:
        worked_on.append(others())
        return await reader.read(ctx, question)

    monkeypatch.setattr("resolvers.analytics_planners.PLANNERS", [(AnalyticsPlanner.PARSER, noting)])
    assert [event.event for event in await asker(one).stream()] == ORDER
    assert (await asker(one).ask()).json()["status"] == "succeeded"
    assert worked_on == [0, 1], "the request for the whole answer is worked on until there is one"


async def test_who_follows_an_answer_waits_for_others_requests(one: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resolvers.shared.pacing._PATIENCE", 3_600.0)
    run, pacing = (await asker(one).ask()).json(), one.gateway.runtime.services.pacing
    others = pacing.others
    monkeypatch.setattr(pacing, "others", lambda: 1)
    following = asyncio.create_task(asker(one).follow(run["id"]))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.shield(following), 0.5)
    monkeypatch.setattr(pacing, "others", others)
    pacing.look()
    assert [event.event for event in await following] == ORDER


async def test_where_there_is_one_writer_an_answer_that_writes_waits_for_no_request(
    one: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The request may wait for that writer: each would wait for the other (decision 1152)."""
    if one.gateway.runtime.database.dialect != "sqlite":
        pytest.skip("PostgreSQL has many writers")
    monkeypatch.setattr("resolvers.shared.pacing._PATIENCE", 30.0)
    runtime, advance, come = one.gateway.runtime, statements.advance, []
    pacing, began = runtime.services.pacing, monotonic()

    async def advancing(*given: Any) -> bool:
        come.append("a request that writes")
        monkeypatch.setattr(pacing, "others", lambda: 1)
        return await advance(*given)

    def written(_organization: str) -> None:
        monkeypatch.setattr(pacing, "others", lambda: 0)
        pacing.look()

    monkeypatch.setattr(statements, "advance", advancing)
    monkeypatch.setattr(runtime.database, "committed_at_all", [*runtime.database.committed_at_all, written])
    assert [event.event for event in await asker(one).stream()] == ORDER
    assert len(come) == 2, "when the statement is told, and at the end"
    assert monotonic() - began < 30, "it waited for nobody's patience to be over"


async def test_an_answer_is_looked_at_when_it_begins_and_is_handed_to_its_reader_then(one: Tenant) -> None:
    """Decisions 1198 and 1205: twenty at a time are others' business."""
    await asker(one).stream()
    with sent_to(one.gateway.world.database) as sent:
        handed = await asker(one).stream()
    assert await asker(one).follow(handed[0].data["run_id"]) == handed, "as it is stored"
    looks = [text for text in sent if "analytics_events.sequence > " in text]
    assert 1 <= len(looks) <= 2, "what began it, and what came before the first look at how far it is"
    assert [text for text in sent if "max(analytics_events.sequence) AS max_1" in text] == []
    assert [text for text in sent if "SELECT analytics_runs." in text] == [], "what is known of it"


@pytest.mark.parametrize("after", [7, 8, 9, 100])
async def test_who_names_a_number_that_is_to_come_or_never_does_is_there_until_the_end(
    one: Tenant, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    """A run that goes on has numbers that nobody knows yet."""
    reader = use(monkeypatch, Reader(), going=False)
    [started] = await asker(one).begin()
    following = asyncio.create_task(asker(one).follow(started.data["run_id"], after))
    await asyncio.sleep(0.1)
    assert not following.done()
    reader.going.set()
    async with asyncio.timeout(10):
        found = await following
    assert [event.id for event in found] == list(range(after + 1, 9))


async def test_a_follower_reads_batch_after_batch(one: Tenant, reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("storage.queries.analytics_runs.BATCH", 3)
    reader.plan = a_list()
    await one.add(*(Deal(name=str(n)) for n in range(RUN_EVENT_ROWS_MAX + 1)))
    events = await asker(one).stream()
    assert [event.id for event in events] == list(range(1, 10))
    again = await asker(one).follow(events[0].data["run_id"], after=2)
    assert [event.id for event in again] == list(range(3, 10))


async def test_the_end_has_its_number_though_nobody_knows_whether_a_step_was_committed(
    one: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer of the database is lost behind the commit; the run fails, and its steps have no gap and no twin."""
    writing, come = Context.writing, list[str]()

    @asynccontextmanager
    async def lost(ctx: Context) -> AsyncIterator[TenantSession]:
        async with writing(ctx) as session:
            yield session
        come.append("a commit")
        if len(come) == 2:  # that of the plan and the statement
            raise Unavailable()

    monkeypatch.setattr(Context, "writing", lost)
    events = await asker(one).stream()
    assert [event.event for event in events] == ["run_started", "plan", "sql", "error", "run_finished"]
    assert [event.id for event in events] == [1, 2, 3, 4, 5]


async def test_the_statement_of_an_answer_gives_way_to_others_and_nothing_else_does(
    one: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decision 1197: on SQLite, whose threads share the processor with the loop."""
    database = one.gateway.world.database
    found = taken_from(database.connections, monkeypatch)
    await asker(one).stream()
    assert sum(taken.at_hand is database.connections.give_way for taken, _ in found) == (database.dialect == "sqlite")
    assert len(found) > 5


async def test_both_surfaces_tell_the_same_steps(one: Tenant, reader: Reader) -> None:
    reader.plan = Plan(
        AnalyticsQuery.model_validate(
            {
                "entity": "deals",
                "measures": ["value_sum"],
                "by": ["close_date"],
                "where": [{"field": "status", "op": "in", "value": ["open"]}],
                "order_by": [{"field": "value_sum", "direction": "desc"}],
            }
        ),
        ("open deals alone",),
    )
    path = await asker(one).stream()
    answer = await one.gateway.http.post(
        "/graphql",
        json={"query": GRAPHQL, "variables": {"input": {"question": "how many deals"}}},
        headers=one.headers() | STREAMED,
    )
    told = [
        json.loads(line[6:])["data"]["analyticsAsk"] for line in answer.text.splitlines() if line.startswith("data: {")
    ]
    assert [event["sequence"] for event in told] == [event.id for event in path]
    assert [event["__typename"] for event in told] == [
        *("AnalyticsRunStarted", "AnalyticsPlanned", "AnalyticsSqlShown", "AnalyticsColumnsShown"),
        *("AnalyticsChartShown", "AnalyticsExplained", "AnalyticsRunFinished"),
    ]
    by_kind = {event.event: event.data for event in path}
    assert told[1]["planner"] == "PARSER"
    assert told[1]["query"] == {
        "entity": "deals",
        "measures": ["value_sum"],
        "by": ["close_date"],
        "where": [{"field": "status", "op": "IN", "value": ["open"]}],
        "orderBy": [{"field": "value_sum", "direction": "DESC"}],
    }
    assert await one.ask(
        "query($input: AnalyticsQueryInput!) { analyticsQuery(input: $input) { rowCount } }", input=told[1]["query"]
    ) == {"rowCount": 0}
    assert told[1]["assumptions"] == by_kind["plan"]["assumptions"] == ["open deals alone"]
    assert told[2]["sql"] == by_kind["sql"]
    assert [column["kind"] for column in told[3]["columns"]] == [
        column["kind"].upper() for column in by_kind["columns"]["columns"]
    ]
    assert told[-1]["status"] == "SUCCEEDED"


async def test_the_statement_is_told_before_it_is_run(one: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[list[str]] = []
    from resolvers import analytics_work

    ran = analytics_work.answer

    async def noted(*args: Any) -> Any:
        [run_id] = [row[0] for row in await one.rows(col(AnalyticsRun.id))]
        seen.append(await kinds(one, run_id))
        return await ran(*args)

    monkeypatch.setattr(analytics_work, "answer", noted)
    await asker(one).ask()
    assert seen == [ORDER[:3]]


async def test_rows_come_in_pieces_and_a_cut_answer_says_so(one: Tenant, reader: Reader) -> None:
    await one.add(*(Deal(name=f"{n:04}") for n in range(250)))
    reader.plan = a_list(first=230)
    events = await asker(one).stream()
    pieces = [event.data for event in events if event.event == "rows"]
    assert [piece["offset"] for piece in pieces] == [0, 100, 200]
    assert [len(piece["rows"]) for piece in pieces] == [RUN_EVENT_ROWS_MAX, RUN_EVENT_ROWS_MAX, 30]
    notice = next(event for event in events if event.event == "notice")
    assert notice.data["code"] == "truncated"
    assert events[-1].data["truncated"] is True
    run = (await asker(one).call("GET", "/analytics/runs")).json()[0]
    assert run["result"]["rows"] == [row for piece in pieces for row in piece["rows"]]

    await one.add(*(Deal(name=f"A{n:03}" + "x" * 9_000) for n in range(20)))
    reader.plan = a_list(where=[{"field": "name", "op": "gte", "value": "A"}])
    pieces = [event.data for event in await asker(one).stream() if event.event == "rows"]
    assert sum(len(piece["rows"]) for piece in pieces) == 20
    assert all(len(str(piece["rows"])) < 64 * 1024 for piece in pieces)
    assert len(pieces) > 1


@pytest.mark.parametrize("cuts", [15, pytest.param(200, marks=pytest.mark.long)])
async def test_no_step_is_lost_or_comes_twice_wherever_the_stream_is_cut(
    one: Tenant, reader: Reader, cuts: int
) -> None:
    await one.add(*(Deal(name=f"{n:04}") for n in range(350)))
    reader.plan = a_list()
    random = Random(17)
    async with another_process(one.gateway) as other:
        here, there = asker(one), Asker(other.http, other.app, one.headers())
        for _ in range(cuts):
            got = await here.begin(events=random.randint(1, 6))
            run_id = got[0].data["run_id"]
            while got[-1].event != "run_finished":
                caller = random.choice((here, there))
                got += await caller.follow_some(run_id, got[-1].id, random.randint(1, 4))
            assert [event.id for event in got] == list(range(1, len(got) + 1))
            assert got == await here.follow(run_id)
            assert [event.event for event in got].count("run_finished") == 1


async def test_a_key_attaches_to_its_run_for_a_day(one: Tenant, reader: Reader) -> None:
    first = await asker(one).stream(key="k")
    assert await asker(one).stream(key="k") == first
    assert (await asker(one).ask(key="k")).json()["id"] == first[0].data["run_id"]
    for other in ({"question": "something else"}, {"time_zone": "Asia/Tokyo"}, {"model": False}):
        refused = await asker(one).ask(key="k", **({"question": "how many deals"} | other))
        assert refused.status_code == 422
        assert refused.json()["detail"][0]["loc"] == ["header", "Idempotency-Key"]
    graphql = await one.gateway.http.post(
        "/graphql",
        json={"query": GRAPHQL, "variables": {"input": {"question": "how many deals", "key": "k"}}},
        headers=one.headers() | STREAMED,
    )
    assert first[0].data["run_id"] in graphql.text
    assert len(reader.questions) == 1
    colleague = asker(one, one.headers("admin"))
    assert (await colleague.ask(key="k")).json()["id"] != first[0].data["run_id"]  # a key is its caller's own
    async with one.gateway.world.database.writing(one.id) as session:
        past = now() - timedelta(hours=25)
        await session.execute(update(AnalyticsRun).values(created_at=past))
    assert (await asker(one).ask("something else", key="k")).json()["question"] == "something else"


async def test_a_client_that_leaves_ends_nothing(one: Tenant, reader: Reader) -> None:
    reader.going.clear()
    [started] = await asker(one).begin()
    reader.going.set()
    events = await asker(one).follow(started.data["run_id"])
    assert [event.event for event in events] == ORDER


@pytest.mark.parametrize("place", ["plan", "statement"])
async def test_another_process_cancels(
    one: Tenant, reader: Reader, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    ended: list[float] = []
    if place == "plan":
        reader.going.clear()
    else:

        async def slow(_prepared: Any, session: Any, *_: Any) -> Any:
            try:
                await session.rows(text(SLOW))
            finally:
                ended.append(asyncio.get_running_loop().time())

        monkeypatch.setattr("resolvers.analytics_work.answer", slow)
    started = (await asker(one).begin(events=1 if place == "plan" else 3))[0]
    run_id = started.data["run_id"]
    async with another_process(one.gateway) as other:
        there = Asker(other.http, other.app, one.headers())
        answer = await there.call("POST", f"/analytics/runs/{run_id}/cancel")
        assert answer.status_code == 202
        assert answer.json()["status"] == "running"
        events = await there.follow(run_id)
        again = await there.call("POST", f"/analytics/runs/{run_id}/cancel")
    assert events[-1].data["status"] == "cancelled"
    assert [event.event for event in events] == [*(ORDER[:1] if place == "plan" else ORDER[:3]), "run_finished"]
    assert (again.status_code, again.json()["status"]) == (202, "cancelled")
    assert again.json()["result"] is None
    assert len(ended) == (place == "statement")  # it was interrupted before the end was told


async def test_a_run_whose_process_is_no_more_is_ended_by_the_upkeep(one: Tenant, reader: Reader) -> None:
    reader.going.clear()
    [started] = await asker(one).begin()
    run_id = started.data["run_id"]
    database = one.gateway.world.database
    await analytics_upkeep.interrupt(database)
    assert (await asker(one).run(run_id))["status"] == "running"  # its lease holds
    async with database.writing(one.id) as session:
        run = await session.find(AnalyticsRun, id=run_id)
        assert run is not None
        await session.update(run, holder=new_id(), leased_until=now() - timedelta(seconds=1))
        due = update(AnalyticsWatch).where(col(AnalyticsWatch.org_id) == session.org_id)
        await session.execute(due.values(next_at=now() - timedelta(seconds=1)))
    following = asyncio.create_task(asker(one).follow(run_id))
    await analytics_upkeep.interrupt(database)
    events = await following
    assert [(event.id, event.event) for event in events] == [(1, "run_started"), (2, "run_finished")]
    assert events[-1].data["status"] == "interrupted"
    reader.going.set()
    assert (await asker(one).run(run_id))["status"] == "interrupted"
    assert (await asker(one).ask()).status_code == 200  # it takes no place any more


async def test_a_process_that_ends_says_so(one: Tenant, reader: Reader) -> None:
    reader.going.clear()
    async with another_process(one.gateway) as other:
        [started] = await Asker(other.http, other.app, one.headers()).begin()
    run = await asker(one).run(started.data["run_id"])
    assert run["status"] == "interrupted"
    assert (await asker(one).follow(run["id"]))[-1].data["status"] == "interrupted"


async def test_a_caller_and_an_organization_have_so_many_at_once(one: Tenant, reader: Reader) -> None:
    reader.going.clear()
    runs = [(await asker(one).begin())[0].data["run_id"] for _ in range(2)]
    refused = await asker(one).ask()
    assert (refused.status_code, refused.json()["code"]) == (429, "too_many_runs")
    assert int(refused.headers["retry-after"]) > 0
    graphql = await one.gateway.http.post(
        "/graphql",
        json={"query": GRAPHQL, "variables": {"input": {"question": "how many deals"}}},
        headers=one.headers() | STREAMED,
    )
    assert "TOO_MANY_RUNS" in graphql.text
    others = [await one.scoped("data:access", name=f"p{n}") for n in range(RUNS_PER_ORGANIZATION // 2)]
    for headers in others[:-1]:
        runs += [(await asker(one, headers).begin())[0].data["run_id"] for _ in range(2)]
    assert len(runs) == RUNS_PER_ORGANIZATION
    assert (await asker(one, others[-1]).ask()).status_code == 429
    assert len(await one.rows(col(AnalyticsRun.id))) == RUNS_PER_ORGANIZATION
    reader.going.set()
    for run_id in runs[:2]:
        assert (await asker(one).follow(run_id))[-1].data["status"] == "succeeded"


async def test_runs_are_their_asker_s_alone(one: Tenant, two: Tenant) -> None:
    run = (await asker(one).ask()).json()
    run_id, conversation = run["id"], run["conversation_id"]
    strangers = [one.headers("admin"), await one.scoped("data:access"), two.headers()]
    for headers in strangers:
        other = asker(one, headers)
        for method, path in (
            ("GET", f"/analytics/runs/{run_id}"),
            ("GET", f"/analytics/runs/{run_id}/events"),
            ("POST", f"/analytics/runs/{run_id}/cancel"),
            ("DELETE", f"/analytics/conversations/{conversation}"),
        ):
            assert (await other.call(method, path)).status_code == 404, (method, path)
        assert (await other.call("GET", "/analytics/runs")).json() == []
        assert (await other.call("GET", f"/analytics/runs?conversation_id={conversation}")).json() == []
        refused = await other.ask(conversation_id=conversation)
        assert (refused.status_code, refused.json()["detail"][0]["loc"]) == (422, ["body", "conversation_id"])
        found = await one.ask(
            "query($id: ID!) { analyticsRun(id: $id) { id } node(id: $id) { id }"
            " analyticsRuns(conversationId: $id) { totalCount } }",
            headers,
            id=run_id,
        )
        assert found == {"analyticsRun": None, "node": None, "analyticsRuns": {"totalCount": 0}}
    assert await asker(one).run(run_id) == run
    assert len(await one.rows(col(AnalyticsRun.id))) == 1


@pytest.mark.parametrize("question", ["", " \n\t", "a\0b", "x" * 1001, "\ud800", "\u200b", None, 7])
async def test_a_question_that_is_none_begins_no_run(one: Tenant, question: Any) -> None:
    body = json.dumps({"question": question})
    for headers in ({}, STREAMED):
        answer = await one.gateway.http.post(
            "/analytics/ask", content=body, headers=one.headers() | {"Content-Type": "application/json"} | headers
        )
        assert answer.status_code == 422
        assert [problem["loc"] for problem in answer.json()["detail"]] == [["body", "question"]]
    if isinstance(question, str) and question != "\ud800":
        error = await one.gateway.graphql(GRAPHQL, one.headers() | STREAMED, input={"question": question})
        assert "VALIDATION" in error.text
        assert '"question"' in error.text
    assert await one.rows(col(AnalyticsRun.id)) == []
    assert await one.rows(col(AnalyticsConversation.id)) == []


@pytest.mark.parametrize("wrong", [{"question": " "}, {"time_zone": "Mars/Base"}, {"question": "x" * 1001}])
async def test_a_conversation_that_is_none_is_told_with_what_else_is_wrong(
    one: Tenant, two: Tenant, wrong: dict[str, Any]
) -> None:
    """Decision 1110: also by a subscription. The caller's own conversation is well."""
    body = {"question": "how many deals", **wrong}
    [name] = wrong
    run = (await asker(one).ask()).json()
    for headers, conversation, lost in (
        (one.headers(), run["conversation_id"], []),
        (one.headers(), run["id"], ["conversation_id"]),
        (one.headers(), "none", ["conversation_id"]),
        (two.headers(), run["conversation_id"], ["conversation_id"]),
    ):
        asked = body | {"conversation_id": conversation}
        answer = await one.gateway.rest("POST", "/analytics/ask", headers, asked)
        assert [problem["loc"] for problem in answer.json()["detail"]] == [["body", each] for each in [name, *lost]]
        input = {to_camel_case(each): value for each, value in asked.items()}
        told = (await one.gateway.graphql(GRAPHQL, headers | STREAMED, input=input | {"key": "a b"})).text
        assert "input.key" in told
        assert [f"input.{to_camel_case(each)}" in told for each in (name, "conversation_id")] == [True, bool(lost)]


async def test_who_may_not_ask_is_told_before_the_body_is_read(one: Tenant) -> None:
    headers = await one.scoped("contacts:read")
    answer = await one.gateway.http.post("/analytics/ask", content=b"{", headers=headers | STREAMED)
    assert answer.status_code == 403
    assert answer.json()["required_scopes"] == ["data:access"]


async def test_a_declined_question_runs_nothing(one: Tenant, reader: Reader) -> None:
    reader.plan = Declined(("shoe", "size"), ("How many deals?",))
    events = await asker(one).stream("deals by shoe size")
    assert [event.event for event in events] == ["run_started", "run_finished"]
    assert events[-1].data["status"] == "declined"
    assert events[-1].data["unread"] == ["shoe", "size"]
    assert events[-1].data["suggestions"] == ["How many deals?"]
    run = await asker(one).run(events[0].data["run_id"])
    assert (run["status"], run["unread"], run["suggestions"]) == ("declined", ["shoe", "size"], ["How many deals?"])
    assert (run["plan"], run["planner"], run["result"]) == (None, None, None)


async def test_errors_are_steps_before_the_last(one: Tenant, reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    reader.plan = a_list(by=["nothing"])
    events = await asker(one).stream()
    assert [event.event for event in events] == ["run_started", "error", "run_finished"]
    assert events[1].data["code"] == "validation"
    assert events[2].data["status"] == "failed"

    async def broken(*_: Any) -> Any:
        raise RuntimeError("a secret")

    monkeypatch.setattr("resolvers.analytics_work.answer", broken)
    reader.plan = a_list()
    events = await asker(one).stream()
    assert [event.event for event in events] == [*ORDER[:3], "error", "run_finished"]
    assert events[-2].data == {"code": "internal", "message": "Internal error", "retryable": False, "layer": None}
    run = await asker(one).run(events[0].data["run_id"])
    assert run["error"] == {"code": "internal", "message": "Internal error", "layer": None}
    assert "secret" not in str(run)


async def test_a_run_that_takes_too_long_is_ended(one: Tenant, reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("resolvers.analytics_work.RUN_SECONDS", 0.2)
    reader.going.clear()
    events = await asker(one).stream()
    assert [event.event for event in events] == ["run_started", "error", "run_finished"]
    assert (events[1].data["code"], events[1].data["retryable"]) == ("timeout", True)
    assert events[2].data["status"] == "timed_out"


async def test_a_run_ends_with_the_scopes_that_it_was_begun_with(
    one: Tenant, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("resolvers.analytics_work._CREDENTIAL_SECONDS", 0.1)
    reader.going.clear()
    headers = await one.scoped("data:access", name="leaving")
    [started] = await asker(one, headers).begin()
    await one.scoped("contacts:read", name="leaving")
    for _ in range(200):
        [(status,)] = await one.rows(col(AnalyticsRun.status))
        if status != "running":
            break
        await asyncio.sleep(0.1)
    assert status == "failed"
    assert await kinds(one, started.data["run_id"]) == ["run_started", "error", "run_finished"]


async def test_a_question_goes_on_from_the_last_plan_of_its_conversation(one: Tenant, reader: Reader) -> None:
    first = (await asker(one).ask()).json()
    conversation = first["conversation_id"]
    reader.plan = Declined((), ())
    await asker(one).ask("nonsense", conversation_id=conversation)
    reader.plan = Plan(AnalyticsQuery.model_validate({"entity": "deals", "by": ["owner"]}), follows=True)
    second = (await asker(one).ask("by owner", conversation_id=conversation, time_zone="Pacific/Auckland")).json()
    asked = reader.questions[-1]
    assert (asked.previous and asked.previous.plan, asked.time_zone) == (first["plan"]["query"], "Pacific/Auckland")
    assert second["plan"]["follows_run_id"] == first["id"]
    assert reader.questions[0].previous is None
    listed = (await asker(one).call("GET", f"/analytics/runs?conversation_id={conversation}&limit=2")).json()
    assert [run["question"] for run in listed] == ["by owner", "nonsense"]
    page = "query($c: ID, $after: String) { analyticsRuns(conversationId: $c, first: 2, after: $after)"
    page += " { nodes { id question result { rowCount } } pageInfo { endCursor hasNextPage } totalCount } }"
    found = await one.ask(page, c=conversation)
    assert ([run["question"] for run in found["nodes"]], found["totalCount"]) == (["by owner", "nonsense"], 3)
    rest = await one.ask(page, c=conversation, after=found["pageInfo"]["endCursor"])
    assert [run["id"] for run in rest["nodes"]] == [first["id"]]
    error = await one.error("{ analyticsRuns(first: 101) { totalCount } }")
    assert error["extensions"]["code"] == "VALIDATION"


async def test_a_conversation_is_forgotten_with_all_that_was_asked(one: Tenant, reader: Reader) -> None:
    first = (await asker(one).ask()).json()
    conversation = first["conversation_id"]
    reader.going.clear()
    [started] = await asker(one).begin(conversation_id=conversation)
    kept = (await asker(one, one.headers("admin")).begin())[0].data["run_id"]
    assert (await asker(one).call("DELETE", f"/analytics/conversations/{conversation}")).status_code == 204
    for path in (f"/analytics/runs/{first['id']}", f"/analytics/runs/{started.data['run_id']}/events"):
        assert (await asker(one).call("GET", path)).status_code == 404
    assert [row[0] for row in await one.rows(col(AnalyticsRun.id))] == [kept]
    assert {row[0] for row in await one.rows(col(AnalyticsEvent.run_id))} == {kept}
    assert (await asker(one).call("DELETE", f"/analytics/conversations/{conversation}")).status_code == 404
    reader.going.set()


async def test_who_follows_a_conversation_that_is_deleted_is_told_the_end(
    one: Tenant, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the last step went before it was read."""
    reader.going.clear()
    [started] = await asker(one).begin()
    run_id, reading, read = started.data["run_id"], asyncio.Event(), statements.events_after

    async def later(*given: Any) -> Any:
        await reading.wait()
        return await read(*given)

    monkeypatch.setattr(statements, "events_after", later)
    following = asyncio.create_task(asker(one).follow(run_id, 1))
    path = f"/analytics/conversations/{started.data['conversation_id']}"
    assert (await asker(one).call("DELETE", path)).status_code == 204
    reading.set()
    [last] = await following
    assert (last.id, last.event, last.data["status"]) == (2, "run_finished", "cancelled")
    reader.going.set()


async def test_numbers_that_no_step_has_are_refused(one: Tenant) -> None:
    run = (await asker(one).ask()).json()
    path = f"/analytics/runs/{run['id']}/events"
    for headers, place in (
        ({"Last-Event-ID": "9"}, ["header", "Last-Event-ID"]),
        ({"Last-Event-ID": "x"}, ["header", "Last-Event-ID"]),
        ({"Last-Event-ID": "-1"}, ["header", "Last-Event-ID"]),
    ):
        answer = await one.gateway.http.get(path, headers=one.headers() | headers)
        assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, place)
    for after in ("9", "x", "-1"):
        answer = await one.gateway.http.get(f"{path}?after={after}", headers=one.headers())
        assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["query", "after"])
    answer = await one.gateway.http.get(f"{path}?after=2", headers=one.headers() | {"Last-Event-ID": "7"})
    assert [event.id for event in events_of(answer.text)] == [8]  # the header wins


async def test_steps_are_forgotten_after_a_day_and_questions_after_a_month(one: Tenant) -> None:
    run = (await asker(one).ask()).json()
    database, kept = one.gateway.world.database, timedelta(days=30)
    assert not await analytics_upkeep.prune(database, one.id, kept)
    async with database.writing(one.id) as session:
        await session.execute(update(AnalyticsRun).values(finished_at=now() - timedelta(hours=25)))
    assert await analytics_upkeep.prune(database, one.id, kept)
    assert not await analytics_upkeep.prune(database, one.id, kept)
    assert await one.rows(col(AnalyticsEvent.run_id)) == []
    left = await asker(one).run(run["id"])
    assert left == run | {"result": None, "finished_at": left["finished_at"]}
    gone = await asker(one).call("GET", f"/analytics/runs/{run['id']}/events")
    assert (gone.status_code, gone.json()["code"]) == (410, "gone")
    assert gone.headers["location"] == f"/analytics/runs/{run['id']}"
    async with database.writing(one.id) as session:
        past = now() - timedelta(days=31)
        await session.execute(update(AnalyticsRun).values(created_at=past))
        await session.execute(update(AnalyticsConversation).values(updated_at=past))
    assert await analytics_upkeep.prune(database, one.id, kept)
    assert await one.rows(col(AnalyticsRun.id)) == []
    assert await one.rows(col(AnalyticsConversation.id)) == []
