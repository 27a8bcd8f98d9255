from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from storage.queries.records import lock_organization
from storage.tables import Deal, PipelineStage, StageChange
from tests.support.tenants import Tenant
from tests.support.waiting import meets_writer

pytestmark = pytest.mark.asyncio(loop_scope="session")

START = datetime(2026, 1, 1, tzinfo=UTC)
NOWHERE = "00000000-0000-7000-8000-000000000000"
LIST = "{ pipelineStages { id name position type probability } }"
NAMES = "{ pipelineStages { name position } }"
CREATE = """mutation($input: PipelineStageInput!) { pipelineStageCreate(input: $input) {
  stage { id name position type probability } userErrors { code message field } } }"""
UPDATE = """mutation($id: ID!, $input: PipelineStageUpdateInput!) { pipelineStageUpdate(id: $id, input: $input) {
  stage { id name position type probability } userErrors { code message field } } }"""
REORDER = """mutation($ids: [ID!]!) { pipelineStageReorder(ids: $ids) {
  stages { name position } userErrors { code message field } } }"""
DELETE = "mutation($id: ID!) { pipelineStageDelete(id: $id) { deletedId userErrors { code message field } } }"
NOT_FOUND = [{"code": "NOT_FOUND", "message": "Not found", "field": ["id"]}]


async def admin(tenant: Tenant, query: str, **variables: Any) -> Any:
    return await tenant.ask(query, tenant.headers("admin"), **variables)


async def named(tenant: Tenant, names: str) -> dict[str, str]:
    """Stages with these names in this order; their identifiers."""
    stages = [PipelineStage(name=name, position=i) for i, name in enumerate(names)]
    await tenant.add(*stages)
    return {stage.name: stage.id for stage in stages}


async def order(tenant: Tenant) -> str:
    stages = await tenant.ask(NAMES)
    assert [stage["position"] for stage in stages] == list(range(len(stages)))
    return "".join(stage["name"] for stage in stages)


async def test_creating_puts_a_stage_at_the_end(one: Tenant, two: Tenant) -> None:
    await named(two, "xyz")
    assert await one.ask(LIST) == []
    made = [
        await admin(one, CREATE, input={"name": "A"}),
        await admin(one, CREATE, input={"name": "B", "type": "WON", "probability": 100}),
        await admin(one, CREATE, input={"name": "A", "type": "LOST", "probability": 0}),
    ]
    assert [m["userErrors"] for m in made] == [[], [], []]
    stages = [m["stage"] for m in made]
    assert [tuple(s[n] for n in ("name", "position", "type", "probability")) for s in stages] == [
        ("A", 0, "OPEN", None),
        ("B", 1, "WON", 100),
        ("A", 2, "LOST", 0),
    ]
    assert await one.ask(LIST) == stages
    assert await order(two) == "xyz"


@pytest.mark.parametrize(
    ("fields", "problems"),
    [
        ({"name": ""}, {"name": "must not be empty"}),
        ({"name": "\x00"}, {"name": "must not contain the NUL character"}),
        ({"probability": -1}, {"probability": "must be at least 0"}),
        ({"probability": 101}, {"probability": "must be at most 100"}),
    ],
)
async def test_refused_creations_and_updates(one: Tenant, fields: dict[str, Any], problems: dict[str, str]) -> None:
    errors = [{"code": "VALIDATION", "message": m, "field": ["input", name]} for name, m in problems.items()]
    stages = await named(one, "a")
    assert await admin(one, CREATE, input={"name": "n", **fields}) == {"stage": None, "userErrors": errors}
    assert await admin(one, UPDATE, id=stages["a"], input={"name": "n", **fields}) == {
        "stage": None,
        "userErrors": errors,
    }
    assert await one.rows(PipelineStage.name) == [("a",)]


async def test_an_update_may_state_the_whole_stage(one: Tenant) -> None:
    stages = await named(one, "ab")
    changed = await admin(one, UPDATE, id=stages["b"], input={"name": "c", "type": "WON", "probability": 90})
    stage = {"id": stages["b"], "name": "c", "position": 1, "type": "WON", "probability": 90}
    assert changed == {"stage": stage, "userErrors": []}


async def test_deals_follow_the_type_of_their_stage(one: Tenant) -> None:
    stages = await named(one, "ab")
    await one.add(
        Deal(name="in", stage_id=stages["a"], updated_at=START),
        Deal(name="elsewhere", stage_id=stages["b"], updated_at=START),
        Deal(name="nowhere", updated_at=START),
    )

    async def deals() -> list[tuple[Any, ...]]:
        return sorted(await one.rows(Deal.name, Deal.status, Deal.version))

    await admin(one, UPDATE, id=stages["a"], input={"name": "a", "type": "WON"})
    changed = [("elsewhere", "open", 1), ("in", "won", 2), ("nowhere", "open", 1)]
    assert await deals() == changed
    await admin(one, UPDATE, id=stages["a"], input={"name": "b", "type": "WON"})
    assert await deals() == changed
    assert dict(await one.rows(Deal.name, Deal.updated_at))["in"] > START


