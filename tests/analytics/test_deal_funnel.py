"""How deals moved through the stages: equal to what their histories say one by one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from random import Random
from typing import Any

import pytest

from storage.tables import Account, Deal, PipelineStage, StageChange
from tests.support.statements import statements
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

STAGE = "stage { id name position type probability }"
FIGURES = "entered here advanced lost conversionRate averageDays"
FUNNEL = f"""query($filter: DealFilter, $from: DateTime, $until: DateTime) {{
  dealFunnel(filter: $filter, enteredFrom: $from, enteredUntil: $until) {{ stages {{ {STAGE} {FIGURES} }} }} }}"""
LIST = """query($filter: DealFilter) { deals(filter: $filter, first: 100) {
  nodes { status stage { id } stageHistory { at toStage { id } } } } }"""
MADE = datetime(2026, 1, 1, tzinfo=UTC)
HOUR = timedelta(hours=1)


async def stages_of(tenant: Tenant) -> list[PipelineStage]:
    """Four open stages, one that means lost among them, and two that mean won."""
    types = ["open", "open", "lost", "open", "won", "open", "won"]
    stages = [PipelineStage(name=f"S{n}", position=n, type=kind, probability=10 * n) for n, kind in enumerate(types)]
    await tenant.add(*stages)
    return stages


async def walk(tenant: Tenant, *ways: list[tuple[PipelineStage | None, datetime]], **fields: Any) -> None:
    """Gives the organization a deal for each way through the stages."""
    deals, moves = [], []
    for way in ways:
        last = way[-1][0] if way else None
        deal = Deal(
            name="d", stage_id=last and last.id, status="open" if last is None else last.type, created_at=MADE, **fields
        )
        deals.append(deal)
        for (before, _), (stage, at) in zip([(None, MADE), *way[:-1]], way, strict=False):
            moves.append(
                StageChange(deal_id=deal.id, from_stage_id=before and before.id, to_stage_id=stage and stage.id, at=at)
            )
    await tenant.add(*deals, *moves)


async def fill(tenant: Tenant, random: Random, size: int = 60, **fields: Any) -> list[PipelineStage]:
    """Gives the organization deals that went any way, each move at another moment than the one before."""
    stages = await stages_of(tenant)
    ways = []
    for _ in range(size):
        at, way = MADE, []
        for _ in range(random.randrange(7)):
            at += timedelta(microseconds=random.randrange(1, 10**12))
            others = [one for one in (None, *stages) if not way or one is not way[-1][0]]
            way.append((random.choice(others), at))
        ways.append(way)
    await walk(tenant, *ways, **fields)
    return stages


def half_up(value: Decimal) -> float:
    return float(value.quantize(Decimal("0.1"), ROUND_HALF_UP))


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def went_on(stage: PipelineStage, known: dict[str, PipelineStage], later: list[dict[str, Any]]) -> bool:
    for move in later:
        other = move["toStage"] and known[move["toStage"]["id"]]
        is_further = other and (other.type == "won" or (other.type == "open" and other.position > stage.position))
        if is_further and other.id != stage.id:
            return True
    return False


def expected(
    deals: list[dict[str, Any]], stages: list[PipelineStage], since: datetime = MADE, until: datetime | None = None
) -> list[dict[str, Any]]:
    """The funnel, by the history of one deal after the other."""
    known, shown = {stage.id: stage for stage in stages}, []
    for stage in stages:
        entered, here, advanced, lost, lengths = 0, 0, 0, 0, []
        for deal in deals:
            history = deal["stageHistory"]
            stays = [
                n
                for n, move in enumerate(history)
                if (move["toStage"] or {}).get("id") == stage.id
                and since <= moment(move["at"]) < (until or datetime.max.replace(tzinfo=UTC))
            ]
            if stays:
                entered += 1
                here += (deal["stage"] or {}).get("id") == stage.id
                lost += deal["status"] == "LOST"
                advanced += went_on(stage, known, history[stays[0] + 1 :])
            ended = [(history[n], history[n + 1]) for n in stays if n + 1 < len(history)]
            lengths += [moment(after["at"]) - moment(before["at"]) for before, after in ended]
        micros = sum(length // timedelta(microseconds=1) for length in lengths)
        shown.append(
            {
                "stage": {
                    **{"id": stage.id, "name": stage.name, "position": stage.position, "type": stage.type.upper()},
                    "probability": stage.probability,
                },
                **{"entered": entered, "here": here, "advanced": advanced, "lost": lost},
                "conversionRate": half_up(Decimal(100 * advanced) / entered) if entered else None,
                "averageDays": half_up(Decimal(micros) / (86_400_000_000 * len(lengths))) if lengths else None,
            }
        )
    return shown


async def test_it_is_what_the_histories_say(one: Tenant) -> None:
    stages = await fill(one, Random(1))
    deals = (await one.ask(LIST))["nodes"]
    since, until = MADE + timedelta(days=5), MADE + timedelta(days=20)
    assert (await one.ask(FUNNEL))["stages"] == expected(deals, stages)
    for first, last in ((since, None), (MADE, until), (since, until), (until, since)):
        bounds = {"from": first.isoformat(), "until": last and last.isoformat()}
        assert (await one.ask(FUNNEL, **bounds))["stages"] == expected(deals, stages, first, last), bounds


async def test_the_bounds_are_from_and_before(one: Tenant) -> None:
    stages = await stages_of(one)
    await walk(one, [(stages[0], MADE)], [(stages[0], MADE + HOUR)])
    for bounds, number in (
        ({"from": MADE}, 2),
        ({"from": MADE + HOUR}, 1),
        ({"until": MADE + HOUR}, 1),
        ({"from": MADE, "until": MADE}, 0),
    ):
        answer = await one.ask(FUNNEL, **{name: at.isoformat() for name, at in bounds.items()})
        assert answer["stages"][0]["entered"] == number


async def test_ways_through_the_stages(one: Tenant) -> None:
    """A deal that came back counts once; going back is no advance, and coming back to one stage is none either."""
    zero, first, lost, third, won, fifth, other = await stages_of(one)
    at = [MADE + n * 12 * HOUR for n in range(6)]
    await walk(
        one,
        [(zero, at[0]), (first, at[1]), (zero, at[2]), (third, at[4])],
        [(first, at[0]), (zero, at[1])],
        [(third, at[0]), (lost, at[1])],
        [(won, at[0]), (fifth, at[1]), (won, at[2])],
        [(won, at[0]), (other, at[1])],
        [(fifth, at[0]), (None, at[5])],
    )
    shown = [[one[name] for name in FIGURES.split()] for one in (await one.ask(FUNNEL))["stages"]]
    assert shown == [
        [2, 1, 1, 0, 50.0, 0.8],  # 12 and 24 hours
        [2, 0, 1, 0, 50.0, 0.5],
        [1, 1, 0, 1, 0.0, None],
        [2, 1, 0, 1, 0.0, 0.5],
        [2, 1, 2, 0, 100.0, 0.5],
        [2, 0, 1, 0, 50.0, 1.5],
        [1, 1, 0, 0, 0.0, None],
    ]


async def test_stages_that_are_gone_are_not_listed_and_end_stays(one: Tenant) -> None:
    zero, first, *_ = await stages_of(one)
    await walk(one, [(zero, MADE), (first, MADE + HOUR * 24), (zero, MADE + HOUR * 48)])
    await one.ask(
        "mutation($id: ID!) { pipelineStageDelete(id: $id) { deletedId userErrors { message } } }",
        one.headers("admin"),
        id=first.id,
    )
    stages = (await one.ask(FUNNEL))["stages"]
    assert first.id not in [each["stage"]["id"] for each in stages]
    assert [stages[0][name] for name in FIGURES.split()] == [1, 1, 0, 0, 0.0, 1.0]


async def test_the_filter_decides_which_deals_count(one: Tenant) -> None:
    account = Account(name="a", industry="x")
    await one.add(account)
    stages = await fill(one, Random(2), 15, account_id=account.id)
    await walk(one, [(stages[0], MADE), (stages[1], MADE + HOUR)])
    for filter in ({"account": {"industry": {"eq": "x"}}}, {"status": {"neq": "LOST"}}, {"name": {"eq": "none"}}):
        deals = (await one.ask(LIST, filter=filter))["nodes"]
        assert (await one.ask(FUNNEL, filter=filter))["stages"] == expected(deals, stages)


async def test_the_path_says_the_same(one: Tenant) -> None:
    await fill(one, Random(3), 20)
    since = MADE + timedelta(days=3)
    graph = (await one.ask(FUNNEL, filter={"status": {"eq": "OPEN"}}, **{"from": since.isoformat()}))["stages"]
    path = f"/deals/funnel?status=open&entered_from={since:%Y-%m-%dT%H:%M:%SZ}"
    found = await one.gateway.rest("GET", path, one.headers())
    names = {"conversion_rate": "conversionRate", "average_days": "averageDays"}
    shown = [{names.get(name, name): value for name, value in each.items()} for each in found.json()["stages"]]
    for each in shown:
        each["stage"]["type"] = each["stage"]["type"].upper()
    assert shown == graph
    for name in ("entered_from", "entered_until", "close_date_to"):
        refused = await one.gateway.rest("GET", f"/deals/funnel?{name}=soon", one.headers())
        assert (refused.status_code, refused.json()["detail"][0]["loc"]) == (422, ["query", name])


async def test_it_is_two_statements_however_many_stages(one: Tenant, two: Tenant) -> None:
    """The stages, and what happened in all of them."""
    await fill(one, Random(4), 5)
    for tenant in (one, two):
        with statements(one.gateway.world.database) as sent:
            await tenant.ask(FUNNEL)
        assert len([each for each in sent if "memberships" not in each]) == 2
    assert (await two.ask(FUNNEL))["stages"] == []
