"""Remembers which credentials proved themselves, so that the next call reads them by equality and compares once.

The row is still read for every call: a credential that ended is refused on the next one. Only somebody who showed the
whole secret before takes the shorter way, so that its time tells nobody else which key ids there are (decision 118).
"""

from hashlib import blake2b
from os import urandom

from contract.limits import PROVEN_CREDENTIALS_MAX
from storage.bounded_cache import BoundedCache


class Proven:
    """The stored hash that each credential was last seen to match; the credential itself is not kept."""

    def __init__(self) -> None:
        self._key = urandom(32)
        self._hashes: BoundedCache[bytes, str] = BoundedCache(entries=PROVEN_CREDENTIALS_MAX)

    def stored_hash(self, text: str) -> str | None:
        """Returns the hash that the presented credential matched; None where it never did, or too long ago."""
        return self._hashes.get(self._name(text))

    def remember(self, text: str, stored_hash: str) -> None:
        """Note that the presented credential matches what is stored."""
        self._hashes.put(self._name(text), stored_hash)

    def _name(self, text: str) -> bytes:
        return blake2b(text.encode(), key=self._key, digest_size=16).digest()
