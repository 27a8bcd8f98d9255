"""The catalogue of analytics: what can be counted and added up, by what, and who may (docs/analytics.md).

It is the one home of these names. The vocabularies of the aggregates, the lists of the REST paths and the catalogue
that callers see are read from it, and tests/contract/test_catalog.py fails where one of them differs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from contract.outreach_vocabulary import CampaignStatus, EnrollmentStatus
from contract.scopes import ScopeGroup
from contract.vocabulary import (
    ActivitySource,
    CaptureSource,
    DealStatus,
    GeoScope,
    HealthTrend,
    LeadStatus,
    MeetingState,
    ResearchResultStatus,
)


class ColumnKind(StrEnum):
    """The kind of values that a figure or a dimension holds."""

    TEXT = "text"
    INTEGER = "integer"
    DECIMAL = "decimal"
    FLOAT = "float"
    DATE = "date"
    DATETIME = "datetime"
    BOOLEAN = "boolean"
    ID = "id"


class DateGrain(StrEnum):
    """The width of a period."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"


@dataclass(frozen=True, slots=True)
class Field:
    """A dimension or a measure: its name, what it is in a sentence, and what it holds.

    `values` are those that it can have, where they are few and fixed. `group` is what a caller needs beside what the
    entity needs.
    """

    name: str
    text: str
    kind: ColumnKind = ColumnKind.TEXT
    values: type[StrEnum] | None = None
    group: ScopeGroup | None = None

    @property
    def is_date(self) -> bool:
        """Says whether it has grains."""
        return self.kind in (ColumnKind.DATE, ColumnKind.DATETIME)


@dataclass(frozen=True, slots=True)
class Entity:
    """A kind of record: who may read it, what it is grouped by and comes to, and the entities that it leads to."""

    name: str
    text: str
    group: ScopeGroup
    dimensions: Mapping[str, Field]
    measures: Mapping[str, Field]
    links: Mapping[str, str] = field(default_factory=dict)
    """The names of links, each with the entity that it leads to."""

    def for_scopes(self, scopes: frozenset[str]) -> "Entity | None":
        """Returns the part of it that these scopes leave; None where they leave nothing of it."""
        if not self.group.passes(scopes):
            return None
        dimensions = {n: f for n, f in self.dimensions.items() if f.group is None or f.group.passes(scopes)}
        measures = {n: f for n, f in self.measures.items() if f.group is None or f.group.passes(scopes)}
        links = {n: to for n, to in self.links.items() if CATALOG[to].group.passes(scopes)}
        return Entity(self.name, self.text, self.group, dimensions, measures, links)


_CRM, _MEETINGS, _OUTREACH = ScopeGroup.CRM_READ, ScopeGroup.MEETINGS_READ, ScopeGroup.OUTREACH_READ
_INTEGER, _DECIMAL, _FLOAT = ColumnKind.INTEGER, ColumnKind.DECIMAL, ColumnKind.FLOAT
_DATE, _MOMENT = ColumnKind.DATE, ColumnKind.DATETIME


def _named(*fields: Field) -> Mapping[str, Field]:
    return {one.name: one for one in fields}


def _measures(records: str, *fields: Field) -> Mapping[str, Field]:
    """The measures of an entity, the number of its records first, which every entity has."""
    return _named(Field("count", f"The number of {records}.", _INTEGER), *fields)


_OWNER: Final = Field("owner", "The owning rep.")
_ACCOUNT: Final = Field("account", "The account.")
_INDUSTRY: Final = Field("industry", "The account's industry.")
_MADE: Final = Field("created_at", "When the record was made.", _MOMENT)

