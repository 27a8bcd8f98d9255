"""Reads the claims of a token, and checks the rules that it has to keep: issuer, audience, times, types and lengths."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from identity.signatures import InvalidToken, Unverified

ORGANIZATION_CLAIM = "org_id"
SCOPE_CLAIM = "scope"
CREDENTIAL_CLAIM = "crm_cred"
KIND_CLAIM = "crm_kind"

ACCESS_TOKEN_TYPE = "at+jwt"

LEEWAY_SECONDS = 30
IDENTIFIER_MAX = 255
LABEL_MAX = 1000
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters and lone surrogates."""
# The last second that a date can hold, which everything later in the service makes of it.
_LAST_SECOND = 253_402_300_799


@dataclass(frozen=True, slots=True)
class Claims:
    """A verified token. Times are whole seconds since 1970; `organizations` keeps the token's order.

    `lists_organizations` says that they came as a list, which is all that the subject is in; a single one may be no
    more than the one that is active.
    `credential_id` and `kind` are the embedded issuer's own (claims `crm_cred` and `crm_kind`): what an external
    provider says there is not read.
    """

    subject: str
    organizations: tuple[str, ...]
    scopes: frozenset[str]
    name: str | None
    email: str | None
    issued_at: int | None
    expires_at: int
    issuer: str
    credential_id: str | None = None
    kind: str | None = None
    lists_organizations: bool = False
    grant_id: str | None = None
    """The grant of a login that the embedded issuer's token belongs to, and ends with (decision 891)."""


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules that the tokens of one issuer have to keep.

    `types` are the accepted `typ` headers, None standing for a token without one: a logout or event token of the same
    issuer, signed with the same key, is not an access token. Without an `audience` every audience is accepted.
    """

    issuer: str
    audience: str | None
    types: frozenset[str | None]
    organization_claim: str = ORGANIZATION_CLAIM
    scope_claim: str = SCOPE_CLAIM
    own_claims: bool = False

    def read(self, token: Unverified, now: float) -> Claims:
        """The claims, where they keep the rules; InvalidToken otherwise. Worth nothing before the signature holds."""
        if token.type not in self.types:
            raise InvalidToken("not a token of the expected type")
        payload = token.payload
        if payload.get("iss") != self.issuer:
            raise InvalidToken("another issuer's token")
        if self.audience is not None and self.audience not in _strings(payload, "aud"):
            raise InvalidToken("a token for another audience")
        return Claims(
            subject=_required_identifier(payload, "sub"),
            organizations=_organizations(payload, self.organization_claim),
            lists_organizations=isinstance(payload.get(self.organization_claim), list),
            scopes=_scopes(payload, self.scope_claim),
            name=_label(payload, "name"),
            email=_label(payload, "email"),
            issued_at=_started(payload, now),
            expires_at=_not_expired(payload, now),
            issuer=self.issuer,
            credential_id=_identifier(payload, CREDENTIAL_CLAIM) if self.own_claims else None,
            kind=_identifier(payload, KIND_CLAIM) if self.own_claims else None,
            grant_id=_grant(payload) if self.own_claims else None,
        )


def _seconds(payload: dict[str, object], claim: str) -> float | None:
    value = payload.get(claim)
    if value is None:
        return None
    # A bool is an int in Python, and a NumericDate may have a fraction (RFC 7519 part 2).
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidToken(f"{claim} is not a time")
    if not 0 <= value <= _LAST_SECOND:
        raise InvalidToken(f"{claim} is out of range")
    return value


def _not_expired(payload: dict[str, object], now: float) -> int:
    expires = _seconds(payload, "exp")
    if expires is None:
        raise InvalidToken("exp is missing")
    if expires + LEEWAY_SECONDS <= now:
        raise InvalidToken("expired")
    return int(expires)


def _started(payload: dict[str, object], now: float) -> int | None:
    starts, issued = _seconds(payload, "nbf"), _seconds(payload, "iat")
    if starts is not None and starts - LEEWAY_SECONDS > now:
        raise InvalidToken("not valid yet")
    if issued is not None and issued - LEEWAY_SECONDS > now:
        raise InvalidToken("issued in the future")
    return None if issued is None else int(issued)


def _text(value: object, claim: str, longest: int) -> str:
    # PostgreSQL stores no NUL, so nobody can be found by a text that has one.
    if not isinstance(value, str) or len(value) > longest or "\0" in value:
        raise InvalidToken(f"{claim} is malformed")
    return value


def _identifier(payload: dict[str, object], claim: str) -> str | None:
    return None if payload.get(claim) is None else _required_identifier(payload, claim)


def _required_identifier(payload: dict[str, object], claim: str) -> str:
    value = _text(payload.get(claim), claim, IDENTIFIER_MAX)
    if not value:
        raise InvalidToken(f"{claim} is empty")
    return value


def _grant(payload: dict[str, object]) -> str | None:
    """Gives what stands before the point of `jti`; other tokens of the embedded issuer have none there."""
    return (_identifier(payload, "jti") or "").rpartition(".")[0] or None


def _label(payload: dict[str, object], claim: str) -> str | None:
    return None if payload.get(claim) is None else _text(payload[claim], claim, LABEL_MAX)


def _strings(payload: dict[str, object], claim: str) -> list[str]:
    """The claim's non-empty strings: one, an array of them, or none where it is absent or null."""
    value = payload.get(claim)
    if value is None:
        return []
    values = value if isinstance(value, list) else [value]
    texts = [_text(each, claim, IDENTIFIER_MAX) for each in values]
    if "" in texts:
        raise InvalidToken(f"{claim} is empty")
    return texts


def _organizations(payload: dict[str, object], claim: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(_strings(payload, claim)))
    if not all(map(names_organization, names)):
        raise InvalidToken(f"{claim} is malformed")
    return names


def names_organization(text: str) -> bool:
    """Says whether an organization may be called so: 1 to 255 characters, no control, no blanks around (decision 152).

    What X-Service-Org could not carry as it is would be read there as the name of another organization (decision 5).
    """
    return 0 < len(text) <= IDENTIFIER_MAX and text.strip() == text and not _CONTROL.search(text)


def _scopes(payload: dict[str, object], claim: str) -> frozenset[str]:
    value = payload.get(claim)
    if isinstance(value, str):
        return frozenset(_text(each, claim, IDENTIFIER_MAX) for each in value.split(" ") if each)
    return frozenset(_strings(payload, claim))
