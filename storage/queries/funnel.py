"""Says how deals moved through the stages, by their history, in one statement."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Subquery, and_, bindparam, func, or_, select
from sqlalchemy.orm import aliased
from sqlmodel import UTCDateTime, col

from contract.criteria import Condition
from contract.vocabulary import DealStatus, StageType
from storage.expressions import AnyColumn, AnyEntity, AnySelect, Values
from storage.queries.exact import microseconds, whole_seconds
from storage.queries.filtering import bind, narrowed
from storage.queries.numbers import equals, number_of, only_where
from storage.queries.record_listables import DEALS
from storage.rows import Row
from storage.statements import ORG_PARAM
from storage.tables import Deal, PipelineStage, StageChange
from storage.tenancy.sessions import TenantSession

_STAGE: AnyEntity = aliased(PipelineStage)
_MOVE: AnyEntity = aliased(StageChange)
COUNTS = ("here", "advanced", "lost", "timed")
TIMES = ("seconds", "micros")


class PassedRow(Row):
    """The fate of the different deals that entered a stage, and how long their ended stays were."""

    stage_id: str
    entered: int
    here: int
    advanced: int
    lost: int
    timed: int
    seconds: Any  # a number of the database's
    micros: int | None


async def passed(
    session: TenantSession, condition: Condition, since: datetime | None, until: datetime | None
) -> Sequence[PassedRow]:
    """Count what happened in each stage that deals came into from the one moment on, before the other."""
    values: Values = {"since": since, "until": until}
    shape = bind(DEALS, condition, values)
    bounds = (since is not None, until is not None)

    def build() -> AnySelect:
        deals = narrowed(DEALS.select(ORG_PARAM, col(Deal.id), col(Deal.stage_id), col(Deal.status)), DEALS, shape)
        stays = _stays(deals.subquery("deal"))
        conditions: list[ColumnElement[bool]] = [stays.c.stage_id.is_not(None)]
        if bounds[0]:
            conditions.append(stays.c.at >= bindparam("since", type_=UTCDateTime))
        if bounds[1]:
            conditions.append(stays.c.at < bindparam("until", type_=UTCDateTime))
        by_deal = _by_deal(stays).where(*conditions).group_by(stays.c.stage_id, stays.c.deal_id).subquery()
        sums = [func.sum(by_deal.c[name]).label(name) for name in (*COUNTS, *TIMES)]
        return select(by_deal.c.stage_id, func.count().label("entered"), *sums).group_by(by_deal.c.stage_id)

    return await session.fetch(("funnel", shape, bounds), build, **values)


def _stays(deal: Subquery) -> Subquery:
    """Each move of these deals, with when it was left again and which stages came after it."""
    kind, position = _STAGE.type, _STAGE.position
    order = {"partition_by": _MOVE.deal_id, "order_by": (_MOVE.at, _MOVE.id)}

    def coming(how: AnyColumn, column: AnyColumn) -> AnyColumn:
        return how(column).over(**order, rows=(1, None))

    won = only_where(equals(kind, StageType.WON.value), position)
    return (
        select(
            _MOVE.deal_id,
            _MOVE.to_stage_id.label("stage_id"),
            _MOVE.at,
            position,
            deal.c.stage_id.label("present_id"),
            deal.c.status,
            func.lead(_MOVE.at).over(**order).label("left_at"),
            coming(func.max, only_where(equals(kind, StageType.OPEN.value), position)).label("highest"),
            coming(func.min, won).label("least_won"),
            coming(func.max, won).label("most_won"),
        )
        .select_from(deal)
        .join(_MOVE, and_(_MOVE.org_id == ORG_PARAM, _MOVE.deal_id == deal.c.id))
        .outerjoin(_STAGE, and_(_STAGE.org_id == ORG_PARAM, _STAGE.id == _MOVE.to_stage_id))
        .subquery("stay")
    )


def _by_deal(stays: Subquery) -> AnySelect:
    """Select the fate of each deal that came into a stage: a deal that came back counts once (decision 260)."""
    stay = stays.c
    went_on = or_(stay.highest > stay.position, stay.least_won != stay.position, stay.most_won != stay.position)
    length = (stay.at, stay.left_at)
    return select(
        stay.stage_id,
        func.max(number_of(stay.present_id == stay.stage_id)).label("here"),
        func.max(number_of(went_on)).label("advanced"),
        func.max(number_of(equals(stay.status, DealStatus.LOST.value))).label("lost"),
        func.count(stay.left_at).label("timed"),
        func.sum(whole_seconds(*length)).label("seconds"),
        func.sum(microseconds(*length)).label("micros"),
    )
