"""Holds the leases of what one process works on, so that those of an organization are renewed together."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic


@dataclass(slots=True, eq=False)
class Lease:
    """The lease of one piece of work: whose it is, and until when by the monotonic clock."""

    org_id: str
    holder: str
    seconds: float
    until: float = field(init=False)
    is_renewing: bool = False

    def __post_init__(self) -> None:
        self.renewed()

    def renewed(self) -> None:
        """Begin anew."""
        self.until = monotonic() + self.seconds

    @property
    def due(self) -> float:
        """The seconds until it is to be renewed: when a third of it is over."""
        return self.until - self.seconds * 2 / 3 - monotonic()


class Leases:
    """The leases of one process."""

    def __init__(self) -> None:
        self._held: dict[str, set[Lease]] = {}

    @contextmanager
    def holding(self, lease: Lease) -> Iterator[None]:
        """Have it renewed with the others of its organization."""
        held = self._held.setdefault(lease.org_id, set())
        held.add(lease)
        try:
            yield
        finally:
            held.discard(lease)
            if not held:
                self._held.pop(lease.org_id, None)

    @contextmanager
    def renewing(self, lease: Lease) -> Iterator[Sequence[Lease]]:
        """The leases to renew with this one: those of its organization that are due before half of its time is over.

        None where it is being renewed already.
        """
        near = [] if lease.is_renewing else [each for each in self._held.get(lease.org_id, ()) if self._is_near(each)]
        for each in near:
            each.is_renewing = True
        try:
            yield near
        finally:
            for each in near:
                each.is_renewing = False

    @staticmethod
    def _is_near(lease: Lease) -> bool:
        return not lease.is_renewing and lease.due <= lease.seconds / 6
