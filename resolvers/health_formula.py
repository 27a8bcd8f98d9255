"""The account health formula: condensed facts in, a score with its nine factors out (specification 2.3).

Pure: no clock, no database, no floating-point arithmetic before the last step. The same facts, moment, previous score
and formula version give the same assessment on every machine. docs/health.md explains the choices and carries an
example that a test computes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Final

from contract.curves import Curve, along, half_up, tenths
from contract.health_facts import (
    ACCOUNT_FIELDS,
    CADENCE_WEEKS,
    CONTACT_FIELDS,
    FOLLOW_THROUGH_DAYS,
    MOMENTUM_DAYS,
    OUTCOME_DAYS,
    OUTREACH_DAYS,
    STAKEHOLDER_DAYS,
    AccountFacts,
    windows,
)
from contract.vocabulary import HealthFactorKey, HealthTrend

FORMULA_VERSION: Final = "1"
NEUTRAL_SCORE: Final = 50
TREND_POINTS: Final = 5

RECENCY_CURVE: Final[Curve] = ((7, 100), (21, 80), (45, 50), (90, 20), (180, 0))
CADENCE_CURVE: Final[Curve] = ((0, 0), (2, 40), (6, 100))
STAKEHOLDER_CURVE: Final[Curve] = ((0, 0), (1, 30), (2, 55), (3, 75), (4, 90), (5, 100))
OUTREACH_CURVE: Final[Curve] = ((0, 20), (10, 50), (25, 80), (50, 100))


@dataclass(frozen=True, slots=True)
class Factor:
    """One factor of a score (specification 2.3); `value` is None and `sample_size` 0 exactly when there is no data."""

    key: HealthFactorKey
    label: str
    score: int
    weight: float
    value: float | None
    explanation: str
    sample_size: int


@dataclass(frozen=True, slots=True)
class Assessment:
    """A score and what it is made of, in the order to insert (specification 2.3); `trend` is None the first time."""

    score: int
    trend: HealthTrend | None
    formula_version: str
    factors: tuple[Factor, ...]


def assess(facts: AccountFacts, now: datetime, previous_score: int | None) -> Assessment:
    """Score an account at `now`; `previous_score` is that of its latest snapshot, if any (specification 2.3).

    A naive `now`, or a last meeting after it, is a ValueError.
    """
    last = facts.meetings.last_held_at
    now = windows(now).now
    if last is not None and last > now:
        raise ValueError("the last meeting lies after the moment of the assessment")
    factors = tuple(_factor(rule, facts, now) for rule in _RULES)
    points = sum(rule.sixteenths * factor.score for rule, factor in zip(_RULES, factors, strict=True))
    score = half_up(Fraction(points, 16))
    return Assessment(score, trend_of(score, previous_score), FORMULA_VERSION, factors)


def trend_of(score: int, previous_score: int | None) -> HealthTrend | None:
    """The direction since the previous snapshot: ±5 points or more is a change (specification 2.3).

    None without a previous snapshot: one score has no direction.
    """
    if previous_score is None:
        return None
    if score >= previous_score + TREND_POINTS:
        return HealthTrend.IMPROVING
    if score <= previous_score - TREND_POINTS:
        return HealthTrend.DECLINING
    return HealthTrend.STABLE


# What a factor measured; where there is nothing to measure, a factor answers why in words instead.
@dataclass(frozen=True, slots=True)
class _Reading:
    score: Fraction
    value: Fraction
    sample_size: int
    explanation: str


def _meeting_recency(facts: AccountFacts, now: datetime) -> _Reading | str:
    last = facts.meetings.last_held_at
    if last is None:
        return "No meeting has been held yet"
    days = (now - last) // timedelta(days=1)
    text = f"The last meeting was held {_count(days, 'day')} ago."
    return _Reading(along(RECENCY_CURVE, Fraction(days)), Fraction(days), facts.meetings.held, text)


def _meeting_cadence(facts: AccountFacts, now: datetime) -> _Reading | str:
    if not facts.meetings.held:
        return "No meeting has been held yet"
    weeks = sum(1 for count in facts.meetings.held_by_week if count)
    text = f"Meetings were held in {weeks} of the last {CADENCE_WEEKS} weeks."
    return _Reading(along(CADENCE_CURVE, Fraction(weeks)), Fraction(weeks), facts.meetings.held, text)


def _stakeholder_breadth(facts: AccountFacts, now: datetime) -> _Reading | str:
    met, total = facts.contacts.met, facts.contacts.total
    if not total:
        return "The account has no contacts yet"
    text = f"Of {_count(total, 'contact')}, {met} took part in a meeting held in the last {STAKEHOLDER_DAYS} days."
    return _Reading(along(STAKEHOLDER_CURVE, Fraction(met)), Fraction(met), total, text)


def _champion_presence(facts: AccountFacts, now: datetime) -> _Reading | str:
    named, total = facts.deals.with_champion, facts.deals.open
    if not total:
        return "The account has no open deals"
    share = Fraction(100 * named, total)
    text = f"Of {_count(total, 'open deal')}, {named} ({_percent(share)}) {_verb(named, 'names', 'name')} a champion."
    return _Reading(share, share, total, text)


def _pipeline_momentum(facts: AccountFacts, now: datetime) -> _Reading | str:
    moving, total = facts.deals.moving, facts.deals.open
    if not total:
        return "The account has no open deals"
    share = Fraction(100 * moving, total)
    text = (
        f"Of {_count(total, 'open deal')}, {moving} ({_percent(share)}) entered {_verb(moving, 'its', 'their')} stage "
        f"in the last {MOMENTUM_DAYS} days and {_verb(moving, 'has', 'have')} no missed close date."
    )
    return _Reading(share, share, total, text)


def _deal_outcomes(facts: AccountFacts, now: datetime) -> _Reading | str:
    won, closed = facts.deals.won, facts.deals.won + facts.deals.lost
    if not closed:
        return f"No deal was closed in the last {OUTCOME_DAYS} days"
    share = Fraction(100 * won, closed)
    text = (
        f"Of {_count(closed, 'deal')} closed in the last {OUTCOME_DAYS} days, "
        f"{won} ({_percent(share)}) {_verb(won, 'was', 'were')} won."
    )
    # One win and one loss are added: a single deal is no track record, and none at all stays neutral.
    return _Reading(Fraction(100 * (won + 1), closed + 2), share, closed, text)


def _outreach_engagement(facts: AccountFacts, now: datetime) -> _Reading | str:
    replied, enrolled = facts.outreach.replied, facts.outreach.enrolled
    if not enrolled:
        return f"No contact was enrolled in outreach in the last {OUTREACH_DAYS} days"
    share = Fraction(100 * replied, enrolled)
    text = (
        f"Of {_count(enrolled, 'outreach enrollment')} in the last {OUTREACH_DAYS} days, "
        f"{replied} ({_percent(share)}) got a reply."
    )
    return _Reading(along(OUTREACH_CURVE, share), share, enrolled, text)


def _follow_through(facts: AccountFacts, now: datetime) -> _Reading | str:
    kept, due = facts.meetings.kept, facts.meetings.due
    if not due:
        return f"No meeting was due in the last {FOLLOW_THROUGH_DAYS} days"
    share = Fraction(100 * kept, due)
    text = (
        f"Of {_count(due, 'meeting')} due in the last {FOLLOW_THROUGH_DAYS} days, "
        f"{kept} ({_percent(share)}) {_verb(kept, 'was', 'were')} completed."
    )
    return _Reading(share, share, due, text)


def _data_completeness(facts: AccountFacts, now: datetime) -> _Reading:
    own, contacts = facts.has_domain + facts.has_industry + facts.has_owner, facts.contacts
    people = Fraction(contacts.filled, CONTACT_FIELDS * contacts.total) if contacts.total else Fraction(0)
    share = 50 * (Fraction(own, ACCOUNT_FIELDS) + people)
    asked = f"{contacts.filled} of {CONTACT_FIELDS * contacts.total}" if contacts.total else "no"
    text = (
        f"The record is {_percent(share)} complete: {own} of {ACCOUNT_FIELDS} account fields and "
        f"{asked} contact fields are filled, each group counting half."
    )
    return _Reading(share, share, 1 + contacts.total, text)


@dataclass(frozen=True, slots=True)
class _Rule:
    key: HealthFactorKey
    label: str
    # Sixteenths are exact in binary: the published weights sum to 1 in any order and in any client's arithmetic.
    sixteenths: int
    read: Callable[[AccountFacts, datetime], _Reading | str]


_KEY = HealthFactorKey
_RULES: Final = (
    _Rule(_KEY.MEETING_RECENCY, "Meeting recency", 3, _meeting_recency),
    _Rule(_KEY.MEETING_CADENCE, "Meeting cadence", 2, _meeting_cadence),
    _Rule(_KEY.STAKEHOLDER_BREADTH, "Stakeholder breadth", 2, _stakeholder_breadth),
    _Rule(_KEY.CHAMPION_PRESENCE, "Champion presence", 1, _champion_presence),
    _Rule(_KEY.PIPELINE_MOMENTUM, "Pipeline momentum", 2, _pipeline_momentum),
    _Rule(_KEY.DEAL_OUTCOMES, "Deal outcomes", 2, _deal_outcomes),
    _Rule(_KEY.OUTREACH_ENGAGEMENT, "Outreach engagement", 1, _outreach_engagement),
    _Rule(_KEY.FOLLOW_THROUGH, "Follow-through", 2, _follow_through),
    _Rule(_KEY.DATA_COMPLETENESS, "Data completeness", 1, _data_completeness),
)


def _factor(rule: _Rule, facts: AccountFacts, now: datetime) -> Factor:
    weight = rule.sixteenths / 16
    reading = rule.read(facts, now)
    if isinstance(reading, str):
        text = f"{reading}, so this factor counts as a neutral {NEUTRAL_SCORE}."
        return Factor(rule.key, rule.label, NEUTRAL_SCORE, weight, None, text, 0)
    score, value = half_up(reading.score), tenths(reading.value)
    return Factor(rule.key, rule.label, score, weight, value, reading.explanation, reading.sample_size)


def _percent(share: Fraction) -> str:
    return f"{tenths(share):g}%"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _verb(number: int, one: str, many: str) -> str:
    return one if number == 1 else many
