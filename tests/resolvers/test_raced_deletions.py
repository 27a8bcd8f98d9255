"""What somebody deletes while another looks for it is made again; on SQLite one writer waits for the other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Any

import pytest
from sqlalchemy import func, select

from contract.errors import NotFound
from contract.vocabulary import TaggedKind
from resolvers.accounts import AccountCreate, create_account, delete_account
from resolvers.activities import delete_activity
from resolvers.deals import DealCreate, create_deal
from resolvers.emails import EmailLog, log_email
from resolvers.shared.context import Context
from resolvers.shared.tagging import tag_new
from resolvers.tags import TagCreate, create_tag, delete_tag
from storage.base import new_id
from storage.new_rows import new_row
from storage.queries import activities, tags
from storage.tables import Account, Deal, Event, Tag, TagLink
from storage.tenancy.sessions import TenantSession
from tests.support.world import World, open_world

pytestmark = pytest.mark.parametrize("dialect", ["postgresql"], indirect=True)


@pytest.fixture
async def world(database: Any) -> AsyncIterator[World]:
    async with open_world(database) as world:
        yield world


@pytest.fixture
async def ctx(world: World) -> Context:
    return await world.context("admin@one", world.one)


async def test_a_tag_that_is_deleted_while_it_is_looked_for_is_made_again(
    ctx: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody makes the tag after it was looked for, so it is not made here, and deletes it before it is found."""
    make, others = tags.make_missing, 3

    async def raced(session: TenantSession, names: Iterable[str]) -> dict[str, Tag]:
        nonlocal others
        if others == 0:
            return await make(session, names)
        others -= 1
        tag = await create_tag(ctx, TagCreate(name="vip"))
        made = await make(session, names)
        await delete_tag(ctx, tag.id)
        return made

    monkeypatch.setattr(tags, "make_missing", raced)
    deal = await create_deal(ctx, DealCreate(name="Deal", tags=["fair", "VIP"]))
    assert others == 0
    async with ctx.reading() as session:
        assert (await tags.names_of(session, TaggedKind.DEAL, [deal.id]))[deal.id] == ["fair", "VIP"]


async def test_a_message_that_is_deleted_while_it_is_logged_again_is_there(
    ctx: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await log_email(ctx, EmailLog(subject="First", message_id="<1@example.com>"))
    look = activities.of_message

    async def raced(session: TenantSession, message_id: str) -> str | None:
        assert first is not None
        monkeypatch.undo()
        await delete_activity(ctx, first.id)
        return await look(session, message_id)

    monkeypatch.setattr(activities, "of_message", raced)
    again = await log_email(ctx, EmailLog(subject="Again", message_id="<1@example.com>", tags=["vip"]))
    assert first is not None
    assert again is not None
    assert (again.subject, again.id == first.id) == ("Again", False)


async def test_a_message_cannot_be_deleted_between_the_look_and_the_answer(
    ctx: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await log_email(ctx, EmailLog(subject="First", message_id="<1@example.com>"))
    assert first is not None
    look, deleting = activities.of_message, list[asyncio.Task[str]]()

    async def raced(session: TenantSession, message_id: str) -> str | None:
        found = await look(session, message_id)
        deleting.append(asyncio.create_task(delete_activity(ctx, first.id)))
        await asyncio.sleep(0.2)
        return found

    monkeypatch.setattr(activities, "of_message", raced)
    assert await log_email(ctx, EmailLog(subject="Again", message_id="<1@example.com>")) == first
    assert await deleting[0] == first.id


async def test_what_others_put_on_a_record_until_they_let_go_of_it_is_taken_off(ctx: Context) -> None:
    """The lock comes with the beginning, and what is deleted is looked for behind it (decision 940)."""
    account = await create_account(ctx, AccountCreate(name="Acme"))
    async with ctx.writing() as session:
        locked = await session.find(Account, id=account.id, lock=True)
        assert locked is not None
        deal = new_row(Deal, name="Deal", org_id=ctx.org_id, owner_id=ctx.caller.subject, account_id=account.id)
        await session.insert(deal)
        await tag_new(session, locked, ["late"])
        deleting = asyncio.create_task(delete_account(ctx, account.id))
        await asyncio.sleep(0.2)
        assert not deleting.done()
    assert await deleting == account.id
    async with ctx.reading() as session:
        left = await session.find(Deal, id=deal.id)
        assert left is not None
        assert (left.account_id, left.version) == (None, 2)
        assert await session.scalar(select(func.count()).select_from(TagLink)) == 0


async def test_a_deletion_of_nothing_leaves_nothing(ctx: Context) -> None:
    with pytest.raises(NotFound):
        await delete_account(ctx, new_id())
    async with ctx.reading() as session:
        assert await session.scalar(select(func.count()).select_from(Event)) == 0
