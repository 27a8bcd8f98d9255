"""Statements on sales targets, and on the deals that count for them."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

from sqlalchemy import ColumnElement, and_, func, or_, select, union_all
from sqlmodel import col

from contract.vocabulary import DealStatus, TargetMetric
from storage.base import plain_decimal
from storage.expressions import AnySelect
from storage.joined_rows import ReachedRow
from storage.queries.deals import money_sum
from storage.queries.filtering import in_list
from storage.queries.words import word
from storage.rows import SalesTargetRow
from storage.statements import ORG_PARAM
from storage.tables import Deal, SalesTarget
from storage.tenancy.sessions import TenantSession


async def known(session: TenantSession, keys: Sequence[tuple[object, ...]]) -> dict[tuple[object, ...], SalesTarget]:
    """The targets that there are of these keys, by key, locked against other writers."""
    owners, first_days = {key[0] for key in keys}, {key[3] for key in keys}
    own = select(SalesTarget).where(
        col(SalesTarget.org_id) == session.org_id,
        col(SalesTarget.owner_key).in_(owners),
        col(SalesTarget.starts_on).in_(first_days),
    )
    rows = await session.find_all(own.order_by(col(SalesTarget.id)).with_for_update())
    wanted = set(keys)
    return {key: target for target in rows if (key := key_of(target)) in wanted}


def key_of(target: SalesTarget) -> tuple[object, ...]:
    """Return the key that there is one target of."""
    return target.owner_key, target.metric, target.currency_key, target.starts_on, target.ends_on


async def number(session: TenantSession) -> int:
    """Says how many targets the organization has."""
    own = col(SalesTarget.org_id) == session.org_id
    counted: int = await session.scalar(select(func.count()).select_from(SalesTarget).where(own))
    return counted


@dataclass(frozen=True, slots=True)
class Asked:
    """Says which deals are counted besides those that make the target's own sum."""

    is_whole: bool = True
    """Those that are won in the period in other currencies."""
    has_open: bool = True
    """Those that are expected to close in the period."""


async def reached(session: TenantSession, target_ids: Sequence[str], asked: Asked) -> Sequence[ReachedRow]:
    """The deals that count for targets, by target, status and currency: how many, of these with a value, and its sum.

    Won ones by when they were closed, open ones by the day on which they are expected to close.
    """
    return await session.fetch(("targets_reached", asked), partial(_reached, asked), ids=list(target_ids))


@dataclass(frozen=True, slots=True)
class Reached:
    """Says how far a target is reached, with the won deals of all currencies that were counted."""

    actual: Decimal
    deals: int
    ratio: Decimal
    remaining: Decimal
    open_pipeline: Decimal
    won: Sequence[ReachedRow]


def reached_of(target: SalesTargetRow, rows: Sequence[ReachedRow]) -> Reached:
    """Tell how far a target is reached, by the deals that count for it."""
    won = [row for row in rows if row.status == DealStatus.WON.value]
    ahead = [row for row in rows if row.status == DealStatus.OPEN.value]
    if target.metric == TargetMetric.WON_DEALS.value:
        deals = sum(row.deals for row in won)
        actual, pipeline = Decimal(deals), Decimal(sum(row.deals for row in ahead))
    else:
        mine = [row for row in won if row.currency == target.currency]
        actual, deals = _sum(mine), sum(row.valued for row in mine)
        pipeline = _sum([row for row in ahead if row.currency == target.currency])
    ratio, remaining = plain_decimal(round(actual / target.amount, 4)), max(target.amount - actual, Decimal(0))
    return Reached(actual, deals, ratio, remaining, pipeline, won)


def _sum(rows: Sequence[ReachedRow]) -> Decimal:
    return sum((row.amount or Decimal(0) for row in rows), Decimal(0))


def _reached(asked: Asked) -> AnySelect:
    """Each way to count is a select of its own, which has an index that begins with what it asks for."""
    is_won = and_(
        col(Deal.status) == word(DealStatus.WON.value),
        col(Deal.closed_at) >= col(SalesTarget.begins_at),
        col(Deal.closed_at) < col(SalesTarget.ends_before),
    )
    is_open = and_(
        col(Deal.status) == word(DealStatus.OPEN.value),
        col(Deal.closed_at).is_(None),  # which an open deal has never been; the index has it before the day
        col(Deal.close_date) >= col(SalesTarget.starts_on),
        col(Deal.close_date) <= col(SalesTarget.ends_on),
    )
    of_one = col(Deal.owner_id) == col(SalesTarget.owner_id)
    of_all = col(SalesTarget.owner_id).is_(None)
    of_numbers = col(SalesTarget.currency).is_(None)
    is_same = col(Deal.currency) == col(SalesTarget.currency)
    wanted = [is_won, *([is_open] if asked.has_open else [])]
    arms: list[tuple[ColumnElement[bool], ...]]
    arms = [arm for deals in wanted for arm in ((deals, of_all, is_same), (deals, of_all, of_numbers))]
    arms += [(deals, of_one, or_(is_same, of_numbers)) for deals in wanted]
    if asked.is_whole:
        arms += [(is_won, whose, col(Deal.currency) != col(SalesTarget.currency)) for whose in (of_one, of_all)]
    found = union_all(*(_counted(*arm) for arm in arms)).subquery()
    return select(found.c.target_id, found.c.status, found.c.currency, found.c.deals, found.c.valued, found.c.amount)


def _counted(*counts: ColumnElement[bool]) -> AnySelect:
    return (
        select(
            col(SalesTarget.id).label("target_id"),
            col(Deal.status).label("status"),
            col(Deal.currency).label("currency"),
            func.count().label("deals"),
            func.count(col(Deal.value)).label("valued"),
            money_sum(col(Deal.value)).label("amount"),
        )
        .select_from(SalesTarget)
        .join(Deal, and_(col(Deal.org_id) == col(SalesTarget.org_id), *counts))
        .where(col(SalesTarget.org_id) == ORG_PARAM, in_list(col(SalesTarget.id), "ids"))
        .group_by(col(SalesTarget.id), col(Deal.status), col(Deal.currency))
    )
