"""Describes the paths as OpenAPI 3.1, from the table that serves them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from typing import Final

import orjson
from pydantic.json_schema import models_json_schema

from contract.limits import VERSION
from contract.scopes import ScopeGroup
from resolvers.shared.idempotency import REPLAYED
from resolvers.shared.positions import HEADER as POSITION
from rest_compat import analytics_examples, examples, health
from rest_compat.aggregate_schemas import AGGREGATES, FLOWS
from rest_compat.analytics_results import COLUMN_SCHEMA, RESULT_SCHEMA
from rest_compat.analytics_runs import RUN_SCHEMA
from rest_compat.chat import TOOL_SCHEMA
from rest_compat.chat_documents import APPROVAL_SCHEMA, MESSAGE_SCHEMA, THREAD_SCHEMA
from rest_compat.chat_documents import RUN_SCHEMA as CHAT_RUN_SCHEMA
from rest_compat.chat_usage import USAGE_SCHEMA
from rest_compat.documents import Document
from rest_compat.export_schemas import EXPORTS
from rest_compat.files import MULTIPART, FileForm
from rest_compat.import_schemas import IMPORTS
from rest_compat.integration_schemas import SCHEMAS as INTEGRATION_SCHEMAS
from rest_compat.merge_schemas import MERGES
from rest_compat.openapi_headers import HEADERS, header_refs
from rest_compat.openapi_parameters import SHARED, parameters_of
from rest_compat.openapi_refusals import budget_of, refusal_of, refused_with
from rest_compat.openapi_schemas import cleaned
from rest_compat.operations import HIDDEN, RestOperation
from rest_compat.report_schemas import REPORTS
from rest_compat.routes import OPERATIONS
from rest_compat.schemas import SCHEMAS, JsonObject, Schema, record_schema, reference_to
from rest_compat.uploads import BYTES
from rest_compat.upserts import UPSERTED_SCHEMA

_DESCRIPTION: Final = (
    "The documented paths of a multi-tenant sales CRM. Each request acts in one organization: that of an `ak_` key, or "
    "the one that a `pat_` token or a session names in `X-Service-Org`. Everything here can be asked for through "
    "GraphQL as well: `x-graphql-operation` names the field.\n\n"
    "<details><summary>Scope groups: of the group that an operation needs, a credential holds one scope</summary>\n\n"
    + "\n".join(f"- `{group.name}`: {group.text}" for group in ScopeGroup)
    + "\n\n</details>"
)

_SECURITY: Final = {
    "bearer": {
        "type": "http",
        "scheme": "bearer",
        "description": "An organization API key (`ak_`), a user personal access token (`pat_`), or a session token.",
    }
}
_NOTES: Final = {
    "account_id": "An account of the organization.",
    "stage_id": "A pipeline stage of the organization.",
    "value": "Amount in `currency`, kept to four decimals: more are rounded, half to even, before the range is judged.",
    "currency": "ISO 4217 code, in any letter case.",
    "close_date": "YYYY-MM-DD.",
    "champion_id": "Contact id of the internal champion.",
    "expires_at": "ISO 8601, in the future; without it the credential lasts until it is revoked.",
}
_EVENT: Final = record_schema(
    {
        "id": {"type": "string", "description": "The number of the step."},
        "event": {"type": "string", "description": "What it tells."},
        "data": {"type": "string", "contentMediaType": "application/json", "description": "What it is, as JSON."},
    },
    "One event of the stream.",
)


def openapi_text() -> bytes:
    """Returns the document as it is committed and served: a line for each operation and each type."""
    return _lines(openapi_document(), 3) + b"\n"


def _lines(value: JsonObject, depth: int) -> bytes:
    if depth == 0 or not isinstance(value, dict):
        return orjson.dumps(value)
    members = (orjson.dumps(name) + b":" + _lines(inner, depth - 1) for name, inner in value.items())
    return b"{\n" + b",\n".join(members) + b"\n}"


@cache
def openapi_document() -> JsonObject:
    """Makes the document of the table of operations; the same object each time, to be read only."""
    paths: dict[str, JsonObject] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {"title": "CRM gateway", "version": VERSION, "description": _DESCRIPTION},
        "paths": paths,
        "components": {
            "schemas": {
                **_documents(),
                **SCHEMAS,
                **AGGREGATES,
                **FLOWS,
                **EXPORTS,
                **IMPORTS,
                **MERGES,
                **REPORTS,
                "AnalyticsResult": RESULT_SCHEMA,
                "AnalyticsRun": RUN_SCHEMA,
                **INTEGRATION_SCHEMAS,
                "Upserted": UPSERTED_SCHEMA,
                "ChatApproval": APPROVAL_SCHEMA,
                "ChatMessage": MESSAGE_SCHEMA,
                "ChatRun": CHAT_RUN_SCHEMA,
                "ChatThread": THREAD_SCHEMA,
                "ChatTool": TOOL_SCHEMA,
                "ChatUsageDay": USAGE_SCHEMA,
                "AnalyticsColumn": COLUMN_SCHEMA,
                **_models(),
            },
            "securitySchemes": _SECURITY,
            "parameters": SHARED,
            "headers": {name: _header(text) for name, text in HEADERS.items()},
        },
    }


def _operation(operation: RestOperation) -> JsonObject:
    rule, handler = operation.rule, operation.handler
    told = (operation.description, "" if rule is None else rule.line, _twin(operation))
    described: JsonObject = {
        "operationId": operation.operation_id or f"{handler.__module__.rpartition('.')[2]}_{handler.__name__}",
        "summary": operation.summary,
        "description": "\n\n".join(filter(None, told)),
        "tags": [operation.path.split("/")[1]],
        "x-scope-group": None if rule is None or rule.group is None else rule.group.name,
        "x-graphql-operation": operation.graphql_field,
        "security": [] if rule is None else [{"bearer": []}],
        "parameters": list(parameters_of(operation)),
        "responses": _responses(operation),
    }
    if operation.form is not None:
        described["security"] = [{"bearer": []}, {}]
        described["requestBody"] = _body(operation.form.__name__, "application/x-www-form-urlencoded", required=False)
    if operation.raw is not None:
        content = {"schema": {"type": "string", "pattern": operation.raw.pattern}, "example": operation.raw.example}
        described["requestBody"] = {"required": True, "content": {operation.raw.media_type: content}}
    if operation.reads:
        kinds = {kind: {"schema": _READ[kind], "example": _READ_EXAMPLES[kind]} for kind in operation.reads}
        described["requestBody"] = {"required": MULTIPART in operation.reads, "content": kinds}
    if operation.body is not None:
        described["requestBody"] = _body(
            operation.body.__name__, "application/json", required=operation.body_required, example=operation.example
        )
        if operation.listed is not None:
            media = described["requestBody"]["content"]["application/json"]
            media["schema"] = reference_to(f"{operation.body.__name__}/properties/{operation.listed}")
    return described


def _twin(operation: RestOperation) -> str:
    return "" if operation.graphql_field is None else f"In GraphQL: `{operation.graphql_field}`."


def _body(model: str, media_type: str, *, required: bool, example: Mapping[str, object] | None = None) -> JsonObject:
    content = {"schema": reference_to(model), "example": examples.BODIES[model] if example is None else example}
    return {"required": required, "content": {media_type: content}}


def _responses(operation: RestOperation) -> JsonObject:
    success: JsonObject = {
        "description": HTTPStatus(operation.status).phrase,
        "headers": header_refs(
            "X-Request-Id", *_of_writes(operation), *operation.response_headers, *budget_of(operation)
        ),
    }
    if operation.answer is not None:
        one, schema = _answer(operation.answer)
        content = (
            {"schema": {"type": "array", "items": schema}, "example": [one]}
            if operation.many
            else {"schema": schema, "example": one}
        )
        success["content"] = {"application/json": content}
    if operation.files:
        schema = {"type": "string", "format": "binary"}
        success["content"] = success.get("content", {}) | {
            kind: {"schema": schema, "example": "…"} for kind in operation.files
        }
    for kind in operation.streams:
        stream = {"schema": _EVENT, "example": analytics_examples.EVENT}
        success["content"] = success.get("content", {}) | {kind: stream}
    responses = {str(operation.status): success}
    if operation.accepted is not None:
        content = success.pop("content")
        responses[str(operation.accepted)] = success | {
            "description": HTTPStatus(operation.accepted).phrase,
            "content": {"application/json": content.pop("application/json")},
        }
        success["content"] = content
    if "Range" in operation.request_headers:
        headers = {**success["headers"], **header_refs("Content-Range")}
        responses["206"] = {**success, "description": HTTPStatus(206).phrase, "headers": headers}
    if operation.empty is not None:
        responses[str(operation.empty)] = {
            "description": HTTPStatus(operation.empty).phrase,
            "headers": success["headers"],
        }
    for status in refused_with(operation):
        responses[str(status)] = refusal_of(operation, status)
    return responses


def _answer(answer: str | Document) -> tuple[object, Schema]:
    """Returns the example and the schema of an operation's response."""
    if isinstance(answer, Document):
        return answer.example, reference_to(answer.name)
    example = health.SNAPSHOT.example if answer == "LatestHealth" else examples.ANSWERS[answer]
    return example, reference_to(answer)


