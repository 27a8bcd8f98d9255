"""Threads of a chat and their messages: each member's own, and nobody else's (decision 330)."""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field

from contract.chat import CHAT_TITLE_MAX
from contract.criteria import Compare, ListQuery, Op, PageWindow
from contract.errors import NotFound
from contract.scopes import ScopeGroup
from resolvers.chat_runs import check_on, stop_runs
from resolvers.chat_tokens import book, used_by
from resolvers.chat_waking import begin
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.inputs import Input, shown, storable, trimmed
from resolvers.shared.lists import PageResult, children, page_of
from storage.base import as_uuid
from storage.new_rows import new_row
from storage.queries import chat_runs as runs
from storage.queries import chat_threads as statements
from storage.queries import listables
from storage.queries.records import lock_organization
from storage.rows import ChatMessageRow, ChatRunRow, ChatThreadRow
from storage.tables import ChatMessage, ChatRun, ChatThread
from storage.tenancy.sessions import TenantSession

Thread = ChatThread | ChatThreadRow
Message = ChatMessage | ChatMessageRow
Run = ChatRun | ChatRunRow
"""A thread, a message, a run as it was read, alone or in a list."""
Title = Annotated[str, trimmed(CHAT_TITLE_MAX), AfterValidator(storable), AfterValidator(shown)]
_STOP_SECONDS = 2.0
_LOOK_SECONDS = 0.05


class ChatThreadInput(Input):
    """A new thread."""

    model_config = ConfigDict(extra="forbid")
    title: Title | None = Field(default=None, description="Up to 200 characters.")


class ChatThreadTitle(Input):
    """The title of a thread, or null for none."""

    model_config = ConfigDict(extra="forbid")
    title: Title | None = Field(description="Up to 200 characters; null takes it away.")


@requires(ScopeGroup.CRM_READ, writes=True)
async def create_thread(ctx: Context, input: ChatThreadInput) -> ChatThread:
    """An empty thread of the caller."""
    check_on(ctx)
    async with ctx.writing() as session:
        [thread] = await session.insert(new_row(ChatThread, subject=ctx.caller.subject, title=input.title))
    ctx.forget()
    return thread


@requires(ScopeGroup.CRM_READ)
async def get_thread(ctx: Context, thread_id: str) -> ChatThread | None:
    """One of the caller's threads; None where it is missing, another member's or another organization's."""
    check_on(ctx)
    canonical = as_uuid(thread_id)
    if canonical is None:
        return None

    async def load(ids: list[str]) -> list[ChatThread | None]:
        found = {thread.id: thread for thread in await threads_of(ctx, ids)}
        return [found.get(i) for i in ids]

    return await ctx.loader("chat_threads", load).load(canonical)


async def threads_of(ctx: Context, ids: Sequence[str]) -> Sequence[ChatThread]:
    """Those of these threads that are the caller's."""
    async with ctx.reading() as session:
        return await statements.threads_of(session, ctx.caller.subject, ids)


async def messages_of(ctx: Context, ids: Sequence[str]) -> Sequence[ChatMessage]:
    """Those of these messages that are in the caller's threads."""
    async with ctx.reading() as session:
        return await statements.messages_of(session, ctx.caller.subject, ids)


@requires(ScopeGroup.CRM_READ)
async def list_threads(ctx: Context, page: PageWindow) -> PageResult[ChatThreadRow]:
    """The caller's threads, the one with the newest message first."""
    check_on(ctx)
    own = Compare("subject", Op.EQ, ctx.caller.subject)
    return await page_of(ctx, listables.CHAT_THREADS, ListQuery(own, None, page))


@requires(ScopeGroup.CRM_READ)
async def list_messages(ctx: Context, thread_id: str, page: PageWindow) -> PageResult[ChatMessageRow]:
    """The messages of one of the caller's threads, oldest first. Raises NotFound."""
    thread = await get_thread(ctx, thread_id)
    if thread is None:
        raise NotFound(field=("id",))
    return await messages_below(ctx, thread.id, page)


async def messages_below(ctx: Context, thread_id: str, page: PageWindow) -> PageResult[ChatMessageRow]:
    """The messages of a thread that the caller has read."""
    listing = ListQuery(Compare("subject", Op.EQ, ctx.caller.subject), None, page)
    column = listables.CHAT_MESSAGES.column("thread_id")
    return await children(ctx, listables.CHAT_MESSAGES, column, thread_id, listing)


async def runs_below(ctx: Context, thread_id: str, page: PageWindow) -> PageResult[ChatRunRow]:
    """The runs of a thread that the caller has read, oldest first."""
    listing = ListQuery(Compare("subject", Op.EQ, ctx.caller.subject), None, page)
    column = listables.CHAT_RUNS.column("thread_id")
    return await children(ctx, listables.CHAT_RUNS, column, thread_id, listing)


async def active_run(ctx: Context, thread_id: str) -> ChatRun | None:
    """The run of a thread that has not ended; those of several threads come together."""

    async def load(ids: list[str]) -> list[ChatRun | None]:
        async with ctx.reading() as session:
            found = {run.thread_id: run for run in await runs.unfinished_of(session, ctx.caller.subject, ids)}
        return [found.get(i) for i in ids]

    return await ctx.loader("chat_active_runs", load).load(thread_id)


def expires_at(ctx: Context, thread: Thread) -> datetime | None:
    """Says when a thread is deleted unless somebody writes in it; None where nothing is deleted of itself."""
    days = ctx.services.chat.retention_days
    return thread.updated_at + timedelta(days=days) if days else None


@requires(ScopeGroup.CRM_READ, writes=True)
async def rename_thread(ctx: Context, thread_id: str, input: ChatThreadTitle) -> ChatThread:
    """Give a thread of the caller another title, or none. Raises NotFound."""
    check_on(ctx)
    async with ctx.writing() as session:
        thread = await _own(ctx, session, thread_id)
        thread = await session.update(thread, title=input.title)
    ctx.forget()
    return thread


@requires(ScopeGroup.CRM_READ, writes=True)
async def delete_thread(ctx: Context, thread_id: str) -> str:
    """Delete a thread of the caller with all that hangs on it; its run is stopped before. Raises NotFound."""
    check_on(ctx)
    async with ctx.writing() as session:
        await lock_organization(session)
        thread = await _own(ctx, session, thread_id, lock=False)  # a run that ends has its own row first
        stopped, work = await stop_runs(ctx, session, thread_id=thread.id)
    begin(ctx, work)
    if stopped:
        await ctx.commit()
        await _ended(ctx, thread.id)
    async with ctx.writing() as session:
        for run in await runs.locked_of(session, ctx.caller.subject, thread.id):  # one at most
            await book(session, run, used_by(run))
        if not await statements.forget(session, ctx.caller.subject, thread.id):
            raise NotFound(field=("id",))
    ctx.forget()
    return thread.id


async def _ended(ctx: Context, thread_id: str) -> None:
    """Wait until the thread's run has ended, a moment at most."""
    until = asyncio.get_running_loop().time() + _STOP_SECONDS
    while asyncio.get_running_loop().time() < until:
        async with ctx.reading() as session:
            if not await runs.unfinished_of(session, ctx.caller.subject, [thread_id]):
                return
        await asyncio.sleep(_LOOK_SECONDS)


async def _own(ctx: Context, session: TenantSession, thread_id: str, *, lock: bool = True) -> ChatThread:
    canonical = as_uuid(thread_id)
    thread = None
    if canonical is not None:
        thread = await session.find(ChatThread, id=canonical, subject=ctx.caller.subject, lock=lock)
    if thread is None:
        raise NotFound(field=("id",))
    return thread
