"""The embedded sequencing provider: it notes what it would send and moves recipients on a clock. It sends nothing.

It remembers nothing: what a sequence is and who is on it, it is given each time, so it needs no table of its own.
"""

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from contract.outreach_vocabulary import DomainStatus, EnrollmentStatus, MailboxStatus
from providers.sequencing import (
    DomainState,
    Lead,
    Message,
    Move,
    Outline,
    Progress,
    Recipient,
    Running,
    State,
    utc_now,
)

REPLY_WINDOW: Final = timedelta(days=1)
"""A recipient is done with this long after the last message, since a reply may still come (decision 52)."""
LOOKS_AGAIN: Final = timedelta(hours=1)
_PLACEHOLDER: Final = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")
_FINAL = EnrollmentStatus.COMPLETED


class LocalSequencing:
    """The provider; `clock` says what time it is."""

    name = "local"

    def __init__(self, clock: Callable[[], datetime] = utc_now) -> None:
        self._clock = clock

    async def find(self, key: str) -> str | None:
        return f"local-{key}"

    async def create(self, sequence: Outline) -> str:
        return f"local-{sequence.key}"

    async def update(self, sequence_id: str, sequence: Outline) -> None:
        """It is given again when it matters."""

    async def activate(self, sequence_id: str) -> None:
        """It is asked only how running sequences stand."""

    async def pause(self, sequence_id: str) -> None:
        """It is asked only how running sequences stand."""

    async def delete(self, sequence_id: str) -> None:
        """Does nothing: there is nothing of it here."""

    async def add_leads(self, sequence_id: str, leads: Sequence[Lead]) -> None:
        """They are given again when they are due."""

    async def remove_lead(self, sequence_id: str, email: str) -> None:
        """Does nothing: there is nothing of it here."""

    async def blocked(self, sequence_id: str | None) -> str | None:
        return None

    async def purchase_domain(self, name: str) -> DomainState:
        """Every domain is there at once, set up as it should be; nothing is bought."""
        return DomainState(DomainStatus.ACTIVE, spf=True, dkim=True, dmarc=True)

    async def provision_mailbox(self, address: str, display_name: str | None) -> MailboxStatus:
        """Every mailbox is there at once."""
        return MailboxStatus.ACTIVE

    async def close(self) -> None:
        """Does nothing: there is nothing to let go of."""

    async def progress(self, running: Running) -> Progress:
        """Move everyone who is due by one step, as far as the day's limit and the mailboxes allow."""
        now = self._clock()
        sequence = running.sequence
        left = max(0, sequence.daily_limit - running.sent_today)
        moves: list[Move] = []
        waits = False
        for number, recipient in enumerate(r for r in running.due if r.at <= now):
            if recipient.step >= len(sequence.steps):
                moves.append(Move(recipient.lead.email, _FINAL, recipient.id, recipient.step))
            elif left and sequence.mailboxes:
                left -= 1
                sender = sequence.mailboxes[(running.sent_today + number) % len(sequence.mailboxes)]
                moves.append(_sent(sequence, recipient, sender, now))
            else:
                waits = True
        times = [m.at for m in moves if m.at is not None]
        times += [midnight(now, sequence.timezone, days=1)] if waits else []
        times += [running.next_at] if running.next_at is not None else []
        if not times:
            return Progress(State.COMPLETED, moves, now + LOOKS_AGAIN)
        return Progress(State.RUNNING, moves, min(*times, now + LOOKS_AGAIN))


def _sent(sequence: Outline, recipient: Recipient, sender: str, now: datetime) -> Move:
    step = sequence.steps[recipient.step]
    after = recipient.step + 1
    wait = timedelta(days=sequence.steps[after].delay_days) if after < len(sequence.steps) else REPLY_WINDOW
    lead = recipient.lead
    message = Message(recipient.step, sender, lead.email, filled(step.subject, lead), filled(step.body, lead))
    return Move(lead.email, EnrollmentStatus.ACTIVE, recipient.id, after, now + wait, message)


def filled(text: str, lead: Lead) -> str:
    """The text with each `{{name}}` replaced by the recipient's variable of that name, or by nothing."""
    values = {"email": lead.email, **lead.variables}
    return _PLACEHOLDER.sub(lambda match: str(found) if (found := values.get(match[1])) is not None else "", text)


def midnight(now: datetime, timezone: str, *, days: int = 0) -> datetime:
    """The start of the day that `now` is in there, or of one `days` later, in UTC."""
    zone = ZoneInfo(timezone)
    day = now.astimezone(zone).date() + timedelta(days=days)
    return datetime.combine(day, time(), zone).astimezone(UTC)
