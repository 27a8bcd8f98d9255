"""The account health formula: docs/health.md computed, its edges, and what must hold for any account."""

from __future__ import annotations

import json
import random
import re
from dataclasses import asdict, replace
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract.health_facts import AccountFacts, ContactFacts, DealFacts, MeetingFacts, OutreachFacts, windows
from contract.vocabulary import HealthFactorKey, HealthTrend
from resolvers import health_formula as formula
from resolvers.health_formula import Factor, assess, trend_of

PAGE = (Path(__file__).parents[2] / "docs" / "health.md").read_text(encoding="utf-8")
NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)
DAY = timedelta(days=1)
KEY = HealthFactorKey


def block(name: str) -> Any:
    found = re.search(rf"^```json {name}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def table(heading: str) -> list[list[str]]:
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def filled(text: str | None) -> bool:
    return text is not None and text.strip(" ") != ""


def condensed(rows: dict[str, Any], now: datetime) -> AccountFacts:
    """The definitions of contract/health_facts.py, said once more over plain rows."""
    w = windows(now)
    held: list[tuple[datetime, str | None]] = []
    due: list[bool] = []
    for meeting in rows["meetings"]:
        due_at, done_at = moment(meeting["due_at"]), moment(meeting["completed_at"])
        is_held = done_at is not None and done_at <= w.now
        if done_at is not None and is_held:
            held.append((due_at if due_at is not None and due_at < done_at else done_at, meeting["contact_id"]))
        if due_at is not None and w.due_since < due_at <= w.now:
            due.append(is_held)
    met = {contact_id for held_at, contact_id in held if held_at > w.met_since}
    contacts = rows["contacts"]
    marks = [
        mark
        for c in contacts
        for mark in (
            filled(c["first_name"]) or filled(c["last_name"]),
            *(filled(c[k]) for k in ("email", "phone", "title")),
        )
    ]
    moved_at: dict[str, datetime] = {}
    for deal in rows["deals"]:
        changes = [datetime.fromisoformat(c["at"]) for c in rows["stage_changes"] if c["deal_id"] == deal["id"]]
        moved_at[deal["id"]] = max(changes, default=datetime.fromisoformat(deal["created_at"]))
    opened = [deal for deal in rows["deals"] if deal["status"] == "open"]
    closed = [deal["status"] for deal in rows["deals"] if moved_at[deal["id"]] > w.closed_since]
    return AccountFacts(
        has_domain=filled(rows["account"]["domain"]),
        has_industry=filled(rows["account"]["industry"]),
        has_owner=filled(rows["account"]["owner_id"]),
        meetings=MeetingFacts(
            held=len(held),
            last_held_at=max((held_at for held_at, _ in held), default=None),
            held_by_week=tuple(sum(since < at <= until for at, _ in held) for since, until in w.weeks),
            due=len(due),
            kept=sum(due),
        ),
        contacts=ContactFacts(len(contacts), sum(marks), sum(c["id"] in met for c in contacts)),
        deals=DealFacts(
            open=len(opened),
            with_champion=sum(deal["champion_id"] is not None for deal in opened),
            moving=sum(
                moved_at[deal["id"]] > w.moved_since
                and (deal["close_date"] is None or date.fromisoformat(deal["close_date"]) >= w.today)
                for deal in opened
            ),
            won=closed.count("won"),
            lost=closed.count("lost"),
        ),
    )


def factor(facts: AccountFacts, key: HealthFactorKey, now: datetime = NOW) -> Factor:
    return next(f for f in assess(facts, now, None).factors if f.key is key)


# ── the page ──


def test_page_facts_are_the_rows_counted() -> None:
    rows, expected = block("rows"), block("facts")
    facts = asdict(condensed(rows, datetime.fromisoformat(rows["now"])))
    facts["meetings"]["held_by_week"] = list(facts["meetings"]["held_by_week"])
    expected["meetings"]["last_held_at"] = moment(expected["meetings"]["last_held_at"])
    assert facts == expected


def test_page_example_is_what_the_formula_says() -> None:
    rows = block("rows")
    now = datetime.fromisoformat(rows["now"])
    result = assess(condensed(rows, now), now, rows["previous_score"])
    computed = [
        [
            f.key.name,
            "null" if f.value is None else f"{f.value:g}",
            str(f.sample_size),
            str(f.score),
            f"{f.weight * f.score:g}",
            f.explanation,
        ]
        for f in result.factors
    ]
    assert computed == table("Worked example")
    assert (result.score, result.trend, result.formula_version) == (69, HealthTrend.IMPROVING, "1")
    assert "Score: 69. Trend: improving, 7 points above 62." in PAGE
    assert result.score - rows["previous_score"] == 7


def test_page_table_is_the_formula() -> None:
    factors = assess(AccountFacts(), NOW, None).factors
    page = table("The nine factors")
    assert [(f.key.name, f.label, f"{f.weight:g}") for f in factors] == [(row[0], row[1], row[5]) for row in page]
    corners = {row[0]: tuple((int(a), int(b)) for a, b in re.findall(r"(\d+) → (\d+)", row[4])) for row in page}
    assert {key: curve for key, curve in corners.items() if curve} == {
        "MEETING_RECENCY": formula.RECENCY_CURVE,
        "MEETING_CADENCE": formula.CADENCE_CURVE,
        "STAKEHOLDER_BREADTH": formula.STAKEHOLDER_CURVE,
        "OUTREACH_ENGAGEMENT": formula.OUTREACH_CURVE,
    }


def test_page_names_the_current_version() -> None:
    assert f"this page describes version {formula.FORMULA_VERSION}." in PAGE


# ── shape ──


def test_nine_factors_in_the_order_of_the_vocabulary() -> None:
    assert [f.key for f in assess(AccountFacts(), NOW, None).factors] == list(HealthFactorKey)
    assert len(HealthFactorKey) == 9


@given(st.permutations(range(9)))
def test_weights_sum_to_exactly_one_in_any_order(order: list[int]) -> None:
    weights = [f.weight for f in assess(AccountFacts(), NOW, None).factors]
    assert sum(weights[i] for i in order) == 1.0


def test_an_account_without_rows_is_neutral_but_for_its_record() -> None:
    result = assess(AccountFacts(), NOW, None)
    assert (result.score, result.trend) == (47, None)
    assert "An account with nothing but a name scores 47." in PAGE
    assert [(f.score, f.value, f.sample_size) for f in result.factors] == [(50, None, 0)] * 8 + [(0, 0.0, 1)]
    assert [f.explanation for f in result.factors] == [
        "No meeting has been held yet, so this factor counts as a neutral 50.",
        "No meeting has been held yet, so this factor counts as a neutral 50.",
        "The account has no contacts yet, so this factor counts as a neutral 50.",
        "The account has no open deals, so this factor counts as a neutral 50.",
        "The account has no open deals, so this factor counts as a neutral 50.",
        "No deal was closed in the last 365 days, so this factor counts as a neutral 50.",
        "No contact was enrolled in outreach in the last 180 days, so this factor counts as a neutral 50.",
        "No meeting was due in the last 90 days, so this factor counts as a neutral 50.",
        "The record is 0% complete: 0 of 3 account fields and no contact fields are filled, each group counting half.",
    ]


@pytest.mark.parametrize(
    ("score", "previous", "trend"),
    [
        (69, None, None),
        (69, 64, HealthTrend.IMPROVING),
        (69, 65, HealthTrend.STABLE),
        (69, 69, HealthTrend.STABLE),
        (69, 73, HealthTrend.STABLE),
        (69, 74, HealthTrend.DECLINING),
        (0, 0, HealthTrend.STABLE),
        (100, 0, HealthTrend.IMPROVING),
        (0, 100, HealthTrend.DECLINING),
    ],
)
def test_trend(score: int, previous: int | None, trend: HealthTrend | None) -> None:
    assert trend_of(score, previous) is trend


# ── the curves, one by one ──


def last_held(days: float) -> AccountFacts:
    return AccountFacts(meetings=MeetingFacts(held=1, last_held_at=NOW - timedelta(days=days)))


@pytest.mark.parametrize(
    ("days", "value", "score"),
    [
        (0, 0.0, 100),
        (7, 7.0, 100),
        (7.99, 7.0, 100),
        (8, 8.0, 99),  # 98.57
        (14, 14.0, 90),
        (21, 21.0, 80),
        (33, 33.0, 65),
        (45, 45.0, 50),
        (90, 90.0, 20),
        (135, 135.0, 10),
        (138, 138.0, 9),  # 9.33
        (180, 180.0, 0),
        (4000, 4000.0, 0),
    ],
)
def test_recency(days: float, value: float, score: int) -> None:
    f = factor(last_held(days), KEY.MEETING_RECENCY)
    assert (f.value, f.score, f.sample_size) == (value, score, 1)


def test_recency_counts_one_day_in_the_singular() -> None:
    assert factor(last_held(1), KEY.MEETING_RECENCY).explanation == "The last meeting was held 1 day ago."


@pytest.mark.parametrize(
    ("weeks", "score"), list(enumerate([0, 20, 40, 55, 70, 85, 100, 100, 100, 100, 100, 100, 100]))
)
def test_cadence(weeks: int, score: int) -> None:
    counts = (3,) * weeks + (0,) * (12 - weeks)
    facts = AccountFacts(meetings=MeetingFacts(held=40, last_held_at=NOW - DAY, held_by_week=counts))
    f = factor(facts, KEY.MEETING_CADENCE)
    assert (f.value, f.score, f.sample_size) == (float(weeks), score, 40)


@pytest.mark.parametrize(("met", "score"), [(0, 0), (1, 30), (2, 55), (3, 75), (4, 90), (5, 100), (9, 100)])
def test_stakeholders(met: int, score: int) -> None:
    f = factor(AccountFacts(contacts=ContactFacts(total=9, met=met)), KEY.STAKEHOLDER_BREADTH)
    assert (f.value, f.score, f.sample_size) == (float(met), score, 9)


@pytest.mark.parametrize(
    ("part", "whole", "value", "score"),
    [
        (0, 1, 0.0, 0),
        (1, 1, 100.0, 100),
        (1, 3, 33.3, 33),
        (2, 3, 66.7, 67),
        (1, 8, 12.5, 13),
        (5, 8, 62.5, 63),
        (1, 200, 0.5, 1),
    ],
)
def test_shares_round_half_up(part: int, whole: int, value: float, score: int) -> None:
    facts = AccountFacts(
        deals=DealFacts(open=whole, with_champion=part, moving=part),
        meetings=MeetingFacts(due=whole, kept=part, held=part, last_held_at=NOW if part else None),
    )
    for key in (KEY.CHAMPION_PRESENCE, KEY.PIPELINE_MOMENTUM, KEY.FOLLOW_THROUGH):
        f = factor(facts, key)
        assert (f.value, f.score, f.sample_size) == (value, score, whole)


@pytest.mark.parametrize(
    ("won", "lost", "value", "score"),
    [(1, 0, 100.0, 67), (0, 1, 0.0, 33), (1, 1, 50.0, 50), (9, 0, 100.0, 91), (2, 3, 40.0, 43)],
)
def test_outcomes(won: int, lost: int, value: float, score: int) -> None:
    f = factor(AccountFacts(deals=DealFacts(won=won, lost=lost)), KEY.DEAL_OUTCOMES)
    assert (f.value, f.score, f.sample_size) == (value, score, won + lost)


@pytest.mark.parametrize(
    ("replied", "enrolled", "value", "score"),
    [
        (0, 20, 0.0, 20),
        (1, 20, 5.0, 35),
        (2, 20, 10.0, 50),
        (5, 20, 25.0, 80),
        (10, 20, 50.0, 100),
        (20, 20, 100.0, 100),
    ],
)
def test_outreach(replied: int, enrolled: int, value: float, score: int) -> None:
    f = factor(AccountFacts(outreach=OutreachFacts(enrolled, replied)), KEY.OUTREACH_ENGAGEMENT)
    assert (f.value, f.score, f.sample_size) == (value, score, enrolled)
    assert f.explanation.endswith(f"days, {replied} ({value:g}%) got a reply.")


def test_completeness() -> None:
    full = AccountFacts(True, True, True, contacts=ContactFacts(total=2, filled=8))
    assert (factor(full, KEY.DATA_COMPLETENESS).score, factor(full, KEY.DATA_COMPLETENESS).sample_size) == (100, 3)
    f = factor(replace(full, contacts=ContactFacts()), KEY.DATA_COMPLETENESS)
    assert (f.score, f.value, f.sample_size) == (50, 50.0, 1)
    f = factor(AccountFacts(has_domain=True), KEY.DATA_COMPLETENESS)
    assert (f.score, f.value) == (17, 16.7)


# ── time ──


def test_windows() -> None:
    w = windows(datetime(2026, 11, 20, 1, tzinfo=timezone(timedelta(hours=2))))
    end = datetime(2026, 11, 19, 23, tzinfo=UTC)
    assert (w.now, w.now.tzinfo, w.today) == (end, UTC, date(2026, 11, 19))
    assert (w.weeks[0], w.weeks[11]) == ((end - 7 * DAY, end), (end - 84 * DAY, end - 77 * DAY))
    assert len(w.weeks) == 12
    assert (w.met_since, w.due_since, w.moved_since) == (end - 180 * DAY, end - 90 * DAY, end - 30 * DAY)
    assert (w.closed_since, w.enrolled_since) == (end - 365 * DAY, end - 180 * DAY)


def test_the_time_zone_of_now_does_not_matter() -> None:
    east = NOW.astimezone(timezone(timedelta(hours=9)))
    assert assess(last_held(12.5), east, 40) == assess(last_held(12.5), NOW, 40)


def test_refusals() -> None:
    with pytest.raises(ValueError, match="time zone"):
        assess(AccountFacts(), datetime(2026, 11, 20), None)
    with pytest.raises(ValueError, match="after the moment"):
        assess(last_held(-1), NOW, None)


@pytest.mark.parametrize(
    ("group", "numbers"),
    [
        (MeetingFacts, {"held": 1}),
        (MeetingFacts, {"last_held_at": NOW}),
        (MeetingFacts, {"held": -1, "last_held_at": NOW}),
        (MeetingFacts, {"held_by_week": (0,) * 11}),
        (MeetingFacts, {"held_by_week": (1,) + (0,) * 11}),
        (MeetingFacts, {"held": 3, "last_held_at": NOW, "held_by_week": (2, -1) + (0,) * 10}),
        (MeetingFacts, {"due": 1, "kept": 2}),
        (ContactFacts, {"total": 1, "met": 2}),
        (ContactFacts, {"total": 1, "filled": 5}),
        (ContactFacts, {"total": -1, "met": -1, "filled": -4}),
        (DealFacts, {"open": 1, "with_champion": 2}),
        (DealFacts, {"open": 1, "moving": 2}),
        (DealFacts, {"won": -1}),
        (DealFacts, {"lost": -1}),
        (OutreachFacts, {"enrolled": 1, "replied": 2}),
    ],
)
def test_contradictory_facts_are_refused(group: Any, numbers: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="contradict"):
        group(**numbers)


# ── any account ──

small = st.integers(0, 12)
ago = st.timedeltas(min_value=-60 * DAY, max_value=500 * DAY).map(lambda d: (NOW - d).isoformat())
days = st.dates(date(2026, 9, 1), date(2027, 2, 1)).map(date.isoformat)
texts = st.sampled_from([None, "", "  ", "x"])
people = st.sampled_from([None, "0", "1", "2", "elsewhere"])
meeting_rows = st.fixed_dictionaries({"due_at": st.none() | ago, "completed_at": st.none() | ago, "contact_id": people})


@st.composite
def accounts(draw: st.DrawFn) -> dict[str, Any]:
    fields = ("first_name", "last_name", "email", "phone", "title")
    deals = [
        {
            "id": str(i),
            "status": draw(st.sampled_from(["open", "won", "lost"])),
            "champion_id": draw(people),
            "close_date": draw(st.none() | days),
            "created_at": draw(ago),
        }
        for i in range(draw(st.integers(0, 4)))
    ]
    changes = st.fixed_dictionaries({"deal_id": st.sampled_from([d["id"] for d in deals] or [""]), "at": ago})
    return {
        "account": {name: draw(texts) for name in ("domain", "industry", "owner_id")},
        "contacts": [{"id": str(i), **{f: draw(texts) for f in fields}} for i in range(draw(st.integers(0, 3)))],
        "meetings": draw(st.lists(meeting_rows, max_size=6)),
        "deals": deals,
        "stage_changes": draw(st.lists(changes, max_size=4)) if deals else [],
    }


@given(accounts(), st.none() | st.integers(0, 100))
def test_bounds_and_what_no_data_means(rows: dict[str, Any], previous: int | None) -> None:
    result = assess(condensed(rows, NOW), NOW, previous)
    for f in result.factors:
        assert 0 <= f.score <= 100
        assert (f.value is None) == (f.sample_size == 0)
        assert f.value is not None or f.score == 50
        assert f.explanation.endswith(".")
    assert result.score == int(sum(f.weight * f.score for f in result.factors) + 0.5)
    assert (result.trend is None) == (previous is None)


@given(accounts(), st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(rows: dict[str, Any], dice: random.Random) -> None:
    shuffled = {k: dice.sample(v, len(v)) if isinstance(v, list) else v for k, v in rows.items()}
    assert assess(condensed(shuffled, NOW), NOW, 50) == assess(condensed(rows, NOW), NOW, 50)


@given(accounts(), ago, people)
def test_another_held_meeting_never_lowers_a_measured_meeting_factor(
    rows: dict[str, Any], at: str, contact_id: str | None
) -> None:
    before = condensed(rows, NOW)
    held = {"due_at": None, "completed_at": min(at, NOW.isoformat()), "contact_id": contact_id}
    after = condensed({**rows, "meetings": [*rows["meetings"], held]}, NOW)
    for key in (KEY.MEETING_RECENCY, KEY.MEETING_CADENCE, KEY.STAKEHOLDER_BREADTH):
        was, now = factor(before, key), factor(after, key)
        assert was.value is None or now.score >= was.score


@given(st.integers(0, 300), st.integers(0, 300))
def test_a_more_recent_meeting_never_scores_less(a: int, b: int) -> None:
    newer, older = sorted((a, b))
    scores = [factor(last_held(d), KEY.MEETING_RECENCY).score for d in (newer, older)]
    assert scores[0] >= scores[1]


@given(accounts())
def test_completing_an_overdue_meeting_never_lowers_the_score_of_a_met_account(rows: dict[str, Any]) -> None:
    rows["meetings"] += [
        {"due_at": (NOW - DAY).isoformat(), "completed_at": None, "contact_id": None},
        {"due_at": None, "completed_at": (NOW - 9 * DAY).isoformat(), "contact_id": None},
    ]
    before = assess(condensed(rows, NOW), NOW, None)
    rows["meetings"][-2]["completed_at"] = NOW.isoformat()
    after = assess(condensed(rows, NOW), NOW, None)
    assert after.score >= before.score
    assert all(b.score <= a.score for b, a in zip(before.factors, after.factors, strict=True))


@given(st.lists(small, min_size=6, max_size=6))
def test_more_of_the_good_never_lowers_a_share(n: list[int]) -> None:
    def scores(extra: int) -> list[int]:
        facts = AccountFacts(
            has_domain=bool(extra),
            contacts=ContactFacts(total=13, filled=n[0] + extra, met=n[1] + extra),
            deals=DealFacts(open=13, with_champion=n[2] + extra, moving=n[3] + extra, won=n[4] + extra, lost=3),
            outreach=OutreachFacts(enrolled=13, replied=n[5] + extra),
        )
        return [f.score for f in assess(facts, NOW, None).factors]

    assert all(less <= more for less, more in zip(scores(0), scores(1), strict=True))
