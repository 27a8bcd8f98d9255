"""Members and what they own on the GraphQL surface."""

from typing import Annotated, Any

import strawberry
from strawberry import UNSET

from contract.scopes import Role
from contract.vocabulary import MemberState, OwnedKind
from resolvers import members, ownership
from schema.connections import After, Before, Connection, First, Last, Offset, listing
from schema.declare import DeclaredField, Info, argument, enum, field, guarded_field, link_field, operation_field
from schema.errors import UserError
from schema.execution.selections import selected, selected_nodes
from schema.inputs import change, given
from schema.jobs import Job
from schema.records import record
from storage import tables as t
from storage.rows import PersonRow

enum(
    Role,
    "A role of the embedded directory, which gives the scopes.",
    "MemberRole",
    VIEWER="Reads.",
    MEMBER="Reads and writes.",
    ADMIN="Everything.",
)
enum(
    MemberState,
    "Whether somebody may call.",
    ACTIVE="May call.",
    DEACTIVATED="Suspended by an administrator; may come back.",
    LEFT="Belongs to the organization no more; kept so that records can name their owner.",
)
enum(
    OwnedKind,
    "A kind of records that have an owner.",
    ACCOUNT="Accounts.",
    CONTACT="Contacts.",
    DEAL="Deals.",
    LEAD="Leads.",
    ACTIVITY="Activities of every type.",
    REPORT="Reports.",
)


@strawberry.type(description="How many records of each kind somebody owns.")
class OwnedCounts:
    accounts: int = field("Accounts.")
    contacts: int = field("Contacts.")
    deals: int = field("Deals in any state.")
    open_deals: int = field("Of the deals, those that are open.")
    leads: int = field("Leads.")
    activities: int = field("Activities in any state.")
    open_tasks: int = field("Of the activities, tasks that are not done.")


@record(t.Person, "Somebody who belongs to the organization, or did.", hidden=("folded_name", "folded_email"))
class Member:
    id: strawberry.ID = field("The identity provider's subject: the value of every ownerId.")

    @guarded_field(members.scopes_of_member, "The scopes that the member has now; none for who may not call.")
    async def scopes(root: strawberry.Parent[PersonRow], info: Info) -> list[str]:
        return await members.scopes_of_member(info.context, root.id)

    @guarded_field(members.owned_by_member, "How many records the member owns.")
    async def owned(root: strawberry.Parent[PersonRow], info: Info) -> OwnedCounts:
        return await members.owned_by_member(info.context, root.id)


def owner_link() -> DeclaredField:
    """Make the field `owner` of a record with an `owner_id`."""
    return link_field("owner", members.get_member, "The owning member; null where nobody known owns the record.")


@strawberry.input(description="Which members; without a state, those that are ACTIVE or DEACTIVATED.")
class MemberFilter:
    states: list[MemberState] | None = field("In one of these states.", default=UNSET)
    roles: list[Role] | None = field("With one of these roles.", default=UNSET)
    query: str | None = field("Whose name or e-mail address contains the text, letter case aside.", default=UNSET)


@strawberry.input(description="A new member of the embedded directory.")
class MemberAddInput:
    id: strawberry.ID | None = field(
        "The subject that session tokens will carry: 1 to 255 visible characters; made by the service unless given.",
        default=UNSET,
    )
    name: str = field("The name, 1 to 200 characters.")
    email: str = field("The e-mail address.")
    role: Role = field("What the member may do.", default=Role.MEMBER)
    notify: bool = field("Whether a message tells the member.", default=False)


@strawberry.input(description="Records of one owner that become another's.")
class OwnershipTransferInput:
    source: strawberry.ID = field(
        "The present owner: a member, somebody who left, or any subject that records name.", name="from"
    )
    target: strawberry.ID = field("The new owner, an active member.", name="to")
    kinds: list[OwnedKind] | None = field("Kinds of records; all unless told.", default=UNSET)
    open_only: bool = field("Only open deals and tasks that are not done.", default=False)
    dry_run: bool = field("Only count.", default=False)


@strawberry.type(description="What came of a change to a member.")
class MemberPayload:
    member: Member | None = field("The member; null where nothing was done.")
    user_errors: list[UserError] = field("Problems that the client can act on.")


