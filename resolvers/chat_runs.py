"""Runs of a chat: begun by a message, followed, read again and stopped, each by whose thread it is (decision 330)."""

import re
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Annotated

from pydantic import AfterValidator, ConfigDict, Field

from contract.chat import (
    CHAT_RUNS_PER_CALLER,
    CHAT_RUNS_PER_ORGANIZATION,
    CHAT_RUNS_PER_PROCESS,
    CHAT_STEPS_MAX,
    CHAT_TEXT_MAX,
    CHAT_TITLE_MADE,
    CHAT_TOOL_CALLS_MAX,
    ChatEventType,
    ChatRole,
    ChatRunStatus,
    RunUnfinished,
    TooManyChatRuns,
)
from contract.errors import Gone, NotConfigured, NotFound, Path, Problem, Problems
from contract.limits import PAGE_MAX
from contract.scopes import ScopeGroup
from identity.resume import origin_of
from resolvers.chat_tokens import reserved_at_the_door
from resolvers.chat_waking import begin, wake
from resolvers.chat_work import Work, finished
from resolvers.outreach_inputs import TimeZone
from resolvers.shared.access import requires
from resolvers.shared.chat_options import ChatOptions
from resolvers.shared.context import Context
from resolvers.shared.followed import Log, LogState, Moves, followed, moves_of
from resolvers.shared.inputs import Input, shown, storable, trimmed
from storage.base import as_uuid, new_id, now
from storage.change_feed import Channel
from storage.new_rows import new_row
from storage.queries import chat_runs as statements
from storage.queries import chat_threads, model_usage
from storage.queries.records import lock_organization
from storage.queries.watches import watch
from storage.rows import ChatEventRow, ChatRunRow
from storage.tables import ChatEvent, ChatMessage, ChatRun, ChatThread, ChatWatch
from storage.tenancy.sessions import TenantSession

Event = ChatEvent | ChatEventRow
"""An event of a run: one that is stored, or the end of one that is stored no more."""
MessageText = Annotated[str, trimmed(CHAT_TEXT_MAX), AfterValidator(storable), AfterValidator(shown)]
_EVENT_ID = re.compile(r"([0-9a-f-]{36})\.([1-9][0-9]{0,17})", re.ASCII)


class ChatSend(Input):
    """A message: one text, and where its writer's days begin."""

    model_config = ConfigDict(extra="forbid")
    text: MessageText = Field(description="1 to 8,000 characters without the blanks around it.")
    time_zone: TimeZone = Field(default="UTC", description="Where days and weeks begin: a zone of the IANA database.")


def check_on(ctx: Context) -> None:
    """Raises NotFound where there are no chats."""
    if not ctx.services.chat.is_on:
        raise NotFound()


@requires(ScopeGroup.CRM_READ, writes=True)
async def send(ctx: Context, thread_id: str, input: ChatSend, *, field: Path = ("id",)) -> ChatRun:
    """Add a message to a thread of the caller, and begin the run that answers it.

    Raises NotFound at `field`, RunUnfinished, TooManyChatRuns and ModelBudgetSpent; none leaves a message behind.
    """
    check_on(ctx)
    services, subject = ctx.services, ctx.caller.subject
    canonical = as_uuid(thread_id)
    async with ctx.writing() as session:
        await lock_organization(session)
        thread = None
        if canonical is not None:
            thread = await session.find(ChatThread, id=canonical, subject=subject, lock=True)
        if thread is None:
            raise NotFound(field=field)
        if unfinished := await statements.unfinished_of(session, subject, [thread.id]):
            raise RunUnfinished(unfinished[0].id)
        mine, everybodys = await statements.unfinished(session, subject)
        is_full = services.chat_runs.number >= CHAT_RUNS_PER_PROCESS
        if is_full or mine >= CHAT_RUNS_PER_CALLER or everybodys >= CHAT_RUNS_PER_ORGANIZATION:
            raise TooManyChatRuns()
        reserved = await reserved_at_the_door(ctx, session, input.text)
        run = await _begun(ctx, session, thread, input, reserved)
    work = Work(services, run)
    ctx.after_commit(lambda: services.chat_runs.start(work.run(), "chat run"))
    ctx.forget()
    return run


