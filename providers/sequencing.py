"""The port to an e-mail sequencing provider: what it learns of a campaign, and what it says (specification 4.7, 4.8).

Every method may raise a SequencingError and nothing else that a provider can cause. None may be called inside a
database transaction.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Protocol

from contract.limits import PROVIDER_SECONDS
from contract.outreach_vocabulary import DomainStatus, EnrollmentStatus, MailboxStatus


class SequencingError(Exception):
    """Something failed at the provider; the words are the port's own, for the client's eyes, never the provider's."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.words = words


class Gone(SequencingError):
    """The provider knows nothing by this identifier."""


class Unreachable(SequencingError):
    """The provider did not answer in time, or cannot just now; the same call may succeed later.

    `after` is how long it asked to be left alone, in seconds.
    """

    def __init__(self, words: str, *, after: float | None = None) -> None:
        super().__init__(words)
        self.after = after


class Refused(SequencingError):
    """The provider understood and will not; trying again would not help."""


class Garbage(SequencingError):
    """The answer is none that the provider documents. What the call did is not known."""


@asynccontextmanager
async def patience() -> AsyncIterator[None]:
    """Calls that a client waits for: all of them together take so long that there is time left for its answer.

    Raises Unreachable.
    """
    try:
        async with asyncio.timeout(PROVIDER_SECONDS):
            yield
    except TimeoutError:
        raise Unreachable("The provider did not answer in time") from None


@dataclass(frozen=True, slots=True)
class Step:
    """A message of a sequence, `delay_days` after the one before it, or after the start."""

    delay_days: int
    subject: str
    body: str


@dataclass(frozen=True, slots=True)
class Outline:
    """A campaign as the provider gets it; `key` is the campaign's identifier, which finds it again there."""

    key: str
    name: str
    steps: Sequence[Step]
    mailboxes: Sequence[str]
    daily_limit: int
    timezone: str
    stop_on_reply: bool


@dataclass(frozen=True, slots=True)
class Lead:
    """A recipient; `variables` fill the placeholders of the messages, values are text, numbers, booleans or null."""

    email: str
    variables: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Recipient:
    """A recipient that something is due for: `step` is the index of the next message, `at` when it is due."""

    id: str
    lead: Lead
    status: EnrollmentStatus
    step: int
    at: datetime


@dataclass(frozen=True, slots=True)
class Message:
    """A message that would have gone out."""

    step: int
    sender: str
    recipient: str
    subject: str
    body: str


@dataclass(frozen=True, slots=True)
class Move:
    """The outcome for a recipient, by address; of one that the embedded provider moves, also where it stands now."""

    email: str
    status: EnrollmentStatus
    id: str | None = None
    step: int | None = None
    at: datetime | None = None
    message: Message | None = None


class State(StrEnum):
    """The state of a sequence at the provider."""

    RUNNING = "running"
    STOPPED = "stopped"
    BLOCKED = "blocked"
    COMPLETED = "completed"


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a running sequence: what the provider says of it as a whole, and of its recipients.

    `reason` belongs to BLOCKED. `again` is when to ask next.
    """

    state: State
    moves: Sequence[Move]
    again: datetime
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Running:
    """A running sequence: what a provider without a memory of its own needs to know to say how it stands.

    `due` are the recipients that something is due for, the longest waiting first, `sent_today` the messages since the
    last midnight of the sequence's time zone, `next_at` when the next of the others is due; None where none is.
    """

    sequence_id: str
    sequence: Outline
    due: Sequence[Recipient]
    sent_today: int
    next_at: datetime | None


@dataclass(frozen=True, slots=True)
class DomainState:
    """The provider's state of a domain; None for a mark that it does not give."""

    status: DomainStatus
    spf: bool | None = None
    dkim: bool | None = None
    dmarc: bool | None = None


class Sequencing(Protocol):
    """A sequencing provider."""

    @property
    def name(self) -> str:
        """The name that campaigns show as their provider."""

    async def find(self, key: str) -> str | None:
        """The identifier of the sequence that was made for this campaign, if one was."""

    async def create(self, sequence: Outline) -> str:
        """Make a sequence, which does not send yet; its identifier. Not to be repeated without `find`."""

    async def update(self, sequence_id: str, sequence: Outline) -> None:
        """Let the sequence be this one; idempotent."""

    async def activate(self, sequence_id: str) -> None:
        """Let it send; idempotent."""

    async def pause(self, sequence_id: str) -> None:
        """Let it send no more until it is activated again; idempotent."""

    async def delete(self, sequence_id: str) -> None:
        """Stop and remove it, its recipients with it. Raises Gone where there is none."""

    async def add_leads(self, sequence_id: str, leads: Sequence[Lead]) -> None:
        """Take recipients on, at most LEADS_MAX of them; those that it has already are left as they are."""

    async def remove_lead(self, sequence_id: str, email: str) -> None:
        """Send a recipient nothing more; one that it does not have is fine."""

    async def progress(self, running: Running) -> Progress:
        """Asks how a running sequence stands."""

    async def blocked(self, sequence_id: str | None) -> str | None:
        """Says why the provider keeps the sequence, or the account if there is none, from sending; None if not."""

    async def purchase_domain(self, name: str) -> DomainState:
        """Buy the domain, or say how it stands where it was bought before; idempotent."""

    async def provision_mailbox(self, address: str, display_name: str | None) -> MailboxStatus:
        """Make the mailbox, or say how it stands where there is one; idempotent."""

    async def close(self) -> None:
        """Let go of connections."""


LEADS_MAX = 100
"""Recipients in one call: fewer than any provider's own limit."""


def utc_now() -> datetime:
    """The clock of the providers, unless a test brings its own."""
    return datetime.now(UTC)
