"""Makes the operations that record types have in common: list, get, create, change, delete, and an action on one.

The path, the document and the resolver say the rest: the resolver's rule is who may, its `input` is the body, its
`seen` takes the versions of If-Match. Summary and GraphQL field follow from the names of the record type. What an
operation does beyond that is a `RestOperation` of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from inspect import signature
from urllib.parse import quote

from contract.criteria import Selection
from contract.errors import NotFound
from resolvers.shared.inputs import Input
from rest_compat.documents import AnyRow, Document, words_of
from rest_compat.etags import has_seen, versions_in
from rest_compat.operations import Handler, Resolver, RestOperation, RestRequest, RestResponse
from rest_compat.parameters import ListParameters


@dataclass(frozen=True)
class Resource:
    """Makes the operations of one record type. `path` is that of one record, such as `/deals/{deal_id}`.

    The path of the list is all before its last part. A `version` among the document's keys is the record's ETag;
    `has_etags` is False where that is not published. `says_as_before` is False of a record that says something else by
    now though nobody changed it: it is never a 304.
    """

    path: str
    document: Document
    has_etags: bool = True
    says_as_before: Callable[[AnyRow], bool] = lambda _: True

    def listing(
        self,
        resolver: Resolver,
        query: type[ListParameters] | None = None,
        *,
        description: str = "The newest first, then by id.",
    ) -> RestOperation:
        """Returns GET of the list: the page that the query parameters ask for; without parameters all records.

        Of a page only the columns that the document shows are read.
        """
        selection = Selection(frozenset(self.document.columns))

        async def listing(call: RestRequest) -> RestResponse:
            if query is None:
                return RestResponse(self.document.all_of(await resolver(call.ctx)))
            if call.query.limit == 0:
                return RestResponse([])
            page = await resolver(call.ctx, call.query.listing(), selection)
            return RestResponse(await self.document.shown(call.ctx, page.rows))

        plural = _module_of(resolver)
        return replace(
            self._operation("GET", self._collection, "listing", listing, resolver, description),
            summary=f"List {plural.replace('_', ' ')}",
            query=query,
            many=True,
            graphql_field=f"Query.{_camel(plural)}",
            response_headers=(),
            errors=(),
        )

    def detail(self, resolver: Resolver, document: Document | None = None, *, description: str = "") -> RestOperation:
        """Returns GET of one record; 304 where the caller's copy is current. `document` replaces that of the list."""
        shown = document or self.document

        async def detail(call: RestRequest) -> RestResponse:
            record = await resolver(call.ctx, call.path[self._parameter])
            if record is None:
                raise NotFound()
            known = self._etag and has_seen(call.headers.get("if-none-match"), str(record.version))
            if known and self.says_as_before(record):
                return RestResponse(None, self._etag_of(record), status=304)
            [document] = await shown.shown(call.ctx, [record])
            return RestResponse(document, self._etag_of(record))

        return replace(
            self._operation("GET", self.path, "detail", detail, resolver, description),
            summary=f"Get {self._one}",
            answer=shown,
            graphql_field=f"Query.{_camel(self.document.name)}",
            request_headers=("If-None-Match",) if self._etag else (),
            errors=(304, 404) if self._etag else (404,),
        )

    def create(
        self,
        resolver: Resolver,
        body: type[Input] | None = None,
        *,
        dropped: frozenset[str] = frozenset(),
        only_id: bool = False,
        description: str = "",
    ) -> RestOperation:
        """Returns POST to the list: 201 with Location and the record, or its identifier alone.

        `dropped` are fields of the body that are checked and not kept.
        """
        input = _input_of(resolver)
        shown = self.document.identifier if only_id else self.document

        async def create(call: RestRequest) -> RestResponse:
            record = await resolver(call.ctx, _as_input(call.body, input, dropped))
            location = f"{call.root_path}{self._collection}/{quote(record.id, safe='')}"
            [document] = await shown.shown(call.ctx, [record])
            return RestResponse(document, {"Location": location, **({} if only_id else self._etag_of(record))})

        return replace(
            self._operation("POST", self._collection, "create", create, resolver, description),
            status=201,
            body=body or input,
            dropped=dropped,
            example=self.document.body_example(body or input, dropped),
            answer=shown,
            response_headers=("Location", *(() if only_id else self._etag), "X-Ignored-Fields"),
            errors=(),
        )

    def change(
        self,
        resolver: Resolver,
        body: type[Input] | None = None,
        *,
        example: Mapping[str, object] | None = None,
        description: str = "A field that is left out stays, an explicit null clears it.",
    ) -> RestOperation:
        """Returns PATCH of one record; it takes If-Match where the resolver takes `seen`."""
        input = _input_of(resolver)

        async def change(call: RestRequest) -> RestResponse:
            changes = _as_input(call.body, input)
            record = await resolver(call.ctx, call.path[self._parameter], changes, **_seen(call, resolver))
            [document] = await self.document.shown(call.ctx, [record])
            return RestResponse(document, self._etag_of(record))

        return replace(
            self._operation("PATCH", self.path, "change", change, resolver, description),
            body=body or input,
            example=example or self.document.body_example(body or input),
            graphql_field=f"Mutation.{_camel(self.document.name)}Update",
            response_headers=(*self._etag, "X-Ignored-Fields"),
        )

    def delete(self, resolver: Resolver, *, description: str = "") -> RestOperation:
        """Returns DELETE of one record: 204; it takes If-Match where the resolver takes `seen`."""

        async def delete(call: RestRequest) -> RestResponse:
            await resolver(call.ctx, call.path[self._parameter], **_seen(call, resolver))
            return RestResponse()

        made = self._operation("DELETE", self.path, "delete", delete, resolver, description)
        return replace(made, status=204, answer=None, response_headers=())

    def action(self, verb: str, resolver: Resolver, *, description: str = "") -> RestOperation:
        """Returns POST to `<path>/<verb>`, without a body: the record, or 409 where its state does not allow it."""

        async def action(call: RestRequest) -> RestResponse:
            record = await resolver(call.ctx, call.path[self._parameter])
            [document] = await self.document.shown(call.ctx, [record])
            return RestResponse(document, self._etag_of(record))

        made = self._operation("POST", f"{self.path}/{verb}", verb, action, resolver, description)
        return replace(made, errors=(404, 409))

    def _operation(
        self, method: str, path: str, verb: str, handler: Handler, resolver: Resolver, description: str
    ) -> RestOperation:
        """Returns an operation that changes one record and answers with it; each method replaces what is otherwise."""
        takes_versions = _takes_versions(resolver)
        return RestOperation(
            method,
            path,
            handler,
            f"{verb.capitalize()} {self._one}",
            resolver=resolver,
            answer=self.document,
            graphql_field=f"Mutation.{_camel(self.document.name)}{verb.capitalize()}",
            description=description,
            request_headers=("If-Match",) if takes_versions else (),
            response_headers=self._etag,
            errors=(404, 412) if takes_versions else (404,),
            operation_id=f"{_module_of(resolver)}_{verb}",
        )

    @cached_property
    def _collection(self) -> str:
        return self.path.rpartition("/")[0]

    @cached_property
    def _parameter(self) -> str:
        """Returns the name in braces that the path ends with."""
        return self.path.rpartition("/")[2][1:-1]

    @cached_property
    def _one(self) -> str:
        """Returns the record type as words of a sentence, with its article."""
        words = words_of(self.document.name)
        return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"

    @cached_property
    def _etag(self) -> tuple[str, ...]:
        """Returns the names of the headers of a response with the record."""
        return ("ETag",) if self.has_etags and "version" in self.document.keys else ()

    def _etag_of(self, record: AnyRow) -> dict[str, str]:
        return {"ETag": f'"{record.version}"'} if self._etag else {}


def _input_of(resolver: Resolver) -> type[Input]:
    """Returns the model that the resolver takes as its `input`."""
    model: type[Input] = signature(resolver, eval_str=True).parameters["input"].annotation
    return model


def _as_input(body: Input, input: type[Input], dropped: Collection[str] = ()) -> Input:
    """Returns the body as the resolver takes it; its own model has checked the fields already."""
    if isinstance(body, input):
        return body
    return input.model_construct(**{name: value for name, value in body.given().items() if name not in dropped})


def _takes_versions(resolver: Resolver) -> bool:
    return "seen" in signature(resolver).parameters


def _seen(call: RestRequest, resolver: Resolver) -> dict[str, Collection[int] | None]:
    return {"seen": versions_in(call.headers.get("if-match"))} if _takes_versions(resolver) else {}


def _module_of(resolver: Resolver) -> str:
    """Returns the record type's plural: its module has this name in every folder."""
    return resolver.__module__.rpartition(".")[2]


def _camel(name: str) -> str:
    """Returns the name of a module or a type as GraphQL writes it."""
    joined = re.sub(r"_(\w)", lambda found: found[1].upper(), name)
    return joined[0].lower() + joined[1:]
