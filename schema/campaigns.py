"""Campaigns on the GraphQL surface (specification 4.7, 4.8)."""

from collections.abc import Awaitable, Callable
from typing import Annotated

import strawberry
from strawberry import UNSET

from contract.outreach_vocabulary import CampaignStatus, ProviderSync
from contract.vocabulary import TaggedKind
from resolvers import campaigns, enrollments
from resolvers.outreach_inputs import CampaignCreate, CampaignUpdate
from schema.connections import After, Before, Connection, First, Last, Node, Offset, listing
from schema.declare import Info, argument, clearing, computed_field, enum, field, guarded_field, operation_field
from schema.enrollments import Enrollment
from schema.errors import UserError
from schema.execution.selections import selected, selected_nodes
from schema.feeds import HistoryLink, history_field
from schema.filters import Comparator, condition_of, order_of
from schema.inputs import change
from schema.mailboxes import Mailbox
from schema.records import record, record_filter, record_order
from schema.tags import TagsFilter, on_tags, tags_field
from storage import tables as t
from storage.rows import CampaignRow

enum(
    CampaignStatus,
    "Where a campaign stands.",
    DRAFT="It was never launched.",
    ACTIVE="It runs.",
    PAUSED="It was stopped, and can be resumed.",
    BLOCKED="The provider keeps it from running; `statusReason` says why.",
    COMPLETED="It is done with all recipients.",
    ARCHIVED="It was put away.",
)
enum(
    ProviderSync,
    "Whether the sequencing provider knows what the campaign is now.",
    SYNCED="It does, or there is nothing that it should know.",
    PENDING="It is being told.",
    FAILED="It could not be told.",
)


@strawberry.type(description="A message of a campaign.")
class CampaignStep:
    delay_days: int = field("Days after the message before it, or after the start.")
    subject: str = field("The subject; `{{name}}` stands for a variable of the recipient.")
    body: str = field("The text; `{{name}}` stands for a variable of the recipient.")


@record(t.Campaign, "A sequence of messages to enrolled recipients.", hidden=("steps", "revision"))
class Campaign(Node):
    tags: list[str] = tags_field(TaggedKind.CAMPAIGN)

    history: HistoryLink = history_field("campaign")

    @computed_field("The messages, in the order they are sent.", "steps")
    def steps(root: strawberry.Parent[CampaignRow]) -> list[CampaignStep]:
        return campaigns.steps_of(root)

    @guarded_field(campaigns.mailboxes_of_campaign, "The mailboxes that it is sent from, by address.")
    async def mailboxes(root: strawberry.Parent[CampaignRow], info: Info) -> list[Mailbox]:
        return await campaigns.mailboxes_of_campaign(info.context, root.id)

    @guarded_field(enrollments.enrollments_of_campaign, "Its recipients, in the order they were enrolled.")
    async def enrollments(
        root: strawberry.Parent[CampaignRow], info: Info, first: First = UNSET, after: After = UNSET
    ) -> Connection[Enrollment]:
        question = listing(first=first, after=after)
        return await enrollments.enrollments_of_campaign(info.context, root.id, question, selected_nodes(info))


@record_order(t.Campaign)
class CampaignOrder:
    """The order that a list of campaigns is asked for in."""


@strawberry.input(description="Conditions on the status, all of which must hold.")
class CampaignStatusFilter(Comparator):
    eq: CampaignStatus | None = field("Is the value.", default=UNSET)
    neq: CampaignStatus | None = field("Is another than the value.", default=UNSET)
    in_: list[CampaignStatus] | None = field("Is one of these.", name="in", default=UNSET)
    nin: list[CampaignStatus] | None = field("Is none of these.", default=UNSET)


@record_filter(t.Campaign)
class CampaignFilter:
    """Says which campaigns."""

    status: CampaignStatusFilter | None = field("On where it stands.", default=UNSET)
    tags: TagsFilter | None = on_tags()


@strawberry.input(description="A message of a campaign.")
class CampaignStepInput:
    delay_days: int = field("Days after the message before it, or after the start; not negative.", default=0)
    subject: str = field("The subject, not blank.")
    body: str = field("The text, not blank.")


_STEPS = "The messages, in the order they are to be sent."
_LIMIT = "How many messages are sent a day at most, from 1 to 10,000."
_ZONE = "The time zone of its days, by its IANA name."
_STOP = "Whether a recipient who answers gets no further messages."
_MAILBOXES = "The identifiers of the mailboxes that it is sent from."


@strawberry.input(description="A new campaign, a draft.")
class CampaignCreateInput:
    name: str = field("The campaign's name, not blank, of at most 200 characters.")
    steps: list[CampaignStepInput] | None = field(_STEPS, default=UNSET)
    daily_limit: int | None = field(_LIMIT, default=50)
    timezone: str | None = field(_ZONE, default="UTC")
    stop_on_reply: bool | None = field(_STOP, default=True)
    mailbox_ids: list[strawberry.ID] | None = field(_MAILBOXES, default=UNSET)


