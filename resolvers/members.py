"""Members: who belongs to the organization, with which role, and since when no more."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, Field, StrictBool, StrictStr

from contract.criteria import All, Any_, Compare, Condition, ListQuery, Op, Selection
from contract.errors import Duplicate, InvalidState, NotFound, Problem, Problems
from contract.limits import MEMBER_NAME_MAX, MEMBERS_MAX, SUBJECT_MAX
from contract.normal_form import folded
from contract.scopes import Role, ScopeGroup
from contract.vocabulary import MemberState
from identity.scope_sets import KNOWN_SCOPES
from jobs.ownership import enqueue_transfer
from resolvers.shared import changes
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.inputs import Email, Input, storable, trimmed
from resolvers.shared.lists import PageResult, by_key, page_of
from storage.base import new_id
from storage.queries import listables, ownership
from storage.queries import members as statements
from storage.queries import organizations as directory
from storage.queries.filtering import is_storable_text
from storage.queries.ownership import OwnedCounts
from storage.rows import PersonRow
from storage.tables import Job, Membership, Person
from storage.tenancy.sessions import TenantSession


def _visible(text: str) -> str:
    if not all(c.isprintable() and not c.isspace() for c in text):
        raise ValueError("must have visible characters only")
    return text


Subject = Annotated[
    StrictStr, Field(min_length=1, max_length=SUBJECT_MAX), AfterValidator(storable), AfterValidator(_visible)
]
Name = Annotated[str, trimmed(MEMBER_NAME_MAX), AfterValidator(storable)]


class MemberAdd(Input):
    """A new member of the embedded directory; the service makes a subject unless one is given."""

    id: Subject | None = None
    name: Name
    email: Email
    role: Role = Role.MEMBER
    notify: StrictBool = False


class MemberUpdate(Input):
    """Another role, name or e-mail address; what is left out stays."""

    role: Role = None  # type: ignore[assignment]  # a default that is never read: it may be left out
    name: Name = None  # type: ignore[assignment]  # the same
    email: Email = None  # type: ignore[assignment]  # the same


@dataclass(frozen=True, slots=True)
class Removal:
    """Somebody who left, and the job that hands the records over where there is one."""

    member: Person
    job: Job | None


@requires(ScopeGroup.CRM_READ)
async def get_member(ctx: Context, member_id: str, selection: Selection | None = None) -> PersonRow | None:
    """Find the member by subject, those who left included."""
    if not is_storable_text(member_id):
        return None
    return await by_key(ctx, listables.PEOPLE, member_id, selection)


@requires(ScopeGroup.CRM_READ)
async def list_members(ctx: Context, listing: ListQuery, selection: Selection | None = None) -> PageResult[PersonRow]:
    """List the members, by name and then by subject; `wanted` makes the condition."""
    return await page_of(ctx, listables.PEOPLE, listing, selection)


def wanted(
    states: Sequence[str] | None = None, roles: Sequence[str] | None = None, query: str | None = None
) -> Condition:
    """Make the condition: in one of the states (who left only if asked for), of one of the roles, found by the text."""
    present = (MemberState.ACTIVE.value, MemberState.DEACTIVATED.value)
    parts: list[Condition] = [Compare("state", Op.IN, present if states is None else tuple(states))]
    if roles is not None:
        parts.append(Compare("role", Op.IN, tuple(roles)))
    if query:
        sought = folded(query)
        parts.append(Any_(tuple(Compare(n, Op.CONTAINS, sought) for n in ("folded_name", "folded_email"))))
    return All(tuple(parts))


@requires(None, organization=False)
async def get_own_member(ctx: Context) -> PersonRow | None:
    """Find the caller as a member of the active organization; None without one."""
    if ctx.caller.organization is None:
        return None
    return await by_key(ctx, listables.PEOPLE, ctx.caller.subject)


@requires(ScopeGroup.ORG_ADMIN)
async def scopes_of_member(ctx: Context, member_id: str) -> list[str]:
    """Read the scopes that the member has now; none for who may not call."""

    async def load(ids: list[str]) -> list[list[str]]:
        async with ctx.reading() as session:
            found = await statements.scopes_of(session, ids)
        return [sorted(found.get(i, frozenset()) & KNOWN_SCOPES) for i in ids]

    scopes: list[str] = await ctx.loader("scopes_of_member", load).load(member_id)
    return scopes


@requires(ScopeGroup.CRM_READ)
async def owned_by_member(ctx: Context, member_id: str) -> OwnedCounts:
    """Count the records of each kind that the member owns."""

    async def load(ids: list[str]) -> list[OwnedCounts]:
        async with ctx.reading() as session:
            found = await ownership.owned(session, ids)
        return [found[i] for i in ids]

    counts: OwnedCounts = await ctx.loader("owned_by_member", load).load(member_id)
    return counts


@requires(ScopeGroup.ORG_ADMIN, writes=True)
async def add_member(ctx: Context, input: MemberAdd) -> Person:
    """Make somebody a member of the embedded directory. Raises InvalidState, Duplicate or Problems."""
    _check_embedded(ctx)
    subject = input.id or f"user_{new_id()}"
    # The directory is everybody's, so it has a transaction of its own: a subject that belongs nowhere may call nowhere.
    async with ctx.services.database.directory(writing=True) as session:
        await directory.put_missing_member(session, subject, name=input.name, email=input.email)
    async with ctx.writing() as session:
        await statements.lock_administrators(session, subject)
        found = await statements.membership(session, subject)
        if found is not None and (found.ended_at is None or statements.is_suspended(found)):
            raise Duplicate("There is a member with this subject", field=("input", "id"))
        if await statements.has_address(session, input.email):
            raise _address_taken(("input", "email"))
        if await statements.number_present(session) >= MEMBERS_MAX:
            raise Problems([Problem(("input",), f"there can be at most {MEMBERS_MAX} members", "too_long")])
        await statements.put_membership(
            session, subject, role=input.role, scopes=input.role.scopes, name=input.name, email=input.email
        )
        person = await _told(ctx, session, subject, "member_added")
    ctx.forget()
    if input.notify:  # decision 225
        changes.notify(ctx, "member_added", {"member_id": subject, "name": input.name, "email": input.email})
    return person


@requires(ScopeGroup.ORG_ADMIN, writes=True)
async def update_member(ctx: Context, member_id: str, input: MemberUpdate) -> Person:
    """Change a member of the embedded directory. Raises NotFound, InvalidState or Duplicate."""
    _check_embedded(ctx)
    fields = input.given()
    async with ctx.writing() as session:
        administrators, found = await _present(session, member_id)
        if "role" in fields and not ScopeGroup.ORG_ADMIN.passes(fields["role"].scopes):
            _check_not_last(administrators, member_id)
        if "email" in fields and await statements.has_address(session, fields["email"], other_than=member_id):
            raise _address_taken(("email",))
        person = await _person(session, member_id)
        if changed := sorted(name for name, value in fields.items() if getattr(person, name) != value):
            names = {name: fields[name] for name in ("name", "email") if name in changed}
            await statements.change_membership(session, found, fields["role"] if "role" in changed else None, **names)
            person = await _told(ctx, session, member_id, "member_updated", changed=changed)
    ctx.forget()
    return person


@requires(ScopeGroup.ORG_ADMIN, writes=True)
async def deactivate_member(ctx: Context, member_id: str) -> Person:
    """Suspend a member: whatever the member calls with is refused from the next call on. Raises as update_member."""

    async def pause(session: TenantSession, administrators: set[str], found: Membership) -> None:
        _check_not_last(administrators, member_id)
        await statements.suspend(session, found)

    return await _switch(ctx, member_id, "member_deactivated", pause, is_due=lambda found: found.ended_at is None)


@requires(ScopeGroup.ORG_ADMIN, writes=True)
async def reactivate_member(ctx: Context, member_id: str) -> Person:
    """End a suspension: the member goes on with the role and the credentials of before. Raises as update_member."""

    async def resume(session: TenantSession, _administrators: set[str], _found: Membership) -> None:
        await statements.resume(session, member_id)

    return await _switch(ctx, member_id, "member_reactivated", resume, is_due=statements.is_suspended)


async def _switch(
    ctx: Context,
    member_id: str,
    event: str,
    work: Callable[[TenantSession, set[str], Membership], Awaitable[None]],
    *,
    is_due: Callable[[Membership], bool],
) -> Person:
    """Do the work and tell of it; where the member is that way already, nothing is done or told."""
    _check_embedded(ctx)
    async with ctx.writing() as session:
        administrators, found = await _present(session, member_id)
        if is_due(found):
            await work(session, administrators, found)
            person = await _told(ctx, session, member_id, event)
        else:
            person = await _person(session, member_id)
    ctx.forget()
    return person


@requires(ScopeGroup.ORG_ADMIN, writes=True)
async def remove_member(ctx: Context, member_id: str, transfer_to: str | None = None) -> Removal:
    """End a membership with the keys made in the organization; the records go to another member, if one is named.

    Raises NotFound, InvalidState, or Problems.
    """
    async with ctx.writing() as session:
        administrators, _ = await _present(session, member_id)
        if transfer_to is not None and (
            transfer_to == member_id or not await statements.is_active(session, transfer_to)
        ):
            words = "is no other active member of this organization"
            raise Problems([Problem(("transfer_to",), words, "reference")])
        _check_not_last(administrators, member_id)
        await statements.remove_membership(session, member_id)
        person = await _told(ctx, session, member_id, "member_removed")
        job = None
        if transfer_to is not None:
            # Who leaves by their own hand has no scopes left for the job to look at.
            is_own = member_id == ctx.caller.subject
            job = await enqueue_transfer(
                session, member_id, transfer_to, actor=ctx.caller.subject, is_watched=not is_own
            )
    ctx.forget()
    return Removal(person, job)


async def _present(session: TenantSession, member_id: str) -> tuple[set[str], Membership]:
    """Lock the active administrators and the membership of somebody present. Raises NotFound."""
    if not is_storable_text(member_id):
        raise NotFound(field=("id",))
    administrators = await statements.lock_administrators(session, member_id)
    found = await statements.membership(session, member_id)
    if found is None or (found.ended_at is not None and not statements.is_suspended(found)):
        raise NotFound(field=("id",))
    return administrators, found


async def _person(session: TenantSession, member_id: str) -> Person:
    """Read the copy of a membership that there is."""
    person = await session.find(Person, id=member_id)
    if person is None:
        raise NotFound(field=("id",))
    return person


async def _told(ctx: Context, session: TenantSession, member_id: str, event: str, **more: object) -> Person:
    """Append what was done to the change log, and read the member as it is now (decision 221)."""
    person = await _person(session, member_id)
    await changes.append_event(ctx, session, event, {"member_id": member_id, **more}, area="admin")
    return person


def _check_embedded(ctx: Context) -> None:
    """Raise InvalidState where members are the external identity provider's business."""
    if ctx.services.identity.external is not None:
        raise InvalidState("Members are managed by the external identity provider")


def _check_not_last(administrators: set[str], member_id: str) -> None:
    if administrators == {member_id}:
        raise InvalidState("The organization would be without an active administrator", field=("id",))


def _address_taken(field: tuple[str, ...]) -> Duplicate:
    return Duplicate("There is a member with this e-mail address", field=field)
