"""Merges on the GraphQL surface: what one would do, making it, undoing it."""

from typing import Annotated, Any

import strawberry
from strawberry import UNSET
from strawberry.scalars import JSON

from contract.bulk_vocabulary import MergeableKind
from contract.canonical_json import JsonObject
from resolvers import accounts, merge_undoing, merging
from resolvers.merge_fields import MergeInput as Input
from resolvers.merge_fields import names_of
from resolvers.shared.inputs import parse
from schema.adapters.strawberry import to_camel_case
from schema.connections import After, Connection, First, Node, listing
from schema.declare import Info, argument, computed_field, field, guarded_field, operation_field
from schema.errors import UserError, outcome
from schema.execution.selections import selected, selected_nodes
from schema.inputs import change, given
from schema.records import record
from storage import tables as t
from storage.joined_rows import ToldMergeRow


@strawberry.type(description="How many links go over to the record that stays.")
class MergeLinks:
    contacts: int = field("Contacts.")
    deals: int = field("Deals.")
    deal_contacts: int = field("Places on deals.")
    champions: int = field("Deals whose champion it is.")
    activities: int = field("Activities.")
    leads: int = field("Leads.")
    enrollments: int = field("Enrollments in campaigns.")
    files: int = field("Attached files.")
    tags: int = field("Tags.")
    health_snapshots: int = field("Health snapshots; they are kept apart and come back with an undo.")
    collapsed: int = field("Links that both had and that become one.")


@record(t.Merge, "A merge that was made.", hidden=("from_ids", "links", "choice", "moved", "before"))
class Merge(Node):
    @computed_field("The ids of the records that went.", "from_ids")
    def from_ids(root: strawberry.Parent[ToldMergeRow]) -> list[strawberry.ID]:
        return [strawberry.ID(i) for i in root.from_ids]

    @computed_field("How many links go over.", "links")
    def links(root: strawberry.Parent[ToldMergeRow]) -> MergeLinks:
        return MergeLinks(**root.links)

    @guarded_field(accounts.get_account, "The record that stays; null where it was deleted.", "kind", "into_id")
    async def into(root: strawberry.Parent[ToldMergeRow], info: Info) -> Node | None:
        return await merging.record_of(info.context, MergeableKind(root.kind), root.into_id)


@strawberry.input(description="From which record a field is taken.")
class MergeChoiceInput:
    field: str = strawberry.field(description="The name of the field.")
    record_id: strawberry.ID = strawberry.field(description="The record that gives the value.")


@strawberry.input(description="Records that are to become one.")
class MergeInput:
    kind: MergeableKind = field("What it is.")
    into: strawberry.ID = field("The record that stays.")
    from_: list[strawberry.ID] = field("1 to 10 records that go into it.", name="from")
    choose: list[MergeChoiceInput] | None = field(
        "From which record a field is taken, by field name; else the one that stays, and where that is empty the first "
        "that is not.",
        default=UNSET,
    )
    expected_version: int | None = field("The version of `into` that the caller saw.", default=UNSET)


@strawberry.type(description="One field of the merged record.")
class MergeField:
    field_name: str = field("The name of the field.", name="field")
    value: JSON | None = field("The value that it will have.")
    record_id: strawberry.ID | None = field("The record that it comes from.")
    conflicting: bool = field("Whether the records differ in it.")


@strawberry.type(description="What a merge does, computed by the code that does it.")
class MergePreview:
    fields: list[MergeField] = field("The fields of the merged record.")
    links: MergeLinks = field("How many links go over.")
    user_errors: list[UserError] = field("Problems that the client can act on.")


@strawberry.type(description="What came of a merge.")
class MergePayload:
    merge: Merge | None = field("The merge; null where nothing was done.")
    record: Node | None = field("The record that stays.")
    user_errors: list[UserError] = field("Problems that the client can act on.")


@strawberry.type(description="What came of undoing a merge.")
class MergeUndoPayload:
    merge: Merge | None = field("The merge; null where nothing was done.")
    restored: list[Node] = field("The records that are back.")
    kept: list[str] = field("Fields and links that were changed after the merge, and so stay as they are.")
    user_errors: list[UserError] = field("Problems that the client can act on.")


def _read(input: MergeInput) -> JsonObject:
    """The input with the names of fields as rows have them."""
    fields: Any = given(input)  # Any: of each field its own
    fields["from"] = fields.pop("from_")
    called = {to_camel_case(name): name for name in names_of(MergeableKind(fields["kind"]))}
    for choice in fields.get("choose") or ():
        choice["field"] = called.get(choice["field"], choice["field"])
    return dict(fields)


def _field(one: Any) -> MergeField:  # Any: the resolver's own, of the same name
    record_id = None if one.record_id is None else strawberry.ID(one.record_id)
    name = to_camel_case(one.field)
    return MergeField(field_name=name, value=one.value, record_id=record_id, conflicting=one.conflicting)


MergeArgument = Annotated[MergeInput, argument("The records, and which fields are taken from which.")]


@strawberry.type
class MergeQueries:
    @operation_field(merging.preview_merge, "What a merge would do, and nothing done.")
    async def merge_preview(self, info: Info, input: MergeArgument) -> MergePreview:
        async def work() -> merging.MergePreview:
            return await merging.preview_merge(info.context, parse(Input, _read(input), at=("input",)))

        done, problems = await outcome(work())
        if done is None:
            return MergePreview(fields=[], links=MergeLinks(**merging.NO_LINKS), user_errors=problems)
        fields = [_field(one) for one in done.fields]
        return MergePreview(fields=fields, links=MergeLinks(**done.links), user_errors=problems)

    @operation_field(merging.get_merge, "A merge by its id.")
    async def merge(
        self, info: Info, id: Annotated[strawberry.ID, argument("The merge's identifier.")]
    ) -> Merge | None:
        return await merging.get_merge(info.context, id, selected(info))

    @operation_field(merging.list_merges, "Merges, newest first.")
    async def merges(
        self,
        info: Info,
        kind: Annotated[MergeableKind | None, argument("Of which kind; of both unless told.")] = UNSET,
        first: First = UNSET,
        after: After = UNSET,
    ) -> Connection[Merge]:
        page = listing(first=first, after=after).page
        return await merging.list_merges(info.context, None if kind is UNSET else kind, page, selected_nodes(info))


@strawberry.type
class MergeMutations:
    @operation_field(
        merging.merge_records,
        "One transaction, every link kept; ids of the records that went lead to the one that stays.",
    )
    async def records_merge(self, info: Info, input: MergeArgument) -> MergePayload:
        done, problems = await change(info, merging.merge_records, model=Input, input=_read(input))
        return MergePayload(merge=done and done.merge, record=done and done.record, user_errors=problems)

    @operation_field(
        merge_undoing.undo_merge, "Within 30 days; the records come back under their ids with their links."
    )
    async def merge_undo(
        self, info: Info, id: Annotated[strawberry.ID, argument("The merge's identifier.")]
    ) -> MergeUndoPayload:
        done, problems = await change(info, merge_undoing.undo_merge, id)
        if done is None:
            return MergeUndoPayload(merge=None, restored=[], kept=[], user_errors=problems)
        kept = [name if "/" in name else to_camel_case(name) for name in done.kept]
        return MergeUndoPayload(merge=done.merge, restored=list(done.restored), kept=kept, user_errors=problems)


QUERIES, MUTATIONS = MergeQueries, MergeMutations
