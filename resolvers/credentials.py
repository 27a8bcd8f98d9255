"""Organization keys and user tokens: made, listed, renamed and revoked by their owners (specification 4.10, part 5)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated
from unicodedata import category

from pydantic import AfterValidator

from contract.errors import NotFound, Problem, Problems
from contract.limits import CREDENTIAL_NAME_MAX
from contract.scopes import ScopeGroup
from contract.vocabulary import CredentialKind
from identity import secrets
from resolvers.shared import changes
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.inputs import Input, Moment, storable, trimmed
from storage.base import now
from storage.new_rows import new_row
from storage.queries import credentials as statements
from storage.queries import organizations, records
from storage.rows import CredentialRow
from storage.tables import Credential
from storage.tenancy.sessions import TenantSession


def _named(name: str) -> str:
    if any(category(c) == "Cc" or c in _REORDERING for c in name):
        raise ValueError("must not contain control characters")
    if all(category(c) in _UNSEEN or c in _BLANK for c in name):
        raise ValueError("must have a character that can be seen")
    return name


_UNSEEN = ("Cc", "Cf", "Cn", "Co", "Mn", "Me", "Zl", "Zp", "Zs")
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0\ufffc\U00013441\U00013442\U0001d159")
"""Letters and signs by their category that nobody sees: fillers of Hangul and of hieroglyphs, the empty pattern of
Braille, what stands for an object, a note without a head."""
_REORDERING = frozenset("\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""The characters that break lines or turn the order of others, so that a list shows another name than there is."""


def _ahead(moment: datetime) -> datetime:
    if moment <= now():
        raise ValueError("must lie in the future")
    return moment


Name = Annotated[str, trimmed(CREDENTIAL_NAME_MAX), AfterValidator(storable), AfterValidator(_named)]


class CredentialCreate(Input):
    """A new key or token; without `expires_at` it lasts until it is revoked."""

    name: Name
    expires_at: Annotated[Moment, AfterValidator(_ahead)] | None = None


class CredentialRename(Input):
    """Another name."""

    name: Name


@dataclass(frozen=True, slots=True)
class CredentialView:
    """A credential as its management shows it; the owner is named on other members' keys only."""

    id: str
    name: str
    key_id: str
    hint: str
    created_at: datetime
    last_used_at: datetime | None
    expires_at: datetime | None
    owner_user_id: str | None = None
    owner_name: str | None = None


@dataclass(frozen=True, slots=True)
class Created:
    """A new credential with its text, which is shown this once (specification 5.4)."""

    credential: CredentialView
    pat_key: str


@requires(ScopeGroup.PATS_READ)
async def list_organization_keys(ctx: Context) -> Sequence[CredentialView]:
    """The caller's own keys in the organization; with organizations:manage everybody's (specification part 5)."""
    subject = ctx.caller.subject
    async with ctx.reading() as session:
        rows = await statements.organization_keys(session, owner=None if _is_admin(ctx) else subject)
    return [_view(row, subject) for row in rows]


@requires(ScopeGroup.PATS_CREATE, writes=True)
async def create_organization_key(ctx: Context, input: CredentialCreate) -> Created:
    """A key bound to the active organization."""
    async with ctx.writing() as session:
        await records.lock_organization(session)
        created = await _create(ctx, session, input, CredentialKind.ORGANIZATION_KEY, ctx.org_id)
        await _note(ctx, session, "organization_key_created", created.credential.id)
    return created


@requires(ScopeGroup.PATS_CREATE, writes=True)
async def rename_organization_key(ctx: Context, key_id: str, input: CredentialRename) -> CredentialView:
    """Rename one of the caller's own keys. Raises NotFound for any other."""
    async with ctx.writing() as session:
        row = await statements.live(session, key_id, org_id=ctx.org_id, owner=ctx.caller.subject)
        if row is not None and row.name != input.name:
            row = await statements.change(session, key_id, org_id=ctx.org_id, owner=ctx.caller.subject, name=input.name)
            await _note(ctx, session, "organization_key_renamed", _found(row, ctx).id)
    return _found(row, ctx)


@requires(ScopeGroup.PATS_DELETE, writes=True)
async def revoke_organization_key(ctx: Context, key_id: str) -> str:
    """Revoke one of the caller's own keys, or with organizations:manage any of the organization's."""
    owner = None if _is_admin(ctx) else ctx.caller.subject
    async with ctx.writing() as session:
        row = await statements.change(session, key_id, org_id=ctx.org_id, owner=owner, revoked_at=now())
        if row is not None:
            await statements.end_made(session, row.id, org_id=ctx.org_id)
            await _note(ctx, session, "organization_key_revoked", row.id)
    return _found(row, ctx).id


