"""Roll-ups after any sequence of writes, refusals, rollbacks, imports and deletions of stages (decision 262)."""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from jobs import roll_ups
from storage.tables import Deal, PipelineStage
from tests.analytics.test_rolled_up import is_right, one_write
from tests.records.test_imports import imported
from tests.support.gateway import Gateway
from tests.support.tenants import Tenant, new_tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

AMOUNTS = (None, "0", "0.0001", "999999999999999.9999", "12345.6789")
CREATE = "mutation($i: DealCreateInput!) { dealCreate(input: $i) { deal { id } userErrors { code } } }"
UPDATE = "mutation($id: ID!, $i: DealUpdateInput!) { dealUpdate(id: $id, input: $i) { userErrors { code } } }"
DELETE = "mutation($id: ID!) { dealDelete(id: $id) { userErrors { code } } }"
NO_STAGE = "mutation($id: ID!) { pipelineStageDelete(id: $id) { userErrors { code } } }"
MEET = "mutation($i: MeetingLogInput!) { meetingLog(input: $i) { meeting { id } userErrors { code } } }"
LIST = "{ deals(first: 200) { nodes { id status value currency stage { id } } } }"
FIGURES = """{ dealAggregate(groupBy: [STAGE, STATUS], first: 500) { groups { key { stage { id } status } count
  values { currency count valued sum } } total { count } groupCount } }"""
STEPS = st.lists(
    st.tuples(
        st.sampled_from(
            ["create", "create", "change", "move", "refused", "delete", "stage", "import", "meet", "rollback", "fold"]
        ),
        st.integers(0, 1_000),
    ),
    min_size=1,
    max_size=14,
)


class Doors:
    """An organization that clients write to: `stages` are those that are left."""

    def __init__(self, tenant: Tenant) -> None:
        self.tenant = tenant
        self.stages: list[str] = []
        self.imports = 0

    async def begin(self) -> None:
        """Make its stages."""
        made = [PipelineStage(name=kind, position=n, type=kind) for n, kind in enumerate(("open", "won", "lost"))]
        made += [PipelineStage(name="more", position=3, type="open", probability=30)]
        await self.tenant.add(*made)
        self.stages = [stage.id for stage in made]

    def given(self, number: int) -> dict[str, Any]:
        """What a client sends of a deal."""
        stage = (*self.stages, None)[number % (len(self.stages) + 1)]
        more = {"value": AMOUNTS[number % 5], "currency": ("EUR", "JPY")[number % 2]}
        return {**more, "stageId": stage, "closeDate": (None, "2026-02-28", "9999-12-31")[number % 3]}

    async def deals(self) -> list[dict[str, Any]]:
        """Those that the listing has."""
        found: list[dict[str, Any]] = (await self.tenant.ask(LIST))["nodes"]
        return found

    async def do(self, what: str, number: int) -> None:
        """Do one thing; what there is nothing for is left out."""
        ask, deals = self.tenant.ask, await self.deals()
        one = deals[number % len(deals)]["id"] if deals else None
        match what:
            case "create":
                assert (await ask(CREATE, i={"name": "d", **self.given(number)}))["userErrors"] == []
            case "meet":
                assert (await ask(MEET, i={"subject": "m", "dueAt": "2026-11-30T23:59:59Z"}))["userErrors"] == []
            case "change" if one is not None:
                assert (await ask(UPDATE, id=one, i=self.given(number)))["userErrors"] == []
            case "move" if one is not None:
                await ask(UPDATE, id=one, i={"stageId": self.given(number)["stageId"]})
            case "refused" if one is not None:
                wrong = {**self.given(number), "stageId": one}
                assert (await ask(UPDATE, id=one, i=wrong))["userErrors"] != []
            case "delete" if one is not None:
                assert (await ask(DELETE, id=one))["userErrors"] == []
            case "stage" if self.stages:
                gone = self.stages[number % len(self.stages)]
                if (await ask(NO_STAGE, self.tenant.headers("admin"), id=gone))["userErrors"] == []:
                    self.stages.remove(gone)
            case "import":
                self.imports += 1
                lines = [f"k{(number + n) % 9},d,{AMOUNTS[(number + n) % 5] or ''},JPY" for n in range(3)]
                text = "\n".join(["externalKey,name,value,currency", *lines, "k,d,-5,EUR\n"])
                assert (await imported(self.tenant, text, "DEAL", matchOn="externalKey"))["refused"] == 1
            case "rollback":
                database = self.tenant.gateway.world.database
                with suppress(ZeroDivisionError):
                    async with database.writing(self.tenant.id) as session:
                        await session.insert(Deal(name="lost", value=Decimal(7)))
                        await one_write(session, Random(number), [], [])
                        raise ZeroDivisionError
            case "fold":
                await roll_ups.fold_all(self.tenant.gateway.world.database, self.tenant.id)

    async def check(self) -> None:
        """Compare what is kept with what is counted anew, and what is told with the listing."""
        assert await is_right(self.tenant)
        expected: dict[tuple[str | None, str], list[dict[str, Any]]] = defaultdict(list)
        deals = await self.deals()
        for deal in deals:
            expected[deal["stage"] and deal["stage"]["id"], deal["status"].lower()].append(deal)
        found = await self.tenant.ask(FIGURES)
        assert (found["total"]["count"], found["groupCount"]) == (len(deals), len(expected))
        for group in found["groups"]:
            key = group["key"]
            those = expected[key["stage"] and key["stage"]["id"], key["status"].lower()]
            assert group["count"] == len(those)
            for money in group["values"]:
                there = [deal for deal in those if deal["currency"] == money["currency"]]
                values = [Decimal(str(deal["value"])) for deal in there if deal["value"] is not None]
                assert (money["count"], money["valued"]) == (len(there), len(values))
                assert Decimal(str(money["sum"])) == sum(values, Decimal(0))


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
async def test_what_is_told_is_what_the_listing_adds_up_to(gateway: Gateway, steps: list[tuple[str, int]]) -> None:
    doors = Doors(await new_tenant(gateway))
    await doors.begin()
    for what, number in steps:
        await doors.do(what, number)
        await doors.check()


@pytest.mark.long
@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
async def test_what_is_told_is_what_the_listing_adds_up_to_of_many(
    gateway: Gateway, steps: list[tuple[str, int]]
) -> None:
    doors = Doors(await new_tenant(gateway))
    await doors.begin()
    for what, number in steps:
        await doors.do(what, number)
    await doors.check()
