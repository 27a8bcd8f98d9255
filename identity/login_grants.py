"""Gives applications session tokens for a login: OAuth 2.0 codes with PKCE, and refresh tokens that rotate (RFC 9700).

All that one code gave is a grant, and ends as one: by signing out, and where a code or a refresh token comes twice.
The session token names its grant in `jti`, so that it ends at once, too (decision 891).
"""

import logging
import re
from base64 import urlsafe_b64encode
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from hmac import compare_digest

from contract.login import CODE_SECONDS, TOKEN_SECONDS, TicketKind
from identity import directory
from identity.exchange import together
from identity.login_limits import LoginLimits
from identity.logins import Visitor, digest, new_secret
from identity.tokens import EmbeddedIssuer
from storage.base import now
from storage.database import Database
from storage.new_rows import new_row
from storage.queries import logins as statements
from storage.tables import LoginGrant, LoginTicket
from storage.tenancy.sessions import TenantSession

_log = logging.getLogger(__name__)
_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}", re.ASCII)
CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}", re.ASCII)

Fits = Callable[[LoginTicket, LoginGrant], bool]


class GrantRefused(Exception):
    """A code or refresh token that gives nothing: `invalid_grant`, whatever the reason."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Holds what an application asked a code with."""

    client_id: str
    redirect_uri: str
    challenge: str


@dataclass(frozen=True, slots=True)
class Tokens:
    """Holds what an application gets."""

    access_token: str
    expires_in: int
    scope: str
    refresh_token: str | None


