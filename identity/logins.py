"""Signs members in at the embedded identity provider: browsers, one-time links and passwords (decision 890)."""

import logging
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256

from contract.login import SESSION_SECONDS, TicketKind
from identity import directory, passwords
from identity.login_limits import LoginLimits
from storage.base import now
from storage.database import Database
from storage.new_rows import AnyRow, new_row
from storage.queries import logins as statements
from storage.tables import LoginSession, LoginTicket
from storage.tenancy.sessions import TenantSession

_log = logging.getLogger(__name__)
_NAME_MAX = 320
"""The most characters that an e-mail address can have; a subject has fewer."""
LINKS = (TicketKind.LOGIN_LINK, TicketKind.PASSWORD_LINK)


def digest(secret: str) -> str:
    """Makes what is stored of a secret of 256 random bits, which needs no salt and no slow hash."""
    return sha256(secret.encode(errors="surrogatepass")).hexdigest()


def new_secret() -> str:
    return secrets.token_urlsafe(32)


@dataclass(frozen=True, slots=True)
class Visitor:
    """A member who is signed in in a browser."""

    session_id: str
    subject: str
    name: str | None
    email: str | None
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class SignedIn:
    """Holds what a browser gets that signs in: the new secret of its cookie."""

    secret: str
    visitor: Visitor


@dataclass(frozen=True, slots=True)
class Link:
    """Says what a one-time link is for, and for whom."""

    kind: TicketKind
    subject: str
    name: str | None
    email: str | None

    @property
    def signs_in_with(self) -> str:
        """The name that goes with a password."""
        return self.email or self.subject


