"""Statements on the questions that were asked, and on the steps of their answers.

Those that serve a caller name the subject, who alone may know of them; workers look after all of an organization.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import BigInteger, Text, bindparam, case, cast, delete, func, select, update
from sqlmodel import col

from contract.analytics_events import AnalyticsRunStatus, EventType
from contract.limits import RUN_EVENTS_HOURS
from storage.base import Identifier
from storage.expressions import AnySelect
from storage.new_rows import new_row
from storage.queries.filtering import in_list
from storage.rows import AnalyticsEventRow
from storage.statements import ORG_PARAM, AnyRow, AnyStatement, AnyValue
from storage.table_statements import new_parameters, new_values
from storage.tables import AnalyticsConversation, AnalyticsEvent, AnalyticsRun
from storage.tenancy.sessions import TenantSession

EVENTS_KEPT = timedelta(hours=RUN_EVENTS_HOURS)
BATCH = 20
"""Steps that are read at a time, each of up to 64 KB."""
_FORGOTTEN = 100
_RUNNING = AnalyticsRunStatus.RUNNING.value


async def running(session: TenantSession, subject: str) -> tuple[int, int]:
    """Says how many questions of the subject are worked on, and of the whole organization."""

    def build() -> AnySelect:
        mine = func.count(case((col(AnalyticsRun.subject) == bindparam("subject", type_=Text), 1)))
        own = col(AnalyticsRun.org_id) == ORG_PARAM, col(AnalyticsRun.status) == _RUNNING
        return select(mine.label("mine"), func.count().label("all")).where(*own)

    [row] = await session.fetch("analytics_runs_running", build, subject=subject)
    return row.mine, row.all


async def touch_conversation(session: TenantSession, subject: str, conversation_id: str, moment: datetime) -> bool:
    """Note that the conversation goes on; False where the subject has none of this identifier."""
    own = (
        col(AnalyticsConversation.org_id) == session.org_id,
        col(AnalyticsConversation.id) == conversation_id,
        col(AnalyticsConversation.subject) == subject,
    )
    return bool(await session.execute(update(AnalyticsConversation).where(*own).values(updated_at=moment)))


async def free_key(session: TenantSession, run: AnalyticsRun) -> None:
    """Take a key that is valid no more off the run that it began."""
    await session.execute(update(AnalyticsRun).where(*_own(session, run.subject, run.id)).values(key_hash=None))


async def last_plan(session: TenantSession, subject: str, conversation_id: str) -> AnyRow:
    """The plan of the newest question of the conversation that was answered by one, with the question's `id`."""

    def build() -> AnySelect:
        return (
            select(col(AnalyticsRun.id), col(AnalyticsRun.plan))
            .where(
                col(AnalyticsRun.org_id) == ORG_PARAM,
                col(AnalyticsRun.subject) == bindparam("subject", type_=Text),
                col(AnalyticsRun.conversation_id) == bindparam("conversation", type_=Identifier),
                col(AnalyticsRun.status) == AnalyticsRunStatus.SUCCEEDED.value,
                col(AnalyticsRun.plan).is_not(None),
            )
            .order_by(col(AnalyticsRun.created_at).desc(), col(AnalyticsRun.id).desc())
            .limit(1)
        )

    rows = await session.fetch("analytics_last_plan", build, subject=subject, conversation=conversation_id)
    return next(iter(rows), None)


async def advance(session: TenantSession, run: AnalyticsRun, values: Mapping[str, AnyValue]) -> bool:
    """Change the run for the process that works on it. False where that is another one, or none any more."""
    names = tuple(sorted(values))

    def build() -> AnyStatement:
        held = (
            col(AnalyticsRun.org_id) == ORG_PARAM,
            col(AnalyticsRun.id) == bindparam("run", type_=Identifier),
            col(AnalyticsRun.subject) == bindparam("subject", type_=Text),
            col(AnalyticsRun.holder) == bindparam("held_by", type_=Identifier),
            col(AnalyticsRun.status) == _RUNNING,
        )
        return update(AnalyticsRun).where(*held).values(new_values(AnalyticsRun, names))

    known = {"run": run.id, "subject": run.subject, "held_by": run.holder}
    return bool(await session.change(("advance analytics run", names), build, **new_parameters(values), **known))


