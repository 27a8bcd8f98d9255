"""Serves the paths of duplicates and merges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Final

from pydantic import Field

from contract.bulk_vocabulary import MergeableKind
from contract.criteria import PageWindow
from contract.errors import NotFound
from resolvers.duplicates import DuplicateGroup, list_duplicates
from resolvers.merge_fields import MergeInput
from resolvers.merge_undoing import Unmerged, undo_merge
from resolvers.merging import Merged, get_merge, merge_records, preview_merge
from resolvers.shared.context import Context
from resolvers.shared.node_lookup import NodeResult
from rest_compat.documents import AnyRow, Document
from rest_compat.operations import RestOperation, RestRequest, RestResponse
from rest_compat.parameters import ListParameters
from rest_compat.record_types import ACCOUNT, CONTACT
from rest_compat.schemas import JsonObject

_DOCUMENTS: Final[Mapping[str, Document]] = {"Account": ACCOUNT, "Contact": CONTACT}


class DuplicateQuery(ListParameters):
    """Has the query parameters of GET /duplicates."""

    kind: MergeableKind = Field(description="Of which kind.", examples=["contact"])


async def duplicates(call: RestRequest) -> RestResponse:
    """Lists groups of records that may be one."""
    query: DuplicateQuery = call.query
    if query.limit == 0:
        return RestResponse([])
    page = await list_duplicates(call.ctx, query.kind, PageWindow(first=query.limit, offset=query.offset))
    records = await _shown(call.ctx, [record for group in page.rows for record in group.records])
    return RestResponse([_group(group, records) for group in page.rows])


def _group(group: DuplicateGroup, records: Mapping[str, JsonObject]) -> JsonObject:
    return {
        "reasons": [reason.value for reason in group.reasons],
        "size": group.size,
        "records": [records[record.record.id] for record in group.records],  # type: ignore[attr-defined]  # a row
    }


async def _shown(ctx: Context, records: Sequence[NodeResult]) -> dict[str, JsonObject]:
    """Returns the documents of records of one kind, by their identifiers."""
    rows: dict[str, AnyRow] = {record.record.id: record.record for record in records}  # type: ignore[attr-defined]
    if not rows:
        return {}
    documents = await _DOCUMENTS[records[0].typename].shown(ctx, list(rows.values()))
    return dict(zip(rows, documents, strict=True))


async def preview(call: RestRequest) -> RestResponse:
    """Says what a merge would do."""
    found = await preview_merge(call.ctx, call.body)
    return RestResponse({"fields": [asdict(field) for field in found.fields], "links": found.links})


async def merge(call: RestRequest) -> RestResponse:
    """Makes one record of several."""
    done: Merged = await merge_records(call.ctx, call.body)
    [record] = (await _shown(call.ctx, [done.record])).values()
    headers = {"Location": f"{call.root_path}/merges/{done.merge.id}"}
    return RestResponse(_document(done.merge) | {"record": record}, headers)


async def detail(call: RestRequest) -> RestResponse:
    """Answers with the merge."""
    found = await get_merge(call.ctx, call.path["merge_id"])
    if found is None:
        raise NotFound()
    return RestResponse(_document(found))


async def undo(call: RestRequest) -> RestResponse:
    """Undoes the merge."""
    done: Unmerged = await undo_merge(call.ctx, call.path["merge_id"])
    restored = await _shown(call.ctx, done.restored)
    return RestResponse(_document(done.merge) | {"restored": list(restored.values()), "kept": list(done.kept)})


_KEYS: Final = (
    *("id", "kind", "into_id", "from_ids", "links", "merged_by", "merged_at", "undo_until"),
    "undone_at",
)


def _document(merge: AnyRow) -> JsonObject:
    return {key: getattr(merge, key) for key in _KEYS}


OPERATIONS: Final = (
    RestOperation(
        "GET",
        "/duplicates",
        duplicates,
        "List duplicates",
        resolver=list_duplicates,
        is_heavy=True,
        query=DuplicateQuery,
        answer="DuplicateGroup",
        many=True,
        graphql_field="Query.duplicates",
        description="Groups of records that may be one, the surest and largest first.",
        operation_id="duplicates_listing",
    ),
    RestOperation(
        "POST",
        "/merges/preview",
        preview,
        "Preview a merge",
        resolver=preview_merge,
        body=MergeInput,
        answer="MergePreview",
        graphql_field="Query.mergePreview",
        description="Says what the merge would do, and does nothing.",
        errors=(409,),
    ),
    RestOperation(
        "POST",
        "/merges",
        merge,
        "Merge records",
        resolver=merge_records,
        status=201,
        body=MergeInput,
        answer="MergeMade",
        graphql_field="Mutation.recordsMerge",
        description="Makes one record of 2 to 11, in one transaction, with every link. Identifiers of those that went "
        "lead to the one that stays.",
        response_headers=("Location",),
    ),
    RestOperation(
        "GET",
        "/merges/{merge_id}",
        detail,
        "Get a merge",
        resolver=get_merge,
        answer="Merge",
        graphql_field="Query.merge",
        errors=(404,),
    ),
    RestOperation(
        "POST",
        "/merges/{merge_id}/undo",
        undo,
        "Undo a merge",
        resolver=undo_merge,
        answer="MergeUndone",
        graphql_field="Mutation.mergeUndo",
        description="Within 30 days: the records come back under their identifiers, with their links. What was changed "
        "after the merge stays as it is, and is named.",
        errors=(404,),
    ),
)
