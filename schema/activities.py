"""Activities of every type on the GraphQL surface: the interface, the list of them, and what removes one."""

from collections.abc import Sequence
from typing import Annotated, ClassVar

import strawberry
from strawberry import UNSET

from contract.criteria import Compare, Condition, Op
from contract.vocabulary import ActivityDirection, ActivitySource, ActivityType, TaggedKind, TaskState
from resolvers import accounts, activities, contacts, deals, leads
from schema.accounts import Account, AccountFilter
from schema.connections import After, Before, Connection, First, Last, Offset, listing, named_by_its_rows
from schema.contacts import Contact
from schema.deals import Deal, DealFilter
from schema.declare import Info, argument, computed_field, enum, field, link_field, operation_field
from schema.execution.selections import selected, selected_nodes
from schema.feeds import files_field
from schema.filters import Comparator, condition_of, order_of
from schema.inputs import DeletePayload, deletion
from schema.leads import Lead
from schema.links import FileLink
from schema.members import Member, owner_link
from schema.records import record, record_filter, record_order
from schema.tags import TagsFilter, on_tags, tags_field
from storage import tables as t
from storage.rows import ActivityRow
from storage.tables.activities import SHARED

enum(
    ActivitySource,
    "Where an activity came from.",
    MANUAL="Logged by hand.",
    IMPORT="Imported from a file.",
    CALENDAR="Synchronised from a calendar.",
    GMAIL="Synchronised from Gmail.",
    OUTLOOK="Synchronised from Outlook.",
    SLACK="Synchronised from Slack.",
    ZOOM="Synchronised from Zoom.",
)
enum(
    ActivityType,
    "What an activity is.",
    MEETING="A meeting.",
    TASK="Something to be done.",
    NOTE="A text.",
    CALL="A telephone call.",
    EMAIL="An e-mail message.",
)
enum(
    ActivityDirection,
    "Who addressed whom.",
    INBOUND="From the other side to the organization.",
    OUTBOUND="From the organization to the other side.",
)
enum(
    TaskState,
    "What a task's times say about it now.",
    OPEN="Not done, and not late.",
    OVERDUE="Not done, and due before now.",
    DONE="Done.",
)


@record(t.Activity, "Something that was done or is to be done for a record.", only=SHARED, is_interface=True)
@named_by_its_rows
class Activity:
    id: strawberry.ID = field("The record's identifier.")

    @computed_field("What it is.", "type")
    def kind(root: strawberry.Parent[ActivityRow]) -> ActivityType:
        return ActivityType(root.type)

    account: Account | None = link_field("account", accounts.get_account, "The linked account.")

    deal: Deal | None = link_field("deal", deals.get_deal, "The linked deal.")

    contact: Contact | None = link_field("contact", contacts.get_contact, "The linked contact.")

    lead: Lead | None = link_field("lead", leads.get_lead, "The linked lead.")

    owner: Member | None = owner_link()

    tags: list[str] = tags_field(TaggedKind.ACTIVITY)

    files: Connection[FileLink] = files_field()


@record_order(
    t.Activity,
    by="occurred_at",
    plural="activities",
    description="Activities without the time come last in either direction; createdAt descending, then id, break ties.",
)
class ActivityOrder:
    """The order that a list of activities is asked for in."""


@strawberry.input(description="Conditions on the source, all of which must hold.")
class ActivitySourceFilter(Comparator):
    eq: ActivitySource | None = field("Is the value.", default=UNSET)
    neq: ActivitySource | None = field("Is another than the value.", default=UNSET)
    in_: list[ActivitySource] | None = field("Is one of these.", name="in", default=UNSET)
    nin: list[ActivitySource] | None = field("Is none of these.", default=UNSET)


def _of_types(kinds: Sequence[ActivityType]) -> Condition:
    """One type is compared with itself, which an index in the list's order has."""
    values = tuple([kind.value for kind in kinds])
    return Compare("type", Op.EQ, values[0]) if len(values) == 1 else Compare("type", Op.IN, values)


@record_filter(t.Activity, plural="activities")
class ActivityFilter:
    """Says which activities; a link's filter holds for the linked record."""

    conditions: ClassVar = {
        "types": _of_types,
        "task_states": activities.in_states,
        "direction": lambda direction: Compare("direction", Op.EQ, direction.value),
    }

    types: list[ActivityType] | None = field("Of one of these types; all unless told.", default=UNSET)
    source: ActivitySourceFilter | None = field("On where it came from.", default=UNSET)
    task_states: list[TaskState] | None = field(
        "Tasks in one of these states; anything that is no task does not match.", default=UNSET
    )
    direction: ActivityDirection | None = field("On who addressed whom.", default=UNSET)
    account: AccountFilter | None = field("There is an account, and this holds for it.", default=UNSET)
    deal: DealFilter | None = field("There is a deal, and this holds for it.", default=UNSET)
    tags: TagsFilter | None = on_tags()


ActivityId = Annotated[strawberry.ID, argument("The activity's identifier.")]
ActivityFilterArgument = Annotated[ActivityFilter | None, argument("Which activities.")]
_DEFAULT_ORDER = ActivityOrder()


@strawberry.type
class ActivityQueries:
    @operation_field(activities.get_activity, "An activity of any type; null where there is none.")
    async def activity(self, info: Info, id: ActivityId) -> Activity | None:
        return await activities.get_activity(info.context, id, selected(info, "type"))

    @operation_field(activities.list_activities, "Activities of every type in one list.")
    async def activities(
        self,
        info: Info,
        filter: ActivityFilterArgument = UNSET,
        order_by: Annotated[ActivityOrder | None, argument("In which order.")] = _DEFAULT_ORDER,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
        offset: Offset = UNSET,
    ) -> Connection[Activity]:
        question = listing(
            condition_of(filter), order_of(order_by), first=first, after=after, last=last, before=before, offset=offset
        )
        return await activities.list_activities(info.context, question, selected_nodes(info, "type"))


@strawberry.type
class ActivityMutations:
    @operation_field(activities.delete_activity, "Deletes an activity of any type.")
    async def activity_delete(self, info: Info, id: ActivityId) -> DeletePayload:
        return await deletion(info, activities.delete_activity, id)


QUERIES, MUTATIONS = ActivityQueries, ActivityMutations
