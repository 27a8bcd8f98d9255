"""Statements on the runs of chats, their events and their steps.

Those that serve a caller name the subject, who alone may know of them; processes look after all of an organization.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from sqlalchemy import BigInteger, Text, and_, bindparam, case, delete, func, or_, select, update
from sqlmodel import UTCDateTime, col

from contract.chat import ChatEventType
from storage.base import Identifier, JsonDict
from storage.expressions import AnySelect
from storage.new_rows import new_row
from storage.queries.chat_threads import PRUNED
from storage.queries.filtering import in_list
from storage.rows import ChatEventRow, ChatRunRow
from storage.statements import ORG_PARAM, AnyStatement, AnyValue
from storage.table_statements import new_parameters, new_values
from storage.tables import ChatEvent, ChatRun, ChatStep
from storage.tenancy.sessions import TenantSession

BATCH = 100
"""Events that are read at a time."""
_VOID = (ChatEventType.TEXT_DELTA.value, ChatEventType.CITATION.value, ChatEventType.WARNING.value)
"""Events of a step of the model that is not whole yet."""

Said = tuple[ChatEventType, JsonDict]


async def unfinished(session: TenantSession, subject: str) -> tuple[int, int]:
    """Says how many runs of the subject have not ended, and of the whole organization."""
    mine = func.count(case((col(ChatRun.subject) == subject, 1)))
    own = col(ChatRun.org_id) == session.org_id, col(ChatRun.finished_at).is_(None)
    row = await session.row(select(mine.label("mine"), func.count().label("all")).where(*own))
    return row[0], row[1]


async def unfinished_of(session: TenantSession, subject: str, thread_ids: Sequence[str]) -> Sequence[ChatRun]:
    """The runs of these threads of the subject that have not ended: one of each at most."""
    own = col(ChatRun.org_id) == session.org_id, col(ChatRun.subject) == subject
    wanted = select(ChatRun).where(*own, col(ChatRun.thread_id).in_(thread_ids), col(ChatRun.finished_at).is_(None))
    return await session.find_all(wanted)


async def runs_of(session: TenantSession, subject: str, ids: Sequence[str]) -> Sequence[ChatRun]:
    """Those of these runs that are the subject's."""
    own = col(ChatRun.org_id) == session.org_id, col(ChatRun.subject) == subject
    return await session.find_all(select(ChatRun).where(*own, col(ChatRun.id).in_(ids)))


async def heads(session: TenantSession, ids: Sequence[str]) -> Sequence[ChatRunRow]:
    """Read how far these runs are, who works on them, and whether they are to end; missing ones are left out."""

    def build() -> AnySelect:
        columns = (ChatRun.id, ChatRun.holder, ChatRun.last_sequence, ChatRun.cancel_requested_at, ChatRun.finished_at)
        return select(*map(col, columns)).where(col(ChatRun.org_id) == ORG_PARAM, in_list(col(ChatRun.id), "ids"))

    return await session.fetch("chat_run_heads", build, ids=ids)


async def locked_of(session: TenantSession, subject: str, thread_id: str) -> Sequence[ChatRun]:
    """The run of the subject's thread that has not ended, which does not end meanwhile: one at most."""
    own = col(ChatRun.org_id) == session.org_id, col(ChatRun.subject) == subject
    wanted = select(ChatRun).where(*own, col(ChatRun.thread_id) == thread_id, col(ChatRun.finished_at).is_(None))
    return await session.find_all(wanted.with_for_update())


async def advance(
    session: TenantSession, run: ChatRun, events: Sequence[Said], values: Mapping[str, AnyValue]
) -> Sequence[ChatEvent] | None:
    """Change the run for the process that works on it, and append events behind the last that it knows.

    None where another process works on it, or none any more.
    """
    changed = {**values, "last_sequence": run.last_sequence + len(events)}
    names = tuple(sorted(changed))

    def build() -> AnyStatement:
        held = (
            col(ChatRun.org_id) == ORG_PARAM,
            col(ChatRun.id) == bindparam("run", type_=Identifier),
            col(ChatRun.holder) == bindparam("held_by", type_=Identifier),
            col(ChatRun.finished_at).is_(None),
            col(ChatRun.last_sequence) == bindparam("known", type_=BigInteger),
        )
        return update(ChatRun).where(*held).values(new_values(ChatRun, names))

    known = {"run": run.id, "held_by": run.holder, "known": run.last_sequence}
    if not await session.change(("advance chat run", names), build, **new_parameters(changed), **known):
        return None
    return await append(session, run, run.last_sequence, events)