class Logins:
    """Browsers that are signed in, links and passwords. All of it is in the database, for any number of processes."""

    def __init__(self, database: Database, limits: LoginLimits | None) -> None:
        self.database = database
        self.limits = limits

    async def sign_in(
        self, name: str, password: str, address: str | None, *, former: str | None = None
    ) -> SignedIn | None:
        """Sign in by e-mail address and password; None for any reason not to. Raises AuthenticationLimited.

        Whether somebody has the name shows neither in the answer nor in the time: the same look-up, and one hash. Of
        several members with one address it is the one whose password is right (decision 896). `former` is the secret
        that the browser has of an earlier session, here and below.
        """
        if self.limits is not None:
            await self.limits.take(name[:_NAME_MAX], address)
        async with self.database.directory() as session:
            holders = await statements.accounts(session, name if _is_name(name) else "")
        found = await _whose(password, holders)
        if found is None:
            _log.info("login refused")
            return None
        if not passwords.is_current(found.hash):
            fresh = await passwords.hashed(password)
            async with self.database.directory(writing=True) as session:
                await statements.rehash(session, found.subject, found.hash, fresh)
        return await self._begin(found.subject, "password", former)

    async def visitor(self, secret: str | None) -> Visitor | None:
        """Says who is signed in in the browser that has this cookie; nobody whose memberships have all ended."""
        if not secret:
            return None
        async with self.database.directory() as session:
            found = await statements.live_session(session, digest(secret), now())
        return None if found is None else await self._visitor(found)

    async def sign_out(self, visitor: Visitor) -> None:
        """End the browser's session with all that was given in it."""
        async with self.database.directory(writing=True) as session:
            await statements.end_session(session, visitor.session_id, now())
        _log.info("signed out subject=%s", visitor.subject)

    async def link(self, secret: str, place: str | None) -> Link | None:
        """Says what a link is for, which stays good; None for one that is so no more. Raises AuthenticationLimited."""
        async with self.database.directory() as session:
            found = await statements.ticket(session, digest(secret), *LINKS)
            person = None if found is None else await statements.member(session, found.subject)
        if found is None or person is None or not _is_good(found) or not await self._is_member(found.subject):
            if self.limits is not None:
                await self.limits.take_secret(place)
            return None
        return Link(TicketKind(found.kind), person.subject, person.name, person.email)

    async def follow(self, secret: str, *, former: str | None = None) -> SignedIn | None:
        """Sign in by a link, which is used by that."""
        async with self.database.directory(writing=True) as session:
            subject = await self._use(session, secret, TicketKind.LOGIN_LINK)
        return None if subject is None else await self._begin(subject, "link", former)

    async def set_password(self, secret: str, password: str, *, former: str | None = None) -> SignedIn | None:
        """Give the member of a link this password, and sign in. All that the member was signed in with ends.

        The password has no fault (`passwords.fault_of`).
        """
        fresh = await passwords.hashed(password)
        moment = now()
        async with self.database.directory(writing=True) as session:
            subject = await self._use(session, secret, TicketKind.PASSWORD_LINK)
            if subject is not None:
                await statements.put_password(session, subject, fresh, moment)
                await statements.end_all(session, subject, moment)
        if subject is None:
            return None
        _log.info("password set subject=%s", subject)
        return await self._begin(subject, "password_link", former)

    async def _use(self, session: TenantSession, secret: str, kind: TicketKind) -> str | None:
        """Use a link up; the subject, or None for one that is no good. Of several who try at once one has it."""
        found = await statements.ticket(session, digest(secret), kind, lock=True)
        if found is None or not _is_good(found):
            return None
        await session.update(found, used_at=now())
        return found.subject

    async def _begin(self, subject: str, how: str, former: str | None) -> SignedIn | None:
        """Begin a session under a secret that nobody knew before; None for who is a member of nothing.

        It takes the place of the one that the browser had: what that gave ends with this one (decision 1090).
        """
        secret, moment = new_secret(), now()
        began = new_row(
            LoginSession,
            hash=digest(secret),
            subject=subject,
            created_at=moment,
            expires_at=moment + timedelta(seconds=SESSION_SECONDS),
        )
        async with self.database.directory(writing=True) as session:
            await session.insert(began)
            if former:
                await statements.replace_session(session, digest(former), began, moment)
        visitor = await self._visitor(began)  # after the insert: a membership that ends meanwhile ends this, or is seen
        if visitor is None:
            _log.info("login refused")
            return None
        _log.info("signed in subject=%s by=%s", subject, how)
        return SignedIn(secret, visitor)

    async def _visitor(self, found: LoginSession) -> Visitor | None:
        rows = await directory.memberships(self.database, found.subject)
        if not rows:
            return None
        return Visitor(found.id, found.subject, rows[0].name, rows[0].email, found.expires_at)

    async def _is_member(self, subject: str) -> bool:
        return bool(await directory.memberships(self.database, subject))


async def _whose(password: str, holders: Sequence[AnyRow]) -> AnyRow:
    """The holder whose password it is; None for nobody's, after the work of one even where there are none."""
    for holder in holders:  # one, unless several members have one address
        if await passwords.is_right(password, holder.hash):
            return holder
    if not holders:
        await passwords.is_right(password, None)
    return None


def _is_name(text: str) -> bool:
    return 0 < len(text) <= _NAME_MAX and "\0" not in text and text.isprintable()


def _is_good(ticket: LoginTicket) -> bool:
    return ticket.used_at is None and ticket.expires_at > now()


async def make_links(
    database: Database, subjects: Sequence[str], kind: TicketKind, expires_at: datetime
) -> dict[str, str]:
    """Make a link for each of these members; the secrets."""
    found = {subject: new_secret() for subject in subjects}
    made = [
        new_row(LoginTicket, hash=digest(secret), kind=kind.value, subject=subject, expires_at=expires_at)
        for subject, secret in found.items()
    ]
    if made:
        async with database.directory(writing=True) as session:
            await session.insert(*made)
    return found


async def end_all(database: Database, subject: str, *, with_password: bool) -> int:
    """End all that the member is signed in with, the password too if told; how many browsers that were."""
    async with database.directory(writing=True) as session:
        number = await statements.end_all(session, subject, now())
        if with_password:
            await statements.forget_password(session, subject)
    return number
