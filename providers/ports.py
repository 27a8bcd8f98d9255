"""Holds the ports that lead outside, as the service was started with them: for all that works without a request."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field

from contract.limits import FILES_QUOTA_BYTES, MAILS_PER_DAY
from providers import wire
from providers.accounts.consents import Accounts
from providers.accounts.ical import LocalFeed
from providers.artifacts import Artifacts
from providers.children.pool import Children
from providers.local_sequencing import LocalSequencing
from providers.mail import MailPort, Nowhere
from providers.notifications import Notifications
from providers.outbound import Outbound
from providers.sequencing import Sequencing

Work = Callable[[], Coroutine[object, object, None]]


async def _at_once(work: Work) -> None:
    """Do the work as it comes: there are no requests."""
    await work()


async def _take_turns(_organization: str, _seconds: float) -> None:
    """Let others have a turn."""
    await asyncio.sleep(0)


@dataclass(frozen=True, slots=True)
class Ports:
    """The ways out. Work takes from here what it needs, so that tests and settings choose for it."""

    http: wire.AsyncClient
    notifications: Notifications
    outbound: Outbound
    """The port to addresses that somebody else chose: web sites to look at, receivers of webhooks."""
    artifacts: Artifacts
    children: Children = field(default_factory=Children)
    """The pool for what native code does with the input of others."""
    sequencing: Sequencing = field(default_factory=LocalSequencing)
    files_quota: int = FILES_QUOTA_BYTES
    """The bytes that all files of an organization may have."""
    pepper: bytes = field(default=b"", repr=False)
    """The pepper from which the secrets of webhooks are worked out, and under which those of connections are sealed."""
    accounts: Accounts = field(default_factory=Accounts)
    """The providers whose accounts can be connected by consent."""
    feeds: Mapping[str, LocalFeed] = field(default_factory=dict)
    """The calendars that this process makes itself: that of the demo."""
    mail: MailPort = field(default_factory=Nowhere)
    mails_per_day: int = MAILS_PER_DAY
    """The messages that an organization may have sent on a day of UTC."""
    public_url: str = ""
    """The beginning of links, without a slash at its end; empty where nothing says what it is."""
    make_way: Callable[[str, float], Awaitable[None]] = _take_turns
    """Called by what goes on for long, after so many seconds of its work for an organization."""
    paced: Callable[[Work], Awaitable[None]] = _at_once
    """Does what computes for long beside requests, in steps that let these go first (resolvers/shared/pacing.py)."""
