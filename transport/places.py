"""Counts what is served at once, by groups within groups, so that no one of them has it all (decision 107).

At each step of the path, what a group has must be less than what is left; so a group alone gets half of the places, two
get a third each, and there is always one left for a group that has none.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager

from contract.errors import GatewayError, Overloaded
from identity.auth_failures import origin
from identity.principal import Principal

Group = Hashable
Path = tuple[Group, ...]
"""Groups, each within the one before it."""

_ANONYMOUS = "anonymous"


class Places:
    """The places of one process."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._taken = 0
        self.left: Callable[[], None] = lambda: None
        """Called whenever a place is left."""
        self._groups: Counter[Group] = Counter()

    def take(self, path: Path) -> bool:
        """Take a place for a request of these groups; False if it gets none."""
        left = self._number - self._taken
        for group in path:
            taken = self._groups[group]
            if taken >= left:
                return False
            left -= taken
        self._taken += 1
        for group in path:
            self._groups[group] += 1
        return True

    def leave(self, path: Path) -> None:
        self._taken -= 1
        for group in path:
            self._groups[group] -= 1
            if not self._groups[group]:
                del self._groups[group]
        self.left()

    @contextmanager
    def one(self, path: Path, refusal: type[GatewayError] = Overloaded) -> Iterator[None]:
        """While something of these groups is served. Raises the refusal."""
        if not self.take(path):
            raise refusal()
        try:
            yield
        finally:
            self.leave(path)

    @property
    def taken(self) -> int:
        return self._taken


def group_of(principal: Principal) -> Group:
    """Says whom a caller's requests are counted with: the organization, or the caller who acts in none."""
    organization = principal.organization
    return ("of", organization.id if organization else principal.subject)


def path_of(known: Group | None, address: str, credential: int | None = None) -> Path:
    """Says where a request is counted: in its group if that is known, else among unauthenticated callers."""
    if known is not None:
        return (known,)
    address_group = (_ANONYMOUS, origin(address))
    return (_ANONYMOUS, address_group, (address_group, credential))