async def _begun(ctx: Context, session: TenantSession, thread: ChatThread, input: ChatSend, reserved: int) -> ChatRun:
    moment, model, origin = now(), ctx.services.chat_model, origin_of(ctx.caller)
    if model is None:
        raise NotConfigured("Nobody is set up to answer chats")
    until = moment + ctx.services.chat.lease
    draft = new_row(
        ChatRun,
        thread_id=thread.id,
        subject=origin.subject,
        message_id=new_id(),
        answer_id=new_id(),
        request_id=ctx.request_id,
        provider=model.provider,
        model=model.name,
        time_zone=input.time_zone,
        credential_kind=origin.kind.value,
        credential_id=origin.credential_id,
        granted_scopes=sorted(origin.scopes),
        session_ends_at=origin.session_ends_at,
        holder=new_id(),
        leased_until=until,
        reserved=reserved,
        last_sequence=1,
        created_at=moment,
    )
    position = await chat_threads.next_position(session, thread.id)
    message = new_row(
        ChatMessage,
        id=draft.message_id,
        thread_id=thread.id,
        subject=origin.subject,
        position=position,
        run_id=draft.id,
        role=ChatRole.USER.value,
        text=input.text,
        created_at=moment,
    )
    await session.insert(message)
    [run] = await session.insert(draft)
    await statements.append(session, run, 0, [started(run, ctx.services.chat)])
    title = thread.title if thread.title is not None or position > 1 else title_made(input.text)
    await session.update(thread, updated_at=moment, title=title)
    await model_usage.begin(session, moment.date().isoformat(), run)
    await watch(session, ChatWatch, until)
    return run


def started(run: ChatRun, options: ChatOptions) -> statements.Said:
    """The first event of a run."""
    limits = {
        "seconds": int(options.run_seconds),
        "steps": CHAT_STEPS_MAX,
        "tool_calls": CHAT_TOOL_CALLS_MAX,
    }
    return ChatEventType.RUN_STARTED, {
        "run_id": run.id,
        "thread_id": run.thread_id,
        "message_id": run.message_id,
        "provider": run.provider,
        "model": run.model,
        "limits": limits,
    }


def title_made(text: str) -> str:
    """The first words of a message, on one line."""
    line = " ".join(text.split())
    if len(line) <= CHAT_TITLE_MADE:
        return line
    cut = line[:CHAT_TITLE_MADE].rpartition(" ")[0]
    return f"{cut or line[:CHAT_TITLE_MADE]}…"


@requires(ScopeGroup.CRM_READ)
async def get_run(ctx: Context, run_id: str) -> ChatRun | None:
    """One of the caller's runs; None where it is missing, another member's or another organization's."""
    check_on(ctx)
    canonical = as_uuid(run_id)
    if canonical is None:
        return None

    async def load(ids: list[str]) -> list[ChatRun | None]:
        found = {run.id: run for run in await runs_of(ctx, ids)}
        return [found.get(i) for i in ids]

    return await ctx.loader("chat_runs", load).load(canonical)


async def runs_of(ctx: Context, ids: Sequence[str]) -> Sequence[ChatRun]:
    """Those of these runs that are the caller's."""
    async with ctx.reading() as session:
        return await statements.runs_of(session, ctx.caller.subject, ids)


async def events_below(ctx: Context, run_id: str, first: int, after: str | None) -> Sequence[Event]:
    """The first events of a run that the caller has read, behind one of them. Raises Problems."""
    if not 0 <= first <= PAGE_MAX:
        raise Problems([Problem(("first",), f"must be between 0 and {PAGE_MAX}", "page_size")])
    behind = 0 if after is None else sequence_of(run_id, after)

    async def load(ids: list[str]) -> list[Sequence[Event]]:
        async with ctx.reading() as session:
            found = await statements.events_of(session, ctx.caller.subject, ids, behind, first)
        return [found.get(i, []) for i in ids]

    return await ctx.loader(("chat_events", first, behind), load).load(run_id)


