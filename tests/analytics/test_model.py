"""A model reads what the parser declines, and says nothing that its asker could not: decisions 298 to 300."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest

from contract.catalog_tables import SQL_TABLES
from storage.tables import Account, Deal, Event, PipelineStage
from tests.analytics.asking import Asker
from tests.support.loopback import Reply
from tests.support.model import KEY, Scripted, said, scripted
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")
OUTSIDE = "deals by shoe size"
GOOD = {"query": {"entity": "deals", "measures": ["count"], "by": ["status"]}, "chart": "table"}
SQL = {"sql": "SELECT name AS deal FROM deals WHERE LENGTH(name) > 3 ORDER BY name"}


@contextmanager
def using(tenant: Tenant, **services: Any) -> Iterator[None]:
    """The process with other services meanwhile."""
    there = tenant.gateway.runtime.services
    before = {name: getattr(there, name) for name in services}
    for name, value in services.items():
        object.__setattr__(there, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            object.__setattr__(there, name, value)


@asynccontextmanager
async def model(tenant: Tenant, *answers: Reply) -> AsyncIterator[Scripted]:
    async with scripted(*answers) as it:
        with using(tenant, model=it.model):
            yield it


def asker(tenant: Tenant, headers: Any = None) -> Asker:
    return Asker(tenant.gateway.http, tenant.gateway.app, headers or tenant.headers())


async def test_a_query_of_the_model_is_run_as_any_other(one: Tenant) -> None:
    await one.add(Deal(name="A"), Deal(name="B", status="won"))
    async with model(one, said(GOOD)) as it:
        steps = await asker(one).stream(OUTSIDE, time_zone="Pacific/Auckland")
        followed = await asker(one).ask("only won", conversation_id=steps[0].data["conversation_id"])
    planned, finished = steps[1].data, steps[-1].data
    assert planned["planner"] == "model"
    assert planned["query"] == GOOD["query"] | {"time_zone": "Pacific/Auckland"}
    assert [step.data for step in steps if step.event == "rows"] == [{"offset": 0, "rows": [["open", 1], ["won", 1]]}]
    assert [step.data["kind"] for step in steps if step.event == "chart"] == ["table"]
    assert not [step for step in steps if step.event == "notice"]
    assert finished["status"] == "succeeded"
    assert len(it.asked) == 1
    assert followed.json()["planner"] == "parser"
    assert followed.json()["result"]["rows"] == [["won", 1]]


async def test_a_statement_of_the_model_is_guarded_told_and_recorded(one: Tenant) -> None:
    await one.add(Deal(name="Long name"), Deal(name="No"))
    async with model(one, said(SQL)):
        steps = await asker(one).stream(OUTSIDE)
    assert [step.event for step in steps] == [
        *("run_started", "plan", "notice", "sql", "columns", "rows", "chart", "explanation", "run_finished")
    ]
    assert steps[1].data == {"planner": "model", "query": None, "assumptions": [], "follows_run_id": None}
    assert steps[2].data["code"] == "written_by_model"
    assert steps[3].data["text"] == SQL["sql"]
    assert steps[3].data["tables"] == ["deals"]
    assert steps[5].data["rows"] == [["Long name"]]
    assert steps[7].data["text"] == "Deal: Long name."
    events = [data for kind, data in await one.rows(Event.type, Event.data) if kind == "sql_query_run"]
    assert [(data["digest"], data["outcome"]) for data in events] == [(steps[3].data["digest"], "succeeded")]


@pytest.mark.parametrize(
    ("answers", "asked", "notices"),
    [
        ([said({"decline": "shoes are not known"})], 1, []),
        ([said("It depends.")], 2, []),
        ([said({})], 2, []),
        ([said(GOOD | SQL)], 2, []),
        ([said({"query": {"entity": "credentials"}})], 2, []),
        ([said({"query": {"entity": "deals", "limit": 1}})], 2, []),
        ([said({"query": "deals"})], 2, []),
        ([said('{"query": ' + "[" * 400 + "]" * 400 + "}")], 2, []),
        ([said({"sql": "SELECT secret_hash FROM credentials"})], 2, []),
        ([said({"sql": "SELECT name FROM deals; DELETE FROM deals"})], 2, []),
        ([said({"sql": ["SELECT 1"]})], 2, []),
        ([Reply({}, 401)], 1, ["model_unavailable"]),
        ([Reply({}, 500)], 2, ["model_unavailable"]),
        ([said("It depends."), Reply({}, 401)], 2, ["model_unavailable"]),
    ],
)
async def test_what_cannot_be_taken_declines(one: Tenant, answers: list[Reply], asked: int, notices: list[str]) -> None:
    async with model(one, *answers) as it:
        steps = await asker(one).stream(OUTSIDE)
        assert len(it.asked) == asked
    told = [step.data["code"] for step in steps if step.event == "notice"]
    assert told == notices
    assert [step.event for step in steps] == ["run_started", *["notice"] * len(notices), "run_finished"]
    assert steps[-1].data["status"] == "declined"
    assert steps[-1].data["unread"] == ["by", "shoe", "size"]
    assert len(steps[-1].data["suggestions"]) == 3
    assert not [kind for (kind,) in await one.rows(Event.type) if kind == "sql_query_run"]


async def test_it_is_told_why_and_may_answer_again(one: Tenant) -> None:
    wrong = {"query": {"entity": "deals", "measures": ["valu_sum"]}}
    async with model(one, said(wrong), said(GOOD)) as it:
        assert (await asker(one).stream(OUTSIDE))[-1].data["status"] == "succeeded"
        assert "valu_sum" not in it.prompts[0]
        assert "must be a measure of deals; the nearest are value_sum" in it.prompts[1]
        assert [turn["role"] for turn in it.asked[1].body["messages"]] == ["system", "user", "assistant", "user"]


async def test_it_is_not_asked_where_it_is_not_needed_or_not_wanted(one: Tenant) -> None:
    async with model(one, said(GOOD)) as it:
        assert (await asker(one).ask("How many open deals do we have?")).json()["planner"] == "parser"
        assert (await asker(one).ask(OUTSIDE, model=False)).json()["status"] == "declined"
        assert it.asked == []


async def test_it_is_told_the_catalogue_of_the_asker_and_no_record(
    one: Tenant, two: Tenant, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    await one.add(Account(name="Canary & Co"), Deal(name="Canary deal"), PipelineStage(name="Our stage", position=0))
    await two.add(PipelineStage(name="Their stage", position=0))
    alone = await one.scoped("data:access")
    async with model(one, said({"decline": "no"})) as it:
        await asker(one).ask(OUTSIDE)
        await asker(one, alone).ask(OUTSIDE)
        with using(one, sql=None):
            await asker(one).ask(OUTSIDE)
        whole, narrow, without_sql = it.prompts
    assert "Our stage" in whole
    assert "Their stage" not in whole
    for prompt in it.prompts:
        assert OUTSIDE in prompt
        assert "Canary" not in prompt
        assert KEY not in prompt
    hidden = [name for name, table in SQL_TABLES.items() if table.group.name != "CRM_READ"]
    assert all(f'"{name}":' in whole for name in hidden)
    assert not any(f'"{name}":' in narrow for name in hidden)
    assert "health_average" not in narrow
    assert '"functions"' not in without_sql
    assert KEY not in caplog.text
    assert not [
        record for record in caplog.records if record.levelno > logging.DEBUG and OUTSIDE in record.getMessage()
    ]


async def test_sql_is_no_answer_where_none_is_set_up(one: Tenant) -> None:
    async with model(one, said(SQL)) as it:
        with using(one, sql=None):
            steps = await asker(one).stream(OUTSIDE)
        assert steps[-1].data["status"] == "declined"
        assert "SQL is not set up here" in it.prompts[1]


async def test_the_query_before_is_told_as_far_as_its_asker_may_run_it_still(one: Tenant) -> None:
    async with model(one, said({"decline": "no"})) as it:
        before = await asker(one, await one.scoped("data:access", "activities:read")).ask("Meetings by owner")
        conversation = before.json()["conversation_id"]
        assert before.json()["plan"]["query"]["entity"] == "meetings"
        for scopes in (("data:access", "activities:read"), ("data:access",)):
            headers = await one.scoped(*scopes)
            await asker(one, headers).ask(OUTSIDE, conversation_id=conversation)
        whole, narrow = (asked.body["messages"][1]["content"] for asked in it.asked)
    assert '"query_before":{"entity":"meetings"' in whole
    assert "query_before" not in narrow
