"""Accounts as aggregates group them, with their latest health."""

from typing import Final

from sqlalchemy import Integer, and_, literal_column, select
from sqlalchemy.orm import aliased
from sqlmodel import col

from contract.catalog import ColumnKind
from contract.vocabulary import DealStatus
from storage.expressions import AnyEntity
from storage.queries.aggregate_parts import COUNT
from storage.queries.aggregates import Dimension, Order, Part, Source
from storage.queries.exact import tenths_of_percent
from storage.queries.numbers import equals, number_of
from storage.queries.record_listables import ACCOUNTS
from storage.tables import Account, Deal, HealthSnapshot

_HEALTH: AnyEntity = aliased(HealthSnapshot)
_NEWEST: AnyEntity = aliased(HealthSnapshot)
_OF_HEALTH = ("health",)
_LATEST = (
    select(_NEWEST.id)
    .where(_NEWEST.org_id == col(Account.org_id), _NEWEST.account_id == col(Account.id))
    .order_by(_NEWEST.snapshot_at.desc(), _NEWEST.id.desc())
    .limit(literal_column("1", Integer))
    .correlate(Account)
    .scalar_subquery()
)
_HAS_OPEN_DEAL = (
    select(literal_column("1"))
    .select_from(Deal)
    .where(
        col(Deal.org_id) == col(Account.org_id),
        col(Deal.account_id) == col(Account.id),
        equals(col(Deal.status), DealStatus.OPEN.value),
    )
    .correlate(Account)
    .exists()
)
_SCORES, _SCORED = ("scores", "scored")
HEALTH_PARTS: Final = (_SCORES, _SCORED)
"""The sum of the latest scores, and how many accounts have one."""

ACCOUNT_SOURCE: Final = Source(
    ACCOUNTS,
    {
        "industry": Dimension(col(Account.industry)),
        "owner": Dimension(col(Account.owner_id)),
        "health_trend": Dimension(_HEALTH.trend, joins=_OF_HEALTH),
        "created_at": Dimension(col(Account.created_at), ColumnKind.DATETIME),
    },
    {
        "with_open_deals": Part(number_of(_HAS_OPEN_DEAL)),
        _SCORES: Part(_HEALTH.score, joins=_OF_HEALTH),
        _SCORED: Part(number_of(_HEALTH.id.is_not(None)), joins=_OF_HEALTH),
    },
    {
        "count": COUNT,
        "average_health": Order(
            HEALTH_PARTS,
            # A score is of a hundred, so that the average is the scores in percent of as many hundreds.
            lambda over, fine: [tenths_of_percent(over(fine.scores), over(100 * fine.scored))],
        ),
    },
    joins={"health": (_HEALTH, and_(_HEALTH.org_id == Account.org_id, _HEALTH.id == _LATEST))},
)
