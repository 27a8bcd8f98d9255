"""Declares what an adapter tells of an account elsewhere: changes, in pages, and nothing of what becomes of them.

Each page of changes is kept in one transaction. An adapter holds its tokens for itself, and raises `AccountError` with
words for the member where it cannot go on.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from contract.integrations import IntegrationProblemCode, ParticipantResponse


def asking_to_wait(name: str) -> str:
    """The words for a provider that asks to wait."""
    return f"{name} asks to wait; it is asked again by itself."


class AccountError(Exception):
    """The account cannot be read; the words say what to do. `retry_after` are the seconds that it asks to wait.

    `is_final` where a member has to act.
    """

    def __init__(
        self, code: IntegrationProblemCode, words: str, *, retry_after: float | None = None, is_final: bool = False
    ) -> None:
        super().__init__(words)
        self.code = code
        self.words = words
        self.retry_after = retry_after
        self.is_final = is_final


@dataclass(frozen=True, slots=True)
class Guest:
    """Somebody who takes part, rooms and resources aside. `email` is as the provider writes it."""

    email: str
    name: str | None = None
    response: ParticipantResponse = ParticipantResponse.NO_RESPONSE
    is_organizer: bool = False


@dataclass(frozen=True, slots=True)
class Said:
    """The provider's words about an event. Texts are plain, and as long as they are kept."""

    subject: str | None = None
    text: str | None = None
    place: str | None = None
    conference_url: str | None = None
    url: str | None = None
    time_zone: str | None = None
    guests: tuple[Guest, ...] = ()
    is_private: bool = False
    is_cancelled: bool = False
    is_meeting: bool = True
    declined: bool = False
    """Whether the provider says itself that the owner of the account declined."""
    recording_url: str | None = None
    transcript: str | None = None
    is_record: bool = False
    """Whether it was held as it says, and is not only planned so."""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """A time at which an event takes place. `recurrence` is the start that it had at first, empty for a single event.

    `said` is what is said of this one alone, if anything.
    """

    recurrence: str
    starts_at: datetime
    ends_at: datetime
    all_day: bool = False
    said: Said | None = None


@dataclass(frozen=True, slots=True)
class Seen:
    """An event, or a series with its occurrences in the window, as it is now.

    `problem` says why there are no occurrences: `unreadable` or `too_many`; `note` says what had to be assumed, or what
    is wrong, in words. `sequence` and `changed_at` order the states of one event.
    """

    external_id: str
    uid: str
    said: Said
    occurrences: tuple[Occurrence, ...] = ()
    is_recurring: bool = False
    problem: str | None = None
    note: str | None = None
    sequence: int = 0
    changed_at: datetime | None = None
    starts_at: datetime | None = None
    is_part: bool = False
    """Whether it belongs to a meeting that is there, so that who takes part decides nothing."""


@dataclass(frozen=True, slots=True)
class Gone:
    """An event is there no more."""

    external_id: str


@dataclass(frozen=True, slots=True)
class Mail:
    """An e-mail by its headers, which never change. The rest are addresses, as they are written there."""

    external_id: str
    sent_at: datetime
    message_id: str | None = None
    thread_id: str | None = None
    subject: str | None = None
    sender: str | None = None
    to: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()
    is_private: bool = False


@dataclass(frozen=True, slots=True)
class More:
    """Says how much there is, as far as the provider says; the pages go on."""

    expected: int | None = None


@dataclass(frozen=True, slots=True)
class Cursor:
    """The end of a pass: where the changes go on from. `is_unchanged` where there was nothing to be read."""

    text: str
    is_unchanged: bool = False


@dataclass(frozen=True, slots=True)
class StartOver:
    """The provider does not know the cursor any more: everything is read again, and what is there stays meanwhile."""


Change = Seen | Gone | Mail | More | Cursor | StartOver


@dataclass(frozen=True, slots=True)
class Asked:
    """The range to read: from the cursor on, or everything without one; for series, the occurrences in the window.

    `addresses` are the owner's. `thorough` asks for everything anew, whatever has changed; `former` is the cursor that
    the stream has even then. `noticed_at` is when the provider last told of a change.
    """

    cursor: str | None
    thorough: bool
    window_from: datetime
    window_until: datetime
    former: str | None = None
    noticed_at: datetime | None = None


@dataclass(slots=True)
class Told:
    """The facts beside the changes: the calls that an adapter made, and addresses that are the owner's own."""

    calls: int = 0
    addresses: set[str] = field(default_factory=set)
    is_complete: bool = False
    """Whether the pass shows everything that there is, so that what it does not show is there no more."""
    confirms_removals: bool = True
    """Whether a removal of most has to be confirmed; what a member uploaded has not."""


class Reader(Protocol):
    """Reads one stream of an account."""

    def read(self, asked: Asked, told: Told) -> AsyncIterator[Sequence[Change]]:
        """The changes in pages, the last of which ends with a cursor. Raises AccountError."""
