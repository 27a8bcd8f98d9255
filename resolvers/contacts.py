"""Contacts: the people, with their deals and meetings."""

from typing import Any

from contract.criteria import Listing, Selection
from contract.errors import NotFound
from contract.scopes import ScopeGroup
from resolvers import changes
from resolvers.access import requires
from resolvers.context import Context
from resolvers.inputs import Email, Input, Line, Reference
from resolvers.lists import PageOf, by_id, children, page_of
from storage.base import Record
from storage.queries import nouns, records
from storage.tables import Account, Activity, Contact, Deal, DealContact, Enrollment, Lead

_REFERENCES: dict[str, type[Record]] = {"account_id": Account}


class ContactCreate(Input):
    """A new person."""

    first_name: Line | None = None
    last_name: Line | None = None
    email: Email | None = None
    phone: Line | None = None
    title: Line | None = None
    linkedin: Line | None = None
    account_id: Reference | None = None


class ContactUpdate(ContactCreate):
    """Changes to a person; null clears a field."""

    owner_id: Line | None = None
    expected_version: int | None = None


@requires(ScopeGroup.CRM_READ)
async def get_contact(ctx: Context, contact_id: str, selection: Selection | None = None) -> Any:
    """The contact, or None."""
    return await by_id(ctx, nouns.CONTACTS, contact_id, selection)


@requires(ScopeGroup.CRM_READ)
async def list_contacts(ctx: Context, listing: Listing, selection: Selection | None = None) -> PageOf:
    """A page of the contacts."""
    return await page_of(ctx, nouns.CONTACTS, listing, selection)


@requires(ScopeGroup.CRM_READ)
async def deals_of_contact(
    ctx: Context, contact_id: str, listing: Listing, selection: Selection | None = None
) -> PageOf:
    """A page of the deals that the contact is linked to."""
    return await children(ctx, nouns.DEALS_OF_CONTACTS, DealContact.contact_id, contact_id, listing, selection)


@requires(ScopeGroup.MEETINGS_READ)
async def meetings_of_contact(
    ctx: Context, contact_id: str, listing: Listing, selection: Selection | None = None
) -> PageOf:
    """A page of the contact's meetings."""
    return await children(ctx, nouns.MEETINGS, Activity.contact_id, contact_id, listing, selection)


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def create_contact(ctx: Context, input: ContactCreate) -> Contact:
    """Create a contact; the caller becomes its owner."""
    fields = input.given()
    contact = Contact(**fields, owner_id=ctx.caller.subject)
    async with ctx.writing() as session:
        await changes.check_references(session, fields, _REFERENCES)
        session.add(contact)
        await changes.note(ctx, session, "contact_created", created(contact))
    ctx.forget()
    return contact


def created(contact: Contact) -> dict[str, Any]:
    """What the change log says of a new contact."""
    return {
        "contact_id": contact.id,
        "first_name": contact.first_name,
        "last_name": contact.last_name,
        "email": contact.email,
        "account_id": contact.account_id,
        "owner_id": contact.owner_id,
    }


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def update_contact(ctx: Context, contact_id: str, input: ContactUpdate) -> Contact:
    """Change a contact. Raises NotFound, Problems, or PreconditionFailed for a stale version."""
    fields = input.given()
    version = fields.pop("expected_version", None)
    async with ctx.writing() as session:
        contact = await records.to_change(session, Contact, contact_id)
        if contact is None:
            raise NotFound(field=("id",))
        changes.expect(contact, version)
        await changes.check_references(session, fields, _REFERENCES)
        if changed := changes.apply(contact, fields):
            await changes.note(ctx, session, "contact_updated", {"contact_id": contact.id, "changed": changed})
    ctx.forget()
    return contact


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def delete_contact(ctx: Context, contact_id: str) -> str:
    """Delete a contact and its links to deals; deals, meetings and enrollments stay, without it (decision 10)."""
    async with ctx.writing() as session:
        contact = await records.to_change(session, Contact, contact_id)
        if contact is None:
            raise NotFound(field=("id",))
        await records.clear(
            session, Deal.champion_id, Activity.contact_id, Lead.contact_id, Enrollment.contact_id, value=contact.id
        )
        await session.delete(contact)
        await changes.note(ctx, session, "contact_deleted", {"contact_id": contact.id})
    ctx.forget()
    return contact.id
