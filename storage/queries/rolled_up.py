"""Says what of a deal and of a meeting roll-ups add up, and which records these are.

Apart from the sources of aggregates, which load what records link to: who compares roll-ups with the records needs the
records alone (decision 1183).
"""

from collections.abc import Mapping
from typing import Final

from sqlalchemy import and_
from sqlmodel import col

from contract.vocabulary import ActivityType, DealStatus
from storage.expressions import AnyColumn
from storage.queries.exact import microseconds, money_high, money_low, whole_seconds
from storage.queries.numbers import equals, number_of, only_where
from storage.tables import Activity, Deal

_TIMED = and_(equals(col(Deal.status), DealStatus.WON.value), col(Deal.closed_at).is_not(None))
_CYCLE = col(Deal.created_at), col(Deal.closed_at)

OF_A_DEAL: Final[Mapping[str, AnyColumn]] = {
    "valued": number_of(col(Deal.value).is_not(None)),
    "high": money_high(col(Deal.value)),
    "low": money_low(col(Deal.value)),
    "timed": number_of(_TIMED),
    "seconds": only_where(_TIMED, whole_seconds(*_CYCLE)),
    "micros": only_where(_TIMED, microseconds(*_CYCLE)),
}
OF_A_MEETING: Final[Mapping[str, AnyColumn]] = {
    "minutes": col(Activity.duration_minutes),
    "timed": number_of(col(Activity.duration_minutes).is_not(None)),
}
IS_A_MEETING: Final = equals(col(Activity.type), ActivityType.MEETING.value)
