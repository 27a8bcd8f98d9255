"""Deals as aggregates group them: their dimensions, the numbers that their figures are made of, and their orders."""

from typing import Final

from sqlalchemy import and_
from sqlalchemy.orm import aliased
from sqlmodel import col

from contract.catalog import ColumnKind, DateGrain
from contract.vocabulary import DealStatus
from storage.expressions import AnyEntity
from storage.queries import cells
from storage.queries.aggregate_parts import COUNT, in_currency
from storage.queries.aggregates import LEAST, MOST, Dimension, Order, Part, RolledUp, Source
from storage.queries.exact import (
    tenths_of_days,
    tenths_of_percent,
)
from storage.queries.listable import Listable
from storage.queries.numbers import equals, number_of, only_where
from storage.queries.record_listables import DEALS
from storage.queries.rolled_up import OF_A_DEAL
from storage.tables import Account, Deal, PipelineStage

_ID, _DATE, _MOMENT = ColumnKind.ID, ColumnKind.DATE, ColumnKind.DATETIME


_ACCOUNT: AnyEntity = aliased(Account)
_STAGE: AnyEntity = aliased(PipelineStage)
_NAMING_ACCOUNT: AnyEntity = aliased(Account)
_NAMING_STAGE: AnyEntity = aliased(PipelineStage)
_OPEN, _WON, _LOST = (
    equals(col(Deal.status), status.value) for status in (DealStatus.OPEN, DealStatus.WON, DealStatus.LOST)
)
_WEIGHED = and_(_OPEN, _STAGE.probability.is_not(None))

_ORDERS: Final = {
    "count": COUNT,
    "sum": Order(("high", "low"), in_currency("high", "low")),
    "weighted": Order(("weighed_high", "weighed_low"), in_currency("weighed_high", "weighed_low")),
    "win_rate": Order(
        ("won", "lost"), lambda over, fine: [tenths_of_percent(over(fine.won), over(fine.won + fine.lost))]
    ),
    "sales_cycle_days": Order(
        ("timed", "seconds", "micros"),
        lambda over, fine: [tenths_of_days(over(fine.seconds), over(fine.micros), over(fine.timed))],
    ),
}

_CELL: AnyEntity = cells.DEALS.whole()
_CELL_STAGE: AnyEntity = aliased(PipelineStage)
_OPEN_CELL, _WON_CELL, _LOST_CELL = (
    equals(_CELL.status, status.value) for status in (DealStatus.OPEN, DealStatus.WON, DealStatus.LOST)
)
_WEIGHED_CELL = and_(_OPEN_CELL, _CELL_STAGE.probability.is_not(None))
_ROLLED_UP: Final = Source(
    Listable(
        cells.DEALS.name,
        _CELL,
        (_CELL.stage_id, _CELL.status, _CELL.owner_id, _CELL.currency),
        DEALS.orders,
        DEALS.default,
    ),
    {
        "stage": Dimension(_CELL.stage_id, _ID, named_by=(_NAMING_STAGE, "position")),
        "owner": Dimension(_CELL.owner_id),
        "status": Dimension(_CELL.status),
        "currency": Dimension(_CELL.currency),
        "close_date": Dimension(_CELL.close_month, _DATE),
    },
    {
        **{name: Part(getattr(_CELL, name), is_per_currency=True) for name in ("valued", "high", "low")},
        "weighed": Part(number_of(_WEIGHED_CELL, _CELL.deals), joins=("stage",), is_per_currency=True),
        **{
            f"weighed_{name}": Part(
                only_where(_WEIGHED_CELL, getattr(_CELL, name) * _CELL_STAGE.probability),
                joins=("stage",),
                is_per_currency=True,
            )
            for name in ("high", "low")
        },
        "unweighed": Part(
            number_of(and_(_OPEN_CELL, _CELL_STAGE.probability.is_(None)), _CELL.valued), joins=("stage",)
        ),
        "open": Part(number_of(_OPEN_CELL, _CELL.deals)),
        "won": Part(number_of(_WON_CELL, _CELL.deals)),
        "lost": Part(number_of(_LOST_CELL, _CELL.deals)),
        **{name: Part(getattr(_CELL, name)) for name in ("timed", "seconds", "micros")},
    },
    _ORDERS,
    joins={"stage": (_CELL_STAGE, and_(_CELL_STAGE.org_id == _CELL.org_id, _CELL_STAGE.id == _CELL.stage_id))},
    currency=_CELL.currency,
    number=_CELL.deals,
)
"""Deals by their cells, from which all but the smallest and the largest amount follow."""

DEAL_SOURCE: Final = Source(
    DEALS,
    {
        "stage": Dimension(col(Deal.stage_id), _ID, named_by=(_NAMING_STAGE, "position")),
        "owner": Dimension(col(Deal.owner_id)),
        "account": Dimension(col(Deal.account_id), _ID, named_by=(_NAMING_ACCOUNT, "name")),
        "industry": Dimension(_ACCOUNT.industry, joins=("account",)),
        "status": Dimension(col(Deal.status)),
        "currency": Dimension(col(Deal.currency)),
        "source": Dimension(col(Deal.source)),
        "geo_scope": Dimension(col(Deal.geo_scope)),
        "close_date": Dimension(col(Deal.close_date), _DATE),
        "created_at": Dimension(col(Deal.created_at), _MOMENT),
        "closed_at": Dimension(col(Deal.closed_at), _MOMENT),
    },
    {
        **{name: Part(OF_A_DEAL[name], is_per_currency=True) for name in ("valued", "high", "low")},
        "least": Part(col(Deal.value), LEAST, is_per_currency=True),
        "most": Part(col(Deal.value), MOST, is_per_currency=True),
        "weighed": Part(number_of(_WEIGHED), joins=("stage",), is_per_currency=True),
        "weighed_high": Part(
            only_where(_WEIGHED, OF_A_DEAL["high"] * _STAGE.probability),
            joins=("stage",),
            is_per_currency=True,
        ),
        "weighed_low": Part(
            only_where(_WEIGHED, OF_A_DEAL["low"] * _STAGE.probability),
            joins=("stage",),
            is_per_currency=True,
        ),
        "unweighed": Part(
            number_of(and_(_OPEN, col(Deal.value).is_not(None), _STAGE.probability.is_(None))), joins=("stage",)
        ),
        "open": Part(number_of(_OPEN)),
        "won": Part(number_of(_WON)),
        "lost": Part(number_of(_LOST)),
        **{name: Part(OF_A_DEAL[name]) for name in ("timed", "seconds", "micros")},
    },
    _ORDERS,
    joins={
        "account": (_ACCOUNT, and_(_ACCOUNT.org_id == Deal.org_id, _ACCOUNT.id == col(Deal.account_id))),
        "stage": (_STAGE, and_(_STAGE.org_id == Deal.org_id, _STAGE.id == col(Deal.stage_id))),
    },
    currency=col(Deal.currency),
    rolled_up=RolledUp(_ROLLED_UP, {"close_date": frozenset({DateGrain.MONTH, DateGrain.QUARTER, DateGrain.YEAR})}),
)
