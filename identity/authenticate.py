"""Finds the caller by the request's two headers (specification part 5)."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from operator import attrgetter

from contract.errors import GatewayError, OrganizationMismatch, Unauthenticated
from contract.limits import LAST_USED_SECONDS
from contract.vocabulary import CredentialKind
from identity import directory, exchange
from identity.auth_failures import Failures
from identity.claims import LEEWAY_SECONDS
from identity.coalescing import CoalescedReads
from identity.exchange import AccessToken, Grant
from identity.issuers import Verifier
from identity.principal import Belonging, Principal
from identity.proven import Proven
from identity.standing import Found, Standing
from identity.tokens import Claims, EmbeddedIssuer, InvalidToken
from storage.base import now
from storage.database import Database
from storage.queries import credentials as statements

_log = logging.getLogger(__name__)
_LAST_SECOND = 253_402_300_799
"""The last second that a date can hold."""


@dataclass(eq=False)
class Identity:
    """Authentication against the database, the embedded issuer and, where one is set, an external one."""

    database: Database
    embedded: EmbeddedIssuer
    pepper: bytes
    external: Verifier | None = None
    failures: Failures | None = None
    _touching: dict[str, asyncio.Task[None]] = field(default_factory=dict, init=False)
    _proven: Proven = field(default_factory=Proven, init=False)
    _made: exchange.Grants = field(default_factory=exchange.Grants, init=False)
    _credentials: CoalescedReads[directory.Row] = field(init=False)
    _memberships: CoalescedReads[directory.Row] = field(init=False)
    _grants: CoalescedReads[directory.Row] = field(init=False)

    def __post_init__(self) -> None:
        """Have what is asked for at the same time read together."""
        self._read_together()

    def aside(self) -> "Identity":
        """Gives the same for what goes on behind requests, none of which waits for its statements (decision 1189)."""
        other = copy(self)
        other._read_together()
        return other

    def _read_together(self) -> None:
        self._credentials = CoalescedReads(partial(exchange.known, self.database), attrgetter("key_id"))
        self._memberships = CoalescedReads(partial(directory.known, self.database), attrgetter("subject"))
        self._grants = CoalescedReads(partial(directory.live_grants, self.database), attrgetter("id"))

    async def authenticate(
        self, authorization: str | None, service_org: str | None, address: str | None = None
    ) -> Principal:
        """The caller. Raises Unauthenticated, or what the organization header deserves, in this order.

        `address` is where the request came from, for whose failures it counts; from beyond the limit on them a
        credential that is not known is an AuthenticationLimited.
        """
        return (await self.standing(authorization, service_org, address)).principal

    async def standing(
        self, authorization: str | None, service_org: str | None, address: str | None = None
    ) -> Standing:
        """The caller, and by what it was found. Raises what `authenticate` raises."""
        token = bearer(authorization)
        service_org = _chosen(service_org)
        if token.startswith(("ak_", "pat_")):
            grant = await self._granted(token, address)
            return Standing(grant.principal(service_org), self._found(grant), partial(_is_quiet, grant))
        try:
            return await self._session(token, service_org)
        except Unauthenticated:
            if self.failures is not None:
                await self.failures.session_refused(address)
            raise

    async def exchange(
        self,
        token: str,
        service_org: str | None,
        address: str | None = None,
        admit: Callable[[Principal], Awaitable[None]] | None = None,
    ) -> AccessToken:
        """POST /pat/exchange: an access token for a key or token; a session cannot be exchanged.

        `admit` may refuse the caller by raising before anything is signed.
        """
        if not token.startswith(("ak_", "pat_")):
            raise Unauthenticated()
        grant = await self._granted(token, address)
        principal = grant.principal(_chosen(service_org))
        if admit is not None:
            await admit(principal)
        return exchange.mint(self.embedded, grant, principal)

    async def _granted(self, token: str, address: str | None) -> Grant:
        failures = self.failures
        if failures is not None:
            failures.admit(token, address)
        try:
            grant = await exchange.by_secret(
                self.database, self._credentials, token, self.pepper, self._proven, self._made, failures
            )
        except Unauthenticated:
            if failures is not None:
                await failures.refused(token, address)
            raise
        self._touch(grant)
        return grant

    async def close(self) -> None:
        """Wait for the last notes of use."""
        await asyncio.gather(*self._touching.values(), return_exceptions=True)

    async def _session(self, token: str, service_org: str | None) -> Standing:
        claims, issuer = await self._verified(token)
        is_signed = partial(_is_known, issuer, token)
        if claims.credential_id is not None:
            return await self._minted(claims, claims.credential_id, service_org, is_signed)
        if issuer is self.external:
            rows, belongings = await directory.learn(self.database, self._memberships, claims)
            found: tuple[Found, ...] = ((self._memberships, claims.subject, rows),)
        else:
            claims, belongings, found = await self._member(claims)
        active = exchange.choose(belongings, service_org)
        if active is None and len(claims.organizations) == 1:
            active = next((b for b in belongings if b.organization.external_id == claims.organizations[0]), None)
            if active is None:
                raise Unauthenticated()
        scopes = active.scopes if active else exchange.together(belongings)
        principal = Principal(
            subject=claims.subject,
            kind=CredentialKind.SESSION,
            scopes=scopes,
            organization=active.organization if active else None,
            organizations=tuple(b.organization for b in belongings),
            name=claims.name,
            email=claims.email,
            session_ends_at=_end_of(claims),
            position=active.position if active else None,
        )
        return Standing(principal, found, is_signed)

    async def _verified(self, token: str) -> tuple[Claims, Verifier]:
        """The claims, and whose word they are. Which of the two issuers says what a session may is decision 16."""
        if self.external is None:
            return await self._own(token), self.embedded
        try:
            return await self.external.verify(token), self.external
        except InvalidToken:
            claims = await self._own(token)
            if claims.credential_id is None:
                raise Unauthenticated() from None
            return claims, self.embedded

    async def _member(self, claims: Claims) -> tuple[Claims, tuple[Belonging, ...], tuple[Found, ...]]:
        """Add what the embedded directory of now says to the claims of a session. Raises Unauthenticated."""
        found: list[Found] = []
        if claims.grant_id is not None:
            grants = await self._grants.of(claims.grant_id)
            if not grants:
                raise Unauthenticated()
            found.append((self._grants, claims.grant_id, grants))
        known = await self._memberships.of(claims.subject)
        found.append((self._memberships, claims.subject, known))
        rows = directory.current(known)
        if not rows:
            raise Unauthenticated()
        claims = replace(claims, name=claims.name or rows[0].name, email=claims.email or rows[0].email)
        return claims, tuple(directory.belonging(row) for row in rows), tuple(found)

    async def _own(self, token: str) -> Claims:
        try:
            return await self.embedded.verify(token)
        except InvalidToken:
            raise Unauthenticated() from None

    async def _minted(
        self, claims: Claims, key_id: str, service_org: str | None, is_signed: Callable[[], bool]
    ) -> Standing:
        """An exchanged token acts as its credential does now, in the organization that it was minted for."""
        grant = await exchange.by_key_id(self._credentials, self._made, key_id)
        if grant.kind is not CredentialKind.ORGANIZATION_KEY:
            minted_for = claims.organizations[0] if claims.organizations else None
            if service_org not in (None, minted_for):
                raise OrganizationMismatch()
            service_org = minted_for
        principal = replace(grant.principal(service_org, exchanged=True), session_ends_at=_end_of(claims))
        return Standing(principal, self._found(grant), lambda: is_signed() and not grant.is_over)

    def _found(self, grant: Grant) -> tuple[Found]:
        """Say what was read of the credential."""
        return ((self._credentials, grant.key_id, grant.rows),)

    def _touch(self, grant: Grant) -> None:
        """Note the use beside the request, at most once a minute; a failure costs the note, never the request."""
        moment = now()
        if not _is_to_note(grant, moment) or grant.id in self._touching:
            return

        async def note() -> None:
            try:
                async with self.database.directory(writing=True) as session:
                    await statements.touch(session, grant.id, moment)
                    if grant.renewed is not None:
                        await statements.renew(session, grant.id, grant.renewed)
            except (GatewayError, OSError):
                _log.warning("the use of a credential could not be noted", exc_info=False)
            finally:
                self._touching.pop(grant.id, None)

        self._touching[grant.id] = asyncio.create_task(note())


def _is_to_note(grant: Grant, moment: datetime) -> bool:
    """Says whether its use is to be noted, or the hash that it is to be stored with."""
    if grant.renewed is not None or grant.last_used_at is None:
        return True
    return grant.last_used_at <= moment - timedelta(seconds=LAST_USED_SECONDS)


def _is_quiet(grant: Grant) -> bool:
    """Says whether a look at the credential finds it in its time, and notes nothing."""
    return not grant.is_over and not _is_to_note(grant, now())


def _is_known(issuer: Verifier, token: str) -> bool:
    return issuer.known(token) is not None


def _end_of(claims: Claims) -> datetime:
    """Says when the token holds no more, as `verify` sees it."""
    return datetime.fromtimestamp(min(claims.expires_at + LEEWAY_SECONDS, _LAST_SECOND), UTC)


def _chosen(service_org: str | None) -> str | None:
    """Reads X-Service-Org without the blanks that no header's value begins or ends with, and no others."""
    return (service_org or "").strip(" \t") or None


def bearer(authorization: str | None) -> str:
    """The token of an Authorization header. Raises Unauthenticated."""
    scheme, _, token = (authorization or "").partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not token or " " in token:
        raise Unauthenticated()
    return token
