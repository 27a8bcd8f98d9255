"""Accounts on the GraphQL surface."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from contract.bulk_vocabulary import MergeableKind
from contract.vocabulary import TaggedKind
from resolvers import accounts
from resolvers import health as scores
from schema.connections import After, Before, Connection, First, Last, Node, Offset, listing
from schema.declare import Info, argument, field, guarded_field, operation_field
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
from schema.links import (
    ActivityLink,
    ContactLink,
    DealFilterLink,
    DealLink,
    FileLink,
    MeetingFilterLink,
    MeetingLink,
    SnapshotLink,
)
from schema.members import Member, owner_link
from schema.records import record, record_filter, record_input, record_order
from schema.tags import TagsFilter, first_tags, on_tags, tags_field
from storage import tables as t
from storage.columns import CREATE, UPDATE
from storage.rows import AccountRow


@record(t.Account, "A company that the organization sells to.")
class Account(Node):
    tags: list[str] = tags_field(TaggedKind.ACCOUNT)

    owner: Member | None = owner_link()

    @guarded_field(accounts.contacts_of_account, "The people at the account, newest first.", along="contacts")
    async def contacts(
        root: strawberry.Parent[AccountRow], info: Info, first: First = UNSET, after: After = UNSET
    ) -> Connection[ContactLink]:
        question = listing(first=first, after=after)
        return await accounts.contacts_of_account(info.context, root.id, question, selected_nodes(info))

    @guarded_field(accounts.deals_of_account, "The account's deals, newest first.", along="deals")
    async def deals(
        root: strawberry.Parent[AccountRow],
        info: Info,
        filter: Annotated[DealFilterLink | None, argument("Which deals.")] = UNSET,
        first: First = UNSET,
        after: After = UNSET,
    ) -> Connection[DealLink]:
        question = listing(condition_of(filter), first=first, after=after)
        return await accounts.deals_of_account(info.context, root.id, question, selected_nodes(info))

    @guarded_field(
        accounts.meetings_of_account,
        "The account's meetings, latest first, those without a time last.",
        along="meetings",
    )
    async def meetings(
        root: strawberry.Parent[AccountRow],
        info: Info,
        filter: Annotated[MeetingFilterLink | None, argument("Which meetings.")] = UNSET,
        first: First = UNSET,
        after: After = UNSET,
    ) -> Connection[MeetingLink]:
        question = listing(condition_of(filter), first=first, after=after)
        return await accounts.meetings_of_account(info.context, root.id, question, selected_nodes(info))

    @guarded_field(
        scores.latest_health,
        "The most recent snapshot; null when the account has never been scored.",
        along="health",
    )
    async def health(root: strawberry.Parent[AccountRow], info: Info) -> SnapshotLink | None:
        return await scores.latest_health(info.context, root.id, selected(info))

    @guarded_field(scores.health_history, "All snapshots, newest first.")
    async def health_history(
        root: strawberry.Parent[AccountRow], info: Info, first: First = UNSET, after: After = UNSET
    ) -> Connection[SnapshotLink]:
        return await scores.health_history(info.context, root.id, listing(first=first, after=after).page)

    activities: Connection[ActivityLink] = activities_field("account", "on")

    timeline: TimelineLink = timeline_field(
        "account", "The account's feed: its activities and changes, and the stage changes of its deals."
    )

    history: HistoryLink = history_field("account")

    files: Connection[FileLink] = files_field()

    merged_from: list[strawberry.ID] = merged_from_field(MergeableKind.ACCOUNT)


@record_order(t.Account)
class AccountOrder:
    """The order that a list of accounts is asked for in."""


@record_filter(t.Account)
class AccountFilter:
    """Says which accounts."""

    tags: TagsFilter | None = on_tags()


@record_input(t.Account, CREATE, "A new account.")
class AccountCreateInput:
    """Creates an account."""

    tags: list[str] | None = first_tags()


@record_input(t.Account, UPDATE, "Changes to an account; an explicit null clears a field, an omitted one stays.")
class AccountUpdateInput:
    """Changes an account."""


@strawberry.type(description="What became of a change to an account.")
class AccountPayload:
    account: Account | None = field("The account after the change.")
    user_errors: list[UserError] = field("What stood in the way; empty when it worked.")


@strawberry.type(description="What became of a health refresh.")
class AccountHealthPayload:
    snapshot: SnapshotLink | None = field("The new snapshot.")
    user_errors: list[UserError] = field("What stood in the way; empty when it worked.")


AccountId = Annotated[strawberry.ID, argument("The account's identifier.")]


_DEFAULT_ORDER = AccountOrder()


@strawberry.type
class AccountQueries:
    @operation_field(
        accounts.get_account, "One account, by exactly one of the two arguments; null where there is none."
    )
    async def account(
        self,
        info: Info,
        id: Annotated[strawberry.ID | None, argument("The account's identifier.")] = UNSET,
        domain: Annotated[str | None, argument("The account's Internet domain.")] = UNSET,
    ) -> Account | None:
        given = {name: value for name, value in (("account_id", id), ("domain", domain)) if value is not UNSET}
        return await accounts.get_account(info.context, **given, selection=selected(info))

    @operation_field(accounts.list_accounts, "The organization's accounts.")
    async def accounts(
        self,
        info: Info,
        filter: Annotated[AccountFilter | None, argument("Which accounts.")] = UNSET,
        order_by: Annotated[AccountOrder | None, argument("In which order.")] = _DEFAULT_ORDER,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
        offset: Offset = UNSET,
    ) -> Connection[Account]:
        question = listing(
            condition_of(filter), order_of(order_by), first=first, after=after, last=last, before=before, offset=offset
        )
        return await accounts.list_accounts(info.context, question, selected_nodes(info))


@strawberry.type
class AccountMutations:
    @operation_field(accounts.create_account, "Creates an account; the caller becomes its owner.")
    async def account_create(
        self, info: Info, input: Annotated[AccountCreateInput, argument("The account.")]
    ) -> AccountPayload:
        made, problems = await change(info, accounts.create_account, model=accounts.AccountCreate, input=input)
        return AccountPayload(account=made, user_errors=problems)

    @operation_field(accounts.update_account, "Changes an account.")
    async def account_update(
        self, info: Info, id: AccountId, input: Annotated[AccountUpdateInput, argument("The changes.")]
    ) -> AccountPayload:
        changed, problems = await change(info, accounts.update_account, id, model=accounts.AccountUpdate, input=input)
        return AccountPayload(account=changed, user_errors=problems)

    @operation_field(
        accounts.delete_account, "Deletes an account with its health history; what was linked to it stays."
    )
    async def account_delete(self, info: Info, id: AccountId) -> DeletePayload:
        return await deletion(info, accounts.delete_account, id)

    @operation_field(scores.refresh_health, "Computes and stores a new snapshot with its nine factors.")
    async def account_health_refresh(self, info: Info, id: AccountId) -> AccountHealthPayload:
        snapshot, problems = await change(info, scores.refresh_health, id)
        return AccountHealthPayload(snapshot=snapshot, user_errors=problems)


QUERIES, MUTATIONS = AccountQueries, AccountMutations
