"""Accounts counted, with their health: equal to what the listing adds up to, and health for its readers alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from storage.tables import Account, Deal, HealthSnapshot
from tests.support.statements import statements
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

HEALTH = "scoredCount averageHealth"
FIGURES = f"count withOpenDealsCount {HEALTH}"
AGGREGATE = f"""query($filter: AccountFilter, $by: [AccountDimension!], $zone: String! = "UTC", $first: Int,
  $order: AccountAggregateOrder) {{
  accountAggregate(filter: $filter, groupBy: $by, timeZone: $zone, orderBy: $order, first: $first) {{
    groups {{ key {{ industry ownerId healthTrend createdAt {{ start }} }} {FIGURES} }}
    total {{ {FIGURES} }} groupCount truncated }} }}"""
LIST = """{ accounts(first: 100) { nodes { industry ownerId createdAt health { score trend }
  deals(first: 1, filter: {status: {eq: OPEN}}) { nodes { id } } } } }"""
MADE = datetime(2026, 3, 31, 23, 30, tzinfo=UTC)


async def fill(tenant: Tenant, random: Random, size: int = 30) -> None:
    """Gives the organization accounts with several snapshots each, some with none, and deals of every status."""
    accounts = [
        Account(
            name=f"a{n}",
            industry=random.choice([None, "x", "Ä"]),
            owner_id=random.choice([None, "Zed", "ada"]),
            created_at=MADE + timedelta(days=random.choice([0, 1, 40])),
        )
        for n in range(size)
    ]
    await tenant.add(*accounts)
    records: list[Any] = []
    for account in accounts:
        moments = [MADE + timedelta(days=days) for days in random.sample(range(9), random.choice([0, 1, 3]))]
        records += [
            HealthSnapshot(
                account_id=account.id,
                score=random.randrange(101),
                trend=None if moment == min(moments) else random.choice(["improving", "declining", "stable"]),
                snapshot_at=moment,
                formula_version="1",
            )
            for moment in moments
        ]
        statuses = random.choices(["open", "open", "won", "lost"], k=random.randrange(3))
        records += [Deal(name="d", account_id=account.id, status=status) for status in statuses]
    await tenant.add(*records)


def summed(accounts: list[dict[str, Any]]) -> dict[str, Any]:
    scores = [one["health"]["score"] for one in accounts if one["health"]]
    twentieths = (20 * sum(scores) + len(scores)) // (2 * len(scores)) if scores else None
    return {
        "count": len(accounts),
        "withOpenDealsCount": sum(one["deals"]["nodes"] != [] for one in accounts),
        "scoredCount": len(scores),
        "averageHealth": None if twentieths is None else twentieths / 10,
    }


def key_of(account: dict[str, Any], dimension: str) -> Any:
    if dimension == "CREATED_AT":
        day = datetime.fromisoformat(account["createdAt"]).astimezone(ZoneInfo("Europe/Paris")).date()
        return day.replace(day=1).isoformat()
    if dimension == "HEALTH_TREND":
        return account["health"] and account["health"]["trend"]
    return account[{"OWNER": "ownerId", "INDUSTRY": "industry"}[dimension]]


def shown_key(group: dict[str, Any], dimension: str) -> Any:
    if dimension == "CREATED_AT":
        return group["key"]["createdAt"]["start"]
    return group["key"][{"OWNER": "ownerId", "INDUSTRY": "industry", "HEALTH_TREND": "healthTrend"}[dimension]]


def figures(group: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in group.items() if name != "key"}


DIMENSIONS = ["INDUSTRY", "OWNER", "HEALTH_TREND", "CREATED_AT"]


async def test_the_groups_are_what_the_listing_adds_up_to(one: Tenant) -> None:
    await fill(one, Random(1))
    accounts = (await one.ask(LIST))["nodes"]
    for number, dimension in enumerate(DIMENSIONS):
        for by in ([dimension], [dimension, DIMENSIONS[number - 1]]):
            expected: dict[Any, list[Any]] = {}
            for account in accounts:
                expected.setdefault(tuple(key_of(account, d) for d in by), []).append(account)
            answer = await one.ask(AGGREGATE, by=by, zone="Europe/Paris")
            found = {tuple(shown_key(group, d) for d in by): figures(group) for group in answer["groups"]}
            assert found == {key: summed(these) for key, these in expected.items()}
            assert answer["total"] == summed(accounts)
            assert (answer["groupCount"], answer["truncated"]) == (len(expected), False)


async def test_the_order_of_the_groups(one: Tenant) -> None:
    await fill(one, Random(2))
    await one.add(Account(name="never scored", industry="new"))
    for field, name in (("COUNT", "count"), ("AVERAGE_HEALTH", "averageHealth")):
        for direction in ("ASC", "DESC"):
            answer = await one.ask(AGGREGATE, by=["INDUSTRY"], order={"field": field, "direction": direction})
            found = [group[name] for group in answer["groups"]]
            known = [value for value in found if value is not None]
            assert known == sorted(known, reverse=direction == "DESC")
            assert found == [*known, *[None] * (len(found) - len(known))]
    by_key = await one.ask(AGGREGATE, by=["INDUSTRY"], order={"direction": "DESC"})
    assert [group["key"]["industry"] for group in by_key["groups"]] == ["Ä", "x", "new", None]
    cut = await one.ask(AGGREGATE, by=["INDUSTRY"], first=1)
    assert (len(cut["groups"]), cut["groupCount"], cut["truncated"]) == (1, 4, True)
    assert cut["total"] == by_key["total"]


async def test_of_some_accounts_and_of_none(one: Tenant) -> None:
    await fill(one, Random(3))
    some = await one.ask(AGGREGATE, filter={"industry": {"eq": "x"}}, by=["HEALTH_TREND"])
    accounts = [account for account in (await one.ask(LIST))["nodes"] if account["industry"] == "x"]
    assert some["total"] == summed(accounts)
    none = await one.ask(AGGREGATE, filter={"name": {"eq": "none"}}, by=["OWNER"])
    assert (none["groups"], none["total"]) == ([], summed([]))


REFUSED: list[tuple[dict[str, Any], list[list[str]]]] = [
    ({"by": ["INDUSTRY", "OWNER", "CREATED_AT"]}, [["groupBy"]]),
    ({"by": ["OWNER", "OWNER"], "zone": "Mars"}, [["groupBy"], ["timeZone"]]),
    ({"first": 501}, [["first"]]),
]


@pytest.mark.parametrize(("variables", "fields"), REFUSED, ids=["three", "twice", "many"])
async def test_what_cannot_be_asked(one: Tenant, variables: dict[str, Any], fields: list[list[str]]) -> None:
    error = await one.error(AGGREGATE, **variables)
    assert error["extensions"]["code"] == "VALIDATION"
    assert [problem["field"] for problem in error["extensions"]["problems"]] == fields


BARE = """query($by: [AccountDimension!], $order: AccountAggregateOrder) {
  accountAggregate(groupBy: $by, orderBy: $order) {
  groups { key { industry } count } total { count withOpenDealsCount } } }"""


async def test_health_is_for_those_who_read_meetings(one: Tenant) -> None:
    """Neither a figure nor the groups nor their order tell what the caller may not see (decision 258)."""
    await fill(one, Random(4))
    bare = await one.scoped("data:access", name="bare")
    with statements(one.gateway.world.database) as sent:
        answer = await one.ask(BARE, bare, by=["INDUSTRY"])
    assert answer["total"]["count"] == 30
    assert not any("health" in text for text in sent)
    for figure in HEALTH.split():
        body = await one.body(f"{{ accountAggregate {{ total {{ count {figure} }} }} }}", bare)
        assert {error["extensions"]["code"] for error in body["errors"]} == {"FORBIDDEN"}
        assert body["data"] is None or (body["data"]["accountAggregate"]["total"] or {}).get(figure) is None
    for variables in ({"by": ["HEALTH_TREND"]}, {"by": ["OWNER"], "order": {"field": "AVERAGE_HEALTH"}}):
        error = await one.error(BARE, bare, **variables)
        assert (error["extensions"]["code"], error["path"]) == ("FORBIDDEN", ["accountAggregate"])


async def test_health_is_left_out_on_the_path(one: Tenant) -> None:
    await fill(one, Random(5))
    bare, reader = await one.scoped("data:access", name="bare"), await one.scoped("deals:read", name="reader")
    path, health = "/accounts/aggregate?group_by=industry", {"scored_count", "average_health"}
    shown, whole = [(await one.gateway.rest("GET", path, headers)).json() for headers in (bare, reader)]
    for part, all_of_it in zip([*shown["groups"], shown["total"]], [*whole["groups"], whole["total"]], strict=True):
        assert set(all_of_it) - set(part) == health
        assert part == {name: value for name, value in all_of_it.items() if name not in health}
    for path in ("/accounts/aggregate?group_by=health_trend", "/accounts/aggregate?order_by=average_health"):
        refused = await one.gateway.rest("GET", path, bare)
        assert refused.status_code == 403, refused.text
        assert (await one.gateway.rest("GET", path, reader)).status_code == 200


async def test_it_is_one_statement_of_what_is_selected(one: Tenant) -> None:
    await fill(one, Random(6))
    for query, words in (
        ("{ accountAggregate(groupBy: [OWNER]) { groups { count } } }", set()),
        ("{ accountAggregate(groupBy: [OWNER]) { total { withOpenDealsCount } } }", {"deals"}),
        ("{ accountAggregate { total { averageHealth } } }", {"health_snapshots"}),
    ):
        with statements(one.gateway.world.database) as sent:
            await one.ask(query)
        [text] = [each for each in sent if "memberships" not in each]
        assert {word for word in ("deals", "health_snapshots") if word in text} == words
