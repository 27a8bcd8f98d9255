"""Contacts: the people, with their deals and meetings."""

from typing import Any

from contract.criteria import Listing, Selection
from contract.scopes import ScopeGroup
from resolvers.access import requires
from resolvers.context import Context
from resolvers.inputs import Input
from resolvers.lists import PageOf, by_id, children, page_of
from resolvers.record_inputs import fields_of
from resolvers.writing import change_record, create_record, delete_record
from storage.columns import CREATE, UPDATE
from storage.queries import nouns
from storage.tables import Activity, Contact, DealContact


@fields_of(Contact, CREATE)
class ContactCreate(Input):
    """A new person."""


@fields_of(Contact, UPDATE)
class ContactUpdate(Input):
    """Changes to a person; null clears a field."""


@requires(ScopeGroup.CRM_READ, finds=(nouns.CONTACTS,))
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
    return await create_record(ctx, Contact, input, created)


def created(contact: Contact) -> dict[str, Any]:
    """Makes the data of the change log's event on a new contact."""
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
    return await change_record(ctx, Contact, contact_id, input)


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def delete_contact(ctx: Context, contact_id: str) -> str:
    """Delete a contact and its links to deals; deals, meetings and enrollments stay, without it (decision 10)."""
    return await delete_record(ctx, Contact, contact_id)
