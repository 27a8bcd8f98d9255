"""Failed authentications, limited at each address and for each key id at an address (decision 103).

What is saved is the look-up in the database. Nobody is locked out of a credential by someone else's failures: those at
other addresses do not count, and a secret that fits what was last read of its key is let through to be judged.
"""

from collections.abc import Callable
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from time import monotonic_ns

from contract.errors import AuthenticationLimited
from contract.limits import (
    FAILURES_PER_ADDRESS,
    FAILURES_PER_ADDRESS_SECOND,
    FAILURES_PER_KEY,
    FAILURES_PER_KEY_SECOND,
)
from identity import secrets
from identity.token_buckets import MICROSECONDS, Buckets, Size
from storage.bounded_cache import BoundedCache

KEY_SIZE = Size(FAILURES_PER_KEY, MICROSECONDS // FAILURES_PER_KEY_SECOND)
ADDRESS_SIZE = Size(FAILURES_PER_ADDRESS, MICROSECONDS // FAILURES_PER_ADDRESS_SECOND)
_MOST = 10_000
_NETWORK = 64


class Failures:
    """Counts in buckets, which processes may share; what is full, each process keeps for itself as it learns of it."""

    def __init__(
        self, by_key: Buckets, by_address: Buckets, pepper: bytes, *, clock: Callable[[], int] = monotonic_ns
    ) -> None:
        self._by_key = by_key
        self._by_address = by_address
        self._pepper = pepper
        self._clock = clock
        self._until: BoundedCache[str, int] = BoundedCache(entries=_MOST)
        self._latest = 0
        self._hashes: BoundedCache[str, str] = BoundedCache(entries=_MOST)

    def remember(self, key_id: str, stored_hash: str | None) -> None:
        """Keeps what the database has for this key id, as it was just read; None for nothing that can be used."""
        if stored_hash is None:
            self._hashes.pop(key_id)
        else:
            if self._hashes.get(key_id) != stored_hash:
                self._hashes.put(key_id, stored_hash)

    def admit(self, text: str, address: str | None) -> None:
        """Let a key or token be looked up. Raises AuthenticationLimited."""
        if not self._until or address is None:
            return
        parsed = secrets.parse(text)
        wait = self._wait("" if parsed is None else parsed.key_id, origin(address))
        if wait and not self._fits(parsed):
            raise AuthenticationLimited(wait)

    async def refused(self, text: str, address: str | None) -> None:
        if address is None:
            return
        parsed, place = secrets.parse(text), origin(address)
        await self._count(self._by_address, place)
        if parsed is not None:
            await self._count(self._by_key, f"{parsed.key_id}@{place}")

    async def session_refused(self, address: str | None) -> None:
        """Note that a session token was refused, which takes no look-up. Raises AuthenticationLimited beyond the limit.

        Its signature is verified in any case: the next one from there may be good.
        """
        if address is None:
            return
        place = origin(address)
        if wait := self._wait("", place):
            raise AuthenticationLimited(wait)
        await self._count(self._by_address, place)

    def _fits(self, parsed: secrets.Parsed | None) -> bool:
        stored = None if parsed is None else self._hashes.get(parsed.key_id)
        return secrets.matches("" if parsed is None else parsed.secret, stored, self._pepper)

    def _wait(self, key_id: str, place: str) -> int:
        """The seconds until another attempt; 0 for now."""
        now = self._clock() // 1000
        if now >= self._latest:
            self._until.clear()
        until = max(self._until.get(place) or 0, self._until.get(f"{key_id}@{place}") or 0)
        return -(-max(0, until - now) // MICROSECONDS)

    async def _count(self, buckets: Buckets, name: str) -> None:
        taken = await buckets.take(name, 1)
        if wait := buckets.size.wait(taken.missing, 1):
            until = self._clock() // 1000 + wait
            self._latest = max(self._latest, until)
            self._until.put(name, until)
        else:
            self._until.pop(name)


@lru_cache(maxsize=4096)
def origin(address: str) -> str:
    """The address as far as one party has it: of IPv6 the network, in which everybody has any number of addresses."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    mapped = parsed.ipv4_mapped
    return str(mapped) if mapped is not None else f"{int(parsed) >> (128 - _NETWORK):x}::/{_NETWORK}"
