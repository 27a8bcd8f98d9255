"""Plans what to seed: the totals, their shares, and what one organization is made of."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from random import Random
from typing import Any

from contract.scopes import Role

Row = tuple[Any, ...]
"""The values of a table's row, in the order of its columns. Any: they are of the columns' types."""

EPOCH = datetime(2026, 11, 1, tzinfo=UTC)
"""The present of bulk data: what it calls overdue or scheduled is so at this moment."""
SPAN = timedelta(days=730)
"""The time before its present at which an organization's data begins."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Rows of one organization."""

    accounts: int
    contacts: int
    deals: int
    meetings: int


@dataclass(frozen=True, slots=True)
class Plan:
    """Totals over all organizations, shared evenly; `largest_meetings` of the meetings all go to the first one.

    Raises ValueError for what cannot be shared so.
    """

    organizations: int = 1
    accounts: int = 200
    contacts: int = 1_000
    deals: int = 500
    meetings: int = 5_000
    seed: int = 1
    largest_meetings: int | None = None

    def __post_init__(self) -> None:
        largest = self.largest_meetings
        if self.organizations < 1:
            raise ValueError("organizations must be at least 1")
        if min(self.accounts, self.contacts, self.deals, self.meetings) < 0:
            raise ValueError("a number of rows cannot be negative")
        if largest is not None and not 0 <= largest <= self.meetings:
            raise ValueError("the largest organization's meetings must be among all meetings")
        if largest is not None and self.organizations == 1 and largest != self.meetings:
            raise ValueError("a single organization has all meetings")

    def sizes(self) -> Iterator[Sizes]:
        """Each organization's share; what does not divide goes to the first ones."""
        for index in range(self.organizations):
            yield Sizes(
                accounts=self._share(self.accounts, index),
                contacts=self._share(self.contacts, index),
                deals=self._share(self.deals, index),
                meetings=self._meetings(index),
            )

    def _share(self, total: int, index: int) -> int:
        return total // self.organizations + (index < total % self.organizations)

    def _meetings(self, index: int) -> int:
        if self.largest_meetings is None:
            return self._share(self.meetings, index)
        if index == 0:
            return self.largest_meetings
        rest, others = self.meetings - self.largest_meetings, self.organizations - 1
        return rest // others + (index - 1 < rest % others)


@dataclass(frozen=True, slots=True)
class Person:
    """A member to be."""

    subject: str
    name: str
    role: Role

    @property
    def email(self) -> str:
        """An address that leads nowhere."""
        return f"{self.subject}@crm.example"


@dataclass(frozen=True, slots=True)
class Blueprint:
    """All that decides an organization's rows: the same blueprint gives the same rows.

    `key` names the stream of random numbers and all identifiers; `present` is the moment that the data looks at.
    """

    key: str
    name: str
    team: tuple[Person, ...]
    sizes: Sizes
    present: datetime = EPOCH
    span: timedelta = SPAN
    fixed_id: str | None = None
    logged: bool = False
    """Whether the change log tells of every deal."""
    leads: int = 0

    @property
    def id(self) -> str:
        """The organization's identifier, and its external one."""
        return self.fixed_id or Ids(self.key, "organization")(0)

    def random(self, purpose: str) -> Random:
        """A stream of random numbers for each record type, so that its rows do not depend on another's number."""
        return Random(f"{self.key}/{purpose}")  # noqa: S311  # made-up data, no secret

    @property
    def since(self) -> datetime:
        """The time at which the data begins."""
        return self.present - self.span

    @property
    def owners(self) -> list[str]:
        """The members whom records can belong to."""
        return [p.subject for p in self.team if p.role is not Role.VIEWER]


def blueprints(plan: Plan) -> Iterator[Blueprint]:
    """The plan's organizations. An organization's size is part of its key: another plan makes other organizations."""
    for index, sizes in enumerate(plan.sizes()):
        key = "/".join(map(str, (plan.seed, index, *asdict(sizes).values())))
        yield Blueprint(key, f"Organization {plan.seed}.{index + 1}", _team(plan.seed, index), sizes)


_TEAM = (
    ("admin", Role.ADMIN),
    ("viewer", Role.VIEWER),
    ("member", Role.MEMBER),
    *((f"member{number}", Role.MEMBER) for number in range(2, 7)),
)


def _team(seed: int, index: int) -> tuple[Person, ...]:
    return tuple(
        Person(f"user_seed{seed}_{index + 1}_{word}", f"{word.capitalize()} {seed}.{index + 1}", role)
        for word, role in _TEAM
    )


class Ids:
    """The identifiers of a record type, by index: growing, so that indexes stay dense, and of version 8, «made up»."""

    _FIRST = int(EPOCH.timestamp() * 1000)

    def __init__(self, key: str, purpose: str) -> None:
        d = blake2b(f"{key}/{purpose}".encode(), digest_size=10).hexdigest()
        self._tail = f"-8{d[:3]}-{'89ab'[int(d[3], 16) % 4]}{d[4:7]}-{d[7:19]}"

    def __call__(self, index: int) -> str:
        """The canonical identifier of the row with this index."""
        head = f"{self._FIRST + index:012x}"
        return f"{head[:8]}-{head[8:]}{self._tail}"
