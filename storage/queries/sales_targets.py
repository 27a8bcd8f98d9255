"""Statements on sales targets, and on the deals that count for them."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, and_, func, literal_column, select, union_all
from sqlmodel import col

from contract.vocabulary import DealStatus
from storage.expressions import AnySelect
from storage.joined_rows import ReachedRow
from storage.queries.deals import money_sum
from storage.queries.filtering import in_list
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
    """What there is one target of."""
    return target.owner_key, target.metric, target.currency_key, target.starts_on, target.ends_on


async def number(session: TenantSession) -> int:
    """How many targets the organization has."""
    own = col(SalesTarget.org_id) == session.org_id
    counted: int = await session.scalar(select(func.count()).select_from(SalesTarget).where(own))
    return counted


async def reached(session: TenantSession, target_ids: Sequence[str]) -> Sequence[ReachedRow]:
    """The deals that count for targets, by target, status and currency: how many, of these with a value, and its sum.

    Won ones by when they were closed, open ones by the day on which they are expected to close.
    """

    def build() -> AnySelect:
        won = and_(
            col(Deal.status) == literal_column(f"'{DealStatus.WON.value}'"),
            col(Deal.closed_at) >= col(SalesTarget.begins_at),
            col(Deal.closed_at) < col(SalesTarget.ends_before),
        )
        is_open = and_(
            col(Deal.status) == literal_column(f"'{DealStatus.OPEN.value}'"),
            col(Deal.close_date) >= col(SalesTarget.starts_on),
            col(Deal.close_date) <= col(SalesTarget.ends_on),
        )
        of_all = col(SalesTarget.owner_id).is_(None)
        of_one = col(Deal.owner_id) == col(SalesTarget.owner_id)
        # Of members and of the organization apart: each has an index that begins with what it asks for.
        each = union_all(*(_counted(counts, whose) for counts in (won, is_open) for whose in (of_one, of_all)))
        found = each.subquery()
        return select(
            found.c.target_id, found.c.status, found.c.currency, found.c.deals, found.c.valued, found.c.amount
        )

    return await session.fetch("targets_reached", build, ids=list(target_ids))


def _counted(counts: ColumnElement[bool], whose: ColumnElement[bool]) -> AnySelect:
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
        .join(Deal, and_(col(Deal.org_id) == col(SalesTarget.org_id), counts, whose))
        .where(col(SalesTarget.org_id) == ORG_PARAM, in_list(col(SalesTarget.id), "ids"))
        .group_by(col(SalesTarget.id), col(Deal.status), col(Deal.currency))
    )
