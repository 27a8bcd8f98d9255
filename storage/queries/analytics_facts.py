"""Declares what the names of the catalogue are in the database, entity by entity: columns, measures and links.

Columns, numbers and joins are those of the aggregates, so that both say the same.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from sqlalchemy import ColumnElement, and_, bindparam, case, func, literal_column, select
from sqlalchemy.orm import aliased
from sqlmodel import UTCDateTime, col

from contract.vocabulary import ActivityType
from storage.expressions import AnyColumn, AnyEntity
from storage.queries.aggregate_parts import different
from storage.queries.aggregates import Part, Source
from storage.queries.analytics_fact import Fact, Facts, Join, Link, facts_of, named_facts, plain_facts, reference_fact
from storage.queries.analytics_measures import (
    Measure,
    added,
    amount,
    average_amount,
    average_days,
    average_number,
    count_of_records,
    counted,
    rate,
    share,
)
from storage.queries.campaign_aggregates import CAMPAIGN_SOURCE
from storage.queries.deal_aggregates import DEAL_SOURCE
from storage.queries.exact import microseconds, whole_seconds
from storage.queries.lead_aggregates import LEAD_SOURCE
from storage.queries.listables import ACCOUNTS, CONTACTS, ENROLLMENTS, RESEARCH_RESULTS
from storage.queries.meeting_aggregates import MEETING_SOURCE
from storage.queries.numbers import equals, number_of
from storage.statements import ORG_PARAM
from storage.tables import (
    Account,
    Activity,
    Campaign,
    Contact,
    Deal,
    DealContact,
    Enrollment,
    HealthSnapshot,
    Lead,
    PipelineStage,
    ResearchResult,
    StageChange,
)

_DEALS, _DEAL_JOINS = named_facts(DEAL_SOURCE)
_MEETINGS, _MEETING_JOINS = named_facts(MEETING_SOURCE)
_LEADS, _LEAD_JOINS = named_facts(LEAD_SOURCE)
_CONTACT_ACCOUNT, _CONTACT_JOINS = reference_fact("account", col(Contact.account_id), Contact)
_ENROLLED_IN, _ENROLLMENT_JOINS = reference_fact("campaign", col(Enrollment.campaign_id), Enrollment)

_MOVES = (
    select(
        col(StageChange.deal_id),
        col(StageChange.to_stage_id),
        col(StageChange.at),
        func.lead(col(StageChange.at))
        .over(partition_by=col(StageChange.deal_id), order_by=[col(StageChange.at), col(StageChange.id)])
        .label("until"),
    )
    .where(col(StageChange.org_id) == ORG_PARAM)
    .subquery("moves")
)
_STAY_STAGE: AnyEntity = aliased(PipelineStage)
STAY_JOINS: Final[Sequence[Join]] = (
    (_MOVES, and_(_MOVES.c.deal_id == col(Deal.id), _MOVES.c.until.is_not(None))),
    (_STAY_STAGE, and_(_STAY_STAGE.org_id == col(Deal.org_id), _STAY_STAGE.id == _MOVES.c.to_stage_id)),
)
"""The joins for the ended stays of deals, and the stages that these were in."""
STAY_STAGE: Final = Fact(_STAY_STAGE.name, (), _STAY_STAGE.id, _STAY_STAGE.position)
STAY_PARTS: Final[Mapping[str, Part]] = {
    "stays": Part(number_of(_MOVES.c.until.is_not(None))),
    "stay_seconds": Part(whole_seconds(_MOVES.c.at, _MOVES.c.until)),
    "stay_micros": Part(microseconds(_MOVES.c.at, _MOVES.c.until)),
}
"""The numbers that are made of stays: a row is a stay there, and not a deal."""

_RANKED = (
    select(
        col(HealthSnapshot.account_id),
        col(HealthSnapshot.score),
        col(HealthSnapshot.trend),
        func.row_number()
        .over(
            partition_by=col(HealthSnapshot.account_id),
            order_by=[col(HealthSnapshot.snapshot_at).desc(), col(HealthSnapshot.id).desc()],
        )
        .label("place"),
    )
    .where(col(HealthSnapshot.org_id) == ORG_PARAM)
    .subquery("health")
)
_MEETING: AnyEntity = aliased(Activity)
_MET = (
    select(_MEETING.account_id, func.max(_MEETING.due_at).label("last_meeting_at"))
    .where(
        _MEETING.org_id == ORG_PARAM,
        equals(_MEETING.type, ActivityType.MEETING.value),
        _MEETING.due_at < bindparam("today", type_=UTCDateTime),
    )
    .group_by(_MEETING.account_id)
    .subquery("met")
)
_BLANK: AnyColumn = literal_column("' '")
_NAME = case(
    (col(Contact.last_name).is_(None), col(Contact.first_name)),
    (col(Contact.first_name).is_(None), col(Contact.last_name)),
    else_=col(Contact.first_name) + _BLANK + col(Contact.last_name),
)
_ON_DEAL: AnyEntity = aliased(DealContact)
_HEALTH = ("health",)


def _tagged(test: ColumnElement[bool]) -> ColumnElement[bool]:
    """A lead has a tag that the comparison holds for."""
    link, tag = LEAD_SOURCE.joins["link"], LEAD_SOURCE.joins["tag"]
    return (
        select(literal_column("1"))
        .select_from(link[0])
        .join(tag[0], tag[1])
        .where(link[0].org_id == ORG_PARAM, link[1], test)
        .correlate(Lead)
        .exists()
    )


_OF_DEALS: Final = {
    "count": count_of_records(),
    "value_sum": amount("high", "low"),
    "value_average": average_amount(),
    "weighted_sum": amount("weighed_high", "weighed_low", is_weighed=True),
    "won_count": counted("won"),
    "lost_count": counted("lost"),
    "win_rate": rate("won", "lost"),
    "sales_cycle_days": average_days("seconds", "micros", "timed"),
    "stage_days": average_days("stay_seconds", "stay_micros", "stays"),
}
_OF_MEETINGS: Final = {
    "count": count_of_records(),
    "completed_count": counted("completed"),
    "minutes_sum": added("minutes", "minutes"),
    "minutes_average": average_number("minutes", "timed", "minutes"),
    "account_count": counted("accounts"),
}
FACTS: Final[Mapping[str, Facts]] = {
    "deals": facts_of(
        DEAL_SOURCE,
        {**plain_facts(col(Deal.name), col(Deal.value)), **_DEALS},
        _DEAL_JOINS,
        measures=_OF_DEALS,
        links={
            "account": Link("accounts", col(Account.id) == col(Deal.account_id)),
            "contacts": Link(
                "contacts",
                col(Contact.id) == col(DealContact.contact_id),
                (DealContact, col(DealContact.deal_id) == col(Deal.id)),
            ),
            "meetings": Link("meetings", col(Activity.deal_id) == col(Deal.id)),
        },
        currency=col(Deal.currency),
    ),
    "meetings": facts_of(
        MEETING_SOURCE,
        {**plain_facts(col(Activity.subject)), **_MEETINGS},
        _MEETING_JOINS,
        measures=_OF_MEETINGS,
        links={
            "account": Link("accounts", col(Account.id) == col(Activity.account_id)),
            "deal": Link("deals", col(Deal.id) == col(Activity.deal_id)),
            "contact": Link("contacts", col(Contact.id) == col(Activity.contact_id)),
        },
    ),
    "accounts": Facts(
        ACCOUNTS,
        {
            **plain_facts(col(Account.name), col(Account.domain), col(Account.industry)),
            "owner": Fact(col(Account.owner_id)),
            "health_trend": Fact(_RANKED.c.trend, _HEALTH),
            "health_score": Fact(_RANKED.c.score, _HEALTH),
            "last_meeting_at": Fact(_MET.c.last_meeting_at, ("met",)),
            "created_at": Fact(col(Account.created_at)),
        },
        {
            "count": count_of_records(),
            "health_average": average_number("health", "scored"),
            "scored_count": counted("scored"),
        },
        {
            "health": Part(_RANKED.c.score, joins=_HEALTH),
            "scored": Part(number_of(_RANKED.c.score.is_not(None)), joins=_HEALTH),
        },
        {
            "health": (_RANKED, and_(_RANKED.c.account_id == col(Account.id), _RANKED.c.place == literal_column("1"))),
            "met": (_MET, _MET.c.account_id == col(Account.id)),
        },
        {
            "deals": Link("deals", col(Deal.account_id) == col(Account.id)),
            "contacts": Link("contacts", col(Contact.account_id) == col(Account.id)),
            "meetings": Link("meetings", col(Activity.account_id) == col(Account.id)),
        },
    ),
    "contacts": Facts(
        CONTACTS,
        {
            "name": Fact(_NAME),
            **plain_facts(col(Contact.email), col(Contact.title)),
            "account": _CONTACT_ACCOUNT,
            "owner": Fact(col(Contact.owner_id)),
            "created_at": Fact(col(Contact.created_at)),
        },
        {"count": count_of_records(), "deal_count": counted("deals")},
        {"deals": Part(_ON_DEAL.deal_id, different, joins=("deals",))},
        _CONTACT_JOINS
        | {
            "deals": (
                _ON_DEAL,
                and_(_ON_DEAL.org_id == col(Contact.org_id), _ON_DEAL.contact_id == col(Contact.id)),
            )
        },
        {
            "account": Link("accounts", col(Account.id) == col(Contact.account_id)),
            "deals": Link(
                "deals",
                col(Deal.id) == col(DealContact.deal_id),
                (DealContact, col(DealContact.contact_id) == col(Contact.id)),
            ),
            "meetings": Link("meetings", col(Activity.contact_id) == col(Contact.id)),
        },
        repeats=frozenset({"deals"}),
    ),
    "leads": facts_of(
        LEAD_SOURCE,
        {**plain_facts(col(Lead.name), col(Lead.company)), **_LEADS},
        _LEAD_JOINS,
        measures={
            "count": count_of_records(),
            "converted_count": counted("converted"),
            "disqualified_count": counted("disqualified"),
            "conversion_rate": rate("converted"),
            "days_to_convert": average_days("seconds", "micros", "timed"),
        },
        links={"account": Link("accounts", col(Account.id) == col(Lead.account_id))},
        among={"tag": _tagged},
    ),
    "campaigns": facts_of(
        CAMPAIGN_SOURCE,
        {
            **plain_facts(col(Campaign.name), col(Campaign.created_at)),
            "status": Fact(col(Campaign.status)),
        },
        CAMPAIGN_SOURCE.joins,
        measures={
            "count": count_of_records(),
            "enrolled_count": counted("enrolled"),
            "replied_count": counted("replied"),
            "bounced_count": counted("bounced"),
            "unsubscribed_count": counted("unsubscribed"),
            "reply_rate": share("replied", "enrolled"),
            "bounce_rate": share("bounced", "enrolled"),
        },
        links={"enrollments": Link("enrollments", col(Enrollment.campaign_id) == col(Campaign.id))},
    ),
    "enrollments": Facts(
        ENROLLMENTS,
        {
            "campaign": _ENROLLED_IN,
            **plain_facts(col(Enrollment.status), col(Enrollment.email), col(Enrollment.enrolled_at)),
        },
        {"count": count_of_records()},
        {},
        _ENROLLMENT_JOINS,
        {"contact": Link("contacts", col(Contact.id) == col(Enrollment.contact_id))},
    ),
    "research_results": Facts(
        RESEARCH_RESULTS,
        plain_facts(
            col(ResearchResult.company_name),
            col(ResearchResult.domain),
            col(ResearchResult.status),
            col(ResearchResult.score),
        ),
        {"count": count_of_records(), "score_average": average_number("scores", "scored")},
        {
            "scores": Part(col(ResearchResult.score)),
            "scored": Part(number_of(col(ResearchResult.score).is_not(None))),
        },
        {},
    ),
}
"""The entities of the catalogue, by name."""


def _rolled_up(source: Source, measures: Mapping[str, Measure]) -> Facts:
    rolled = source.rolled_up
    if rolled is None:
        raise TypeError(f"not rolled up: {source.listable.name}")
    dimensions, joins = named_facts(rolled.source)
    known = {name: one for name, one in measures.items() if set(one.parts) <= rolled.source.parts.keys()}
    more = {"currency": rolled.source.currency, "number": rolled.source.number, "rolled_up": rolled}
    return facts_of(rolled.source, dimensions, joins, measures=known, **more)


ROLLED_UP: Final[Mapping[str, Facts]] = {
    "deals": _rolled_up(DEAL_SOURCE, _OF_DEALS),
    "meetings": _rolled_up(MEETING_SOURCE, _OF_MEETINGS),
}
"""The facts that the roll-ups of records can answer of them, by the same names."""
