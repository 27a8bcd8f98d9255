"""Tags on the GraphQL surface."""

from enum import Enum
from typing import Annotated, Any

import strawberry
from strawberry import UNSET

from contract.vocabulary import SortDirection, TaggedKind
from resolvers import tags
from schema.connections import After, Before, Connection, First, Last, Node, Offset, listing
from schema.declare import DeclaredField, Info, argument, enum, field, guarded_field, operation_field
from schema.errors import UserError
from schema.execution.selections import selected_nodes
from schema.filters import Comparator, order_of
from schema.inputs import DeletePayload, change, deletion, given
from schema.records import record
from storage import tables as t
from storage.rows import Row, TagRow

enum(
    TaggedKind,
    "A kind of records that have tags.",
    ACCOUNT="Accounts.",
    CONTACT="Contacts.",
    DEAL="Deals.",
    LEAD="Leads.",
    ACTIVITY="Activities of every type.",
    CAMPAIGN="Campaigns.",
)


def tags_field(kind: TaggedKind) -> DeclaredField:
    """Make the field `tags` of a record of this kind."""

    async def names(root: strawberry.Parent[Row], info: Info) -> list[str]:
        return await tags.names_of(info.context, kind, root.id)  # type: ignore[attr-defined]  # a record's row

    return strawberry.field(resolver=names, description="The names of its tags, in their order.")


@strawberry.input(description="Conditions on the tags of a record, all of which must hold; letter case does not count.")
class TagsFilter(Comparator):
    contains: str | None = field("Has this tag; letter case counts.", default=UNSET)
    any: list[str] | None = field("At least one of these; an empty list matches nothing.", default=UNSET)
    all: list[str] | None = field("Every one of these; an empty list matches everything.", default=UNSET)
    none: list[str] | None = field("Not one of these; an empty list matches everything.", default=UNSET)
    is_empty: bool | None = field("Whether there are no tags at all.", default=UNSET)


def on_tags() -> DeclaredField:
    """Make the field `tags` of a record type's filter."""
    return field("On the tags.", default=UNSET)


def first_tags() -> DeclaredField:
    """Make the field `tags` of the input of a new record."""
    return field("Names of its tags, at most 100; those that there are not are made.", default=UNSET)


@strawberry.type(description="How many records of each kind have a tag.")
class TagUsage:
    accounts: int = field("Accounts.")
    contacts: int = field("Contacts.")
    deals: int = field("Deals.")
    leads: int = field("Leads.")
    activities: int = field("Activities.")
    campaigns: int = field("Campaigns.")
    total: int = field("All of them.")


@record(t.Tag, "A word that records are sorted by. Two names that differ in letter case only are one tag.")
class Tag(Node):
    @guarded_field(tags.usage_of_tag, "How many records have the tag.")
    async def usage(root: strawberry.Parent[TagRow], info: Info) -> TagUsage:
        return await tags.usage_of_tag(info.context, root.id)


class TagOrderField(Enum):
    """The columns by which tags are ordered."""

    NAME = "name"
    USAGE = "uses"
    CREATED_AT = "created_at"


enum(
    TagOrderField,
    "What tags can be ordered by.",
    NAME="By name, by code point.",
    USAGE="By the number of records.",
    CREATED_AT="By createdAt.",
)


@strawberry.input(description="The order of tags.")
class TagOrder:
    field: TagOrderField = strawberry.field(description="What to order by.", default=TagOrderField.NAME)
    direction: SortDirection = strawberry.field(description="Which end comes first.", default=SortDirection.ASC)


@strawberry.input(description="Which tags.")
class TagListFilter:
    query: str | None = field("The name contains the text, letter case aside.", default=UNSET)
    used_on: list[TaggedKind] | None = field(
        "Tags that are on at least one record of one of these kinds.", default=UNSET
    )


@strawberry.input(description="A new tag, or changes to one.")
class TagInput:
    name: str | None = field("The name, 1 to 100 characters; needed for a new tag.", default=UNSET)
    color: str | None = field("A color as #RRGGBB; null for none.", default=UNSET)


@strawberry.type(description="What came of a change to a tag.")
class TagPayload:
    tag: Tag | None = field("The tag; null where nothing was done.")
    user_errors: list[UserError] = field("Problems that the client can act on.")


