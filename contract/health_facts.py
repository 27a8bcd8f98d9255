"""Holds the facts that the account health formula knows of an account, and what each number means (specification 2.3).

It lies below storage, so that the statements which count and the formula which judges share one definition.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from typing import Final

CADENCE_WEEKS: Final = 12
STAKEHOLDER_DAYS: Final = 180
MOMENTUM_DAYS: Final = 30
OUTCOME_DAYS: Final = 365
OUTREACH_DAYS: Final = 180
FOLLOW_THROUGH_DAYS: Final = 90
ACCOUNT_FIELDS: Final = 3
CONTACT_FIELDS: Final = 4


@dataclass(frozen=True, slots=True)
class Windows:
    """The moments that the loader binds, all derived from one `now` (specification 2.3).

    Every window is open at its start and closed at its end: `since < moment <= until`. Moments that the service itself
    writes (stage changes, creation, enrollment) need no upper bound.
    `weeks[0]` is the seven days that end at `now`, `weeks[11]` the oldest; each is `(since, until)`.
    """

    now: datetime
    today: date
    weeks: tuple[tuple[datetime, datetime], ...]
    met_since: datetime
    due_since: datetime
    moved_since: datetime
    closed_since: datetime
    enrolled_since: datetime


def windows(now: datetime) -> Windows:
    """The windows of the formula that end at `now`, in UTC (specification 2.3). A naive `now` is a ValueError."""
    if now.tzinfo is None:
        raise ValueError("now must carry a time zone")
    now = now.astimezone(UTC)
    ends = [now - timedelta(weeks=age) for age in range(CADENCE_WEEKS + 1)]
    return Windows(
        now=now,
        today=now.date(),
        weeks=tuple(zip(ends[1:], ends[:-1], strict=True)),
        met_since=now - timedelta(days=STAKEHOLDER_DAYS),
        due_since=now - timedelta(days=FOLLOW_THROUGH_DAYS),
        moved_since=now - timedelta(days=MOMENTUM_DAYS),
        closed_since=now - timedelta(days=OUTCOME_DAYS),
        enrolled_since=now - timedelta(days=OUTREACH_DAYS),
    )


@dataclass(frozen=True, slots=True)
class MeetingFacts:
    """One statement over activities with `type = 'meeting'` and this `account_id` (specification 2.1, 2.3).

    A meeting is *held* when `completed_at` is set and not after `now`. It took place at
    `held_at = CASE WHEN due_at < completed_at THEN due_at ELSE completed_at END`: ticking off an old meeting today
    does not make it a meeting of today.

    - `held`: count of held meetings, of any age.
    - `last_held_at`: MAX(held_at) of them; None exactly when `held` is 0.
    - `held_by_week`: for each of `Windows.weeks`, the count with `since < held_at <= until`; twelve sums, newest first.
    - `due`: count with `Windows.due_since < due_at <= now`, held or not.
    - `kept`: those of `due` that are held.
    """

    held: int = 0
    last_held_at: datetime | None = None
    held_by_week: tuple[int, ...] = (0,) * CADENCE_WEEKS
    due: int = 0
    kept: int = 0

    def __post_init__(self) -> None:
        _check(
            self.held >= 0 and (self.last_held_at is None) == (self.held == 0),
            len(self.held_by_week) == CADENCE_WEEKS and all(count >= 0 for count in self.held_by_week),
            sum(self.held_by_week) <= self.held,
            0 <= self.kept <= self.due,
        )


@dataclass(frozen=True, slots=True)
class ContactFacts:
    """One statement over contacts with this `account_id` (specification 2.3).

    A text is *filled* when `x IS NOT NULL AND TRIM(x) <> ''`.

    - `total`: count of contacts.
    - `filled`: over all of them, the sum of four marks each: name (first_name or last_name filled), email,
      phone, title.
    - `met`: count of contacts for which a held meeting EXISTS with this `account_id`, their `contact_id`, and
      `Windows.met_since < held_at <= now` (held and held_at as in MeetingFacts).
    """

    total: int = 0
    filled: int = 0
    met: int = 0

    def __post_init__(self) -> None:
        _check(0 <= self.met <= self.total, 0 <= self.filled <= CONTACT_FIELDS * self.total)


@dataclass(frozen=True, slots=True)
class DealFacts:
    """One statement over deals with this `account_id` (specification 2.2, 2.3).

    Per deal first: `moved_at = COALESCE(MAX(stage_changes.at), deals.created_at)`. `updated_at` is not used: an edited
    note is no movement. Amounts are not used: they come in several currencies.

    - `open`: count with status open.
    - `with_champion`: those of `open` with `champion_id` set.
    - `moving`: those of `open` with `moved_at > Windows.moved_since` and a `close_date` that is null or not before
      `Windows.today`.
    - `won`, `lost`: count with status won, lost and `moved_at > Windows.closed_since`.
    """

    open: int = 0
    with_champion: int = 0
    moving: int = 0
    won: int = 0
    lost: int = 0

    def __post_init__(self) -> None:
        _check(0 <= self.with_champion <= self.open, 0 <= self.moving <= self.open, self.won >= 0, self.lost >= 0)


@dataclass(frozen=True, slots=True)
class OutreachFacts:
    """Outreach to the account's contacts; both stay 0 for an organization without enrollments (specification 2.3).

    - `enrolled`: count of enrollments of contacts with this `account_id`, made after `Windows.enrolled_since`.
    - `replied`: those of `enrolled` whose status is replied.
    """

    enrolled: int = 0
    replied: int = 0

    def __post_init__(self) -> None:
        _check(0 <= self.replied <= self.enrolled)


@dataclass(frozen=True, slots=True)
class AccountFacts:
    """All that the formula knows of one account: counts and one moment, never rows (specification 2.3).

    The numbers of a group come from the same statement: under READ COMMITTED two statements may see different rows,
    and a group that contradicts itself is a ValueError.

    - `has_domain`, `has_industry`, `has_owner`: `accounts.domain`, `industry`, `owner_id` filled (as in ContactFacts).
    """

    has_domain: bool = False
    has_industry: bool = False
    has_owner: bool = False
    meetings: MeetingFacts = field(default_factory=MeetingFacts)
    contacts: ContactFacts = field(default_factory=ContactFacts)
    deals: DealFacts = field(default_factory=DealFacts)
    outreach: OutreachFacts = field(default_factory=OutreachFacts)


def _check(*conditions: bool) -> None:
    if not all(conditions):
        raise ValueError("health facts contradict themselves")
