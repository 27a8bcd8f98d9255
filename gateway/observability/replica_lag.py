"""How late each replica is, for `/metrics`: asked of each by itself, beside the answers."""

import asyncio
from collections.abc import Sequence

from gateway.observability.beside import Beside
from gateway.observability.families import gauge, written
from storage.postgres.replication import Host, replicas_at
from storage.replicas import Replica

_SECONDS = 5.0
"""The seconds that what is shown may be old: a caller that asks more often gets the same."""
_DEADLINE = 2.0


class ReplicaLag:
    """Asks each replica how late it is; the line of one that is away is missing, rather than wrong."""

    def __init__(self, replicas: Sequence[Replica]) -> None:
        """Of no replicas there is no metric."""
        self._replicas = replicas
        self._lines = b""
        self._asking = Beside(self._ask)

    async def lines(self) -> bytes:
        """The metric."""
        if self._replicas:
            self._asking.begin(_SECONDS)
        await self._asking.wait(_DEADLINE)
        return self._lines

    async def stop(self) -> None:
        """Ask no longer."""
        await self._asking.stop()

    async def _ask(self) -> None:
        asked = await asyncio.gather(*map(_host_of, self._replicas))
        hosts = [({"replica": host.name}, host.late_seconds) for host in asked if host is not None]
        words = "How old what a replica shows is; 0 where that is all that it was sent."
        self._lines = written([gauge("crm_replica_lag_seconds", words, *hosts)])


async def _host_of(replica: Replica) -> Host | None:
    """Ask the replica how late it is; None where it says nothing in time, or follows nobody."""
    try:
        async with asyncio.timeout(_DEADLINE):
            found = await replicas_at([replica.database.url])
    except TimeoutError:
        return None
    return next((host for host in found.found if host.follows), None)
