"""Buckets that several processes share: kept in Redis, and in the process's own memory while that is away.

token_buckets.py and pairs.py say what a bucket is; here the same sums are done by Redis in one step, with its own
clock. That may be set back, so a bucket is kept with what it was missing when it was last written: it misses no more
than that however long ago, by the clock, this will have been (decision 160).
"""

from typing import Final

from identity.pairs import Drawn, MemoryPairs, Sizes
from identity.redis_link import RedisLink
from identity.token_buckets import Charge, MemoryBuckets, Size

# Takes (`forced` = 0) out of every key's bucket or of none, or gives: whether what is there is looked at, and for each
# key the points' time and the time that the bucket fills in. A bucket is when it is full, and what was missing.
SCRIPT: Final = """
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local granted, missing, stepped = 1, {}, {}
for i, key in ipairs(KEYS) do
  local wanted, span = tonumber(ARGV[2 * i]), tonumber(ARGV[2 * i + 1])
  local full, most = string.match(redis.call('GET', key) or '', '^(%d+) ?(%d*)$')
  local left, bound = math.max(0, (tonumber(full) or 0) - now), tonumber(most) or span
  stepped[i] = left > bound
  missing[i] = math.min(left, bound)
  if ARGV[1] == '0' and wanted > 0 and missing[i] + math.min(wanted, span) > span then
    granted = 0
  end
end
for i, key in ipairs(KEYS) do
  local wanted = tonumber(ARGV[2 * i]) * granted
  missing[i] = math.max(0, missing[i] + wanted)
  if missing[i] == 0 then
    redis.call('DEL', key)
  elseif wanted ~= 0 or stepped[i] then
    local text = string.format('%.0f %.0f', now + missing[i], missing[i])
    redis.call('SET', key, text, 'PX', math.ceil(missing[i] / 1000))
  end
end
return {granted, unpack(missing)}
"""


class RedisBuckets:
    """Buckets of one size in Redis, below one prefix."""

    def __init__(self, link: RedisLink, prefix: str, size: Size) -> None:
        self.size = size
        self.local = MemoryBuckets(size)
        self._link = link
        self._prefix = prefix

    async def take(self, name: str, points: int) -> Charge:
        arguments = [0, points * self.size.point, self.size.span]
        found = await self._link.run(SCRIPT, [self._prefix + name], arguments)
        return await self.local.take(name, points) if found is None else Charge(bool(found[0]), found[1])


class RedisPairs:
    """The buckets of members and organizations in Redis, below one prefix; both of a pair in one slot of a cluster."""

    def __init__(self, link: RedisLink, prefix: str, sizes: Sizes) -> None:
        self.sizes = sizes
        self.local = MemoryPairs(sizes)
        self._link = link
        self._prefix = prefix

    async def take(self, organization: str, member: str, points: int) -> Drawn:
        # An identifier has no colon and no brace, and a member's name comes last: no two pairs share a key.
        keys = [f"{self._prefix}{{{organization}}}:{member}"]
        if organization:
            keys.append(f"{self._prefix}{{{organization}}}")
        found = await self._run(keys, points, forced=0)
        if found is None:
            return await self.local.take(organization, member, points)
        return Drawn(bool(found[0]), found[1], found[2] if organization else 0, points, self, keys)

    async def give(self, drawn: Drawn, points: int) -> tuple[int, int]:
        """Give points back, or take them. What cannot be given back while Redis is away comes back with time."""
        found = await self._run(drawn.place, -points, forced=1)
        return (0, 0) if found is None else (found[1], found[2] if len(found) > 2 else 0)

    async def _run(self, keys: list[str], points: int, forced: int) -> list[int] | None:
        arguments = [forced]
        for size in self.sizes[: len(keys)]:
            arguments += [points * size.point, size.span]
        return await self._link.run(SCRIPT, keys, arguments)
