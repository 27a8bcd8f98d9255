"""What the streams of one process share, whichever way they go."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from contract.errors import TooManyStreams
from contract.limits import STREAMS_PER_PROCESS
from gateway.metrics import STREAMS
from identity.authenticate import Identity
from identity.principal import Principal

STREAM = "stream"
"""What requests are counted under that last as long as somebody listens."""

_LOOK_SECONDS = 1.0


class Streams:
    """Their number, the credentials that they run on, and the end of the service, which is theirs as well."""

    def __init__(self, identity: Identity, stopping: asyncio.Event) -> None:
        self.identity = identity
        self.stopping = stopping
        self._running = 0
        self._looks: dict[tuple[str, str | None], asyncio.Task[Principal]] = {}

    @property
    def full(self) -> bool:
        """Whether as many subscriptions run as may (decision 83)."""
        return self._running >= STREAMS_PER_PROCESS

    @contextmanager
    def one(self) -> Iterator[None]:
        """While a subscription runs. Raises TooManyStreams."""
        if self.full:
            raise TooManyStreams()
        self._running += 1
        STREAMS.inc()
        try:
            yield
        finally:
            self._running -= 1
            STREAMS.dec()

    async def look(self, authorization: str, organization: str | None) -> Principal:
        """Whom the credential stands for, as of a second ago at most: streams of one credential look together.

        Raises what `authenticate` raises.
        """
        key = (authorization, organization)
        look = self._looks.get(key)
        if look is None:
            look = self._looks[key] = asyncio.create_task(self.identity.authenticate(*key))
            look.add_done_callback(lambda done: done.cancelled() or done.exception())  # whoever asked may have gone
            asyncio.get_running_loop().call_later(_LOOK_SECONDS, self._looks.pop, key, None)
        return await asyncio.shield(look)
