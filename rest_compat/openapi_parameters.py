"""Describes the parameters of a path's operation: in the path, the query string and the headers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from contract.limits import IDEMPOTENCY_KEY_MAX
from resolvers.shared.idempotency import HEADER
from resolvers.shared.positions import ASKED
from resolvers.shared.positions import HEADER as POSITION
from rest_compat.openapi_headers import REQUEST_HEADERS, REQUIRED, SCHEMAS
from rest_compat.openapi_schemas import cleaned
from rest_compat.operations import RestOperation
from rest_compat.path_examples import path_examples
from rest_compat.schemas import JsonObject

_ORGANIZATION: Final = {
    "name": "X-Service-Org",
    "in": "header",
    "required": False,
    "schema": {"type": "string"},
    "description": "The identity provider's id of the organization to act in. Not accepted with an `ak_` key.",
}
_KEY: Final = {
    "name": HEADER,
    "in": "header",
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": IDEMPOTENCY_KEY_MAX, "pattern": "^[!-~]+$"},
    "description": "A name of the caller's choice for this write, such as a UUID: within 24 hours the same request "
    "under the same key is answered as it was the first time, and nothing is written again. With another body, or "
    "another path, the same key is a 422.",
}
_READ_AFTER: Final = {
    "name": ASKED,
    "in": "header",
    "required": False,
    "schema": {"type": "string", "pattern": "^(none|[0-9]{1,18})$"},
    "description": f"What the answer has to know of at least: the `{POSITION}` of a write. `none` allows an answer "
    "that is a few seconds old. Without it nothing is older than the beginning of the request.",
}
SHARED: Final = {"Organization": _ORGANIZATION, "IdempotencyKey": _KEY, "ReadAfter": _READ_AFTER}
"""The parameters that many operations have."""


def parameters_of(operation: RestOperation) -> Iterable[JsonObject]:
    """Yields the parameters of the operation; each that is required has an example (decision 1071)."""
    known = path_examples()
    for name in operation.path_parameters:
        place, _, _ = operation.path.partition(f"/{{{name}}}")
        yield {"name": name, "in": "path", "required": True, "example": known[place], "schema": {"type": "string"}}
    if operation.query is not None:
        schema = cleaned(operation.query.model_json_schema(by_alias=True))
        for name, described in schema["properties"].items():
            kind = described.pop("anyOf", [{}])[0]  # an absent parameter is what null is elsewhere
            kind = {"$ref": described.pop("$ref")} if "$ref" in described else kind
            kind = _resolved(kind, schema)
            if "items" in kind:  # may be given several times
                kind = {**kind, "items": _resolved(kind["items"], schema)}
            text = described.pop("description")
            needed = name in schema.get("required", ())
            shown = {"example": example} if (example := next(iter(described.pop("examples", ())), None)) else {}
            kind = {**kind, **described}
            yield {"name": name, "in": "query", "required": needed, "description": text, **shown, "schema": kind}
    if operation.rule is not None or operation.form is not None:
        yield {"$ref": "#/components/parameters/Organization"}
    if operation.writes or operation.takes_key:
        yield {"$ref": "#/components/parameters/IdempotencyKey"}
    if operation.follows:
        yield {"$ref": "#/components/parameters/ReadAfter"}
    for name in operation.request_headers:
        shown = {"example": REQUIRED[name]} if name in REQUIRED else {}
        yield {
            "name": name,
            "in": "header",
            "required": name in REQUIRED,
            "description": REQUEST_HEADERS[name],
            **shown,
            "schema": SCHEMAS.get(name, {"type": "string"}),
        }


def _resolved(kind: JsonObject, schema: JsonObject) -> JsonObject:
    return schema["$defs"][kind["$ref"].rpartition("/")[2]] if "$ref" in kind else kind
