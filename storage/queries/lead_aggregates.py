"""Leads as aggregates group them: their dimensions, the numbers that their figures are made of, and their orders."""

from typing import Final

from sqlalchemy import and_
from sqlalchemy.orm import aliased
from sqlmodel import col

from contract.catalog import ColumnKind
from contract.vocabulary import LeadStatus, TaggedKind
from storage.expressions import AnyEntity
from storage.queries.aggregate_parts import COUNT
from storage.queries.aggregates import Dimension, Order, Part, Source
from storage.queries.exact import microseconds, tenths_of_percent, whole_seconds
from storage.queries.numbers import equals, number_of, only_where
from storage.queries.record_listables import LEADS
from storage.tables import Lead, Tag, TagLink

_MOMENT = ColumnKind.DATETIME
_LINK: AnyEntity = aliased(TagLink)
_TAG: AnyEntity = aliased(Tag)
_CONVERTED = equals(col(Lead.status), LeadStatus.CONVERTED.value)
_TIMED = and_(_CONVERTED, col(Lead.converted_at).is_not(None))
_WAY = col(Lead.created_at), col(Lead.converted_at)

LEAD_SOURCE: Final = Source(
    LEADS,
    {
        "status": Dimension(col(Lead.status)),
        "source": Dimension(col(Lead.source)),
        "owner": Dimension(col(Lead.owner_id)),
        "tag": Dimension(_TAG.name, joins=("link", "tag")),
        "disqualified_reason": Dimension(col(Lead.disqualified_reason)),
        "created_at": Dimension(col(Lead.created_at), _MOMENT),
        "converted_at": Dimension(col(Lead.converted_at), _MOMENT),
    },
    {
        "converted": Part(number_of(_CONVERTED)),
        "disqualified": Part(number_of(equals(col(Lead.status), LeadStatus.DISQUALIFIED.value))),
        "timed": Part(number_of(_TIMED)),
        "seconds": Part(only_where(_TIMED, whole_seconds(*_WAY))),
        "micros": Part(only_where(_TIMED, microseconds(*_WAY))),
    },
    {
        "count": COUNT,
        "conversion_rate": Order(
            ("converted",), lambda over, fine: [tenths_of_percent(over(fine.converted), over(fine["count"]))]
        ),
    },
    joins={
        "link": (
            _LINK,
            and_(
                _LINK.org_id == Lead.org_id, equals(_LINK.kind, TaggedKind.LEAD.value), _LINK.record_id == col(Lead.id)
            ),
        ),
        "tag": (_TAG, and_(_TAG.org_id == _LINK.org_id, _TAG.id == _LINK.tag_id)),
    },
    repeats=frozenset({"link"}),
)
