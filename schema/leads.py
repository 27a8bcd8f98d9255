"""Leads on the GraphQL surface (specification 4.2)."""

from functools import wraps
from typing import Annotated

import strawberry
from strawberry import UNSET
from strawberry.scalars import JSON

from contract.vocabulary import CaptureSource, LeadStatus
from resolvers import accounts, contacts, deals, lead_conversion, leads
from resolvers.lead_conversion import Converted
from resolvers.shared.context import Context
from schema.accounts import Account
from schema.connections import After, Before, Connection, First, Last, Node, Offset, listing
from schema.contacts import Contact
from schema.deals import Deal
from schema.declare import Info, argument, enum, field, link_field, operation_field
from schema.errors import UserError
from schema.execution.selections import selected, selected_nodes
from schema.feeds import HistoryLink, TimelineLink, activities_field, files_field, history_field, timeline_field
from schema.filters import Comparator, condition_of, order_of
from schema.inputs import change
from schema.links import ActivityLink, FileLink
from schema.members import Member, owner_link
from schema.records import record, record_filter, record_input, record_order
from schema.tags import TagsFilter, on_tags
from storage import tables as t
from storage.columns import UPDATE

enum(
    CaptureSource,
    "How a lead was captured.",
    SCAN_BADGE="The scan of a badge.",
    SCAN_CARD="The scan of a business card.",
    MANUAL="By hand.",
)
enum(
    LeadStatus,
    "Where a lead stands.",
    NEW="Nobody has worked on it.",
    WORKING="Someone works on it.",
    QUALIFIED="It is worth converting.",
    CONVERTED="It became an account, a contact and perhaps a deal; for good.",
    DISQUALIFIED="It came to nothing; it can be reopened.",
)


@record(
    t.Lead,
    "A person met, from a confirmed capture of a card or badge.",
    hidden=("account_id", "contact_id", "deal_id"),  # the links lead there
)
class Lead(Node):
    account: Account | None = link_field("account", accounts.get_account, "The account that it became.")

    contact: Contact | None = link_field("contact", contacts.get_contact, "The contact that it became.")

    deal: Deal | None = link_field("deal", deals.get_deal, "The deal that it became, if it became one.")

    owner: Member | None = owner_link()

    activities: Connection[ActivityLink] = activities_field("lead", "with")

    timeline: TimelineLink = timeline_field("lead", "The lead's feed.")

    history: HistoryLink = history_field("lead")

    files: Connection[FileLink] = files_field()


@record_order(t.Lead)
class LeadOrder:
    """The order that a list of leads is asked for in."""


@strawberry.input(description="Conditions on the state of a lead, all of which must hold.")
class LeadStatusFilter(Comparator):
    eq: LeadStatus | None = field("Is in the state.", default=UNSET)
    neq: LeadStatus | None = field("Is not in the state.", default=UNSET)
    in_: list[LeadStatus] | None = field("Is in one of the states.", name="in", default=UNSET)
    nin: list[LeadStatus] | None = field("Is in none of the states.", default=UNSET)


@strawberry.input(description="Conditions on how a lead was captured, all of which must hold.")
class CaptureSourceFilter(Comparator):
    eq: CaptureSource | None = field("Was captured so.", default=UNSET)
    in_: list[CaptureSource] | None = field("Was captured in one of these ways.", name="in", default=UNSET)


@record_filter(t.Lead)
class LeadFilter:
    """Says which leads."""

    status: LeadStatusFilter | None = field("On where the lead stands.", default=UNSET)
    source: CaptureSourceFilter | None = field("On how it was captured.", default=UNSET)
    tags: TagsFilter | None = on_tags()


@strawberry.input(description="A capture as a rep confirmed it.")
class CardCaptureInput:
    card_id: str | None = field("The card; the same one again is the same lead.", default=UNSET)
    name: str = field("The person's name, 1 to 200 characters.")
    title: str | None = field("The job title.", default=UNSET)
    company: str | None = field("The company's name.", default=UNSET)
    company_domain: str | None = field("The company's domain.", default=UNSET)
    email: str | None = field("The e-mail address.", default=UNSET)
    phone: str | None = field("The phone number.", default=UNSET)
    linkedin: str | None = field("The LinkedIn profile.", default=UNSET)
    notes: str | None = field("Free text.", default=UNSET)
    tags: list[str] | None = field("Tags, each kept once.", default=UNSET)
    capture_payload: JSON | None = field("The raw output, an object of at most 256 KiB as JSON text.", default=UNSET)
    source: CaptureSource | None = field("How it was captured; `MANUAL` for a new lead.", default=UNSET)


@record_input(t.Lead, UPDATE, "Changes to a lead; an explicit null clears a field, an omitted one stays.")
class LeadUpdateInput:
    """Changes a lead."""


@strawberry.input(
    description="Give an existing id to merge into it, or none to create one from the lead. A deal is made only when "
    "dealName is given; dealId names an existing one instead."
)
class LeadConvertInput:
    lead_id: strawberry.ID = field("The lead.")
    account_id: strawberry.ID | None = field("The account to merge into.", default=UNSET)
    contact_id: strawberry.ID | None = field("The contact to merge into.", default=UNSET)
    deal_id: strawberry.ID | None = field("The deal to merge into.", default=UNSET)
    deal_name: str | None = field("The name of a deal to be made.", default=UNSET)