async def append(
    session: TenantSession, run_id: str, first: int, steps: Sequence[tuple[EventType, AnyValue]]
) -> Sequence[AnalyticsEvent]:
    """Write steps of an answer, numbered from `first` on, in one statement, and give them."""
    return await session.insert(
        *(
            new_row(AnalyticsEvent, run_id=run_id, sequence=first + place, type=kind.value, data=data)
            for place, (kind, data) in enumerate(steps)
        ),
        last=True,
    )


async def events_after(session: TenantSession, subject: str, run_id: str, sequence: int) -> Sequence[AnalyticsEventRow]:
    """The next steps of the subject's question behind a number, as far as one batch goes."""

    def build() -> AnySelect:
        event, run = AnalyticsEvent, AnalyticsRun
        return (
            select(col(event.run_id), col(event.sequence), col(event.type), col(event.data))
            .join(run, (col(run.org_id) == col(event.org_id)) & (col(run.id) == col(event.run_id)))
            .where(
                col(event.org_id) == ORG_PARAM,
                col(event.run_id) == bindparam("run_id", type_=Identifier),
                col(event.sequence) > bindparam("sequence", type_=BigInteger),
                col(run.subject) == bindparam("subject", type_=Text),
            )
            .order_by(col(event.sequence))
            .limit(BATCH)
        )

    return await session.fetch("analytics_events_after", build, run_id=run_id, sequence=sequence, subject=subject)


@dataclass(frozen=True, slots=True)
class Head:
    """How far the answer to a question is: the number of its newest step."""

    id: str
    last: int


async def heads(session: TenantSession, run_ids: Sequence[str]) -> Sequence[Head]:
    """How far the answers to these questions are; those of deleted questions are left out."""

    def build() -> AnySelect:
        run, newest = col(AnalyticsEvent.run_id), func.max(col(AnalyticsEvent.sequence))
        own = col(AnalyticsEvent.org_id) == ORG_PARAM, in_list(run, "ids")
        return select(run, newest.label("sequence")).where(*own).group_by(run)

    return [Head(row.run_id, row.sequence) for row in await session.fetch("analytics_run_heads", build, ids=run_ids)]


async def rows_bytes(session: TenantSession, subject: str, run_ids: Sequence[str]) -> int:
    """The bytes of the rows that the answers to the subject's questions have together."""
    told = func.coalesce(func.sum(func.length(cast(col(AnalyticsEvent.data), Text))), 0)
    return int(await session.scalar(_of_rows(session, subject, run_ids, told)))


async def rows_of(session: TenantSession, subject: str, run_ids: Sequence[str]) -> dict[str, list[AnyValue]]:
    """The rows of the answers to the subject's questions, by question; none of those whose steps are forgotten."""
    columns = col(AnalyticsEvent.run_id), col(AnalyticsEvent.data)
    wanted = _of_rows(session, subject, run_ids, *columns)
    found: dict[str, list[AnyValue]] = {}
    for row in await session.rows(wanted.order_by(col(AnalyticsEvent.run_id), col(AnalyticsEvent.sequence))):
        found.setdefault(row.run_id, []).extend(row.data["rows"])
    return found


def _of_rows(session: TenantSession, subject: str, run_ids: Sequence[str], *columns: AnyValue) -> AnySelect:
    event, run = AnalyticsEvent, AnalyticsRun
    return (
        select(*columns)
        .select_from(event)
        .join(run, (col(run.org_id) == col(event.org_id)) & (col(run.id) == col(event.run_id)))
        .where(
            col(event.org_id) == session.org_id,
            col(event.run_id).in_(run_ids),
            col(event.type) == EventType.ROWS.value,
            col(run.subject) == subject,
        )
    )


async def runs_of(session: TenantSession, subject: str, run_ids: Sequence[str]) -> Sequence[AnalyticsRun]:
    """Those of these questions that the subject has asked."""
    own = col(AnalyticsRun.org_id) == session.org_id, col(AnalyticsRun.subject) == subject
    return await session.find_all(select(AnalyticsRun).where(*own, col(AnalyticsRun.id).in_(run_ids)))


async def ask_to_cancel(
    session: TenantSession, subject: str, moment: datetime, *, run_id: str | None = None, conversation_id: str = ""
) -> bool:
    """Mark a question of the subject that is worked on, or those of a conversation; whether there were any."""
    which = col(AnalyticsRun.conversation_id) == conversation_id if run_id is None else col(AnalyticsRun.id) == run_id
    own = col(AnalyticsRun.org_id) == session.org_id, col(AnalyticsRun.subject) == subject
    waiting = col(AnalyticsRun.status) == _RUNNING, col(AnalyticsRun.cancel_requested_at).is_(None)
    marked = update(AnalyticsRun).where(*own, which, *waiting).values(cancel_requested_at=moment)
    return bool(await session.execute(marked))


