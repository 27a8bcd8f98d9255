"""Statements on what runs asked of models, by day, member and model."""

from collections.abc import Sequence

from sqlalchemy import func, select, update
from sqlmodel import col

from storage.new_rows import new_row
from storage.queries.records import insert_missing
from storage.statements import AnyValue
from storage.tables import ChatRun, ModelUsage
from storage.tenancy.sessions import TenantSession


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


async def settle(
    session: TenantSession, day: str, run: ChatRun, read: int, written: int, *, is_estimated: bool
) -> None:
    """Add what a run has asked of its model."""
    usage = ModelUsage
    row = new_row(
        usage,
        org_id=session.org_id,
        day=day,
        subject=run.subject,
        provider=run.provider,
        model=run.model or "",
        input_tokens=read,
        output_tokens=written,
        is_estimated=is_estimated,
    )
    if await insert_missing(session, row):  # it began on the day before
        return
    values: dict[str, AnyValue] = {
        "input_tokens": col(usage.input_tokens) + read,
        "output_tokens": col(usage.output_tokens) + written,
    }
    if is_estimated:
        values["is_estimated"] = True
    await session.execute(update(usage).where(*_of(session, day, run)).values(**values))


async def spent(session: TenantSession, day: str) -> int:
    """The tokens that the organization had of models on a day."""
    usage = ModelUsage
    own = col(usage.org_id) == session.org_id, col(usage.day) == day
    total = func.coalesce(func.sum(col(usage.input_tokens) + col(usage.output_tokens)), 0)
    return int(await session.scalar(select(total).where(*own)))


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