@strawberry.type(description="What became of a change to a lead.")
class LeadPayload:
    lead: Lead | None = field("The lead after the change.")
    user_errors: list[UserError] = field("What stood in the way; empty when it worked.")


@strawberry.type(description="What became of a conversion.")
class LeadConvertPayload:
    lead: Lead | None = field("The converted lead.")
    account: Account | None = field("The account that it became.")
    contact: Contact | None = field("The contact that it became.")
    deal: Deal | None = field("The deal that it became, if it became one.")
    user_errors: list[UserError] = field("What stood in the way; empty when it worked.")


@strawberry.type(description="A record that a lead may be about.")
class ConversionCandidate:
    node: Node = field("The account or contact.")
    reason: str = field("Why, in words.")


@strawberry.type(description="What a lead may be converted into, the strongest candidates first, at most 20 of each.")
class LeadConversionPreview:
    accounts: list[ConversionCandidate] = field("Accounts that may be the lead's company.")
    contacts: list[ConversionCandidate] = field("Contacts that may be the person.")


LeadId = Annotated[strawberry.ID, argument("The lead's identifier.")]
_DEFAULT_ORDER = LeadOrder()


@strawberry.type
class LeadQueries:
    @operation_field(leads.get_lead, "One lead; null where there is none.")
    async def lead(self, info: Info, id: LeadId) -> Lead | None:
        return await leads.get_lead(info.context, id, selected(info))

    @operation_field(leads.list_leads, "The organization's leads.")
    async def leads(
        self,
        info: Info,
        filter: Annotated[LeadFilter | None, argument("Which leads.")] = UNSET,
        order_by: Annotated[LeadOrder | None, argument("In which order.")] = _DEFAULT_ORDER,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
        offset: Offset = UNSET,
    ) -> Connection[Lead]:
        question = listing(
            condition_of(filter), order_of(order_by), first=first, after=after, last=last, before=before, offset=offset
        )
        return await leads.list_leads(info.context, question, selected_nodes(info))

    @operation_field(
        lead_conversion.preview_conversion, "Accounts and contacts that a lead may be converted into, and why."
    )
    async def lead_conversion_preview(self, info: Info, id: LeadId) -> LeadConversionPreview:
        return await lead_conversion.preview_conversion(info.context, id)


@strawberry.type
class LeadMutations:
    @operation_field(
        leads.confirm_capture, "Writes a lead from a confirmed capture; the same cardId again is the same lead."
    )
    async def card_capture_confirm(
        self, info: Info, input: Annotated[CardCaptureInput, argument("The capture.")]
    ) -> LeadPayload:
        lead, problems = await change(info, leads.confirm_capture, model=leads.LeadEntry, input=input)
        return LeadPayload(lead=lead, user_errors=problems)

    @operation_field(leads.update_lead, "Changes a lead.")
    async def lead_update(
        self, info: Info, id: LeadId, input: Annotated[LeadUpdateInput, argument("The changes.")]
    ) -> LeadPayload:
        lead, problems = await change(info, leads.update_lead, id, model=leads.LeadUpdate, input=input)
        return LeadPayload(lead=lead, user_errors=problems)

    @operation_field(leads.disqualify_lead, "Gives a lead up.")
    async def lead_disqualify(self, info: Info, id: LeadId, reason: Annotated[str, argument("Why.")]) -> LeadPayload:
        lead, problems = await change(
            info, leads.disqualify_lead, id, model=leads.Disqualification, input={"reason": reason}, at=()
        )
        return LeadPayload(lead=lead, user_errors=problems)

    @operation_field(leads.reopen_lead, "Takes a disqualified lead up again, as one that is worked on.")
    async def lead_reopen(self, info: Info, id: LeadId) -> LeadPayload:
        lead, problems = await change(info, leads.reopen_lead, id)
        return LeadPayload(lead=lead, user_errors=problems)

    @operation_field(
        lead_conversion.convert_lead,
        "Converts a lead in one transaction, filling only what is empty in existing records; repeating it answers "
        "the first conversion.",
    )
    async def lead_convert(
        self, info: Info, input: Annotated[LeadConvertInput, argument("The lead, and what to convert it into.")]
    ) -> LeadConvertPayload:
        @wraps(lead_conversion.convert_lead)  # whose rule it has
        async def convert(ctx: Context, conversion: lead_conversion.LeadConversion) -> Converted:
            return await lead_conversion.convert_lead(ctx, input.lead_id, conversion, field=("input", "lead_id"))

        model = lead_conversion.LeadConversion
        converted, problems = await change(info, convert, model=model, input=input)
        if converted is None:
            return LeadConvertPayload(lead=None, account=None, contact=None, deal=None, user_errors=problems)
        return LeadConvertPayload(
            lead=converted.lead,
            account=converted.account,
            contact=converted.contact,
            deal=converted.deal,
            user_errors=problems,
        )


QUERIES, MUTATIONS = LeadQueries, LeadMutations
