"""Statements on what runs asked of models, by day, member and model."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import func, select, update
from sqlmodel import col

from storage.new_rows import new_row
from storage.queries.records import insert_missing
from storage.statements import AnyValue
from storage.tables import ChatRun, ModelUsage
from storage.tenancy.sessions import TenantSession


@dataclass(frozen=True, slots=True)
class Used:
    """The tokens that a run had of its model: those that it read, and those that it wrote."""

    read: int
    written: int
    is_estimated: bool


async def begin(session: TenantSession, day: str, run: ChatRun) -> None:
    """Count a run that begins."""
    row = new_row(
        ModelUsage,
        org_id=session.org_id,
        day=day,
        subject=run.subject,
        provider=run.provider,
        model=run.model or "",
        runs=1,
    )
    if await insert_missing(session, row):
        return
    await session.execute(update(ModelUsage).where(*_of(session, day, run)).values(runs=col(ModelUsage.runs) + 1))


async def settle(session: TenantSession, day: str, run: ChatRun, used: Used) -> None:
    """Add what a run has asked of its model, now that it ends."""
    if not used.read and not used.written:
        return
    usage = ModelUsage
    row = new_row(
        usage,
        org_id=session.org_id,
        day=day,
        subject=run.subject,
        provider=run.provider,
        model=run.model or "",
        input_tokens=used.read,
        output_tokens=used.written,
        is_estimated=used.is_estimated,
    )
    if await insert_missing(session, row):  # it began on the day before
        return
    values: dict[str, AnyValue] = {
        "input_tokens": col(usage.input_tokens) + used.read,
        "output_tokens": col(usage.output_tokens) + used.written,
    }
    if used.is_estimated:
        values["is_estimated"] = True
    await session.execute(update(usage).where(*_of(session, day, run)).values(**values))


async def taken(session: TenantSession, day: str, but: str | None = None) -> tuple[int, int]:
    """The tokens of a day that the organization's ended runs had, and those that the others had or have reserved.

    One statement, so that a run that ends meanwhile counts in one of the two; `but` is a run that is left out.
    """
    usage, run = ModelUsage, ChatRun
    ended = (
        select(func.coalesce(func.sum(col(usage.input_tokens) + col(usage.output_tokens)), 0))
        .where(col(usage.org_id) == session.org_id, col(usage.day) == day)
        .scalar_subquery()
    )
    tokens = col(run.input_tokens) + col(run.output_tokens) + col(run.reserved)
    others = () if but is None else (col(run.id) != but,)
    open_ = (
        select(func.coalesce(func.sum(tokens), 0))
        .where(col(run.org_id) == session.org_id, col(run.finished_at).is_(None), *others)
        .scalar_subquery()
    )
    row = await session.row(select(ended.label("ended"), open_.label("open")))
    return int(row[0]), int(row[1])


async def between(session: TenantSession, first: str, last: str) -> Sequence[ModelUsage]:
    """The rows of these days, the newest day first, then by member and model."""
    usage = ModelUsage
    own = col(usage.org_id) == session.org_id, col(usage.day) >= first, col(usage.day) <= last
    order = col(usage.day).desc(), col(usage.subject), col(usage.provider), col(usage.model)
    return await session.find_all(select(usage).where(*own).order_by(*order))


def _of(session: TenantSession, day: str, run: ChatRun) -> tuple[AnyValue, ...]:
    return (
        col(ModelUsage.org_id) == session.org_id,
        col(ModelUsage.day) == day,
        col(ModelUsage.subject) == run.subject,
        col(ModelUsage.provider) == run.provider,
        col(ModelUsage.model) == (run.model or ""),
    )
