"""The corpus through the executor of tools: every call of every question is one that the service answers."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import date, datetime

import pytest

from providers.chat_models import Call, Result
from storage.tables import Account, Activity, Contact, Deal, Lead, PipelineStage
from tests.embedded.corpus import CASES
from tests.embedded.test_corpus import DECLINES
from tests.embedded.world import NOW, RECORDS, STAGES, World
from tests.mcp.calling import call
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")


@dataclass
class Real(World):
    """The loop with the tools of a service."""

    tenant: Tenant = field(kw_only=True)

    async def result(self, call_: Call) -> Result:
        found = await call(self.tenant, call_.tool, self.tenant.headers("admin"), **(call_.arguments or {}))
        assert found["isError"] is False, (call_, found)
        return Result(call_.id, call_.tool, json.dumps(found["structuredContent"]))


async def seed(tenant: Tenant) -> dict[str, str]:
    """The records of the corpus, with their identifiers by name."""
    accounts = {name: Account(name=name, domain=f"{name[:4].lower()}.example") for name in RECORDS["account"]}
    stages = {name: PipelineStage(name=name, position=at, type=STAGES[name]) for at, name in enumerate(STAGES)}
    await tenant.add(*accounts.values(), *stages.values())
    of, stage = accounts["Acme"].id, stages["Discovery"].id
    contact = Contact(first_name="Jo", last_name="Ito", account_id=of)
    deals = [
        Deal(name=name, account_id=of, stage_id=stage, value=60_000, currency="EUR", close_date=date(2026, 11, 30))
        for name in RECORDS["deal"]
    ]
    lead = Lead(name="Lia Lead", company="Initech", source="manual")
    meeting = Activity(type="meeting", subject="Kickoff", account_id=of, due_at=NOW)
    await tenant.add(contact, *deals, lead, meeting)
    named = {"Jo Ito": contact, "Lia Lead": lead, **accounts, **stages, **{deal.name: deal for deal in deals}}
    return {name: row.id for name, row in named.items()} | {"me": tenant.subject("admin")}


async def test_every_question_is_answered_by_the_service(one: Tenant) -> None:
    ids = await seed(one)
    for case in CASES:
        world = Real(tenant=one)
        said = await world.ask(case.question)
        assert DECLINES not in said, case.question
        for made, meant in zip(world.steps, case.steps, strict=False):  # what changed here is more than there
            assert [tool for tool, _ in made] == [tool for tool, _ in meant], case.question
            for (_, arguments), (_, expected) in zip(made, meant, strict=True):
                assert arguments.keys() == expected.keys(), case.question
                assert arguments.get("id", "") in ids.values() or "id" not in arguments
        if case.question == "Deals with Acme":
            assert f"[[deal:{ids['Acme renewal']}]] · 60,000 EUR · Discovery · Acme · open · closes 2026-11-30" in said


async def test_what_is_written_is_written_once_and_as_it_was_said(one: Tenant) -> None:
    """Without an approval here, which the loop of chats asks for."""
    ids = await seed(one)
    world = Real(tenant=one)
    await world.ask("log a note on Acme: «they» will sign in May\nwith us")
    [(body, account)] = [
        (body, account)
        for body, account, type in await one.rows(Activity.body, Activity.account_id, Activity.type)
        if type == "note"
    ]
    assert (body, account) == ("«they» will sign in May\nwith us", ids["Acme"])


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


async def test_days_are_those_of_the_member(one: Tenant) -> None:
    """A meeting at half past midnight in Berlin is one of the day that begins there."""
    ids = await seed(one)
    late = Activity(type="meeting", subject="Late", account_id=ids["Acme"], due_at=moment("2026-11-24T23:30:00+00:00"))
    await one.add(late)
    said = await Real(tenant=one).ask("Meetings tomorrow")
    assert f"[[meeting:{late.id}]] · Wed 25 Nov 2026, 00:30" in said
    assert "1 in all" in said
    assert f"[[meeting:{late.id}]]" not in await Real(tenant=one).ask("Meetings today")
