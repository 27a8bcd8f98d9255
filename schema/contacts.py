"""Contacts on the GraphQL surface."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from contract.bulk_vocabulary import MergeableKind
from contract.vocabulary import TaggedKind
from resolvers import accounts, contacts
from schema.accounts import Account, AccountFilter
from schema.connections import After, Before, Connection, First, Last, Node, Offset, listing
from schema.declare import Info, argument, field, guarded_field, link_field, operation_field
from schema.errors import UserError
from schema.execution.selections import selected, selected_nodes
from schema.feeds import (
    HistoryLink,
    TimelineLink,
    activities_field,
    files_field,
    history_field,
    merged_from_field,
    timeline_field,
)
from schema.filters import condition_of, order_of
from schema.inputs import DeletePayload, change, deletion
from schema.links import ActivityLink, DealLink, FileLink, MeetingLink
from schema.members import Member, owner_link
from schema.records import record, record_filter, record_input, record_order
from schema.tags import TagsFilter, first_tags, on_tags, tags_field
from storage import tables as t
from storage.columns import CREATE, UPDATE
from storage.rows import ContactRow


@record(t.Contact, "A person, at an account or not.")
class Contact(Node):
    tags: list[str] = tags_field(TaggedKind.CONTACT)

    account: Account | None = link_field("account", accounts.get_account, "The account that the person is at.")

    owner: Member | None = owner_link()

    @guarded_field(contacts.deals_of_contact, "The deals that the contact is on, newest first.", along="deals")
    async def deals(
        root: strawberry.Parent[ContactRow], info: Info, first: First = UNSET, after: After = UNSET
    ) -> Connection[DealLink]:
        question = listing(first=first, after=after)
        return await contacts.deals_of_contact(info.context, root.id, question, selected_nodes(info))

    @guarded_field(
        contacts.meetings_of_contact,
        "The contact's meetings, latest first, those without a time last.",
        along="meetings",
    )
    async def meetings(
        root: strawberry.Parent[ContactRow], info: Info, first: First = UNSET, after: After = UNSET
    ) -> Connection[MeetingLink]:
        question = listing(first=first, after=after)
        return await contacts.meetings_of_contact(info.context, root.id, question, selected_nodes(info))

    activities: Connection[ActivityLink] = activities_field("contact", "with")

    timeline: TimelineLink = timeline_field("contact", "The contact's feed.")

    history: HistoryLink = history_field("contact")

    files: Connection[FileLink] = files_field()

    merged_from: list[strawberry.ID] = merged_from_field(MergeableKind.CONTACT)


@record_order(t.Contact)
class ContactOrder:
    """The order that a list of contacts is asked for in."""


@record_filter(t.Contact)
class ContactFilter:
    """Says which contacts."""

    account: AccountFilter | None = field("There is an account, and this holds for it.", default=UNSET)
    tags: TagsFilter | None = on_tags()


@record_input(t.Contact, CREATE, "A new contact.")
class ContactCreateInput:
    """Creates a contact."""

    tags: list[str] | None = first_tags()


@record_input(t.Contact, UPDATE, "Changes to a contact; an explicit null clears a field, an omitted one stays.")
class ContactUpdateInput:
    """Changes a contact."""


@strawberry.type(description="What became of a change to a contact.")
class ContactPayload:
    contact: Contact | None = field("The contact after the change.")
    user_errors: list[UserError] = field("What stood in the way; empty when it worked.")


ContactId = Annotated[strawberry.ID, argument("The contact's identifier.")]
_DEFAULT_ORDER = ContactOrder()


@strawberry.type
class ContactQueries:
    @operation_field(contacts.get_contact, "One contact; null where there is none.")
    async def contact(self, info: Info, id: ContactId) -> Contact | None:
        return await contacts.get_contact(info.context, id, selected(info))

    @operation_field(contacts.list_contacts, "The organization's contacts.")
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
    @operation_field(contacts.create_contact, "Creates a contact; the caller becomes its owner.")
    async def contact_create(
        self, info: Info, input: Annotated[ContactCreateInput, argument("The contact.")]
    ) -> ContactPayload:
        made, problems = await change(info, contacts.create_contact, model=contacts.ContactCreate, input=input)
        return ContactPayload(contact=made, user_errors=problems)

    @operation_field(contacts.update_contact, "Changes a contact.")
    async def contact_update(
        self, info: Info, id: ContactId, input: Annotated[ContactUpdateInput, argument("The changes.")]
    ) -> ContactPayload:
        changed, problems = await change(info, contacts.update_contact, id, model=contacts.ContactUpdate, input=input)
        return ContactPayload(contact=changed, user_errors=problems)

    @operation_field(contacts.delete_contact, "Deletes a contact; deals and meetings stay, without it.")
    async def contact_delete(self, info: Info, id: ContactId) -> DeletePayload:
        return await deletion(info, contacts.delete_contact, id)


QUERIES, MUTATIONS = ContactQueries, ContactMutations