async def forget_conversation(session: TenantSession, subject: str, conversation_id: str) -> bool:
    """Delete a conversation of the subject with its questions and answers; False where there is none."""
    own = (
        col(AnalyticsConversation.org_id) == session.org_id,
        col(AnalyticsConversation.id) == conversation_id,
        col(AnalyticsConversation.subject) == subject,
    )
    return bool(await session.execute(delete(AnalyticsConversation).where(*own)))


async def abandoned(session: TenantSession, moment: datetime) -> Sequence[AnalyticsRun]:
    """The runs of the organization whose leases are over, locked."""
    over = col(AnalyticsRun.status) == _RUNNING, col(AnalyticsRun.leased_until) <= moment
    own = select(AnalyticsRun).where(col(AnalyticsRun.org_id) == session.org_id, *over)
    return await session.find_all(own.order_by(col(AnalyticsRun.id)).with_for_update())


async def last_sequence(session: TenantSession, run_id: str) -> int:
    """The number of the last step that a run has written."""
    own = col(AnalyticsEvent.org_id) == session.org_id, col(AnalyticsEvent.run_id) == run_id
    return await session.scalar(select(func.max(col(AnalyticsEvent.sequence))).where(*own)) or 0


async def next_lease(session: TenantSession) -> datetime | None:
    """Says when the next lease of the organization's runs is over; None where none is worked on."""
    own = col(AnalyticsRun.org_id) == session.org_id, col(AnalyticsRun.status) == _RUNNING
    earliest: datetime | None = await session.scalar(select(func.min(col(AnalyticsRun.leased_until))).where(*own))
    return earliest


async def with_old_events(session: TenantSession, before: datetime) -> Sequence[str]:
    """A batch of the questions that ended before then and still have the steps of their answers."""
    own = col(AnalyticsRun.org_id) == session.org_id, col(AnalyticsRun.finished_at) < before
    has_steps = (
        select(col(AnalyticsEvent.run_id))
        .where(
            col(AnalyticsEvent.org_id) == session.org_id,
            col(AnalyticsEvent.run_id) == col(AnalyticsRun.id),
        )
        .exists()
    )
    wanted = select(col(AnalyticsRun.id)).where(*own, has_steps).order_by(col(AnalyticsRun.id)).limit(_FORGOTTEN)
    return [row.id for row in await session.rows(wanted)]


async def forget_events(session: TenantSession, run_ids: Sequence[str]) -> None:
    """Delete the steps of answers."""
    own = col(AnalyticsEvent.org_id) == session.org_id, col(AnalyticsEvent.run_id).in_(run_ids)
    await session.execute(delete(AnalyticsEvent).where(*own))


async def old_runs(session: TenantSession, before: datetime) -> Sequence[str]:
    """A batch of the questions that were asked before then and have ended."""
    own = col(AnalyticsRun.org_id) == session.org_id, col(AnalyticsRun.status) != _RUNNING
    wanted = select(col(AnalyticsRun.id)).where(*own, col(AnalyticsRun.created_at) < before)
    return [row.id for row in await session.rows(wanted.order_by(col(AnalyticsRun.id)).limit(_FORGOTTEN))]


async def forget_runs(session: TenantSession, run_ids: Sequence[str], before: datetime) -> None:
    """Delete questions, and the conversations that have none any more and did not go on since then."""
    own = col(AnalyticsRun.org_id) == session.org_id, col(AnalyticsRun.id).in_(run_ids)
    await session.execute(delete(AnalyticsRun).where(*own))
    asked = (
        select(col(AnalyticsRun.id))
        .where(
            col(AnalyticsRun.org_id) == session.org_id,
            col(AnalyticsRun.conversation_id) == col(AnalyticsConversation.id),
        )
        .exists()
    )
    empty = col(AnalyticsConversation.org_id) == session.org_id, col(AnalyticsConversation.updated_at) < before
    await session.execute(delete(AnalyticsConversation).where(*empty, ~asked))


def _own(session: TenantSession, subject: str, run_id: str) -> tuple[AnyValue, ...]:
    """The subject's question of this identifier."""
    return (
        col(AnalyticsRun.org_id) == session.org_id,
        col(AnalyticsRun.id) == run_id,
        col(AnalyticsRun.subject) == subject,
    )
