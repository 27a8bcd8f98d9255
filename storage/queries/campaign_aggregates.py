"""Campaigns and their recipients as aggregates group them."""

from typing import Final

from sqlalchemy import and_
from sqlalchemy.orm import aliased
from sqlmodel import col

from contract.catalog import ColumnKind
from contract.outreach_vocabulary import EnrollmentStatus
from storage.expressions import AnyEntity
from storage.queries.aggregate_parts import different
from storage.queries.aggregates import Dimension, Order, Part, Source
from storage.queries.exact import tenths_of_percent
from storage.queries.listables import CAMPAIGNS
from storage.queries.numbers import equals, number_of
from storage.tables import Campaign, Enrollment

_ID, _MOMENT = ColumnKind.ID, ColumnKind.DATETIME
_RECIPIENT: AnyEntity = aliased(Enrollment)
_NAMING: AnyEntity = aliased(Campaign)
_OF_RECIPIENTS = ("recipient",)


def _standing(status: EnrollmentStatus) -> Part:
    """The recipients who stand so."""
    return Part(number_of(equals(_RECIPIENT.status, status.value)), joins=_OF_RECIPIENTS)


CAMPAIGN_SOURCE: Final = Source(
    CAMPAIGNS,
    {
        "campaign": Dimension(col(Campaign.id), _ID, named_by=(_NAMING, "name")),
        "status": Dimension(col(Campaign.status)),
        "enrollment_status": Dimension(_RECIPIENT.status, joins=_OF_RECIPIENTS),
        "enrolled_at": Dimension(_RECIPIENT.enrolled_at, _MOMENT, joins=_OF_RECIPIENTS),
        "created_at": Dimension(col(Campaign.created_at), _MOMENT),
    },
    {
        "campaigns": Part(col(Campaign.id), different),
        "enrolled": Part(number_of(_RECIPIENT.id.is_not(None)), joins=_OF_RECIPIENTS),
        "replied": _standing(EnrollmentStatus.REPLIED),
        "bounced": _standing(EnrollmentStatus.BOUNCED),
        "unsubscribed": _standing(EnrollmentStatus.UNSUBSCRIBED),
    },
    {
        "enrolled_count": Order(("enrolled",), lambda over, fine: [over(fine.enrolled)]),
        "reply_rate": Order(
            ("replied", "enrolled"), lambda over, fine: [tenths_of_percent(over(fine.replied), over(fine.enrolled))]
        ),
        "bounce_rate": Order(
            ("bounced", "enrolled"), lambda over, fine: [tenths_of_percent(over(fine.bounced), over(fine.enrolled))]
        ),
    },
    joins={
        "recipient": (
            _RECIPIENT,
            and_(_RECIPIENT.org_id == Campaign.org_id, _RECIPIENT.campaign_id == col(Campaign.id)),
        ),
    },
    repeats=frozenset(_OF_RECIPIENTS),
)