def event_id(event: Event) -> str:
    """Make the identifier of an event, which `Last-Event-ID` and `after` take."""
    return f"{event.run_id}.{event.sequence}"


def sequence_of(run_id: str, text: str) -> int:
    """The number of an event of this run. Raises Problems."""
    match = _EVENT_ID.fullmatch(text)
    if match is None or match[1] != run_id:
        raise Problems([Problem(("after",), "is no event of this run", "value_error")])
    return int(match[2])


@requires(ScopeGroup.CRM_READ)
async def watch_run(ctx: Context, run_id: str, after: str | None = None) -> AsyncIterator[Event]:
    """The events of one of the caller's runs behind one of them, and then what comes, until its end.

    Raises NotFound, Problems for what is no event of the run, and Gone once its events are forgotten.
    """
    check_on(ctx)
    run = await own_run(ctx, run_id)
    behind = 0 if after is None else sequence_of(run.id, after)
    if run.finished_at is not None:
        async with ctx.reading() as session:
            if not await statements.has_events(session, run.id):
                messages = f"/chat/threads/{run.thread_id}/messages"
                raise Gone("The events of this run are kept no longer", messages, "messages_url")
    if behind > run.last_sequence:
        raise Problems([Problem(("after",), "is beyond the newest event of this run", "range")])
    return followed(ctx, _log_of(ctx, run.id), behind)


def _log_of(ctx: Context, run_id: str) -> Log[Event]:
    """The events of a run; of one that is deleted meanwhile its end alone. Who follows them is counted."""
    subject = ctx.caller.subject

    async def behind(session: TenantSession, number: int) -> Sequence[Event]:
        return await statements.events_after(session, subject, run_id, number)

    async def state(session: TenantSession) -> LogState:
        run = await session.find(ChatRun, id=run_id, subject=subject)
        if run is None:
            return LogState.GONE
        return LogState.GOING if run.finished_at is None else LogState.OVER

    @contextmanager
    def moves(channel: Channel) -> Iterator[Moves]:
        with ctx.services.chat_counts.following(), moves_of(channel.chat_runs, run_id, _newest) as found:
            yield found

    last = ChatEventType.RUN_FINISHED.value
    return Log(behind, statements.BATCH, state, partial(_deleted, run_id, subject), last, moves)


def _newest(run: ChatRunRow) -> int:
    return run.last_sequence


def _deleted(run_id: str, subject: str, sequence: int) -> ChatEvent:
    kind, data = finished(ChatRunStatus.CANCELLED, None, None)
    return new_row(ChatEvent, run_id=run_id, sequence=sequence, subject=subject, type=kind.value, data=data)


@requires(ScopeGroup.CRM_READ, writes=True)
async def cancel_run(ctx: Context, run_id: str) -> ChatRun:
    """Ask for the end of one of the caller's runs; one that has ended stays as it is. Raises NotFound."""
    check_on(ctx)
    run = await own_run(ctx, run_id)
    async with ctx.writing() as session:
        await lock_organization(session)
        stopped, work = await stop_runs(ctx, session, run_id=run.id)
        if stopped:
            run = await session.find(ChatRun, id=run.id, subject=ctx.caller.subject) or run
    begin(ctx, work)
    ctx.forget()
    return run


async def stop_runs(
    ctx: Context, session: TenantSession, *, run_id: str | None = None, thread_id: str = ""
) -> tuple[bool, Work | None]:
    """Ask for the end of a run of the caller, or of that of a thread, under the organization's lock.

    Whether there is one to be waited for, and the work that ends one that waits for a decision.
    """
    work, moment = None, now()
    found = await statements.ask_to_cancel(session, ctx.caller.subject, moment, run_id=run_id, thread_id=thread_id)
    for run in found:  # one at most
        if run.status == ChatRunStatus.WAITING.value:
            work = await wake(ctx, session, run)
    return bool(found), work


async def own_run(ctx: Context, run_id: str) -> ChatRun:
    """One of the caller's runs. Raises NotFound."""
    canonical = as_uuid(run_id)
    found = [] if canonical is None else await runs_of(ctx, [canonical])
    if not found:
        raise NotFound(field=("id",))
    return found[0]
