"""A statement that an answer shows can be run as ad-hoc SQL, by who may, and gives the same rows (decision 274)."""

from __future__ import annotations

import os
from random import Random

import pytest

from contract.errors import AnalyticsRefused
from contract.guard_layers import GuardLayer
from resolvers.analytics_queries import run_query
from resolvers.sql_queries import SqlQuery, run_sql
from tests.analytics.crm import fill
from tests.analytics.random_queries import known_values, random_query
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")
TOO_MANY = GuardLayer.JOINS, "at most 10 tables are read, each time counted"


async def compare(one: Tenant, number: int, seed: int, empty: Tenant | None = None) -> None:
    await fill(one)
    ctx = await one.gateway.world.context(one.subject("admin"), one.organization)
    async with ctx.reading() as session:
        known = await known_values(session)
    random, refused, asker = Random(seed), 0, empty or one
    ctx = await asker.gateway.world.context(asker.subject("admin"), asker.organization)
    for _ in range(number):
        query = random_query(random, known)
        shown = await run_query(ctx, query)
        assert shown.sql.parameters == []
        told = (query.model_dump_json(exclude_defaults=True), shown.sql.text)
        try:
            again = await run_sql(ctx, SqlQuery(sql=shown.sql.text))
        except AnalyticsRefused as refusal:  # a query of many links: a statement reads ten tables at most
            if (refusal.layer, refusal.reason) != TOO_MANY:
                raise AssertionError(told) from refusal
            refused += 1
            continue
        assert [column.name for column in again.columns] == [column.name for column in shown.columns], told
        assert again.rows == shown.rows, told
        assert set(again.sql.tables) == set(shown.sql.tables)
    assert refused <= number / 100


async def test_random_queries(one: Tenant) -> None:
    await compare(one, 60, 5)


async def test_random_queries_of_an_organization_without_records(one: Tenant, two: Tenant) -> None:
    await compare(one, 40, 7, empty=two)


@pytest.mark.long
async def test_a_thousand_queries(one: Tenant) -> None:
    await compare(one, int(os.environ.get("CRM_SHOWN_QUERIES", "1000")), 11)
