"""Statements on deals: their links, their way through the stages, and the money on the board."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from sqlalchemy import Integer, Numeric, case, delete, func, literal, select, update
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement, GenericFunction
from sqlalchemy.types import TypeDecorator
from sqlmodel import col

from contract.criteria import Condition
from contract.vocabulary import DealStatus
from storage.adapters.sqlalchemy import SQLCompiler
from storage.base import Decoded, as_uuid, now, plain_decimal
from storage.expressions import AnyColumn, AnySelect, Values
from storage.joined_rows import TotalRow
from storage.queries.aggregates import Question, aggregate
from storage.queries.deal_aggregates import DEAL_SOURCE
from storage.queries.exact import amount_of
from storage.queries.filtering import bind, in_list, narrowed
from storage.queries.record_listables import DEALS
from storage.rows import StageChangeRow
from storage.statements import ORG_PARAM
from storage.tables import Deal, DealContact, PipelineStage, StageChange
from storage.tenancy.sessions import TenantSession

_BY_STAGE = Question(("stage",), frozenset({"high", "low"}), first=2**31 - 1)
"""Asks for the amount of every stage."""


class _Total(Decoded, TypeDecorator[Decimal]):
    """An exact sum: a number on PostgreSQL, three partial sums as text on SQLite."""

    impl = Numeric
    cache_ok = True

    @staticmethod
    def decode(value: Decimal | str) -> Decimal:
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
def _sum(element: FunctionElement[object], compiler: SQLCompiler, **kw: object) -> str:
    return f"sum({compiler.process(element.clauses, **kw)})"


@compiles(money_sum, "sqlite")
def _sums(element: FunctionElement[object], compiler: SQLCompiler, **kw: object) -> str:
    text = compiler.process(element.clauses, **kw)
    parts = (f"sum(CAST(substr({text}, {start}, {length}) AS INTEGER))" for start, length in ((1, 8), (9, 7), (17, 4)))
    return " || ' ' || ".join(parts)


@dataclass(frozen=True, slots=True)
class StageTotal:
    """The deals of one stage, or of none, in one currency; those without a value add nothing to the amount."""

    stage_id: str | None
    currency: str
    amount: Decimal
    deals: int


async def totals(session: TenantSession, condition: Condition) -> Sequence[StageTotal]:
    """What the deals of each stage come to, by currency: from the roll-up where it can say that (decision 1141)."""
    values: Values = {}
    shape = bind(DEALS, condition, values)
    rolled_up = DEAL_SOURCE.rolled_up
    if rolled_up is not None and rolled_up.answers(shape, _BY_STAGE, _BY_STAGE.parts):
        groups = await aggregate(session, DEAL_SOURCE, condition, _BY_STAGE)
        return [
            StageTotal(row.key0, row.currency, amount_of(session.dialect, row.high, row.low), int(row.count))
            for row in groups
            if row.place is not None
        ]

    def build() -> AnySelect:
        amount, number = money_sum(col(Deal.value)).label("amount"), func.count().label("deals")
        counted = DEALS.select(ORG_PARAM, col(Deal.stage_id), col(Deal.currency), amount, number)
        grouped = narrowed(counted, DEALS, shape).group_by(col(Deal.stage_id), col(Deal.currency))
        return grouped.order_by(col(Deal.currency))

    rows: Sequence[TotalRow] = await session.fetch(("totals", shape), build, **values)
    return [StageTotal(row.stage_id, row.currency, row.amount or Decimal(0), row.deals) for row in rows]


async def stage_history(session: TenantSession, deal_ids: Sequence[str]) -> dict[str, list[StageChangeRow]]:
    """Each deal's stage changes, oldest first."""
    change = StageChange

    def build() -> AnySelect:
        columns: list[AnyColumn] = [change.deal_id, change.from_stage_id, change.to_stage_id, change.at, change.by]
        return (
            select(*columns)
            .where(col(change.org_id) == ORG_PARAM, in_list(col(change.deal_id), "ids"))
            .order_by(col(change.at), col(change.id))
        )

    history: dict[str, list[StageChangeRow]] = {i: [] for i in deal_ids}
    for row in await session.fetch("stage_history", build, ids=list(deal_ids)):
        history[row.deal_id].append(row)
    return history


async def link(session: TenantSession, deal_id: str, contact_id: str) -> DealContact | None:
    """The link between the two, to be changed."""
    return await session.find(DealContact, deal_id=deal_id, contact_id=contact_id, lock=True)


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
    )


async def unlink(session: TenantSession, deal_id: str, contact_id: str) -> bool:
    """Remove the link; whether there was one. Whatever the identifiers, nothing else happens."""
    deal, contact = as_uuid(deal_id), as_uuid(contact_id)
    if deal is None or contact is None:
        return False
    removed = await session.execute(
        delete(DealContact).where(
            col(DealContact.org_id) == session.org_id,
            col(DealContact.deal_id) == deal,
            col(DealContact.contact_id) == contact,
        )
    )
    return bool(removed)


async def follow_stage_type(session: TenantSession, stage_id: str, status: str) -> None:
    """The deals in a stage take its type as their status, and are closed or open from this moment (decision 239)."""
    moment = now()
    closed_at = None if status == DealStatus.OPEN.value else moment
    await session.execute(
        update(Deal)
        .where(col(Deal.org_id) == session.org_id, col(Deal.stage_id) == stage_id, col(Deal.status) != status)
        .values(status=status, closed_at=closed_at, updated_at=moment, version=col(Deal.version) + 1)
    )


async def any_in_stage(session: TenantSession, stage_id: str) -> bool:
    """Says whether a deal is in the stage."""
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
    )
