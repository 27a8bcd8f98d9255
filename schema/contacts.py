"""Contacts on the GraphQL surface."""

from typing import Annotated, Any

import strawberry
from strawberry import UNSET

from resolvers import accounts, contacts
from schema.accounts import Account, AccountFilter
from schema.connections import After, Before, Connection, First, Last, Node, Offset, listing
from schema.declare import Info, argument, guarded, linked, operation, shown
from schema.errors import UserError
from schema.execution.selections import selected, selected_nodes
from schema.filters import condition_of, order_of
from schema.inputs import DeletePayload, change, deletion
from schema.links import DealLink, MeetingLink
from schema.records import record, record_filter, record_input, record_order
from storage import tables as t
from storage.columns import CREATE, UPDATE


@record(t.Contact, "A person, at an account or not.")
class Contact(Node):
    account: Account | None = linked("account", accounts.get_account, "The account that the person is at.")

    @guarded(contacts.deals_of_contact, "The deals that the contact is on, newest first.")
    async def deals(
        root: strawberry.Parent[Any], info: Info, first: First = UNSET, after: After = UNSET
    ) -> Connection[DealLink]:
        question = listing(first=first, after=after)
        return await contacts.deals_of_contact(info.context, root.id, question, selected_nodes(info))

    @guarded(contacts.meetings_of_contact, "The contact's meetings, latest first, those without a time last.")
    async def meetings(
        root: strawberry.Parent[Any], info: Info, first: First = UNSET, after: After = UNSET
    ) -> Connection[MeetingLink]:
        question = listing(first=first, after=after)
        return await contacts.meetings_of_contact(info.context, root.id, question, selected_nodes(info))


@record_order(t.Contact)
class ContactOrder:
    """The order that a list of contacts is asked for in."""


@record_filter(t.Contact)
class ContactFilter:
    """Which contacts."""

    account: AccountFilter | None = shown("There is an account, and this holds for it.", default=UNSET)


@record_input(t.Contact, CREATE, "A new contact.")
class ContactCreateInput:
    """Creates a contact."""


@record_input(t.Contact, UPDATE, "Changes to a contact; an explicit null clears a field, an omitted one stays.")
class ContactUpdateInput:
    """Changes a contact."""


@strawberry.type(description="What became of a change to a contact.")
class ContactPayload:
    contact: Contact | None = shown("The contact after the change.")
    user_errors: list[UserError] = shown("What stood in the way; empty when it worked.")


ContactId = Annotated[strawberry.ID, argument("The contact's identifier.")]
_DEFAULT_ORDER = ContactOrder()


@strawberry.type
class ContactQueries:
    @operation(contacts.get_contact, "One contact; null where there is none.")
    async def contact(self, info: Info, id: ContactId) -> Contact | None:
        return await contacts.get_contact(info.context, id, selected(info))

    @operation(contacts.list_contacts, "The organization's contacts.")
    async def contacts(
        self,
        info: Info,
        filter: Annotated[ContactFilter | None, argument("Which contacts.")] = UNSET,
        order_by: Annotated[ContactOrder | None, argument("In which order.")] = _DEFAULT_ORDER,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
        offset: Offset = UNSET,
    ) -> Connection[Contact]:
        question = listing(
            condition_of(filter), order_of(order_by), first=first, after=after, last=last, before=before, offset=offset
        )
        return await contacts.list_contacts(info.context, question, selected_nodes(info))


@strawberry.type
class ContactMutations:
    @operation(contacts.create_contact, "Creates a contact; the caller becomes its owner.")
    async def contact_create(
        self, info: Info, input: Annotated[ContactCreateInput, argument("The contact.")]
    ) -> ContactPayload:
        made, problems = await change(info, contacts.create_contact, model=contacts.ContactCreate, input=input)
        return ContactPayload(contact=made, user_errors=problems)

    @operation(contacts.update_contact, "Changes a contact.")
    async def contact_update(
        self, info: Info, id: ContactId, input: Annotated[ContactUpdateInput, argument("The changes.")]
    ) -> ContactPayload:
        changed, problems = await change(info, contacts.update_contact, id, model=contacts.ContactUpdate, input=input)
        return ContactPayload(contact=changed, user_errors=problems)

    @operation(contacts.delete_contact, "Deletes a contact; deals and meetings stay, without it.")
    async def contact_delete(self, info: Info, id: ContactId) -> DeletePayload:
        return await deletion(info, contacts.delete_contact, id)


QUERIES, MUTATIONS = ContactQueries, ContactMutations
