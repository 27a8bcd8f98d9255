"""The embedded identity provider's tokens: made, verified and described here."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterable

from joserfc import jwt
from joserfc.jwk import ECKey

from identity.claims import (
    ACCESS_TOKEN_TYPE,
    CREDENTIAL_CLAIM,
    KIND_CLAIM,
    ORGANIZATION_CLAIM,
    SCOPE_CLAIM,
    Claims,
    Rules,
)
from identity.signatures import InvalidToken, PublicKey, parse
from identity.verified import Verified

__all__ = ["DEFAULT_ISSUER", "DISCOVERY_PATH", "JWKS_PATH", "Claims", "EmbeddedIssuer", "InvalidToken"]

DEFAULT_ISSUER = "urn:crm-gateway"
DISCOVERY_PATH = "/.well-known/openid-configuration"
JWKS_PATH = "/.well-known/jwks.json"
SERVER_METADATA_PATH = "/.well-known/oauth-authorization-server"
AUTHORIZATION_PATH = "/oauth/authorize"
TOKEN_PATH = "/oauth/token"
REVOCATION_PATH = "/oauth/revoke"
LOGOUT_PATH = "/oauth/logout"

ALGORITHM = "ES256"
TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"


class EmbeddedIssuer:
    """Signs and verifies with one P-256 key.

    The issuer's name has to be the same after a restart, on another port and in every process, so it is the public
    address where one is set, and DEFAULT_ISSUER where none is. Under the latter, clients that insist on OpenID
    discovery's rule, that the issuer is the address it was discovered at, do not take the document.

    The tokens bear the type `at+jwt` (RFC 9068) and no other type is accepted: whatever else this key may sign one
    day, an identity or logout token say, cannot be used as an access token.
    """

    def __init__(
        self,
        key: ECKey,
        issuer: str,
        audience: str,
        *,
        now: Callable[[], float] = time.time,
        previous: ECKey | None = None,
    ) -> None:
        """`now` is the time in seconds since 1970; tokens of the `previous` key are taken as well (decision 125)."""
        self.issuer = issuer
        self.audience = audience
        self._now = now
        self._signing = key
        self._kid = key.thumbprint()
        # Imported anew, so that a verification cannot touch the private part.
        self._public = {public.kid: public for public in map(_verifying, filter(None, (key, previous)))}
        self._verified = Verified()
        self._rules = Rules(issuer, audience, frozenset({ACCESS_TOKEN_TYPE}), own_claims=True)

    def mint(
        self,
        subject: str,
        *,
        organization: str | None,
        scopes: Iterable[str],
        ttl: int,
        name: str | None = None,
        email: str | None = None,
        credential_id: str | None = None,
        kind: str | None = None,
        client_id: str | None = None,
        grant_id: str | None = None,
    ) -> str:
        """A token that is valid for `ttl` seconds from now; absent claims are left out.

        The `client_id` that RFC 9068 asks for is the application that a member signed in to, the credential the token
        was exchanged for, or the issuer itself. A token of a login has its grant in `jti` (decision 891).
        """
        if ttl < 1:
            raise ValueError("ttl: at least one second")
        issued = int(self._now())
        claims = {
            "iss": self.issuer,
            "sub": subject,
            "aud": self.audience,
            "client_id": client_id or credential_id or self.issuer,
            "iat": issued,
            "nbf": issued,
            "exp": issued + ttl,
            "jti": ("" if grant_id is None else f"{grant_id}.") + secrets.token_urlsafe(16),
            ORGANIZATION_CLAIM: organization,
            SCOPE_CLAIM: " ".join(sorted(set(scopes))),
            "name": name,
            "email": email,
            CREDENTIAL_CLAIM: credential_id,
            KIND_CLAIM: kind,
        }
        header = {"alg": ALGORITHM, "kid": self._kid, "typ": ACCESS_TOKEN_TYPE}
        present = {claim: value for claim, value in claims.items() if value is not None}
        return jwt.encode(header, present, self._signing, algorithms=[ALGORITHM])

    async def verify(self, token: str) -> Claims:
        """Reads the token's claims; InvalidToken where this issuer did not make it or it is not valid now."""
        known = self.known(token)
        if known is not None:
            return known
        now, unverified = self._now(), parse(token)
        public = self._public.get(unverified.kid)
        if public is None:
            raise InvalidToken("signed with an unknown key")
        claims = self._rules.read(unverified, now)
        unverified.verify(public)
        return self._verified.remember(token, claims, public, now)

    def known(self, token: str) -> Claims | None:
        """The claims of a token that was verified before and holds now; None for any other."""
        signed = self._verified.signed(token, self._now())
        return None if signed is None else signed.claims

    def jwks(self) -> dict[str, object]:
        return {"keys": [_member(public) for public in self._public.values()]}

    def discovery(self, base_url: str) -> dict[str, object]:
        """The metadata of a service that is reached at `base_url`, as OpenID Connect and RFC 8414 have it.

        There are no ID tokens: what a client gets is a session token.
        """
        base = base_url.rstrip("/")
        return {
            "issuer": self.issuer,
            "jwks_uri": base + JWKS_PATH,
            "authorization_endpoint": base + AUTHORIZATION_PATH,
            "token_endpoint": base + TOKEN_PATH,
            "token_endpoint_auth_methods_supported": ["none"],
            "revocation_endpoint": base + REVOCATION_PATH,
            "revocation_endpoint_auth_methods_supported": ["none"],
            "end_session_endpoint": base + LOGOUT_PATH,
            "grant_types_supported": ["authorization_code", "refresh_token", TOKEN_EXCHANGE],
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "code_challenge_methods_supported": ["S256"],
            "prompt_values_supported": ["none", "login"],
            "authorization_response_iss_parameter_supported": True,
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": [ALGORITHM],
            "claims_supported": ["iss", "sub", "aud", "exp", "iat", ORGANIZATION_CLAIM, SCOPE_CLAIM, "name", "email"],
        }


def _verifying(key: ECKey) -> PublicKey:
    return PublicKey(kid=key.thumbprint(), algorithm=ALGORITHM, key=ECKey.import_key(key.as_dict(private=False)))


def _member(public: PublicKey) -> dict[str, object]:
    values = public.key.as_dict(private=False)
    members = {name: values[name] for name in ("kty", "crv", "x", "y")}
    return {**members, "kid": public.kid, "use": "sig", "alg": ALGORITHM}