async def append(session: TenantSession, run: ChatRun, last: int, events: Sequence[Said]) -> Sequence[ChatEvent]:
    """Write events of a run behind its last one, in one statement, and give them."""
    return await session.insert(
        *(
            new_row(
                ChatEvent,
                run_id=run.id,
                sequence=last + place,
                subject=run.subject,
                type=kind.value,
                data=data,
            )
            for place, (kind, data) in enumerate(events, 1)
        ),
        last=True,
    )


async def renew(session: TenantSession, holders: Sequence[str], until: datetime) -> frozenset[str]:
    """Keep runs for these holders, locked in order; the holders of those that had not become somebody else's."""
    own = col(ChatRun.org_id) == ORG_PARAM, col(ChatRun.finished_at).is_(None), in_list(col(ChatRun.holder), "holders")

    def held() -> AnySelect:
        return select(col(ChatRun.holder)).where(*own).order_by(col(ChatRun.id)).with_for_update()

    def keep() -> AnyStatement:
        return update(ChatRun).where(*own).values(leased_until=bindparam("until", type_=UTCDateTime()))

    kept = [row.holder for row in await session.fetch("chat_runs_held", held, holders=list(holders))]
    await session.change("chat_runs_kept", keep, holders=kept, until=until)
    return frozenset(kept)


async def give_back(session: TenantSession, run: ChatRun, moment: datetime, values: Mapping[str, AnyValue]) -> bool:
    """Let another process take the run up, uncounted."""
    held = col(ChatRun.holder) == run.holder, col(ChatRun.finished_at).is_(None)
    own = col(ChatRun.org_id) == session.org_id, col(ChatRun.id) == run.id
    changed = update(ChatRun).where(*own, *held).values(**values, holder=None, leased_until=moment)
    return bool(await session.execute(changed))


async def add_steps(session: TenantSession, run: ChatRun, first: int, contents: Sequence[JsonDict]) -> None:
    """Keep what the model said or a tool gave it."""
    await session.insert(
        *(
            new_row(ChatStep, run_id=run.id, position=first + place, subject=run.subject, content=content)
            for place, content in enumerate(contents)
        )
    )


async def steps_of(session: TenantSession, run: ChatRun) -> Sequence[JsonDict]:
    """Read what the model said and the tools gave it, in order."""
    own = (
        col(ChatStep.org_id) == session.org_id,
        col(ChatStep.run_id) == run.id,
        col(ChatStep.subject) == run.subject,
    )
    found = await session.find_all(select(ChatStep).where(*own).order_by(col(ChatStep.position)))
    return [step.content for step in found]


async def events_after(session: TenantSession, subject: str, run_id: str, sequence: int) -> Sequence[ChatEventRow]:
    """The next events of the subject's run behind a number, as far as one batch goes."""

    def build() -> AnySelect:
        columns = (ChatEvent.run_id, ChatEvent.sequence, ChatEvent.type, ChatEvent.data, ChatEvent.at)
        return (
            select(*map(col, columns))
            .where(
                col(ChatEvent.org_id) == ORG_PARAM,
                col(ChatEvent.run_id) == bindparam("run_id", type_=Identifier),
                col(ChatEvent.sequence) > bindparam("sequence", type_=BigInteger),
                col(ChatEvent.subject) == bindparam("subject", type_=Text),
            )
            .order_by(col(ChatEvent.sequence))
            .limit(BATCH)
        )

    return await session.fetch("chat_events_after", build, run_id=run_id, sequence=sequence, subject=subject)


async def events_of(
    session: TenantSession, subject: str, run_ids: Sequence[str], after: int, most: int
) -> dict[str, list[ChatEvent]]:
    """The first events behind a number of each of these runs of the subject."""
    own = col(ChatEvent.org_id) == session.org_id, col(ChatEvent.subject) == subject
    place = func.row_number().over(partition_by=col(ChatEvent.run_id), order_by=col(ChatEvent.sequence))
    columns = (ChatEvent.run_id, ChatEvent.sequence, ChatEvent.type, ChatEvent.data, ChatEvent.at)
    wanted = select(*map(col, columns), place.label("place")).where(
        *own, col(ChatEvent.run_id).in_(run_ids), col(ChatEvent.sequence) > after
    )
    numbered = wanted.subquery()
    found: dict[str, list[ChatEvent]] = {}
    first = select(numbered).where(numbered.c.place <= most).order_by(numbered.c.run_id, numbered.c.sequence)
    for row in await session.rows(first):
        found.setdefault(row.run_id, []).append(row)
    return found


