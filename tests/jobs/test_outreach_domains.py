"""What is bought goes through one row per name, and is asked for until the provider has settled it (decision 54)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from sqlalchemy import select

from contract.errors import ProviderFailed
from contract.outreach_vocabulary import DomainStatus, MailboxStatus
from providers.sequencing import DomainState, Refused, Unreachable
from resolvers.mailboxes import provision_mailbox
from resolvers.outreach_domains import purchase_domain
from resolvers.outreach_inputs import DomainName, MailboxCreate
from resolvers.shared.context import Context
from resolvers.shared.idempotency import read_key
from resolvers.shared.inputs import parse
from storage.base import new_id
from storage.database import Database
from storage.tables import Event, Job, Mailbox, OutreachDomain
from tests.support.sequencing import Stub, services_with, work_off
from tests.support.world import World, open_world

NAME = parse(DomainName, {"name": "acme.com"})
DOWN = Unreachable("Stub cannot be reached")


@pytest.fixture
def stub(database: Database) -> Stub:
    return Stub(database)


@pytest.fixture
async def world(database: Database, stub: Stub) -> AsyncIterator[World]:
    async with open_world(database, services_with(database, stub)) as world:
        yield world


@pytest.fixture
async def ctx(world: World) -> Context:
    """Of a request under a key of its own, in which each purchase is a new one."""
    context = await world.context("admin@one", world.one)
    context.key = read_key(new_id())
    return context


async def statuses(world: World, model: Any) -> list[str]:
    async with world.database.reading(world.one.id) as session:
        return [row.status for row in await session.rows(select(model.status).where(model.org_id == world.one.id))]


async def errors(world: World) -> list[tuple[str, str | None]]:
    async with world.database.reading(world.one.id) as session:
        rows = await session.rows(select(Job.status, Job.error).where(Job.org_id == world.one.id))
    return [(row.status, row.error) for row in rows]


async def events(world: World) -> list[tuple[str, str, str]]:
    """The change log: type, actor and status."""
    async with world.database.reading(world.one.id) as session:
        log = select(Event.type, Event.actor, Event.data).where(Event.org_id == world.one.id)
        rows = await session.rows(log.order_by(Event.sequence))
    return [(row.type, row.actor, row.data["status"]) for row in rows]


async def test_the_provider_is_asked_at_once_and_only_once(world: World, ctx: Context, stub: Stub) -> None:
    for _ in range(2):
        domain = await purchase_domain(ctx, NAME)
        assert (domain.name, domain.status, domain.spf, domain.dkim) == ("acme.com", "active", True, None)
    mailbox = parse(MailboxCreate, {"domain_id": domain.id, "local_part": "ada", "display_name": "Ada"})
    for _ in range(2):
        assert (await provision_mailbox(ctx, mailbox)).status == "active"
    assert stub.calls == [("purchase_domain", "acme.com"), ("provision_mailbox", "ada@acme.com", "Ada")]
    assert await work_off(world.database, stub) == [
        ("domain_purchase", "succeeded"),
        ("mailbox_provision", "succeeded"),
    ]
    assert len(stub.calls) == 2


async def test_a_provider_that_does_not_answer_leaves_the_order_to_a_job(
    world: World, ctx: Context, stub: Stub
) -> None:
    stub.fail["purchase_domain"] = [DOWN, DOWN, None]
    assert (await purchase_domain(ctx, NAME)).status == "pending"
    assert (await purchase_domain(ctx, NAME)).status == "pending"  # and is not asked a second time
    assert stub.methods == ["purchase_domain"]
    assert await work_off(world.database, stub) == [("domain_purchase", "retried")]
    assert await errors(world) == [("queued", "Stub cannot be reached")]
    assert await work_off(world.database, stub) == [("domain_purchase", "succeeded")]
    assert await statuses(world, OutreachDomain) == ["active"]
    assert await events(world) == [
        ("domain_ordered", "admin@one", "pending"),
        ("domain_updated", "system", "active"),
    ]


async def test_a_refusal_is_said_and_may_be_tried_again(world: World, ctx: Context, stub: Stub) -> None:
    stub.fail["purchase_domain"] = [Refused("Stub does not sell this domain"), None]
    with pytest.raises(ProviderFailed, match="Stub does not sell this domain"):
        await purchase_domain(ctx, NAME)
    assert await statuses(world, OutreachDomain) == ["failed"]
    domain = await purchase_domain(ctx, NAME)
    assert domain.status == "active"
    stub.fail["provision_mailbox"] = [Refused("Stub has no such mailbox"), None]
    mailbox = parse(MailboxCreate, {"domain_id": domain.id, "local_part": "ada"})
    with pytest.raises(ProviderFailed, match="Stub has no such mailbox"):
        await provision_mailbox(ctx, mailbox)
    assert await statuses(world, Mailbox) == ["error"]
    assert (await provision_mailbox(ctx, mailbox)).status == "active"


async def test_a_refusal_that_the_job_hears(world: World, ctx: Context, stub: Stub) -> None:
    stub.fail["purchase_domain"] = [DOWN, Refused("Stub does not sell this domain")]
    await purchase_domain(ctx, NAME)
    assert await work_off(world.database, stub) == [("domain_purchase", "failed")]
    assert await statuses(world, OutreachDomain) == ["failed"]
    assert await errors(world) == [("failed", "Stub does not sell this domain")]


async def test_what_takes_time_is_asked_for_again(world: World, ctx: Context, stub: Stub) -> None:
    stub.domain, stub.mailbox = DomainState(DomainStatus.VERIFYING), MailboxStatus.PENDING
    domain = await purchase_domain(ctx, NAME)
    assert domain.status == "verifying"
    await provision_mailbox(ctx, parse(MailboxCreate, {"domain_id": domain.id, "local_part": "ada"}))
    outcomes = await work_off(world.database, stub)
    assert sorted(outcomes) == [("domain_purchase", "retried"), ("mailbox_provision", "retried")]
    stub.domain, stub.mailbox = DomainState(DomainStatus.ACTIVE, dkim=False), MailboxStatus.ACTIVE
    outcomes = await work_off(world.database, stub)
    assert sorted(outcomes) == [("domain_purchase", "succeeded"), ("mailbox_provision", "succeeded")]
    assert await statuses(world, OutreachDomain) == await statuses(world, Mailbox) == ["active"]
    # A provider that is still at it has said nothing new, so the log has nothing of it.
    assert sorted(await events(world)) == [
        ("domain_ordered", "admin@one", "pending"),
        ("domain_updated", "admin@one", "verifying"),
        ("domain_updated", "system", "active"),
        ("mailbox_ordered", "admin@one", "pending"),
        ("mailbox_updated", "system", "active"),
    ]
