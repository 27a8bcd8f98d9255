"""The port to providers whose accounts are connected by consent, and those that the operator has set up."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from contract.integrations import POLL_SECONDS, IntegrationProvider, IntegrationStreamKind
from providers.accounts.oauth import OAuth
from providers.accounts.ports import Reader
from providers.accounts.watching import Watching

Access = Callable[[str | None], Awaitable[str]]
"""Gives a token to ask with: another one than that which was refused, where one was."""


@dataclass(frozen=True, slots=True)
class Who:
    """An account: what it is known by for good, and what its owner calls it."""

    id: str = field(repr=False)
    label: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class CalendarInfo:
    """A calendar of an account, or what else it has to be followed."""

    id: str = field(repr=False)
    name: str
    is_primary: bool
    kind: IntegrationStreamKind = IntegrationStreamKind.CALENDAR


class AccountProvider(Protocol):
    """A provider, as the operator's client sees it. Whatever asks it raises AccountError."""

    oauth: OAuth
    needed: frozenset[str]
    """The permissions without which there is nothing to read."""

    async def who(self, token: str) -> Who:
        """Says whose token it is."""

    async def calendars(self, token: str) -> list[CalendarInfo]:
        """The calendars whose events can be read, the primary one first."""

    def reader(self, calendar: str, label: str, access: Access) -> Reader:
        """The reader of a calendar of the account with this label."""

    async def close(self) -> None:
        """End the connections."""


@runtime_checkable
class Mailing(Protocol):
    """A provider whose accounts have e-mail."""

    def mail(self, folder: str, label: str, access: Access) -> Reader:
        """The reader of a folder of the account with this label."""


@dataclass(frozen=True, slots=True)
class Accounts:
    """The providers that are set up, and where a consent comes back to.

    `missing` are the variables that are not set. `origins` are those that a browser may be sent on to.
    """

    providers: Mapping[IntegrationProvider, AccountProvider] = field(default_factory=dict)
    missing: frozenset[str] = frozenset()
    public_url: str = ""
    origins: frozenset[str] = frozenset()
    poll_seconds: int = POLL_SECONDS
    is_reached: bool = False
    """Whether providers can send notices to the public address."""
    signing: Mapping[IntegrationProvider, bytes] = field(default_factory=dict, repr=False)
    """The secrets under which providers sign their notices."""
    count_run: Callable[[str, str, int], None] = lambda _provider, _outcome, _items: None
    """Called with the provider of each run that ended, its outcome or problem, and how many items it was shown."""

    def hook(self, provider: IntegrationProvider) -> str | None:
        """The address of the provider's notices; None where none could arrive."""
        return f"{self.public_url}/integrations/hooks/{provider.value}" if self.is_reached else None

    def tells(self, provider: IntegrationProvider) -> bool:
        """Says whether the provider's notices can arrive here: it is asked for them, or there is a secret."""
        if provider in self.signing:
            return True
        return isinstance(self.providers.get(provider), Watching) and self.hook(provider) is not None

    def redirect(self, provider: IntegrationProvider) -> str:
        """The address at which the provider hands the browser back."""
        return f"{self.public_url}/integrations/callback/{provider.value}"

    async def close(self) -> None:
        """End the connections of all."""
        for provider in self.providers.values():  # a few
            await provider.close()
