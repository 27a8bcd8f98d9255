"""Statements on deals: their links, their way through the stages, and the money on the board."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from sqlalchemy import Integer, Numeric, Select, case, delete, func, literal, select, update
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import GenericFunction
from sqlalchemy.types import TypeDecorator
from sqlmodel import col

from contract.criteria import Condition
from storage.base import Decoded, as_uuid, now, plain_decimal
from storage.prepared import ORGANIZATION
from storage.queries.filtering import bind, narrowed, one_of
from storage.queries.nouns import DEALS
from storage.sessions import TenantSession
from storage.tables import Deal, DealContact, PipelineStage, StageChange


class _Total(Decoded, TypeDecorator[Decimal]):
    """An exact sum: a number on PostgreSQL, three partial sums as text on SQLite."""

    impl = Numeric
    cache_ok = True

    @staticmethod
    def decode(value: Any) -> Decimal:
        """The sum without trailing zeros."""
        if isinstance(value, str):
            high, low, decimals = (Decimal(part) for part in value.split())
            value = high.scaleb(7) + low + decimals.scaleb(-4)
        return plain_decimal(value)


class money_sum(GenericFunction[Decimal]):
    """The exact sum of a Money column."""

    type = _Total()
    inherit_cache = True


@compiles(money_sum, "postgresql")
def _sum(element: Any, compiler: Any, **kw: Any) -> str:
    return f"sum({compiler.process(element.clauses, **kw)})"


@compiles(money_sum, "sqlite")
def _sums(element: Any, compiler: Any, **kw: Any) -> str:
    text = compiler.process(element.clauses, **kw)
    parts = (f"sum(CAST(substr({text}, {start}, {length}) AS INTEGER))" for start, length in ((1, 8), (9, 7), (17, 4)))
    return " || ' ' || ".join(parts)


async def totals(session: TenantSession, condition: Condition) -> Sequence[Any]:
    """Per stage and currency: `stage_id`, `currency`, `amount` (deals without a value count as nothing), `deals`."""
    values: dict[str, Any] = {}
    shape = bind(DEALS, condition, values)

    def build() -> Select[Any]:
        amount, number = money_sum(col(Deal.value)).label("amount"), func.count().label("deals")
        staged = DEALS.select(ORGANIZATION, col(Deal.stage_id), col(Deal.currency), amount, number).where(
            col(Deal.stage_id).is_not(None)
        )
        grouped = narrowed(staged, DEALS, shape).group_by(col(Deal.stage_id), col(Deal.currency))
        return grouped.order_by(col(Deal.currency))

    return await session.fetch(("totals", shape), build, **values)


async def stage_history(session: TenantSession, deal_ids: Sequence[str]) -> dict[str, list[Any]]:
    """Each deal's stage changes, oldest first."""
    change = StageChange

    def build() -> Select[Any]:
        columns: list[Any] = [change.deal_id, change.from_stage_id, change.to_stage_id, change.at, change.by]
        return (
            select(*columns)
            .where(col(change.org_id) == ORGANIZATION, one_of(col(change.deal_id), "ids"))
            .order_by(col(change.at), col(change.id))
        )

    history: dict[str, list[Any]] = {i: [] for i in deal_ids}
    for row in await session.fetch("stage_history", build, ids=list(deal_ids)):
        history[row.deal_id].append(row)
    return history


async def link(session: TenantSession, deal_id: str, contact_id: str) -> DealContact | None:
    """The link between the two, to be changed."""
    return await session.find(
        DealContact, col(DealContact.deal_id) == deal_id, col(DealContact.contact_id) == contact_id, lock=True
    )


async def only_primary(session: TenantSession, deal_id: str, contact_id: str) -> None:
    """Leaves no other than this one of a deal's contacts the primary."""
    await session.execute(
        update(DealContact)
        .where(
            col(DealContact.org_id) == session.org_id,
            col(DealContact.deal_id) == deal_id,
            col(DealContact.contact_id) != contact_id,
        )
        .values(is_primary=False)
        .execution_options(synchronize_session=False)
    )


async def unlink(session: TenantSession, deal_id: str, contact_id: str) -> bool:
    """Remove the link; whether there was one. Whatever the identifiers, nothing else happens."""
    deal, contact = as_uuid(deal_id), as_uuid(contact_id)
    if deal is None or contact is None:
        return False
    removed = await session.execute(
        delete(DealContact)
        .where(
            col(DealContact.org_id) == session.org_id,
            col(DealContact.deal_id) == deal,
            col(DealContact.contact_id) == contact,
        )
        .execution_options(synchronize_session=False)
    )
    return bool(removed.rowcount)  # type: ignore[attr-defined]  # a DELETE gives a cursor result


async def follow_stage_type(session: TenantSession, stage_id: str, status: str) -> None:
    """The deals in a stage take its type as their status."""
    await session.execute(
        update(Deal)
        .where(col(Deal.org_id) == session.org_id, col(Deal.stage_id) == stage_id, col(Deal.status) != status)
        .values(status=status, updated_at=now(), version=col(Deal.version) + 1)
        .execution_options(synchronize_session=False)
    )


async def any_in_stage(session: TenantSession, stage_id: str) -> bool:
    """Whether a deal is in the stage."""
    statement = select(col(Deal.id)).where(col(Deal.org_id) == session.org_id, col(Deal.stage_id) == stage_id).limit(1)
    return await session.row(statement) is not None


async def lock_stages(session: TenantSession) -> None:
    """Keep other writers off all stages, in one order whoever asks, so that two callers never wait for each other."""
    own = select(col(PipelineStage.id)).where(col(PipelineStage.org_id) == session.org_id)
    await session.rows(own.order_by(col(PipelineStage.id)).with_for_update())


async def place_stages(session: TenantSession, ids: Sequence[str]) -> None:
    """Give the stages their positions, counted from 0, in this order."""
    if not ids:
        return
    stage = col(PipelineStage.id)
    positions = ((stage == stage_id, literal(position, Integer)) for position, stage_id in enumerate(ids))
    await session.execute(
        update(PipelineStage)
        .where(col(PipelineStage.org_id) == session.org_id, stage.in_(ids))
        .values(position=case(*positions))
        .execution_options(synchronize_session=False)
    )
