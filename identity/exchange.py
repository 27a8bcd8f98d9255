"""The exchange: what a key or token stands for at this moment, and the token that says so (specification 5.7)."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache

import orjson

from contract.errors import OrganizationHeader, OrganizationMismatch, Unauthenticated
from contract.limits import ACCESS_TOKEN_SECONDS, GRANTS_MAX
from contract.vocabulary import CredentialKind
from identity import scope_sets, secrets
from identity.auth_failures import Failures
from identity.coalescing import CoalescedReads
from identity.directory import Row
from identity.principal import Belonging, Organization, Principal
from identity.proven import Proven
from identity.tokens import EmbeddedIssuer
from storage.base import now
from storage.bounded_cache import BoundedCache
from storage.clusters import note
from storage.database import Database
from storage.queries import credentials as statements

PREFIXES = {"ak": CredentialKind.ORGANIZATION_KEY, "pat": CredentialKind.USER_TOKEN}


@dataclass(frozen=True, slots=True)
class Grant:
    """A credential that holds now: whose it is, and where it can act."""

    id: str
    key_id: str
    kind: CredentialKind
    subject: str
    name: str | None
    email: str | None
    belongings: tuple[Belonging, ...]
    last_used_at: datetime | None
    expires_at: datetime | None
    rows: Sequence[Row] = field(repr=False, compare=False)
    """It was made of these."""
    renewed: str | None = None
    """The hash to store of the secret now, where it is stored under an earlier pepper."""
    _principals: dict[tuple[str | None, bool], Principal] = field(default_factory=dict, repr=False, compare=False)
    """The callers that it made already, of which there is one for each organization that it can act in."""

    @property
    def is_over(self) -> bool:
        """Says whether its time is over by now."""
        return _is_over(self.expires_at)

    def principal(self, service_org: str | None, *, exchanged: bool = False) -> Principal:
        """The caller that the credential, or what it was exchanged for, makes of a request with this X-Service-Org.

        Raises OrganizationHeader beside an organization key, OrganizationMismatch for an organization that is none of
        the owner's (specification 5.5, 5.6, 5.10).
        """
        made = self._principals.get((service_org, exchanged))
        if made is None:
            made = self._principals[service_org, exchanged] = self._principal(service_org, exchanged)
        return made

    def _principal(self, service_org: str | None, exchanged: bool) -> Principal:
        if self.kind is CredentialKind.ORGANIZATION_KEY:
            if service_org is not None:
                raise OrganizationHeader()
            active: Belonging | None = self.belongings[0]
        else:
            active = choose(self.belongings, service_org)
        return Principal(
            subject=self.subject,
            kind=self.kind,
            scopes=active.scopes if active else together(self.belongings),
            organization=active.organization if active else None,
            organizations=tuple(b.organization for b in self.belongings),
            name=self.name,
            email=self.email,
            credential_id=self.id,
            expires_at=self.expires_at,
            is_exchanged=exchanged,
            position=active.position if active else None,
        )


def choose(belongings: Sequence[Belonging], service_org: str | None) -> Belonging | None:
    """The organization that X-Service-Org names; None without the header. Raises OrganizationMismatch."""
    if service_org is None:
        return None
    for candidate in belongings:
        if candidate.organization.external_id == service_org:
            return candidate
    raise OrganizationMismatch()


def together(belongings: Sequence[Belonging]) -> frozenset[str]:
    """The scopes of all the organizations at once (decision 6)."""
    return frozenset[str]().union(*(b.scopes for b in belongings))


class Grants:
    """The grants of credentials, of which each holds for the rows that it was made of and for no others.

    The rows are read for every call. What they say is the same for most of them, and then so is what follows from it.
    """

    def __init__(self) -> None:
        self._made: BoundedCache[str, Grant] = BoundedCache(entries=GRANTS_MAX)

    def of(self, rows: Sequence[Row]) -> Grant:
        """Makes the grant of the rows of a credential that holds."""
        key_id = rows[0].key_id
        kept = self._made.get(key_id)
        if kept is not None and kept.rows == rows:
            return kept
        grant = _grant(rows)
        self._made.put(key_id, grant)
        return grant


async def known(database: Database, key_ids: Sequence[str]) -> Sequence[Row]:
    """These credentials beside the memberships that they can act with."""
    replicas = database.replicas
    moment = 0.0 if replicas is None else time.monotonic()
    async with database.directory() as session:
        rows = await statements.with_memberships(session, key_ids, positions=replicas is not None)
    if replicas is not None:
        replicas.observe(moment, ((row.membership_org_id, row.position) for row in rows))
    note_places(database, rows)
    return rows


async def by_secret(
    database: Database,
    reads: CoalescedReads[Row],
    text: str,
    pepper: bytes,
    proven: Proven,
    grants: Grants,
    failures: Failures | None = None,
) -> Grant:
    """Finds what a presented credential stands for. Raises Unauthenticated, after the same work for every reason.

    Where there is no such credential the work is done on another's, of which nothing but the time it took gets out
    (decision 118). One that is `proven`, and stored as it was then, is not compared again (decision 184). `failures`
    remember what is stored under its key id.
    """
    parsed = secrets.parse(text)
    prefix, key_id, secret = parsed or ("", "", text)
    matched = proven.stored_hash(text)
    rows = await (_nearest(database, key_id) if matched is None else reads.of(key_id))
    is_known = bool(rows) and rows[0].key_id == key_id
    stored = rows[0].secret_hash if is_known and rows[0].kind == PREFIXES.get(prefix) else None
    is_equal = (matched is not None and matched == stored) or secrets.matches(secret, stored, pepper)
    holds = _holds(rows)
    if failures is not None:  # whatever the prefix: an attempt with the other one takes nothing from the valid key
        failures.remember(key_id, rows[0].secret_hash if is_known and holds else None)
    if not (is_equal and holds and stored is not None):
        raise Unauthenticated()
    grant = grants.of(rows)
    if secrets.is_current(stored, pepper):
        if matched != stored:
            proven.remember(text, stored)
        return grant
    return replace(grant, renewed=secrets.stored(secret, pepper))


async def _nearest(database: Database, key_id: str) -> Sequence[Row]:
    async with database.directory() as session:
        rows = await statements.nearest_with_memberships(session, key_id)
    if rows and rows[0].key_id == key_id:
        note_places(database, rows)
    return rows


def note_places(database: Database, rows: Sequence[Row]) -> None:
    """Note where the organizations of these credentials lie."""
    if any(row.moved_at for row in rows):  # of few organizations
        note(database, ((row.membership_org_id, row.cluster, row.moved_at) for row in rows))


async def by_key_id(reads: CoalescedReads[Row], grants: Grants, key_id: str) -> Grant:
    """The same for an access token that was minted from the credential: it ends when the credential does."""
    rows = await reads.of(key_id)
    if not _holds(rows):
        raise Unauthenticated()
    return grants.of(rows)


def of_rows(rows: Sequence[Row]) -> Grant:
    """Makes the grant that a credential stands for now, of its rows beside its memberships. Raises Unauthenticated."""
    if not _holds(rows):
        raise Unauthenticated()
    return _grant(rows)


def _holds(rows: Sequence[Row]) -> bool:
    """Says whether these are of a credential that is neither over nor revoked, and whose owner is still a member.

    A credential that another one made ends with it (decision 154).
    """
    if not rows:
        return False
    first = rows[0]
    revoked = first.revoked_at is not None or first.maker_revoked_at is not None
    return not (revoked or _is_over(first.expires_at)) and any(map(_is_open, rows))


def _is_over(expires_at: datetime | None) -> bool:
    return expires_at is not None and expires_at <= now()


def _is_open(row: Row) -> bool:
    """Says whether the credential can act there: its owner is a member, and the organization is not suspended."""
    return row.external_id is not None and row.suspended_at is None


def _grant(rows: Sequence[Row]) -> Grant:
    first = rows[0]
    belongings = tuple(
        _belonging(r.membership_org_id, r.external_id, r.organization_name, r.scopes) for r in rows if _is_open(r)
    )
    if hasattr(first, "position"):
        belongings = tuple(
            replace(b, position=r.position) for b, r in zip(belongings, filter(_is_open, rows), strict=True)
        )
    return Grant(
        id=first.id,
        key_id=first.key_id,
        kind=_KINDS[first.kind],
        subject=first.owner_subject,
        name=first.member_name,
        email=first.member_email,
        belongings=belongings,
        last_used_at=first.last_used_at,
        expires_at=first.expires_at,
        rows=rows,
    )


_KINDS = {kind.value: kind for kind in CredentialKind}


@lru_cache(maxsize=10_000)
def _belonging(org_id: str, external_id: str, name: str, scopes: str) -> Belonging:
    """The same object for the same words, which are read anew for every call; `scopes` is a JSON array."""
    return Belonging(Organization(org_id, external_id, name), scope_sets.known(orjson.loads(scopes)))


@dataclass(frozen=True, slots=True)
class AccessToken:
    """The answer of POST /pat/exchange; `expires_in` is in seconds (specification 5.8: decision 7)."""

    access_token: str
    expires_in: int
    scope: str
    organization_id: str | None


def mint(issuer: EmbeddedIssuer, grant: Grant, principal: Principal) -> AccessToken:
    """A short-lived access token for the caller that the credential makes now; it expires no later than that."""
    left = ACCESS_TOKEN_SECONDS if grant.expires_at is None else int((grant.expires_at - now()).total_seconds())
    seconds = min(ACCESS_TOKEN_SECONDS, max(1, left))
    organization = principal.organization.external_id if principal.organization else None
    token = issuer.mint(
        principal.subject,
        organization=organization,
        scopes=sorted(principal.scopes),
        ttl=seconds,
        name=principal.name,
        email=principal.email,
        credential_id=grant.key_id,
        kind=principal.kind.value,
    )
    return AccessToken(token, seconds, " ".join(sorted(principal.scopes)), organization)
