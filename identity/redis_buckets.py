"""Buckets that several processes share: kept in Redis, and in the process's own memory while that is away.

What a bucket is, is told in buckets.py; here the same sums are done by Redis in one step, with its own clock.
"""

import asyncio
import logging
from typing import Any, Final

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from contract.limits import REDIS_SECONDS
from identity.buckets import MemoryBuckets, Size, Taken

_log = logging.getLogger(__name__)

_CONNECTIONS = 16
_AGAIN_SECONDS = 1.0

# Takes (`forced` = 0) or gives: the points' time, the time a bucket fills in, and whether what is there is looked at.
_SCRIPT: Final = """
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local wanted, span, forced = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3] == '1'
local missing = math.max(0, tonumber(redis.call('GET', KEYS[1]) or '0') - now)
if not forced and wanted > 0 and missing + math.min(wanted, span) > span then
  return {0, missing}
end
missing = math.max(0, missing + wanted)
if missing == 0 then
  redis.call('DEL', KEYS[1])
elseif wanted ~= 0 then
  redis.call('SET', KEYS[1], string.format('%.0f', now + missing), 'PX', math.ceil(missing / 1000))
end
return {1, missing}
"""


class RedisLink:
    """The connections of one process to Redis. Whether it can be reached is noticed, and logged when it changes."""

    def __init__(self, address: str) -> None:
        pool = BlockingConnectionPool.from_url(
            address,
            max_connections=_CONNECTIONS,
            timeout=REDIS_SECONDS,
            socket_connect_timeout=REDIS_SECONDS,
            retry=Retry(NoBackoff(), 1),  # a connection may have been closed while it was idle
        )
        self._client: Redis = Redis(connection_pool=pool)
        self._script: Any = self._client.register_script(_SCRIPT)
        self._again = 0.0
        self.is_away = False

    async def run(self, name: str, *arguments: int) -> list[int] | None:
        """The script's answer in one round trip; None without one, and for a second after that without asking."""
        loop = asyncio.get_running_loop()
        if self.is_away and loop.time() < self._again:
            return None
        self._again = loop.time() + _AGAIN_SECONDS  # while Redis is away, one at a time asks whether it is back
        try:
            async with asyncio.timeout(REDIS_SECONDS):
                found: list[int] = await self._script(keys=[name], args=arguments)
        except (RedisError, OSError, TimeoutError) as error:
            if not self.is_away:
                _log.warning("Redis cannot be reached (%s); each process counts for itself", type(error).__name__)
            self.is_away = True
            return None
        if self.is_away:
            _log.warning("Redis can be reached again")
        self.is_away = False
        return found

    async def answers(self) -> bool:
        """Whether Redis can be reached now."""
        try:
            async with asyncio.timeout(REDIS_SECONDS):
                await self._client.ping()
        except (RedisError, OSError, TimeoutError):
            return False
        return True

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()
        await self._client.connection_pool.disconnect()


class RedisBuckets:
    """Buckets of one size in Redis, below one prefix."""

    def __init__(self, link: RedisLink, prefix: str, size: Size) -> None:
        self.size = size
        self.local = MemoryBuckets(size)
        self._link = link
        self._prefix = prefix

    async def take(self, name: str, points: int) -> Taken:
        """Take the points if they are there; while Redis is away, from this process's own buckets."""
        found = await self._link.run(self._prefix + name, points * self.size.point, self.size.span, 0)
        if found is None:
            return await self.local.take(name, points)
        granted, missing = found
        return Taken(bool(granted), missing, self, name, points)

    async def give(self, name: str, points: int) -> int:
        """Give points back, or take them. What cannot be given back while Redis is away comes back with time."""
        found = await self._link.run(self._prefix + name, -points * self.size.point, self.size.span, 1)
        return 0 if found is None else found[1]
