"""Serves the paths of tags, and of tagging records."""

from __future__ import annotations

from asyncio import gather
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Final

from pydantic import Field

from contract.criteria import Condition
from resolvers.tags import (
    TagMerge,
    TagsApply,
    apply_tags,
    create_tag,
    delete_tag,
    list_tags,
    merge_tags,
    update_tag,
    usage_of_tag,
    wanted,
)
from rest_compat.documents import Document
from rest_compat.operations import RestOperation, RestRequest, RestResponse
from rest_compat.parameters import ListParameters
from rest_compat.resources import Resource
from rest_compat.schemas import reference_to
from storage import tables as t

TAG: Final = Document("Tag", t.Tag, "A word that records are sorted by.", ("id", "name", "color", "created_at"))
_LISTED: Final = replace(
    TAG,
    name="ListedTag",
    text="A tag; `usage` is there where it is asked for.",
    asked={"usage": reference_to("TagUsage")},
)
_TAGS: Final = Resource("/tags/{tag_id}", TAG)


class TagQuery(ListParameters):
    """Has the query parameters of GET /tags."""

    query: str | None = Field(default=None, description="Only tags whose name contains this, letter case aside.")
    with_usage: bool = Field(default=False, description="When true, each tag has the number of its records by kind.")

    def conditions(self) -> Iterator[Condition]:
        """Yields the condition on the name."""
        yield wanted(self.query)


async def listing(call: RestRequest) -> RestResponse:
    """Lists the tags by name, with their counts where they are asked for."""
    if call.query.limit == 0:
        return RestResponse([])
    page = await list_tags(call.ctx, call.query.listing())
    shown = TAG.all_of(page.rows)
    if call.query.with_usage:
        counts = await gather(*(usage_of_tag(call.ctx, row.id) for row in page.rows))  # in one statement
        shown = [document | {"usage": asdict(usage)} for document, usage in zip(shown, counts, strict=True)]
    return RestResponse(shown)


async def merge(call: RestRequest) -> RestResponse:
    """Merges other tags into this one; answers with it, and how many records got it."""
    body: TagMerge = call.body
    done = await merge_tags(call.ctx, call.path["tag_id"], body)
    return RestResponse({"tag": TAG.of(done.tag), "moved": done.moved})


async def apply(call: RestRequest) -> RestResponse:
    """Puts tags on records and takes others off."""
    body: TagsApply = call.body
    done = await apply_tags(call.ctx, body)
    return RestResponse([{"id": each.id, "kind": each.kind.value, "tags": list(each.tags)} for each in done])


OPERATIONS: Final = (
    RestOperation(
        "GET",
        "/tags",
        listing,
        "List tags",
        resolver=list_tags,
        query=TagQuery,
        answer=_LISTED,
        many=True,
        graphql_field="Query.tags",
        description="By name. With with_usage=true each has `usage` too.",
        operation_id="tags_listing",
    ),
    replace(
        _TAGS.create(create_tag, description="409 where there is one of the name, letter case aside."), errors=(409,)
    ),
    replace(
        _TAGS.change(update_tag, description="Renames or recolors; every record shows it at once."), errors=(404, 409)
    ),
    _TAGS.delete(delete_tag, description="Takes the tag off every record, too."),
    RestOperation(
        "POST",
        "/tags/{tag_id}/merge",
        merge,
        "Merge tags",
        resolver=merge_tags,
        body=TagMerge,
        answer="MergedTag",
        graphql_field="Mutation.tagMerge",
        description="Puts the tag wherever one of the others was, and deletes those.",
        response_headers=("X-Ignored-Fields",),
        errors=(404,),
    ),
    RestOperation(
        "POST",
        "/records/tags",
        apply,
        "Tag records",
        resolver=apply_tags,
        body=TagsApply,
        answer="TaggedRecord",
        many=True,
        graphql_field="Mutation.tagsApply",
        description="Adds and removes tags, by name, on 1 to 500 records of any kinds, all or none. Campaigns need an "
        "outreach manage scope too.",
        response_headers=("X-Ignored-Fields",),
    ),
)