@requires(ScopeGroup.PATS_READ, organization=False, in_person=True)
async def list_user_tokens(ctx: Context) -> Sequence[CredentialView]:
    """The caller's own tokens, whoever asks."""
    async with ctx.services.database.directory() as session:
        rows = await statements.user_tokens(session, ctx.caller.subject)
    return [_view(row, ctx.caller.subject) for row in rows]


@requires(ScopeGroup.PATS_CREATE, organization=False, writes=True, in_person=True)
async def create_user_token(ctx: Context, input: CredentialCreate) -> Created:
    """A token for every organization that the caller belongs to."""
    async with ctx.directory() as session:
        await organizations.lock_member(session, ctx.caller.subject)
        return await _create(ctx, session, input, CredentialKind.USER_TOKEN, None)


@requires(ScopeGroup.PATS_CREATE, organization=False, writes=True, in_person=True)
async def rename_user_token(ctx: Context, token_id: str, input: CredentialRename) -> CredentialView:
    """Rename one of the caller's own tokens. Raises NotFound for any other."""
    async with ctx.directory() as session:
        row = await statements.change(session, token_id, org_id=None, owner=ctx.caller.subject, name=input.name)
    return _found(row, ctx)


@requires(ScopeGroup.PATS_DELETE, organization=False, writes=True, in_person=True)
async def revoke_user_token(ctx: Context, token_id: str) -> str:
    """Revoke one of the caller's own tokens. Raises NotFound for any other."""
    async with ctx.directory() as session:
        row = await statements.change(session, token_id, org_id=None, owner=ctx.caller.subject, revoked_at=now())
        if row is not None:
            await statements.end_made(session, row.id, org_id=None)
    return _found(row, ctx).id


def _is_admin(ctx: Context) -> bool:
    return ScopeGroup.ORG_ADMIN.passes(ctx.caller.scopes)


async def _note(ctx: Context, session: TenantSession, type: str, key_id: str) -> None:
    """Notes it in the change log, where only what belongs to the organization is: user tokens are not (decision 67)."""
    await changes.append_event(ctx, session, type, {"organization_key_id": key_id}, area="admin")


async def _create(
    ctx: Context, session: TenantSession, input: CredentialCreate, kind: CredentialKind, org_id: str | None
) -> Created:
    """The session has locked what the member's credentials are counted under. Raises Problems."""
    expires_at = _end(ctx, input.expires_at)
    most = ctx.services.credentials_max
    if await statements.number_live(session, ctx.caller.subject, org_id=org_id) >= most:
        words = f"there can be at most {most} live {_PLURALS[kind]}; revoke one that is not needed any more"
        raise Problems([Problem(("input",), words, "too_long")])
    minted = secrets.mint("pat" if org_id is None else "ak")
    credential = new_row(
        Credential,
        kind=kind.value,
        key_id=minted.key_id,
        secret_hash=secrets.stored(minted.secret, ctx.services.identity.pepper),
        hint=minted.hint,
        name=input.name,
        org_id=org_id,
        owner_subject=ctx.caller.subject,
        expires_at=expires_at,
        made_by=ctx.caller.credential_id,
    )
    await session.insert(credential)
    return Created(_view(credential, ctx.caller.subject), minted.text)


_PLURALS = {
    CredentialKind.ORGANIZATION_KEY: "keys of a member in an organization",
    CredentialKind.USER_TOKEN: "user tokens of a member",
}


def _end(ctx: Context, asked: datetime | None) -> datetime | None:
    """Works out when the new credential ends: no later than the one it is made with (decision 154). Raises Problems."""
    latest = ctx.caller.expires_at
    if asked is None or latest is None:
        return asked or latest
    if asked > latest:
        words = f"must not be later than the end of the credential that makes it, {latest.isoformat()}"
        raise Problems([Problem(("input", "expires_at"), words, "expires_at")])
    return asked


def _found(row: CredentialRow | None, ctx: Context) -> CredentialView:
    if row is None:
        raise NotFound(field=("id",))
    return _view(row, ctx.caller.subject)


def _view(row: Credential | CredentialRow, caller: str) -> CredentialView:
    is_own = row.owner_subject == caller
    return CredentialView(
        id=row.id,
        name=row.name,
        key_id=row.key_id,
        hint=row.hint,
        created_at=row.created_at,
        last_used_at=row.last_used_at,
        expires_at=row.expires_at,
        owner_user_id=None if is_own else row.owner_subject,
        owner_name=None if is_own else getattr(row, "owner_name", None),
    )