_DEALS: Final = Entity(
    "deals",
    "Deals, with their amounts and the way they went.",
    _CRM,
    _named(
        Field("name", "The deal's name."),
        Field("stage", "The pipeline stage."),
        _OWNER,
        _ACCOUNT,
        _INDUSTRY,
        Field("status", "Open, won or lost.", values=DealStatus),
        Field("currency", "The currency."),
        Field("source", "Where the deal came from."),
        Field("geo_scope", "The reach of the deal.", values=GeoScope),
        Field("value", "The amount.", _DECIMAL),
        Field("close_date", "The closing day that the rep keeps.", _DATE),
        Field("created_at", "When the deal was made.", _MOMENT),
        Field("closed_at", "When the deal was won or lost.", _MOMENT),
    ),
    _measures(
        "deals",
        Field("value_sum", "The exact sum of the amounts.", _DECIMAL),
        Field("value_average", "The average of the amounts that are known.", _DECIMAL),
        Field("weighted_sum", "Open deals: amount times the probability of the stage.", _DECIMAL),
        Field("won_count", "The won deals.", _INTEGER),
        Field("lost_count", "The lost deals.", _INTEGER),
        Field("win_rate", "Won of won and lost, in percent.", _FLOAT),
        Field("sales_cycle_days", "Won deals: days from creation to winning, on average.", _FLOAT),
        Field("stage_days", "Ended stays in a stage: days, on average.", _FLOAT),
    ),
    {"account": "accounts", "contacts": "contacts", "meetings": "meetings"},
)
_MEETING_ENTITY: Final = Entity(
    "meetings",
    "Meetings that were logged or are to come.",
    _MEETINGS,
    _named(
        Field("subject", "What the meeting is about."),
        _OWNER,
        _ACCOUNT,
        _INDUSTRY,
        Field("deal", "The deal."),
        Field("source", "Where the meeting came from.", values=ActivitySource),
        Field("state", "Unscheduled, scheduled, overdue or completed, at this moment.", values=MeetingState),
        Field("due_at", "The scheduled time.", _MOMENT),
        Field("completed_at", "When it was marked done.", _MOMENT),
        _MADE,
    ),
    _measures(
        "meetings",
        Field("completed_count", "The meetings that were marked done.", _INTEGER),
        Field("minutes_sum", "The lengths that are known, added up, in minutes.", _INTEGER),
        Field("minutes_average", "The lengths that are known, on average, in minutes.", _FLOAT),
        Field("account_count", "The different accounts among them.", _INTEGER),
    ),
    {"account": "accounts", "deal": "deals", "contact": "contacts"},
)
_ACCOUNTS: Final = Entity(
    "accounts",
    "Companies that are customers, or may become some.",
    _CRM,
    _named(
        Field("name", "The account's name."),
        Field("domain", "The Internet domain."),
        Field("industry", "The industry."),
        _OWNER,
        Field("health_trend", "The trend of the latest health snapshot.", values=HealthTrend, group=_MEETINGS),
        Field("health_score", "The score of the latest health snapshot.", _FLOAT, group=_MEETINGS),
        Field("last_meeting_at", "When the last meeting was.", _MOMENT, group=_MEETINGS),
        _MADE,
    ),
    _measures(
        "accounts",
        Field("health_average", "The latest score of each scored account, on average.", _FLOAT, group=_MEETINGS),
        Field("scored_count", "The accounts that were scored at least once.", _INTEGER, group=_MEETINGS),
    ),
    {"deals": "deals", "contacts": "contacts", "meetings": "meetings"},
)
_CONTACTS: Final = Entity(
    "contacts",
    "People at accounts.",
    _CRM,
    _named(
        Field("name", "The name."),
        Field("email", "The e-mail address."),
        Field("title", "The job title."),
        _ACCOUNT,
        _OWNER,
        _MADE,
    ),
    _measures("contacts", Field("deal_count", "The deals that they are on.", _INTEGER)),
    {"account": "accounts", "deals": "deals", "meetings": "meetings"},
)
_LEADS: Final = Entity(
    "leads",
    "People and companies that were captured and may become contacts.",
    _CRM,
    _named(
        Field("name", "The name."),
        Field("company", "The company."),
        Field("status", "Where the lead stands.", values=LeadStatus),
        Field("source", "How it was captured.", values=CaptureSource),
        _OWNER,
        Field("tag", "A tag; a lead is in the group of each of its tags, and once in `total`."),
        Field("disqualified_reason", "Why it was disqualified."),
        _MADE,
        Field("converted_at", "When it was converted.", _MOMENT),
    ),
    _measures(
        "leads",
        Field("converted_count", "The converted leads.", _INTEGER),
        Field("disqualified_count", "The disqualified leads.", _INTEGER),
        Field("conversion_rate", "Converted of all, in percent.", _FLOAT),
        Field("days_to_convert", "Converted leads: days from capture to conversion, on average.", _FLOAT),
    ),
    {"account": "accounts"},
)
_CAMPAIGNS: Final = Entity(
    "campaigns",
    "Outreach campaigns, with what became of their recipients.",
    _OUTREACH,
    _named(
        Field("name", "The campaign's name."),
        Field("status", "Where the campaign stands.", values=CampaignStatus),
        Field("created_at", "When the campaign was made.", _MOMENT),
    ),
    _measures(
        "campaigns",
        Field("enrolled_count", "The recipients.", _INTEGER),
        Field("replied_count", "Recipients who replied.", _INTEGER),
        Field("bounced_count", "Recipients whose address bounced.", _INTEGER),
        Field("unsubscribed_count", "Recipients who unsubscribed.", _INTEGER),
        Field("reply_rate", "Replied of enrolled, in percent.", _FLOAT),
        Field("bounce_rate", "Bounced of enrolled, in percent.", _FLOAT),
    ),
    {"enrollments": "enrollments"},
)
_ENROLLMENTS: Final = Entity(
    "enrollments",
    "Recipients of campaigns.",
    _OUTREACH,
    _named(
        Field("campaign", "The campaign itself."),
        Field("status", "Where the recipient stands.", values=EnrollmentStatus),
        Field("email", "The recipient's address."),
        Field("enrolled_at", "When the recipient was enrolled.", _MOMENT),
    ),
    _measures("enrollments"),
    {"contact": "contacts"},
)
_RESEARCH_RESULTS: Final = Entity(
    "research_results",
    "Companies that were looked into.",
    _CRM,
    _named(
        Field("company_name", "The company."),
        Field("domain", "The Internet domain."),
        Field("status", "Where the research stands.", values=ResearchResultStatus),
        Field("score", "The score.", _INTEGER),
    ),
    _measures("research_results", Field("score_average", "The scores, on average.", _FLOAT)),
)

CATALOG: Final[Mapping[str, Entity]] = {
    one.name: one
    for one in (
        *(_DEALS, _MEETING_ENTITY, _ACCOUNTS, _CONTACTS, _LEADS, _CAMPAIGNS, _ENROLLMENTS),
        _RESEARCH_RESULTS,
    )
}
"""The kinds of records, by name."""


def catalog_for(scopes: frozenset[str]) -> list[Entity]:
    """Returns the part of the catalogue that these scopes leave."""
    return [left for one in CATALOG.values() if (left := one.for_scopes(scopes)) is not None]