async def has_events(session: TenantSession, run_id: str) -> bool:
    """Says whether the run has its first event still."""
    return await session.find(ChatEvent, run_id=run_id, sequence=1) is not None


async def void_after(session: TenantSession, run: ChatRun) -> int:
    """The number behind which the text of a run is of a step that was cut."""
    own = col(ChatEvent.org_id) == session.org_id, col(ChatEvent.run_id) == run.id
    whole = select(func.max(col(ChatEvent.sequence))).where(*own, col(ChatEvent.type).not_in(_VOID))
    return await session.scalar(whole) or 0


async def told_calls(
    session: TenantSession, run: ChatRun, type: ChatEventType = ChatEventType.TOOL_CALL
) -> frozenset[str]:
    """The calls of tools of which the run's events of a type tell already."""
    own = col(ChatEvent.org_id) == session.org_id, col(ChatEvent.run_id) == run.id
    wanted = select(col(ChatEvent.data)).where(*own, col(ChatEvent.type) == type.value)
    return frozenset(row.data["call_id"] for row in await session.rows(wanted))


async def results_in(session: TenantSession, subject: str, thread_id: str, most: int) -> Sequence[JsonDict]:
    """Read what the newest results of tools in the subject's thread tell, the newest first."""
    event, run = ChatEvent, ChatRun
    wanted = (
        select(col(event.data))
        .join(run, and_(col(run.org_id) == col(event.org_id), col(run.id) == col(event.run_id)))
        .where(
            col(event.org_id) == session.org_id,
            col(run.subject) == subject,
            col(run.thread_id) == thread_id,
            col(event.type) == ChatEventType.TOOL_RESULT.value,
        )
        .order_by(col(event.run_id).desc(), col(event.sequence).desc())
        .limit(most)
    )
    return [row.data for row in await session.rows(wanted)]


async def ask_to_cancel(
    session: TenantSession, subject: str, moment: datetime, *, run_id: str | None = None, thread_id: str = ""
) -> Sequence[ChatRun]:
    """Mark an unfinished run of the subject, or that of a thread; it as it is then, locked."""
    which = col(ChatRun.thread_id) == thread_id if run_id is None else col(ChatRun.id) == run_id
    own = col(ChatRun.org_id) == session.org_id, col(ChatRun.subject) == subject
    open_ = which, col(ChatRun.finished_at).is_(None), col(ChatRun.cancel_requested_at).is_(None)
    found = await session.find_all(select(ChatRun).where(*own, *open_).with_for_update())
    # A thread has one at most.
    return [await session.update(run, cancel_requested_at=moment) for run in found]


async def abandoned(session: TenantSession, moment: datetime) -> Sequence[ChatRun]:
    """The runs of the organization that nobody works on though somebody has to, locked.

    A run that waits for a decision is one of them once that can no longer come.
    """
    over = or_(col(ChatRun.leased_until).is_(None), col(ChatRun.leased_until) <= moment)
    own = select(ChatRun).where(
        col(ChatRun.org_id) == session.org_id,
        col(ChatRun.finished_at).is_(None),
        over,
    )
    return await session.find_all(own.order_by(col(ChatRun.id)).with_for_update())


async def next_lease(session: TenantSession) -> datetime | None:
    """Says when the next lease of the organization's runs is over; None where there is no unfinished one."""
    own = col(ChatRun.org_id) == session.org_id, col(ChatRun.finished_at).is_(None)
    earliest: datetime | None = await session.scalar(select(func.min(col(ChatRun.leased_until))).where(*own))
    return earliest


async def with_old_events(session: TenantSession, before: datetime) -> Sequence[str]:
    """A batch of the runs that ended before then and still have events."""
    own = col(ChatRun.org_id) == session.org_id, col(ChatRun.finished_at) < before
    has_events_ = (
        select(col(ChatEvent.run_id))
        .where(col(ChatEvent.org_id) == session.org_id, col(ChatEvent.run_id) == col(ChatRun.id))
        .exists()
    )
    wanted = select(col(ChatRun.id)).where(*own, has_events_).order_by(col(ChatRun.id)).limit(_RUNS_AT_ONCE)
    return [row.id for row in await session.rows(wanted)]


_RUNS_AT_ONCE = max(1, PRUNED // 25)
"""Runs whose events are forgotten at a time: a run has some 25."""


async def forget_events(session: TenantSession, run_ids: Sequence[str]) -> None:
    """Delete the events and steps of runs."""
    for table in (ChatEvent, ChatStep):  # two tables
        own = col(table.org_id) == session.org_id, col(table.run_id).in_(run_ids)
        await session.execute(delete(table).where(*own))
