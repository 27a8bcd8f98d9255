"""Explains for `doctor --token` what the service makes of a token: each rule by itself, and nothing is changed.

Of a credential it says more than a caller is told: who runs it may read the database (decision 627).

The token is never printed, nor a name or an address that is in it: only claims that say who issued it for what.
"""

import re
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import UTC, datetime

from contract.errors import Unavailable
from contract.vocabulary import CredentialKind
from gateway.made import AUDIENCE
from gateway.observability.doctor_settings import Finding
from gateway.runtime import Runtime
from identity import directory, exchange, secrets
from identity.claims import ACCESS_TOKEN_TYPE, LEEWAY_SECONDS, ORGANIZATION_CLAIM, names_organization
from identity.issuers import Verifier
from identity.scope_sets import KNOWN_SCOPES
from identity.signatures import InvalidToken, Unverified, parse
from identity.tokens import Claims
from storage.base import now

_CUT = "copy it whole, without quotes and line ends"
_ANEW = "have another one made"
_BEARER = re.compile(r"^(authorization:\s*)?bearer\s+", re.IGNORECASE)
"""Stands before a token that was copied with its header."""


async def explain(runtime: Runtime, token: str) -> list[Finding]:
    """List what is right and wrong about a token, the form first. Raises Unavailable without the database."""
    token = _BEARER.sub("", token.strip())
    if token.startswith(("ak_", "pat_")):
        return [finding async for finding in _credential(runtime, token)]
    try:
        unverified = parse(token)
    except InvalidToken as error:
        advice = f"{_CUT}; of an identity provider send the access token, as a JWT: an opaque one cannot be verified"
        return [Finding("form", False, f"is neither a key nor a JWT that can be read: {error}", advice)]
    key = f"by the key {unverified.kid}" if unverified.kid else "by a key that it does not name"
    found = [Finding("form", True, f"a JWT, signed with {unverified.algorithm} {key}")]
    return found + [*_rules(runtime, unverified)] + await _verdict(runtime, token, unverified.payload.get("iss"))


async def _credential(runtime: Runtime, token: str) -> AsyncIterator[Finding]:
    """A key or token of the service's own."""
    parsed = secrets.parse(token)
    if parsed is None:
        yield Finding("form", False, "begins like a key or token of the service, and is none", _CUT)
        return
    rows = await exchange.known(runtime.database, (parsed.key_id,))
    kind = exchange.PREFIXES[parsed.prefix]
    words = "an organization key" if kind is CredentialKind.ORGANIZATION_KEY else "a user token"
    yield Finding("form", True, words)
    if not rows or rows[0].kind != kind:
        yield Finding(
            "known", False, "nobody has such a one here", f"look whether this is its service's database; {_ANEW}"
        )
        return
    first = rows[0]
    matches = secrets.matches(parsed.secret, first.secret_hash, runtime.ports.pepper)
    yield Finding(
        "secret", matches, "as it was made" if matches else "another than was made", _CUT + ", or the pepper is another"
    )
    for finding in _state(rows):
        yield finding


def _state(rows: Sequence[directory.Row]) -> Iterator[Finding]:
    """Tell whether a credential lives, and where its owner may act; its rows are one for each membership."""
    first = rows[0]
    ended = first.revoked_at or first.maker_revoked_at
    told = f"revoked at {ended:%Y-%m-%d %H:%M} UTC" if ended else "not revoked"
    yield Finding(
        "revoked",
        ended is None,
        told + (", with what it was made with" if ended and not first.revoked_at else ""),
        _ANEW,
    )
    over = first.expires_at is not None and first.expires_at <= now()
    yield Finding("expires", not over, f"{first.expires_at:%Y-%m-%d %H:%M} UTC" if first.expires_at else "never", _ANEW)
    yield _reach([(r.external_id, r.suspended_at is not None) for r in rows if r.external_id is not None])


def _reach(places: Sequence[tuple[str, bool]]) -> Finding:
    """Tell where the owner may act now."""
    reach = [org for org, is_suspended in places if not is_suspended]
    shut = [org for org, is_suspended in places if is_suspended]
    message = f"acts in {', '.join(reach)}" if reach else "its owner is a member of no organization that is open"
    message += f"; suspended: {', '.join(shut)}" if shut else ""
    return Finding(
        "organizations", bool(reach), message, "see `member list`, `org list`, `member add` and `org resume`"
    )


def _rules(runtime: Runtime, token: Unverified) -> Iterator[Finding]:
    """Each rule that the claims have to keep, so that all mistakes are seen at once."""
    settings, payload = runtime.settings, token.payload
    is_external = settings.oidc_issuer is not None and payload.get("iss") != runtime.issuer.issuer
    issuer, audience = (
        (settings.oidc_issuer, settings.oidc_audience) if is_external else (runtime.issuer.issuer, AUDIENCE)
    )
    types = (None, "jwt", ACCESS_TOKEN_TYPE) if is_external else (ACCESS_TOKEN_TYPE,)
    yield Finding("typ", token.type in types, token.type or "none", "send the access token, not an ID or logout token")
    yield Finding(
        "iss",
        payload.get("iss") == issuer,
        f"{payload.get('iss')!r}; expected is {issuer!r}",
        "CRM_OIDC_ISSUER must be the claim to the letter, with or without the last slash",
    )
    named = payload.get("aud")
    has = audience is None or audience in (named if isinstance(named, list) else [named])
    yield Finding(
        "aud",
        has,
        f"{named!r}; expected is {audience!r}",
        "have the provider put CRM_OIDC_AUDIENCE into `aud` of access tokens",
    )
    yield from _times(payload)
    org_claim = settings.oidc_org_claim if is_external else ORGANIZATION_CLAIM
    if is_external or org_claim in payload:  # a session of the service's own may be of all its organizations
        yield _organizations(org_claim, payload.get(org_claim))
    if is_external:  # of its own sessions the directory says what they may (decision 16)
        yield _scopes(settings.oidc_scope_claim, payload)