async def test_reordering(one: Tenant, two: Tenant) -> None:
    stages, others = await named(one, "abc"), await named(two, "xy")
    ids = [stages[name] for name in "cab"]
    assert await admin(one, REORDER, ids=ids) == {
        "stages": [{"name": "c", "position": 0}, {"name": "a", "position": 1}, {"name": "b", "position": 2}],
        "userErrors": [],
    }
    assert await order(one) == "cab"
    assert (await admin(one, REORDER, ids=[stages[name].upper() for name in "bca"]))["userErrors"] == []
    assert await order(one) == "bca"
    message = "must name every stage of the organization exactly once"
    refused = {"stages": [], "userErrors": [{"code": "VALIDATION", "message": message, "field": ["ids"]}]}
    for wrong in (
        [],
        ids[:2],
        [*ids, ids[0]],
        [ids[0], ids[0], ids[1]],
        [*ids[:2], NOWHERE],
        [*ids[:2], "no uuid"],
        [*ids[:2], others["x"]],
    ):
        assert await admin(one, REORDER, ids=wrong) == refused
    assert (await order(one), await order(two)) == ("bca", "xy")


async def test_who_reorders_and_who_changes_a_stage_do_not_wait_for_each_other(one: Tenant) -> None:
    """A writer locks the stage and then the organization, and so does who writes all of them (decision 1200)."""
    ids = {name: (await admin(one, CREATE, input={"name": name}))["stage"]["id"] for name in "ab"}
    answer = await meets_writer(
        one,
        lambda s: s.find(PipelineStage, id=ids["b"], lock=True),
        lock_organization,
        admin(one, REORDER, ids=[ids["b"], ids["a"]]),
    )
    assert answer["userErrors"] == []
    assert await order(one) == "ba"


async def test_deleting_closes_the_gap(one: Tenant) -> None:
    stages = await named(one, "abc")
    deal = Deal(name="d")
    await one.add(deal)
    await one.add(
        StageChange(deal_id=deal.id, to_stage_id=stages["a"], at=START),
        StageChange(deal_id=deal.id, from_stage_id=stages["a"], to_stage_id=stages["b"], at=datetime.now(UTC)),
    )
    assert await admin(one, DELETE, id=stages["a"]) == {"deletedId": stages["a"], "userErrors": []}
    assert await order(one) == "bc"
    history = await one.ask(
        "query($id: ID!) { deal(id: $id) { stageHistory { fromStage { name } toStage { name } } } }", id=deal.id
    )
    assert history == {
        "stageHistory": [{"fromStage": None, "toStage": None}, {"fromStage": None, "toStage": {"name": "b"}}]
    }
    assert await admin(one, DELETE, id=stages["a"]) == {"deletedId": None, "userErrors": NOT_FOUND}


async def test_a_stage_with_deals_is_not_deleted(one: Tenant) -> None:
    stages = await named(one, "ab")
    deal = Deal(name="d", stage_id=stages["a"])
    await one.add(deal)
    assert await admin(one, DELETE, id=stages["a"]) == {
        "deletedId": None,
        "userErrors": [
            {"code": "CONFLICT", "message": "The stage still holds deals; move them first", "field": ["id"]}
        ],
    }
    assert await order(one) == "ab"
    await one.ask("mutation($id: ID!) { dealUpdate(id: $id, input: {stageId: null}) { deal { id } } }", id=deal.id)
    assert (await admin(one, DELETE, id=stages["a"]))["deletedId"] == stages["a"]
    assert await order(one) == "b"


async def test_changing_what_is_not_there(one: Tenant, two: Tenant) -> None:
    stages = await named(two, "x")
    for identifier in (stages["x"], NOWHERE, "no uuid", ""):
        assert await admin(one, UPDATE, id=identifier, input={"name": "n"}) == {"stage": None, "userErrors": NOT_FOUND}
        assert await admin(one, DELETE, id=identifier) == {"deletedId": None, "userErrors": NOT_FOUND}
    assert await order(two) == "x"


async def test_only_administrators_change_stages(one: Tenant) -> None:
    stages = await named(one, "a")
    identifier = stages["a"]
    for query, variables in [
        (CREATE, {"input": {"name": "n"}}),
        (UPDATE, {"id": identifier, "input": {"name": "n"}}),
        (REORDER, {"ids": [identifier]}),
        (DELETE, {"id": identifier}),
    ]:
        extensions = (await one.error(query, **variables))["extensions"]
        assert (extensions["code"], extensions["required_scopes"]) == ("FORBIDDEN", ["organizations:manage"])
    assert await order(one) == "a"