@clearing
@strawberry.input(description="Changes to a campaign; an omitted field stays, null empties steps and mailboxes.")
class CampaignUpdateInput:
    name: str | None = field("The campaign's name, not blank, of at most 200 characters.", default=UNSET)
    steps: list[CampaignStepInput] | None = field(_STEPS, default=UNSET)
    daily_limit: int | None = field(_LIMIT, default=UNSET)
    timezone: str | None = field(_ZONE, default=UNSET)
    stop_on_reply: bool | None = field(_STOP, default=UNSET)
    mailbox_ids: list[strawberry.ID] | None = field(_MAILBOXES, default=UNSET)
    expected_version: int | None = field("Change only this version of the record.", default=UNSET)


@strawberry.type(description="What became of a change to a campaign.")
class CampaignPayload:
    campaign: Campaign | None = field("The campaign after the change.")
    user_errors: list[UserError] = field("What stood in the way; empty when it worked.")


@strawberry.type(description="What became of the deletion of a campaign.")
class CampaignDeletePayload:
    deleted_id: strawberry.ID | None = field("The identifier of what is gone.")
    deleted_enrollment_count: int = field("How many enrollments went along.")
    provider_outcome: str | None = field(
        "What became of the sequence at the provider: removed, already_gone, not_created or cleanup_queued."
    )
    user_errors: list[UserError] = field("What stood in the way; empty when it worked.")


CampaignId = Annotated[strawberry.ID, argument("The campaign's identifier.")]
_DEFAULT_ORDER = CampaignOrder()


async def _acted(info: Info, resolver: Callable[..., Awaitable[object]], identifier: str) -> CampaignPayload:
    campaign, problems = await change(info, resolver, identifier)
    return CampaignPayload(campaign=campaign, user_errors=problems)


@strawberry.type
class CampaignQueries:
    @operation_field(campaigns.get_campaign, "One campaign; null where there is none.")
    async def campaign(self, info: Info, id: CampaignId) -> Campaign | None:
        return await campaigns.get_campaign(info.context, id, selected(info))

    @operation_field(campaigns.list_campaigns, "The organization's campaigns.")
    async def campaigns(
        self,
        info: Info,
        filter: Annotated[CampaignFilter | None, argument("Which campaigns.")] = UNSET,
        order_by: Annotated[CampaignOrder | None, argument("In which order.")] = _DEFAULT_ORDER,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
        offset: Offset = UNSET,
    ) -> Connection[Campaign]:
        question = listing(
            condition_of(filter), order_of(order_by), first=first, after=after, last=last, before=before, offset=offset
        )
        return await campaigns.list_campaigns(info.context, question, selected_nodes(info))


@strawberry.type
class CampaignMutations:
    @operation_field(campaigns.create_campaign, "Creates a campaign as a draft, which sends nothing.")
    async def campaign_create(
        self, info: Info, input: Annotated[CampaignCreateInput, argument("The campaign.")]
    ) -> CampaignPayload:
        made, problems = await change(info, campaigns.create_campaign, model=CampaignCreate, input=input)
        return CampaignPayload(campaign=made, user_errors=problems)

    @operation_field(campaigns.update_campaign, "Changes a campaign that is neither completed nor archived.")
    async def campaign_update(
        self, info: Info, id: CampaignId, input: Annotated[CampaignUpdateInput, argument("The changes.")]
    ) -> CampaignPayload:
        changed, problems = await change(info, campaigns.update_campaign, id, model=CampaignUpdate, input=input)
        return CampaignPayload(campaign=changed, user_errors=problems)

    @operation_field(
        campaigns.launch_campaign,
        "Starts a draft that has steps, an active mailbox and enrollments. One that is active stays as it is.",
    )
    async def campaign_launch(self, info: Info, id: CampaignId) -> CampaignPayload:
        return await _acted(info, campaigns.launch_campaign, id)

    @operation_field(
        campaigns.pause_campaign,
        "Stops an active or blocked campaign at once; `providerSync` shows whether the provider knows. One that is "
        "paused stays as it is.",
    )
    async def campaign_pause(self, info: Info, id: CampaignId) -> CampaignPayload:
        return await _acted(info, campaigns.pause_campaign, id)

    @operation_field(
        campaigns.resume_campaign,
        "Goes on with a paused campaign, or with a blocked one if the provider says that the block is gone. One that "
        "is active stays as it is.",
    )
    async def campaign_resume(self, info: Info, id: CampaignId) -> CampaignPayload:
        return await _acted(info, campaigns.resume_campaign, id)

    @operation_field(campaigns.archive_campaign, "Puts a campaign away that does not run.")
    async def campaign_archive(self, info: Info, id: CampaignId) -> CampaignPayload:
        return await _acted(info, campaigns.archive_campaign, id)

    @operation_field(
        campaigns.delete_campaign,
        "Deletes a campaign: the sequence at the provider first, then the record with its enrollments. A provider that "
        "cannot be reached blocks nothing; what it is left with is removed later.",
    )
    async def campaign_delete(self, info: Info, id: CampaignId) -> CampaignDeletePayload:
        done, problems = await change(info, campaigns.delete_campaign, id)
        return CampaignDeletePayload(
            deleted_id=strawberry.ID(done.deleted_id) if done else None,
            deleted_enrollment_count=done.deleted_enrollment_count if done else 0,
            provider_outcome=done.provider_outcome if done else None,
            user_errors=problems,
        )


QUERIES, MUTATIONS = CampaignQueries, CampaignMutations