def _times(payload: dict[str, object]) -> Iterator[Finding]:
    present = time.time()
    for claim, word in (("exp", "expires"), ("nbf", "is not valid before"), ("iat", "was issued")):
        value = payload.get(claim)
        if not isinstance(value, int | float) or isinstance(value, bool):
            yield Finding(
                claim,
                claim != "exp" and value is None,
                "is missing" if value is None else "is no time",
                "have the provider send seconds since 1970",
            )
            continue
        well = value + LEEWAY_SECONDS > present if claim == "exp" else value - LEEWAY_SECONDS <= present
        try:
            moment = f"{datetime.fromtimestamp(value, UTC):%Y-%m-%d %H:%M:%S} UTC"
        except (ValueError, OverflowError, OSError):
            well, moment = False, "at no moment that there is"
        yield Finding(claim, well, f"{word} {moment}", "get a new token; keep both clocks by NTP")


def _organizations(claim: str, value: object) -> Finding:
    names = value if isinstance(value, list) else [] if value is None else [value]
    if isinstance(value, dict):
        advice = f"have the provider send an identifier, or a list of them: {claim} is an object (see docs/identity.md)"
        return Finding("organization", False, f"{claim} is an object", advice)
    if not all(isinstance(name, str) and names_organization(name) for name in names):
        return Finding(
            "organization", False, f"{claim} has a name that no organization can have", "1 to 255 characters"
        )
    if not names:
        advice = f"have the provider put the organization into {claim}, or name another claim: CRM_OIDC_ORG_CLAIM"
        return Finding("organization", False, f"{claim} is missing: the caller belongs to no organization", advice)
    return Finding("organization", True, f"{claim}: {', '.join(map(str, names))}")


def _scopes(claim: str, payload: dict[str, object]) -> Finding:
    value = payload.get(claim)
    given = value.split() if isinstance(value, str) else value if isinstance(value, list) else []
    known = sorted({str(one) for one in given} & KNOWN_SCOPES)
    others = len(given) - len(known)
    message = f"{claim}: {' '.join(known) or 'none of the service'}" + (
        f"; {others} that mean nothing here" if others else ""
    )
    advice = f"have the provider put scopes of the service into {claim}, or name another claim: CRM_OIDC_SCOPE_CLAIM"
    return Finding("scopes", bool(known), message, advice)


async def _verdict(runtime: Runtime, token: str, named: object) -> list[Finding]:
    """Says whether the signature holds, and what the service knows of the subject already; `named` is its issuer."""
    external = runtime.services.identity.external
    verifiers: list[Verifier] = [runtime.issuer] if external is None else [external, runtime.issuer]
    if external is not None and named == runtime.issuer.issuer:  # whose words say what is wrong with it
        verifiers.reverse()
    refused = ""
    for verifier in verifiers:
        try:
            claims = await verifier.verify(token)
        except Unavailable:
            return [Finding("signature", False, "unknown: the provider's keys could not be fetched", "see `doctor`")]
        except InvalidToken as error:
            refused = refused or str(error)
            continue
        found = [Finding("signature", True, "holds")]
        if claims.credential_id is not None:
            return found + await _exchanged(runtime, claims.credential_id)
        if external is not None and verifier is runtime.issuer:
            return [*found, Finding("verdict", False, _NOT_OURS, "send a session token of CRM_OIDC_ISSUER")]
        found.append(await _subject(runtime, claims))
        return found if claims.grant_id is None else [*found, await _login(runtime, claims.grant_id)]
    return [
        Finding(
            "verdict", False, f"refused: {refused}", "mend what is wrong above; the key must be one of the issuer's"
        )
    ]


_NOT_OURS = "refused: a session of the embedded identity provider, whose sessions do not count beside an external one"


async def _exchanged(runtime: Runtime, key_id: str) -> list[Finding]:
    """Tell of the credential that the token was exchanged for, as which it acts."""
    rows = await exchange.known(runtime.database, (key_id,))
    if not rows:
        return [Finding("known", False, "the key or token that it was exchanged for is not there any more", _ANEW)]
    return [*_state(rows)]


async def _login(runtime: Runtime, grant_id: str) -> Finding:
    """Says whether the login that gave the token goes on."""
    lives = bool(await directory.live_grants(runtime.database, (grant_id,)))
    message = "goes on" if lives else "has ended: by signing out, a new password, or a code or refresh token used twice"
    return Finding("login", lives, message, "sign in again")


async def _subject(runtime: Runtime, claims: Claims) -> Finding:
    rows = {row.external_id: row for row in await directory.known(runtime.database, (claims.subject,))}
    open_to = [org for org, row in rows.items() if row.ended_at is None]
    if runtime.services.identity.external is not None:
        new = [org for org in claims.organizations if org not in rows]
        ended = [org for org in claims.organizations if org in rows and org not in open_to]
        message = f"a member of {', '.join(open_to) or 'nothing yet'}"
        message += f"; learned at the first call: {', '.join(new)}" if new else ""
        message += f"; ended or suspended: {', '.join(ended)}, which a newer token may begin anew" if ended else ""
        return Finding("member", bool(open_to or new), message, "see `member list` and `org list`")
    message = f"a member of {', '.join(open_to) or 'no organization that is open'}"
    lost = [org for org in claims.organizations if org not in open_to]
    message += f", and not of {', '.join(lost)}, which the token is for" if open_to and lost else ""
    return Finding(
        "member", bool(open_to) and not lost, message, "see `member list`, `org list`, `member add` and `org resume`"
    )