@strawberry.type(description="What came of a removal.")
class MemberRemovePayload:
    member: Member | None = field("The member as it is now; null where nothing was done.")
    job: Job | None = field("The job that hands the records over; null without transferTo.")
    user_errors: list[UserError] = field("Problems that the client can act on.")


@strawberry.type(description="What a transfer moves.")
class OwnershipTransferPayload:
    counts: OwnedCounts | None = field("How many records of each kind it moves.")
    job: Job | None = field("The job that moves them; null for a dry run.")
    user_errors: list[UserError] = field("Problems that the client can act on.")


MemberId = Annotated[strawberry.ID, argument("The member's subject.")]


@strawberry.type
class MemberQueries:
    @operation_field(members.get_member, "A member by subject, those who left included.")
    async def member(self, info: Info, id: MemberId) -> Member | None:
        return await members.get_member(info.context, id, selected(info))

    @operation_field(members.list_members, "Who belongs to the organization, by name and then by id.")
    async def members(
        self,
        info: Info,
        filter: Annotated[MemberFilter | None, argument("Which members.")] = UNSET,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
        offset: Offset = UNSET,
    ) -> Connection[Member]:
        given_names = vars(filter).items() if filter else ()
        asked: dict[str, Any] = {n: given(v) for n, v in given_names if v is not UNSET}  # Any: texts and lists of them
        condition = members.wanted(**asked)
        question = listing(condition, first=first, after=after, last=last, before=before, offset=offset)
        return await members.list_members(info.context, question, selected_nodes(info))


@strawberry.type
class MemberMutations:
    @operation_field(members.add_member, "Embedded directory only; with an external identity provider INVALID_STATE.")
    async def member_add(self, info: Info, input: Annotated[MemberAddInput, argument("The member.")]) -> MemberPayload:
        added, problems = await change(info, members.add_member, model=members.MemberAdd, input=input)
        return MemberPayload(member=added, user_errors=problems)

    @operation_field(
        members.update_member,
        "Changes role, name or e-mail address in the embedded directory. The last administrator cannot lose the role.",
    )
    async def member_update(
        self,
        info: Info,
        id: MemberId,
        role: Annotated[Role | None, argument("Another role.")] = UNSET,
        name: Annotated[str | None, argument("Another name.")] = UNSET,
        email: Annotated[str | None, argument("Another e-mail address.")] = UNSET,
    ) -> MemberPayload:
        named = {"role": role, "name": name, "email": email}
        fields = {n: value for n, value in named.items() if value is not UNSET}
        changed, problems = await change(
            info, members.update_member, id, model=members.MemberUpdate, input=fields, at=()
        )
        return MemberPayload(member=changed, user_errors=problems)

    @operation_field(
        members.deactivate_member,
        "Suspends: sessions and credentials are refused from the next call on, and work again after memberReactivate.",
    )
    async def member_deactivate(self, info: Info, id: MemberId) -> MemberPayload:
        changed, problems = await change(info, members.deactivate_member, id)
        return MemberPayload(member=changed, user_errors=problems)

    @operation_field(members.reactivate_member, "Ends a suspension, with the role of before.")
    async def member_reactivate(self, info: Info, id: MemberId) -> MemberPayload:
        changed, problems = await change(info, members.reactivate_member, id)
        return MemberPayload(member=changed, user_errors=problems)

    @operation_field(
        members.remove_member,
        "Ends the membership and revokes the keys made in the organization; a session token issued before is refused "
        "too.",
    )
    async def member_remove(
        self,
        info: Info,
        id: MemberId,
        transfer_to: Annotated[strawberry.ID | None, argument("The active member who gets the records.")] = UNSET,
    ) -> MemberRemovePayload:
        to = None if transfer_to is UNSET else transfer_to
        done, problems = await change(info, members.remove_member, id, to)
        return MemberRemovePayload(member=done and done.member, job=done and done.job, user_errors=problems)

    @operation_field(
        ownership.transfer_ownership, "Gives records of one owner to another, by a job, a thousand at a time."
    )
    async def ownership_transfer(
        self, info: Info, input: Annotated[OwnershipTransferInput, argument("What is transferred, and to whom.")]
    ) -> OwnershipTransferPayload:
        done, problems = await change(
            info, ownership.transfer_ownership, model=ownership.OwnershipTransfer, input=input
        )
        return OwnershipTransferPayload(counts=done and done.counts, job=done and done.job, user_errors=problems)


QUERIES, MUTATIONS = MemberQueries, MemberMutations
