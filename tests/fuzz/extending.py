"""What schemathesis is told beside the descriptions: the GraphQL scalars, records that exist, and one more check.

Schemathesis loads it itself, as the hooks of schemathesis.toml. CRM_FUZZ_KNOWN is a JSON object: identifiers by the
name of the kind, in GraphQL's spelling.
"""

from __future__ import annotations

import json
import os
from typing import Any

import schemathesis
from hypothesis import strategies as st
from schemathesis.core.failures import AcceptedNegativeData
from schemathesis.graphql import nodes
from schemathesis.graphql.checks import GraphQLClientError, GraphQLServerError

from tests.fuzz.rest_requests import KINDS
from tests.fuzz.values import DATES, MOMENTS, NUMBERS

KNOWN: dict[str, list[str]] = json.loads(os.environ.get("CRM_FUZZ_KNOWN", "{}"))
_IDS = sorted({identifier for ids in KNOWN.values() for identifier in ids})
_ids = st.sampled_from(_IDS) if _IDS else st.uuids().map(str)

schemathesis.graphql.scalar(
    "ID", st.one_of(_ids, _ids, _ids, st.uuids().map(str), st.text(max_size=40)).map(nodes.String)
)
schemathesis.graphql.scalar("Decimal", st.sampled_from(NUMBERS).map(lambda number: nodes.String(str(number))))
schemathesis.graphql.scalar("Date", (st.dates().map(str) | st.sampled_from(DATES)).map(nodes.String))
schemathesis.graphql.scalar(
    "DateTime", (st.datetimes().map(lambda time: f"{time.isoformat()}Z") | st.sampled_from(MOMENTS)).map(nodes.String)
)
schemathesis.graphql.scalar(
    "JSON",
    st.recursive(
        st.text(max_size=10).map(nodes.String)
        | st.integers(-(10**20), 10**20).map(nodes.Int)
        | st.booleans().map(nodes.Boolean)
        | st.none().map(lambda _: nodes.Null),
        lambda inner: st.lists(inner, max_size=3).map(nodes.List),
        max_leaves=4,
    ),
)


@schemathesis.serializer("application/offset+octet-stream")
def bytes_of(context: Any, value: Any) -> bytes:
    """A part of an upload, as it is."""
    del context
    if isinstance(value, bytes):
        return value
    return bytes(getattr(value, "data", b"")) or str(value).encode(errors="replace")


@schemathesis.hook
def flatmap_path_parameters(context: Any, path_parameters: dict[str, Any] | None) -> Any:
    """Two of three requests name a record that exists."""
    if not path_parameters:
        return st.just(path_parameters)
    pools = {name: KNOWN.get(KINDS.get(name, _of_path(context.operation.path)), ()) for name in path_parameters}
    known = st.fixed_dictionaries(
        {n: st.sampled_from(pools[n]) if pools[n] else st.just(v) for n, v in path_parameters.items()}
    )
    return st.one_of(known, known, st.just(path_parameters))


def _of_path(path: str) -> str:
    """The kind of `/organization-pats/{id}` and of `/user-pats/{id}`, and of what `run_id`s are and keys name."""
    return next((kind for part, kind in _PATHS.items() if part in path), "")


_PATHS = {"/organization-pats": "OrganizationKey", "/user-pats": "UserToken", "/media/": "Medium"}


@schemathesis.check
def nothing_internal(ctx: Any, response: Any, case: Any) -> None:
    """No answer of either surface has the code of an error that is masked."""
    del ctx, case
    if b'"INTERNAL"' in response.content or b'"internal"' in response.content:
        raise AssertionError(f"a masked error: {response.content[:500]!r}")


TOO_LARGE = 413
_REFUSALS = frozenset(
    (
        *("VALIDATION", "NOT_FOUND", "BAD_USER_INPUT", "COST_EXCEEDED", "LIMIT_EXCEEDED", "RESPONSE_TOO_LARGE"),
        *("ANALYTICS_REFUSED", "ANALYTICS_FAILED", "INVALID_STATE"),
    )
)


_BEYOND_SCHEMAS = (b'"idempotency_key_reused"', b"must not be before since", b"must not be before from")


@schemathesis.hook
def filter_failure(context: Any, failure: Any, case: Any, response: Any) -> bool:
    """What no schema can say is rightly refused: a key that was used before, a span that ends before it begins, and a
    body too large to be looked at.

    Members who left can still be read, parameters that no description has are ignored, and blanks around a text do not
    count to its length. And a GraphQL answer whose every error is about the request is no failure of the server.
    """
    del context
    if response.status_code == TOO_LARGE or any(words in response.content for words in _BEYOND_SCHEMAS):
        return False
    if type(failure).__name__ == "UseAfterFree" and b'"state":"left"' in response.content:
        return False
    if isinstance(failure, AcceptedNegativeData) and _is_taken(failure.message, case.body):
        return False
    if not isinstance(failure, GraphQLServerError | GraphQLClientError):
        return True
    return not all(map(_is_refusal, response.json()["errors"]))


def _is_taken(why: str, body: object) -> bool:
    if why.endswith("in query - violates `additionalProperties`"):
        return True
    texts = [text for text in body.values() if isinstance(text, str)] if isinstance(body, dict) else []
    return "violates `maxLength` at /properties/" in why and any(text != text.strip() for text in texts)


def _is_refusal(error: dict[str, Any]) -> bool:
    code = error["extensions"]["code"]
    wrong_literal = code == "GRAPHQL_VALIDATION_FAILED" and "field" in error["extensions"]
    return wrong_literal or code in _REFUSALS