class LoginGrants:
    """Codes, refresh tokens and the session tokens that they give; all of it is in the database."""

    def __init__(self, database: Database, issuer: EmbeddedIssuer, limits: LoginLimits | None) -> None:
        self.database = database
        self.issuer = issuer
        self.limits = limits

    async def code(self, visitor: Visitor, asked: Asked) -> str:
        """A code for who is signed in, bound to the application, the redirect address and the challenge."""
        secret, moment = new_secret(), now()
        grant = new_row(
            LoginGrant,
            subject=visitor.subject,
            session_id=visitor.session_id,
            client_id=asked.client_id,
            created_at=moment,
            expires_at=visitor.expires_at,
        )
        ticket = _ticket(
            grant,
            TicketKind.CODE,
            secret,
            moment + timedelta(seconds=CODE_SECONDS),
            asked.redirect_uri,
            asked.challenge,
        )
        async with self.database.directory(writing=True) as session:
            await session.insert(grant)
            await session.insert(ticket)
        return secret

    async def redeem(self, code: str, asked: Asked, verifier: str, address: str | None, *, refreshing: bool) -> Tokens:
        """The tokens for a code, a refresh token too if told. Raises GrantRefused, or AuthenticationLimited."""
        challenge = _challenge(verifier)

        def fits(ticket: LoginTicket, grant: LoginGrant) -> bool:
            same = (grant.client_id, ticket.redirect_uri) == (asked.client_id, asked.redirect_uri)
            return same and compare_digest(ticket.challenge or "", challenge)

        return await self._take(TicketKind.CODE, code, fits, address, refreshing=refreshing)

    async def refresh(self, token: str, client_id: str, address: str | None) -> Tokens:
        """The next tokens for a refresh token, which is used up by that. Raises as `redeem`."""

        def fits(_ticket: LoginTicket, grant: LoginGrant) -> bool:
            return grant.client_id == client_id

        return await self._take(TicketKind.REFRESH_TOKEN, token, fits, address, refreshing=True)

    async def revoke(self, token: str) -> None:
        """End the grant of a refresh token (RFC 7009); what is none is no matter."""
        found = await self._found(TicketKind.REFRESH_TOKEN, token)
        if found is not None and found.grant_id is not None:
            async with self.database.directory(writing=True) as session:
                await statements.end_grant(session, found.grant_id, now())

    async def _take(
        self, kind: TicketKind, secret: str, fits: Fits, address: str | None, *, refreshing: bool
    ) -> Tokens:
        """Use what is good once, and give the tokens; where it was used before, end all that it gave."""
        moment, refresh_token = now(), new_secret() if refreshing else None
        if await self._found(kind, secret) is not None:
            async with self.database.directory(writing=True) as session:
                grant = await self._redeemed(session, kind, secret, fits, refresh_token, moment)
            if grant is not None and (tokens := await self._tokens(grant, refresh_token, moment)):
                return tokens
        if self.limits is not None:
            await self.limits.take_secret(address)
        raise GrantRefused()

    async def _found(self, kind: TicketKind, secret: str) -> LoginTicket | None:
        """What a secret is, by a read: on SQLite no stranger's guess waits for a writer, or holds one up."""
        async with self.database.directory() as session:
            return await statements.ticket(session, digest(secret), kind)

    async def _redeemed(
        self,
        session: TenantSession,
        kind: TicketKind,
        secret: str,
        fits: Fits,
        refresh_token: str | None,
        moment: datetime,
    ) -> LoginGrant | None:
        """The grant of what fits, which is used by that; None where nothing is to be given."""
        ticket = await statements.ticket(session, digest(secret), kind, lock=True)
        grant = None if ticket is None else await statements.grant(session, ticket.grant_id or "")
        if ticket is None or grant is None or not fits(ticket, grant):
            return None
        return await self._used(session, ticket, grant, refresh_token, moment)

    async def _used(
        self,
        session: TenantSession,
        ticket: LoginTicket,
        grant: LoginGrant,
        refresh_token: str | None,
        moment: datetime,
    ) -> LoginGrant | None:
        if ticket.used_at is not None:
            await statements.end_grant(session, grant.id, moment)
            _log.warning("login %s came twice, what it gave has ended grant=%s", ticket.kind, grant.id)
            return None
        if ticket.expires_at <= moment or not await statements.is_live(session, grant, moment):
            return None
        await session.update(ticket, used_at=moment)
        if refresh_token is not None:
            await session.insert(_ticket(grant, TicketKind.REFRESH_TOKEN, refresh_token, grant.expires_at))
        return grant

    async def _tokens(self, grant: LoginGrant, refresh_token: str | None, moment: datetime) -> Tokens | None:
        """The session token of who is a member now; None for who is a member of nothing.

        It names an organization where there is one only, as the command `token` does with `--org`; one of several is
        chosen by X-Service-Org.
        """
        rows = await directory.memberships(self.database, grant.subject)
        if not rows:
            return None
        scopes = together([directory.belonging(row) for row in rows])
        seconds = min(TOKEN_SECONDS, max(1, int((grant.expires_at - moment).total_seconds())))
        token = self.issuer.mint(
            grant.subject,
            organization=rows[0].external_id if len(rows) == 1 else None,
            scopes=scopes,
            ttl=seconds,
            name=rows[0].name,
            email=rows[0].email,
            client_id=grant.client_id,
            grant_id=grant.id,
        )
        _log.info("session token given subject=%s client=%s grant=%s", grant.subject, grant.client_id, grant.id)
        return Tokens(token, seconds, " ".join(sorted(scopes)), refresh_token)


def _ticket(
    grant: LoginGrant,
    kind: TicketKind,
    secret: str,
    expires_at: datetime,
    redirect_uri: str | None = None,
    challenge: str | None = None,
) -> LoginTicket:
    return new_row(
        LoginTicket,
        hash=digest(secret),
        kind=kind.value,
        subject=grant.subject,
        grant_id=grant.id,
        redirect_uri=redirect_uri,
        challenge=challenge,
        expires_at=expires_at,
    )


def _challenge(verifier: str) -> str:
    """The S256 challenge of a verifier; nothing that is one where the text cannot be a verifier."""
    if not _VERIFIER.fullmatch(verifier):
        return "-"
    return urlsafe_b64encode(sha256(verifier.encode()).digest()).decode().rstrip("=")