def _documents() -> dict[str, Schema]:
    """Returns the schemas of the records' documents, and of those within them."""
    answered = [operation.answer for operation in OPERATIONS if isinstance(operation.answer, Document)]
    records_first = sorted((*answered, health.FACTOR), key=lambda document: document.keys == ("id",))
    return {name: schema for document in records_first for name, schema in document.components.items()}


def _of_writes(operation: RestOperation) -> tuple[str, ...]:
    return (REPLAYED, POSITION) if operation.writes else ()


def _models() -> dict[str, Schema]:
    """Returns the schemas of the request bodies, by the models that check them."""
    models = {m for operation in OPERATIONS for m in (operation.body, operation.form) if m is not None}
    ordered = sorted(models, key=lambda model: model.__name__)
    _, document = models_json_schema(
        [(model, "validation") for model in ordered], ref_template="#/components/schemas/{model}"
    )
    schemas: dict[str, Schema] = cleaned(document["$defs"])
    for schema in schemas.values():
        properties = schema.get("properties", {})
        for name in HIDDEN & set(properties):
            del properties[name]
        for name in _NOTES.keys() & properties.keys():
            properties[name].setdefault("description", _NOTES[name])
    return schemas


def _header(description: str) -> JsonObject:
    return {"description": description, "schema": {"type": "string"}}


_READ: Final = {MULTIPART: cleaned(FileForm.model_json_schema()), BYTES: {"type": "string", "format": "binary"}}
"""The schemas of bodies that handlers read as they come."""
_READ_EXAMPLES: Final = {MULTIPART: {"file": "…"}, BYTES: "…"}
