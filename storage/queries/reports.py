"""Statements on reports: how many there are, what one is narrowed to, and the sums that its rows are made of."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import func, select
from sqlmodel import col

from contract.criteria import Condition
from contract.limits import REPORT_ROWS_MAX
from contract.normal_form import folded
from contract.vocabulary import ActivityType, DealStatus, SortDirection
from storage.base import JsonDict, as_uuid
from storage.expressions import AnyColumn, AnySelect, Values
from storage.queries import merged_ids
from storage.queries.aggregate_parts import COUNT
from storage.queries.aggregates import AggregateRow, Dimension, Part, Question, Source, aggregate
from storage.queries.deal_aggregates import DEAL_SOURCE
from storage.queries.exact import money_high, money_low
from storage.queries.filtering import bind, in_list, is_storable_text, narrowed
from storage.queries.listables import ACTIVITIES, SALES_TARGETS
from storage.queries.numbers import equals, number_of, only_where
from storage.rows import SalesTargetRow
from storage.statements import ORG_PARAM
from storage.tables import Account, Activity, Deal, Person, PipelineStage, Report, SalesTarget, Tag
from storage.tenancy.sessions import TenantSession

_ENDS: Final = (DealStatus.WON, DealStatus.LOST)


def _of_ends(name: str, amount: type[money_high] | type[money_low]) -> dict[str, Part]:
    """The parts of the amounts of the deals that were won, and of those that were lost."""
    return {
        f"{end}_{name}": Part(
            only_where(equals(col(Deal.status), end), amount(col(Deal.value))),
            is_per_currency=True,
        )
        for end in _ENDS
    }


_CLOSED: Final = replace(
    DEAL_SOURCE,
    parts={**DEAL_SOURCE.parts, **_of_ends("high", money_high), **_of_ends("low", money_low)},
    rolled_up=None,
)
"""Deals, with the amounts of those that were won and of those that were lost."""
_ACTIVITIES: Final = Source(
    ACTIVITIES,
    {"owner": Dimension(col(Activity.owner_id))},
    {kind.value: Part(number_of(equals(col(Activity.type), kind))) for kind in ActivityType},
    {"count": COUNT},
)
_PIPELINE: Final = Question(
    ("stage",),
    frozenset({"valued", "high", "low", "weighed", "weighed_high", "weighed_low"}),
    first=REPORT_ROWS_MAX + 1,
)
_BY_OWNER: Final = Question(
    ("owner",),
    frozenset(_ACTIVITIES.parts),
    order="count",
    direction=SortDirection.DESC,
    first=REPORT_ROWS_MAX + 1,
)
_BY_MONTH: Final = frozenset({"won", "lost", *(f"{end}_{part}" for end in _ENDS for part in ("high", "low"))})


async def by_stage(session: TenantSession, condition: Condition) -> Sequence[AggregateRow]:
    """The deals of each stage and currency, in the order of the stages, and then those of each currency in all."""
    return await aggregate(session, DEAL_SOURCE, condition, _PIPELINE)


async def by_month(session: TenantSession, condition: Condition, zone: str) -> Sequence[AggregateRow]:
    """The deals that were won and lost in each month of the time zone and in each currency, and in all."""
    asked = Question(("closed_at",), _BY_MONTH, zone=zone, first=REPORT_ROWS_MAX + 1)
    return await aggregate(session, _CLOSED, condition, asked)


async def by_owner(session: TenantSession, condition: Condition) -> Sequence[AggregateRow]:
    """The activities of each owner by type, those who have most first, and in all."""
    return await aggregate(session, _ACTIVITIES, condition, _BY_OWNER)


async def targets(session: TenantSession, condition: Condition) -> Sequence[SalesTargetRow]:
    """The sales targets for which the condition holds, the latest first; there are never more than a report shows."""
    values: Values = {}
    shape = bind(SALES_TARGETS, condition, values)

    def build() -> AnySelect:
        statement = narrowed(SALES_TARGETS.select(ORG_PARAM), SALES_TARGETS, shape)
        ties = (col(SalesTarget.owner_key), col(SalesTarget.metric), col(SalesTarget.currency_key), col(SalesTarget.id))
        return statement.order_by(col(SalesTarget.starts_on).desc(), *ties)

    return await session.fetch(("targets_of_report", shape), build, **values)


async def lost(session: TenantSession, named: Mapping[str, Sequence[str]]) -> list[tuple[str, int]]:
    """Find what a report is narrowed to and the organization does not have: the list, and the place in it.

    `named` has the owners, accounts, stages and tags by the names of `ReportParameters`.
    """
    found = []
    for name, wanted in named.items():  # a table each
        column, form = _NAMED[name]
        asked = [form(each) if is_storable_text(each) else None for each in wanted]
        there = await _there(session, column, [each for each in asked if each is not None])
        found += [(name, place) for place, each in enumerate(asked) if each is None or each not in there]
    return found


async def followed(session: TenantSession, parameters: Sequence[JsonDict]) -> list[JsonDict]:
    """The parameters, with accounts that went into others named by those (decision 591)."""
    named = {i for one in parameters for each in one["account_ids"] or () if (i := as_uuid(each)) is not None}
    leads = await merged_ids.leading(session, sorted(named))
    if not leads:
        return list(parameters)
    return [one | {"account_ids": _stayed(one["account_ids"], leads)} for one in parameters]


def _stayed(ids: Sequence[str] | None, leads: Mapping[str, str]) -> list[str] | None:
    return None if ids is None else [leads.get(as_uuid(i) or i, i) for i in ids]


_NAMED: Final[Mapping[str, Any]] = {  # Any: a column, and the function that gives a text as the column has it
    "owner_ids": (col(Person.id), str),
    "account_ids": (col(Account.id), as_uuid),
    "stage_ids": (col(PipelineStage.id), as_uuid),
    "tags": (col(Tag.folded_name), folded),
}


async def _there(session: TenantSession, column: AnyColumn, values: Sequence[str]) -> set[str]:
    entity = column.parent.class_
    name = f"{entity.__tablename__}_of_report"

    def build() -> AnySelect:
        return select(column.label("value")).where(col(entity.org_id) == ORG_PARAM, in_list(column, "named"))

    return {row.value for row in await session.fetch(name, build, named=list(values))} if values else set()


async def number(session: TenantSession) -> int:
    """Says how many reports the organization has."""
    own = col(Report.org_id) == session.org_id
    counted: int = await session.scalar(select(func.count()).select_from(Report).where(own))
    return counted
