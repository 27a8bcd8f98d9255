"""Remembers which tokens were found to be signed, so that one that comes again and again is not verified each time.

A signature holds for as long as its key does; what may end is the token's time, which is compared on every call, and
what its subject may do, which is read on every call as well. A stream's token is looked at every two seconds for as
long as it is open, and hundreds of signatures a second would be what others wait for (decision 1041).
"""

from dataclasses import dataclass, replace
from hashlib import blake2b
from os import urandom

from contract.limits import VERIFIED_TOKENS_MAX
from identity import scope_sets
from identity.claims import LEEWAY_SECONDS, Claims
from identity.signatures import PublicKey
from storage.bounded_cache import BoundedCache


@dataclass(frozen=True, slots=True)
class Signed:
    """Holds what a verified token says, and the key that it was signed with."""

    claims: Claims
    key: PublicKey
    since: float
    """The moment at which it held: before it, it may not be valid yet."""


class Verified:
    """The claims of tokens of one issuer that were verified; the tokens themselves are not kept."""

    def __init__(self) -> None:
        self._key = urandom(32)
        self._signed: BoundedCache[bytes, Signed] = BoundedCache(entries=VERIFIED_TOKENS_MAX)

    def signed(self, token: str, now: float) -> Signed | None:
        """Returns what a token says that was verified before and is in its time now; None for any other.

        Whether its key is still the issuer's is for who asks.
        """
        found = self._signed.get(self._name(token))
        if found is None or not found.since <= now < found.claims.expires_at + LEEWAY_SECONDS:
            return None
        return found

    def remember(self, token: str, claims: Claims, key: PublicKey, now: float) -> Claims:
        """Note that the token is signed with the key, and holds now; its claims, as they are kept."""
        claims = replace(claims, scopes=scope_sets.shared(claims.scopes))  # of no token that nobody signed
        self._signed.put(self._name(token), Signed(claims, key, now))
        return claims

    def _name(self, token: str) -> bytes:
        return blake2b(token.encode("utf-8", "surrogatepass"), key=self._key, digest_size=16).digest()
