"""Meetings as aggregates group them: their dimensions, the numbers that their figures are made of, and their orders."""

from typing import Final

from sqlalchemy import and_, bindparam, case, func, literal_column
from sqlalchemy.orm import aliased
from sqlmodel import UTCDateTime, col

from contract.catalog import ColumnKind
from contract.vocabulary import MeetingState
from storage.expressions import AnyEntity
from storage.queries import cells
from storage.queries.aggregate_parts import COUNT, different
from storage.queries.aggregates import Dimension, Order, Part, RolledUp, Source
from storage.queries.listable import Listable
from storage.queries.numbers import number_of
from storage.queries.record_listables import MEETINGS
from storage.queries.rolled_up import OF_A_MEETING
from storage.queries.words import word
from storage.tables import Account, Activity, Deal

_ID, _MOMENT = ColumnKind.ID, ColumnKind.DATETIME
_ACCOUNT: AnyEntity = aliased(Account)
_NAMING_ACCOUNT: AnyEntity = aliased(Account)
_NAMING_DEAL: AnyEntity = aliased(Deal)
_DONE = col(Activity.completed_at).is_not(None)


_STATE = case(
    (_DONE, word(MeetingState.COMPLETED.value)),
    (col(Activity.due_at).is_(None), word(MeetingState.UNSCHEDULED.value)),
    (col(Activity.due_at) > bindparam("present", type_=UTCDateTime), word(MeetingState.SCHEDULED.value)),
    else_=word(MeetingState.OVERDUE.value),
)

_ORDERS: Final = {
    "count": COUNT,
    "total_minutes": Order(("minutes",), lambda over, fine: [func.coalesce(over(fine.minutes), literal_column("0"))]),
}

_CELL: AnyEntity = cells.MEETINGS.whole()
_ROLLED_UP: Final = Source(
    Listable(cells.MEETINGS.name, _CELL, (_CELL.owner_id, _CELL.source), MEETINGS.orders, MEETINGS.default),
    {
        "owner": Dimension(_CELL.owner_id),
        "source": Dimension(_CELL.source),
        "due_at": Dimension(_CELL.due_day, ColumnKind.DATE),
    },
    {
        "completed": Part(number_of(_CELL.is_completed, _CELL.meetings)),
        "minutes": Part(_CELL.minutes),
        "timed": Part(_CELL.timed),
    },
    _ORDERS,
    number=_CELL.meetings,
)
"""Meetings by their cells."""

MEETING_SOURCE: Final = Source(
    MEETINGS,
    {
        "owner": Dimension(col(Activity.owner_id)),
        "account": Dimension(col(Activity.account_id), _ID, named_by=(_NAMING_ACCOUNT, "name")),
        "industry": Dimension(_ACCOUNT.industry, joins=("account",)),
        "deal": Dimension(col(Activity.deal_id), _ID, named_by=(_NAMING_DEAL, "name")),
        "source": Dimension(col(Activity.source)),
        "state": Dimension(_STATE),
        "due_at": Dimension(col(Activity.due_at), _MOMENT),
        "completed_at": Dimension(col(Activity.completed_at), _MOMENT),
        "created_at": Dimension(col(Activity.created_at), _MOMENT),
    },
    {
        "completed": Part(number_of(_DONE)),
        "accounts": Part(col(Activity.account_id), different),
        **{name: Part(column) for name, column in OF_A_MEETING.items()},
    },
    _ORDERS,
    joins={
        "account": (_ACCOUNT, and_(_ACCOUNT.org_id == Activity.org_id, _ACCOUNT.id == col(Activity.account_id))),
    },
    rolled_up=RolledUp(_ROLLED_UP, {}, frozenset({"due_at"})),
)
