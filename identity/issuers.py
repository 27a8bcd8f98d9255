"""Verifies the tokens of an external issuer, and holds what it has in common with the embedded one."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from contract.errors import Unavailable
from identity.claims import ACCESS_TOKEN_TYPE, ORGANIZATION_CLAIM, SCOPE_CLAIM, Claims, Rules
from identity.jwks import RemoteKeys
from identity.signatures import InvalidToken, parse
from identity.verified import Verified

# Providers without RFC 9068 write JWT, or nothing; what has another type is not for us.
_TYPES = frozenset({None, "jwt", ACCESS_TOKEN_TYPE})


class Verifier(Protocol):
    """Verifies the tokens of one issuer."""

    issuer: str

    async def verify(self, token: str) -> Claims:
        """Reads the token's claims; InvalidToken where not valid, Unavailable where that is not known just now."""

    def known(self, token: str) -> Claims | None:
        """Gives the claims of a token that was verified before and holds now; None for any other."""


class ExternalIssuer:
    """Believes what the identity provider of the settings signed.

    The claims are read before a key is looked for: a token that is expired or somebody else's is not worth asking the
    provider for an unknown key. Nothing of them is given out before the signature holds.
    """

    def __init__(
        self,
        keys: RemoteKeys,
        issuer: str,
        audience: str | None,
        org_claim: str = ORGANIZATION_CLAIM,
        scope_claim: str = SCOPE_CLAIM,
        *,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Without an audience, tokens of this issuer for any audience are accepted. `now`: seconds since 1970."""
        self.issuer = issuer
        self._keys = keys
        self._now = now
        self._verified = Verified()
        self._rules = Rules(issuer, audience, _TYPES, organization_claim=org_claim, scope_claim=scope_claim)

    async def verify(self, token: str) -> Claims:
        """Reads the token's claims; InvalidToken where it is not valid. May wait two seconds for a key unknown so far.

        Raises Unavailable while no key was ever fetched: then nobody can say whether the token is valid (decision 117).
        """
        known = self.known(token)
        if known is not None:
            return known
        unverified, now = parse(token), self._now()
        claims = self._rules.read(unverified, now)
        key = await self._keys.find(unverified.kid, unverified.algorithm)
        if key is None and not self._keys.loaded:
            raise Unavailable()
        if key is None:
            raise InvalidToken("signed with an unknown key")
        unverified.verify(key)
        return self._verified.remember(token, claims, key, now)

    def known(self, token: str) -> Claims | None:
        """Gives the claims of a token that was verified before, with a key that is in the newest set, and holds now."""
        signed = self._verified.signed(token, self._now())
        return signed.claims if signed is not None and self._keys.has(signed.key) else None
