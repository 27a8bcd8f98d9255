"""A new record was last changed when it was made (decision 211)."""

from __future__ import annotations

from typing import Any

import pytest

from storage.new_rows import new_row
from storage.tables import Account, Deal, PipelineStage
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")

TIMES = "createdAt updatedAt version"
MADE = {
    "accountCreate": ('input: {name: "A"}', "account"),
    "contactCreate": ('input: {lastName: "L"}', "contact"),
    "dealCreate": ('input: {name: "D"}', "deal"),
    "cardCaptureConfirm": ('input: {name: "N"}', "lead"),
    "campaignCreate": ('input: {name: "C"}', "campaign"),
}


@pytest.mark.parametrize("mutation", MADE)
async def test_it_has_one_time(one: Tenant, mutation: str) -> None:
    given, noun = MADE[mutation]
    made: Any = (await one.ask(f"mutation {{ {mutation}({given}) {{ {noun} {{ id {TIMES} }} }} }}"))[noun]
    assert (made["updatedAt"], made["version"]) == (made["createdAt"], 1)
    query = f"query($id: ID!) {{ {noun}(id: $id) {{ id {TIMES} }} }}"
    assert await one.ask(query, id=made["id"]) == made


async def test_a_deal_in_a_stage_and_a_converted_lead(one: Tenant) -> None:
    """They are made in a transaction, and by an operation that makes several."""
    stage = PipelineStage(name="S", position=0)
    await one.add(stage)
    query = f'mutation($id: ID!) {{ dealCreate(input: {{name: "D", stageId: $id}}) {{ deal {{ {TIMES} }} }} }}'
    deal = (await one.ask(query, id=stage.id))["deal"]
    assert deal["updatedAt"] == deal["createdAt"]
    lead = (await one.ask('mutation { cardCaptureConfirm(input: {name: "N"}) { lead { id } } }'))["lead"]
    convert = f"""mutation($id: ID!) {{ leadConvert(input: {{leadId: $id, dealName: "D"}}) {{
      account {{ {TIMES} }} contact {{ {TIMES} }} deal {{ {TIMES} }} userErrors {{ message }} }} }}"""
    made = await one.ask(convert, id=lead["id"])
    for noun in ("account", "contact", "deal"):
        assert made[noun]["updatedAt"] == made[noun]["createdAt"], noun


async def test_a_time_that_is_given_is_kept() -> None:
    given = Account(name="A").created_at
    assert Account(name="A", created_at=given).updated_at == given
    other = Account(name="A", updated_at=given)
    assert (other.updated_at, other.created_at > given) == (given, True)
    draft = new_row(Deal, name="D")
    assert draft.updated_at == draft.created_at
