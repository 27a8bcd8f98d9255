"""Contacts on the GraphQL surface."""

from datetime import datetime
from enum import Enum
from typing import Annotated, Any

import strawberry
from strawberry import UNSET

from contract.vocabulary import SortDirection
from resolvers import accounts, contacts
from schema.accounts import Account, AccountFilter
from schema.connections import After, Before, Connection, First, Last, Node, Offset, listing
from schema.declare import Info, argument, enum, guarded, linked, operation, shown
from schema.errors import UserError
from schema.execution.selections import selected, selected_nodes
from schema.filters import DateTimeFilter, IDFilter, StringFilter, condition_of, order_of
from schema.inputs import DeletePayload, change, deletion
from schema.links import DealLink, MeetingLink


@strawberry.type(description="A person, at an account or not.")
class Contact(Node):
    first_name: str | None = shown("The given name.")
    last_name: str | None = shown("The family name.")
    email: str | None = shown("The e-mail address.")
    phone: str | None = shown("The phone number.")
    title: str | None = shown("The job title.")
    linkedin: str | None = shown("The LinkedIn profile.")
    account_id: strawberry.ID | None = shown("The account's identifier.")
    owner_id: str | None = shown("The subject of the owning rep.")
    created_at: datetime = shown("When the record was made.")
    updated_at: datetime = shown("When the record last changed.")
    version: int = shown("Grows with each change; see `expectedVersion`.")

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


class ContactOrderField(Enum):
    LAST_NAME = "last_name"
    CREATED_AT = "created_at"
    UPDATED_AT = "updated_at"


enum(
    ContactOrderField,
    "What contacts can be ordered by.",
    LAST_NAME="The family name, by code point; contacts without one come last.",
    CREATED_AT="When the record was made.",
    UPDATED_AT="When the record last changed.",
)


@strawberry.input(description="The order of contacts; createdAt descending, then id, break ties.")
class ContactOrder:
    field: ContactOrderField = shown("What to order by.", default=ContactOrderField.CREATED_AT)
    direction: SortDirection = shown("Which end comes first.", default=SortDirection.DESC)


@strawberry.input(description="Conditions on contacts, all of which must hold.")
class ContactFilter:
    and_: list["ContactFilter"] | None = shown("All of these hold.", name="and", default=UNSET)
    or_: list["ContactFilter"] | None = shown("At least one of these holds.", name="or", default=UNSET)
    not_: "ContactFilter | None" = shown("This does not hold.", name="not", default=UNSET)
    id: IDFilter | None = shown("On the identifier.", default=UNSET)
    first_name: StringFilter | None = shown("On the given name.", default=UNSET)
    last_name: StringFilter | None = shown("On the family name.", default=UNSET)
    email: StringFilter | None = shown("On the e-mail address.", default=UNSET)
    account_id: IDFilter | None = shown("On the account's identifier.", default=UNSET)
    created_at: DateTimeFilter | None = shown("On when the record was made.", default=UNSET)
    account: AccountFilter | None = shown("There is an account, and this holds for it.", default=UNSET)


@strawberry.input(description="A new contact.")
class ContactCreateInput:
    first_name: str | None = shown("The given name.", default=UNSET)
    last_name: str | None = shown("The family name.", default=UNSET)
    email: str | None = shown("The e-mail address.", default=UNSET)
    phone: str | None = shown("The phone number.", default=UNSET)
    title: str | None = shown("The job title.", default=UNSET)
    linkedin: str | None = shown("The LinkedIn profile.", default=UNSET)
    account_id: strawberry.ID | None = shown("The account's identifier.", default=UNSET)


@strawberry.input(description="Changes to a contact; an explicit null clears a field, an omitted one stays.")
class ContactUpdateInput:
    first_name: str | None = shown("The given name.", default=UNSET)
    last_name: str | None = shown("The family name.", default=UNSET)
    email: str | None = shown("The e-mail address.", default=UNSET)
    phone: str | None = shown("The phone number.", default=UNSET)
    title: str | None = shown("The job title.", default=UNSET)
    linkedin: str | None = shown("The LinkedIn profile.", default=UNSET)
    account_id: strawberry.ID | None = shown("The account's identifier.", default=UNSET)
    owner_id: str | None = shown("The subject of the owning rep.", default=UNSET)
    expected_version: int | None = shown("Change only this version of the record.", default=UNSET)


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