@strawberry.type(description="What came of a merge of tags.")
class TagMergePayload:
    tag: Tag | None = field("The tag; null where nothing was done.")
    moved: int = field("How many records got the tag.")
    user_errors: list[UserError] = field("Problems that the client can act on.")


@strawberry.type(description="A record and its tags.")
class TaggedRecord:
    id: strawberry.ID = field("The record's identifier.")
    kind: TaggedKind = field("What it is.")
    tags: list[str] = field("Names of tags.")


@strawberry.type(description="What came of a change to the tags of records.")
class TagsApplyPayload:
    records: list[TaggedRecord] = field("The records, in the order of the ids.")
    user_errors: list[UserError] = field("Problems that the client can act on.")


TagId = Annotated[strawberry.ID, argument("The tag's identifier.")]
_DEFAULT_ORDER = TagOrder()


@strawberry.type
class TagQueries:
    @operation_field(tags.list_tags, "The organization's tags.")
    async def tags(
        self,
        info: Info,
        filter: Annotated[TagListFilter | None, argument("Which tags.")] = UNSET,
        order_by: Annotated[TagOrder | None, argument("In which order.")] = _DEFAULT_ORDER,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
        offset: Offset = UNSET,
    ) -> Connection[Tag]:
        named = vars(filter).items() if filter else ()
        asked: dict[str, Any] = {n: given(v) for n, v in named if v is not UNSET}  # Any: a text or kinds
        question = listing(
            tags.wanted(**asked), order_of(order_by), first=first, after=after, last=last, before=before, offset=offset
        )
        return await tags.list_tags(info.context, question, selected_nodes(info))


@strawberry.type
class TagMutations:
    @operation_field(tags.create_tag, "DUPLICATE where there is one of the name.")
    async def tag_create(self, info: Info, input: Annotated[TagInput, argument("The tag.")]) -> TagPayload:
        made, problems = await change(info, tags.create_tag, model=tags.TagCreate, input=input)
        return TagPayload(tag=made, user_errors=problems)

    @operation_field(
        tags.update_tag,
        "Renames or recolors; every record shows it at once. DUPLICATE where the name is another tag's: merge instead.",
    )
    async def tag_update(
        self, info: Info, id: TagId, input: Annotated[TagInput, argument("The changes.")]
    ) -> TagPayload:
        changed, problems = await change(info, tags.update_tag, id, model=tags.TagUpdate, input=input)
        return TagPayload(tag=changed, user_errors=problems)

    @operation_field(tags.merge_tags, "Puts one tag wherever one of the others was and deletes those.")
    async def tag_merge(
        self,
        info: Info,
        from_: Annotated[list[strawberry.ID], argument("The tags that go.", name="from")],
        into: Annotated[strawberry.ID, argument("The tag that stays.")],
    ) -> TagMergePayload:
        given = {"from": from_}
        done, problems = await change(info, tags.merge_tags, into, model=tags.TagMerge, input=given, at=())
        return TagMergePayload(tag=done and done.tag, moved=done.moved if done else 0, user_errors=problems)

    @operation_field(tags.delete_tag, "Takes the tag off every record and deletes it.")
    async def tag_delete(self, info: Info, id: TagId) -> DeletePayload:
        return await deletion(info, tags.delete_tag, id)

    @operation_field(
        tags.apply_tags,
        "Adds and removes tags, by name, on up to 500 records of any kinds, all or none; campaigns need an outreach "
        "manage scope too.",
    )
    async def tags_apply(
        self,
        info: Info,
        ids: Annotated[list[strawberry.ID], argument("The records, 1 to 500.")],
        add: Annotated[list[str] | None, argument("Names of tags; those that there are not are made.")] = UNSET,
        remove: Annotated[list[str] | None, argument("Names of tags.")] = UNSET,
    ) -> TagsApplyPayload:
        named = {"ids": ids, "add": add, "remove": remove}
        input = {name: value for name, value in named.items() if value is not UNSET}
        done, problems = await change(info, tags.apply_tags, model=tags.TagsApply, input=input, at=())
        return TagsApplyPayload(records=done or [], user_errors=problems)


QUERIES, MUTATIONS = TagQueries, TagMutations
