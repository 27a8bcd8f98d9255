"""Holds what the streams of one process share, whichever surface they are of and whichever way they go."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from contract.errors import TooManyStreams
from contract.limits import STREAMS_PER_PROCESS
from identity.authenticate import Identity
from identity.principal import Principal
from transport.places import Path, Places

STREAM = "stream"
"""The name that requests are counted under that last as long as somebody listens."""

_LOOK_SECONDS = 1.0


class Streams:
    """Their number, the credentials that they run on, and the end of the service, which is theirs as well.

    `counted` is entered while one of them runs.
    """

    def __init__(
        self,
        identity: Identity,
        stopping: asyncio.Event,
        counted: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        self.identity = identity
        self.stopping = stopping
        self._counted = counted
        self._places = Places(STREAMS_PER_PROCESS)
        self._looks: dict[tuple[str, str | None], asyncio.Task[Principal]] = {}

    def check(self, path: Path) -> None:
        """Raises TooManyStreams where as many subscriptions run as may, of these groups or at all (decision 107)."""
        with self._places.one(path, TooManyStreams):
            return

    @contextmanager
    def one(self, path: Path) -> Iterator[None]:
        """While a subscription of these groups runs. Raises TooManyStreams."""
        with self._places.one(path, TooManyStreams), self._counted():
            yield

    async def look(self, authorization: str, organization: str | None) -> Principal:
        """Finds whom the credential stands for, as of a second ago at most: streams of one credential look together.

        Raises what `authenticate` raises.
        """
        key = (authorization, organization)
        look = self._looks.get(key)
        if look is None:
            look = self._looks[key] = asyncio.create_task(self.identity.authenticate(*key))
            look.add_done_callback(lambda done: done.cancelled() or done.exception())  # its callers may have gone
            asyncio.get_running_loop().call_later(_LOOK_SECONDS, self._looks.pop, key, None)
        return await asyncio.shield(look)
