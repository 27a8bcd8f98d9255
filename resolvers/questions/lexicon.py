"""The words of questions: names of the catalogue with their synonyms, vocabularies, and what people say around them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import lru_cache
from typing import Final

from contract.analytics_queries import Operator
from contract.catalog import CATALOG, Entity
from resolvers.questions.tokens import Token, forms_of


class Slot(Enum):
    """The slot of a query that a phrase fills."""

    ENTITY = auto()
    DIMENSION = auto()
    MEASURE = auto()
    STATE = auto()
    """A condition, with the date that goes with it."""
    DATE = auto()
    """Says which of its dates is meant."""
    LINK = auto()


@dataclass(frozen=True, slots=True)
class Sense:
    """The meaning of a phrase. `value` is that of a state; `date` the dimension that periods are then about."""

    slot: Slot
    name: str
    value: object = None
    op: Operator = Operator.EQ
    date: str | None = None
    words: str = ""


@dataclass(slots=True)
class Phrases:
    """Phrases by their first words; of several that begin alike the longest is found."""

    by_first: dict[str, list[tuple[tuple[str, ...], Sense]]] = field(default_factory=dict)

    def add(self, phrases: str, sense: Sense) -> None:
        """Know these phrases, with `|` between them."""
        for phrase in phrases.split("|"):
            forms = forms_of(phrase)
            if forms:
                self.by_first.setdefault(forms[0], []).append((forms, sense))

    def sort(self) -> "Phrases":
        """Have the longest come first; of equal ones the one that was added first."""
        for found in self.by_first.values():
            found.sort(key=lambda one: -len(one[0]))
        return self

    def at(self, tokens: Sequence[Token], place: int, *slots: Slot) -> Iterator[tuple[Sense, int]]:
        """The phrases that the words there begin with, the longest first, each with its length."""
        if place >= len(tokens):
            return
        for forms, sense in self.by_first.get(tokens[place].form, ()):
            if slots and sense.slot not in slots:
                continue
            if tuple(token.form for token in tokens[place : place + len(forms)]) == forms:
                yield sense, len(forms)


NOUNS: Final[Mapping[str, str]] = {
    "deals": "deal|opportunity|pipeline deal|sales opportunity|pipeline|sales pipeline|deal pipeline",
    "meetings": "meeting|appointment|customer meeting",
    "accounts": "account|company|customer account|customer|client",
    "contacts": "contact|contact person|contact people",
    "leads": "lead",
    "campaigns": "campaign|outreach campaign|email campaign|e-mail campaign",
    "enrollments": "enrollment|enrolment|campaign enrollment|campaign enrolment|recipient|campaign recipient",
    "research_results": "research result|researched company|researched companies|result of research|company researched",
}
"""The nouns for the records of an entity."""
ASSUMED_NOUNS: Final = {"customer": "accounts", "client": "accounts"}
"""Nouns that mean an entity here, which is told."""

_DIMENSIONS: Final[Mapping[str, str]] = {
    "owner": "owner|rep|sales rep|owning rep|person|salesperson|salespeople|seller|account executive|colleague"
    "|team member|teammate|sales person|deal owner|account owner|meeting owner|lead owner|people|representative"
    "|sales representative|user|account manager",
    "stage": "stage|pipeline stage|deal stage|sales stage|step",
    "account": "account|company|customer|client",
    "industry": "industry|sector|account industry|industry of the account|customer industry|vertical",
    "status": "status|state",
    "state": "state|status",
    "currency": "currency",
    "source": "source|deal source|lead source|meeting source|origin|capture source|where they came from|capture method",
    "geo_scope": "geo scope|geographic scope|geographic reach|geographical reach|reach|geographical scope",
    "value": "value|amount|deal value|deal size|size|worth",
    "deal": "deal|opportunity",
    "campaign": "campaign",
    "email": "email|e-mail|email address|e-mail address|mail address|mail",
    "title": "title|job title|position|role",
    "domain": "domain|web domain|internet domain|website",
    "health_trend": "health trend|trend",
    "health_score": "health score|health|score",
    "score": "score|research score",
    "tag": "tag|label",
    "disqualified_reason": "disqualified reason|disqualification reason|reason|reason for disqualification"
    "|reason of disqualification|reason they were disqualified",
    "company": "company",
    "close_date": "closing day|closing date|close date|expected close date|expected closing date|close",
    "created_at": "creation date|creation day|date of creation|created date",
    "closed_at": "closed date|closing moment",
    "due_at": "due date|scheduled time|meeting date|date",
    "completed_at": "completion date",
    "converted_at": "conversion date",
    "enrolled_at": "enrollment date|enrolment date",
    "last_meeting_at": "last meeting",
}
_NAMED: Final = {"campaigns": "name|campaign|campaign name", "contacts": "name", "accounts": "name"}

_MEASURES: Final[Mapping[str, Mapping[str, str]]] = {
    "deals": {
        "value_sum": "value|amount|worth|deal value|deal amount|revenue|volume|money|deal volume|total value",
        "value_average": "average deal size|average deal value|average deal amount"
        "|average value of a deal|how big|how large",
        "weighted_sum": "weighted pipeline|weighted pipeline value|weighted value|weighted amount|weighted deal value"
        "|forecast|pipeline forecast|probability weighted value|probability weighted pipeline"
        "|probability weighted pipeline value|probability weighted amount|weighted pipeline amount|weighted",
        "win_rate": "win rate|winning rate|win percentage|success rate|win ratio|closing rate|close rate",
        "sales_cycle_days": "sales cycle|sales cycle length|length of the sales cycle|sales cycle in days|days to win"
        "|time to win|days to close|time to close|take to win a deal|take to close a deal|take to win deals"
        "|take to close deals|take us to win a deal|take us to close a deal|length of our sales cycle"
        "|take until a deal is won|deal cycle|take to win|take to close|to win a deal|to win deals"
        "|to close a deal|to close deals",
        "stage_days": "stay|remain|time in stage|days in stage|spend|sit|time spent|stage duration"
        "|time per stage|days per stage|time in each stage|days in each stage|stage durations",
    },
    "meetings": {
        "minutes_average": "average meeting length|average length|average duration|average meeting duration"
        "|average number of minutes",
        "minutes_sum": "minutes|meeting minutes|total minutes|time in meetings|meeting time|total length"
        "|total duration|minutes of meetings|total meeting time",
        "account_count": "different accounts|distinct accounts|different companies|accounts met",
    },
    "accounts": {
        "health_average": "average health|average health score|mean health|mean health score|average account health"
        "|average score|average health of accounts",
        "scored_count": "scored accounts|accounts scored",
    },
    "contacts": {"deal_count": "number of deals they are on"},
    "leads": {
        "conversion_rate": "conversion rate|lead conversion rate|lead conversion|rate of conversion"
        "|conversion percentage|converting rate|share of leads that convert|share of leads that converted"
        "|percentage of leads that convert|percentage of leads that converted|proportion of leads that convert"
        "|proportion of leads that converted",
        "days_to_convert": "days to convert|time to convert|days to conversion|time to conversion|conversion time"
        "|take to convert a lead|take to convert leads|take until a lead is converted|take a lead to convert"
        "|take leads to convert|take for a lead to convert",
    },
    "campaigns": {
        "enrolled_count": "enrolled recipients|enrolled contacts|recipients|enrollments|enrolments|enrolled",
        "replied_count": "replies|recipients who replied|replied recipients|replied",
        "bounced_count": "bounces|bounced recipients|bounced|recipients who bounced",
        "unsubscribed_count": "unsubscribes|unsubscribed recipients|unsubscribed|recipients who unsubscribed",
        "reply_rate": "reply rate|response rate|rate of replies|answer rate",
        "bounce_rate": "bounce rate|rate of bounces",
    },
    "research_results": {"score_average": "average score|average research score|mean score"},
}
MEASURED_BY: Final[Mapping[str, str]] = {
    "deals": "days per stage|time per stage|time in stage|days in stage|stage duration"
    "|time in each stage|days in each stage|stay in each stage|days to close|days to win|time to close|time to win"
    "|win|how much has|deal size|win rate|winning rate|win percentage"
    "|win ratio|closing rate|close rate|sales cycle|sales cycle length"
    "|won amount|amount won|won value|value won|won revenue|revenue won|lost amount|lost value|amount lost|value lost"
    "|amount we won|value we won|amount we lost|value we lost"
    "|lost revenue|how much did|how much have|much we won|weighted pipeline|weighted value|how much was won"
    "|how much was lost|revenue did we win|revenue have we won",
    "meetings": "minutes in meetings|time in meetings",
    "accounts": "average health|account health|health score|health trend",
    "leads": "conversion rate|days to convert|time to convert|days to conversion|time to conversion",
    "campaigns": "reply rate|bounce rate|response rate",
    "research_results": "research score",
}
"""The phrases that ask about an entity without its name."""

_STATES: Final[Mapping[str, Sequence[tuple[str, str, str | Sequence[str] | None, str | None, str]]]] = {
    # Dimension, phrases, value, date, what is taken for granted
    "deals": (
        (
            "status",
            "closed|decided|won or lost|won and lost",
            ["won", "lost"],
            "close_date",
            "closed deals are won or lost",
        ),
        ("status", "won|closed won|win", "won", "close_date", ""),
        ("status", "lost|closed lost|lose", "lost", "close_date", ""),
        (
            "status",
            "unclosed|not closed|still open|in progress|in the pipeline|in our pipeline|not yet closed|in pipeline",
            "open",
            None,
            "",
        ),
    ),
    "meetings": (
        (
            "state",
            "done|marked done|held|finished|marked as done|marked completed",
            "completed",
            None,
            "a meeting is held when it was marked done",
        ),
        ("state", "upcoming|still to come|planned", "scheduled", None, "meetings to come are those scheduled"),
        ("state", "not completed yet", "overdue", None, ""),
        ("state", "scheduled", "scheduled", None, "scheduled meetings are those still to come"),
    ),
    "accounts": (
        (
            "health_trend",
            "on the decline|falling health|getting worse"
            "|worsening|deteriorating|in decline|in declining health|losing health|trending down"
            "|trending downward|trending downwards",
            "declining",
            None,
            "",
        ),
        ("health_trend", "getting better|trending up|trending upward|trending upwards", "improving", None, ""),
    ),
    "leads": (
        ("status", "converted|convert", "converted", "converted_at", ""),
        ("status", "disqualified|disqualify", "disqualified", None, ""),
        (
            "source",
            "scanned badge|badge|scanned badges|scanned from a badge|badge scan",
            "scan_badge",
            None,
            "",
        ),
        (
            "source",
            "scanned card|card|business card|scanned business card|scanned from a card|card scan",
            "scan_card",
            None,
            "",
        ),
        ("source", "entered by hand", "manual", None, ""),
    ),
    "enrollments": (
        ("status", "bounce", "bounced", None, ""),
        ("status", "who replied|that replied", "replied", None, ""),
    ),
    "campaigns": (("status", "running|live", "active", None, "running campaigns are active"),),
}
DATES: Final[Mapping[str, Mapping[str, str]]] = {
    "deals": {
        "close_date": "closing|close|due|due to close|expected to close|set to close|about to close|supposed to close",
        "created_at": "created|made|added|entered|new|creation|newly created|were opened|was opened|create|add",
    },
    "meetings": {
        "created_at": "created|logged|added|entered|creation",
        "completed_at": "marked done on|completion",
        "due_at": "taking place|take place|took place|due",
    },
    "accounts": {"created_at": "created|added|new|creation|create|add|gain|gained"},
    "contacts": {"created_at": "created|added|new|creation|create|add"},
    "leads": {"created_at": "created|added|new|captured|creation|came in|come in|capture|create|get|got|generated"},
    "campaigns": {"created_at": "created|new|creation|create|launched"},
    "enrollments": {"enrolled_at": "enrolled|enrolment|enrollment|added"},
}
"""Words that say which date a period is about."""


@lru_cache(maxsize=1)
def nouns() -> Phrases:
    """The nouns of entities, and what is asked about one without its name."""
    found = Phrases()
    for entity, phrases in NOUNS.items():
        found.add(phrases, Sense(Slot.ENTITY, entity))
    for entity, phrases in MEASURED_BY.items():
        found.add(phrases, Sense(Slot.MEASURE, entity))
    return found.sort()


def phrases_of(entity: Entity) -> Phrases:
    """The phrases about an entity, as far as the caller may know of it."""
    return _phrases(entity.name, tuple(entity.dimensions), tuple(entity.measures), tuple(entity.links.items()))


@lru_cache(maxsize=200)
def _phrases(
    entity: str, dimensions: tuple[str, ...], measures: tuple[str, ...], links: tuple[tuple[str, str], ...]
) -> Phrases:
    found = Phrases()
    found.add(NOUNS[entity], Sense(Slot.ENTITY, entity))
    for name in measures:
        if name != "count":
            found.add(_MEASURES.get(entity, {}).get(name, ""), Sense(Slot.MEASURE, name))
            found.add(name.replace("_", " "), Sense(Slot.MEASURE, name))
    for dimension, phrases, value, date, words in _STATES.get(entity, ()):
        if dimension in dimensions:
            op = Operator.IN if isinstance(value, list) else Operator.EQ
            found.add(phrases, Sense(Slot.STATE, dimension, value, op, date, words))
    for date, phrases in DATES.get(entity, {}).items():
        found.add(phrases, Sense(Slot.DATE, date))
    for name in dimensions:
        known = CATALOG[entity].dimensions[name]
        found.add(_named_phrases(entity, name), Sense(Slot.DIMENSION, name))
        for value in known.values or ():
            found.add(value.value.replace("_", " "), Sense(Slot.STATE, name, value.value))
    for name, target in links:
        found.add(NOUNS[target], Sense(Slot.LINK, name, target))
    return found.sort()


def _named_phrases(entity: str, name: str) -> str:
    if name == "name":
        return _NAMED.get(entity, "name")
    return f"{name.replace('_', ' ')}|{_DIMENSIONS.get(name, '')}"
