"""Holds the leases of what one process works on, which one task renews: those of an organization together."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import Context
from dataclasses import dataclass, field
from time import monotonic
from typing import Final

from contract.error_origin import origin_of
from contract.errors import Unavailable

_TURN_SECONDS: Final = 1.0
_TURNS: Final = 12
"""The turns of a lease, at the least: a third of it is four of them."""

Renew = Callable[[str, Sequence[str]], Awaitable[frozenset[str]]]
"""Keeps what these holders have of an organization; those of them whose it still was."""

_log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class Lease:
    """The lease of one piece of work: whose it is, and until when by the monotonic clock."""

    org_id: str
    holder: str
    seconds: float
    lost: Callable[[], None] | None = None
    """Called once it is found to be somebody else's."""
    until: float = field(init=False)

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
        self._renewing: dict[str, asyncio.Task[None]] = {}
        self._keeping: asyncio.Task[None] | None = None

    @contextmanager
    def holding(self, lease: Lease, renew: Renew) -> Iterator[None]:
        """Have it renewed with the others of its organization."""
        held = self._held.setdefault(lease.org_id, set())
        held.add(lease)
        if self._keeping is None or self._keeping.done():
            # In nobody's context: it serves all of them, and is no part of what the first one is.
            self._keeping = asyncio.create_task(self._kept(renew), context=Context())
        try:
            yield
        finally:
            held.discard(lease)
            if not held:
                del self._held[lease.org_id]
            if not self._held and self._keeping is not None:
                self._keeping.cancel()
                self._keeping = None

    async def _kept(self, renew: Renew) -> None:
        """Renew what is due, of one organization after another: what began together is due together.

        A turn later all that is left is renewed at once: who has many organizations, or a busy loop, is not late.
        """
        while True:
            shortest = min((lease.seconds for held in self._held.values() for lease in held), default=_TURN_SECONDS)
            began = monotonic()
            turn, organizations = min(_TURN_SECONDS, shortest / _TURNS), list(self._held)
            for org_id in organizations:
                held = self._held.get(org_id, ())
                if org_id not in self._renewing and any(lease.due <= 0 for lease in held):
                    self._renewing[org_id] = asyncio.create_task(self._renewed(org_id, renew))
                    if monotonic() - began < turn:
                        await asyncio.sleep(turn / len(organizations))
            await asyncio.sleep(turn)

    async def _renewed(self, org_id: str, renew: Renew) -> None:
        """Renew those of an organization that are due before half of their time is over."""
        held = self._held.get(org_id, set())
        near = [lease for lease in held if lease.due <= lease.seconds / 6]
        try:
            kept = await renew(org_id, [lease.holder for lease in near])
        except Unavailable:  # a database that is away ends nothing; the lease does, if it is away for long
            return
        except Exception as error:
            _log.error("leases cannot be renewed type=%s at=%s", type(error).__name__, origin_of(error))
            return
        finally:
            del self._renewing[org_id]
        for lease in near:
            if lease.holder in kept:
                lease.renewed()
            elif lease in held and lease.lost is not None:
                lease.lost()
