"""The connections of one process to Redis, which may be away, or may not be Redis at all."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, Final, TypeGuard

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.connection import parse_url
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.commands.core import AsyncScript

from contract.limits import REDIS_SECONDS
from identity.adapters.redis import BoundedReplies

_log = logging.getLogger(__name__)

_CONNECTIONS = 16
_AGAIN_SECONDS = 1.0
_LONGEST: Final = 1 << 53


class RedisLink:
    """Runs scripts. Whether Redis can be reached is noticed, and logged when it changes."""

    def __init__(self, address: str) -> None:
        options: dict[str, Any] = {  # of all kinds, as the library takes them
            "max_connections": _CONNECTIONS,
            "timeout": REDIS_SECONDS,
            "socket_connect_timeout": REDIS_SECONDS,
            "retry": Retry(NoBackoff(), 1),  # a connection may have been closed while it was idle
            **parse_url(address),
            "protocol": 2,  # the one that the parser reads
            "parser_class": BoundedReplies,
        }
        pool = BlockingConnectionPool(**options)
        self._client: Redis = Redis(connection_pool=pool)
        self._scripts: dict[str, AsyncScript] = {}
        self._again = 0.0
        self.is_away = False

    async def run(self, script: str, keys: Sequence[str], arguments: Sequence[int]) -> list[int] | None:
        """The script's answer in one round trip: whether it was granted, and a number for each key.

        None without one, and for a second after that without asking.
        """
        loop = asyncio.get_running_loop()
        if self.is_away and loop.time() < self._again:
            return None
        self._again = loop.time() + _AGAIN_SECONDS  # while Redis is away, one at a time asks whether it is back
        try:
            async with asyncio.timeout(REDIS_SECONDS):
                found: object = await self._script(script)(keys=keys, args=arguments)
        except Exception as error:  # what answers there may be anything, and no request depends on it
            self._noted_away(type(error).__name__)
            return None
        if not _is_answer(found, len(keys)):
            self._noted_away("an answer of another shape")
            return None
        if self.is_away:
            _log.warning("Redis can be reached again")
        self.is_away = False
        return found

    async def answers(self) -> bool:
        try:
            async with asyncio.timeout(REDIS_SECONDS):
                return bool(await self._client.ping())
        except Exception:  # as above
            return False

    async def close(self) -> None:
        await self._client.aclose()
        await self._client.connection_pool.disconnect()

    def _script(self, text: str) -> AsyncScript:
        if text not in self._scripts:  # bounded by the scripts that there are
            self._scripts[text] = self._client.register_script(text)
        return self._scripts[text]

    def _noted_away(self, reason: str) -> None:
        if not self.is_away:
            _log.warning("Redis cannot be reached (%s); each process counts for itself", reason)
        self.is_away = True


def _is_answer(found: object, keys: int) -> TypeGuard[list[int]]:
    """Says whether this is what a script answers."""
    if not isinstance(found, list) or len(found) != keys + 1:
        return False
    return all(type(number) is int and 0 <= number < _LONGEST for number in found) and found[0] < 2
