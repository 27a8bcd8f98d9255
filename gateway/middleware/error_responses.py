"""Refusals by what stands before the endpoints, in the shape of the surface that was asked."""

import orjson
from starlette.responses import Response

from contract.errors import GatewayError, Unavailable
from schema.errors import refusal
from transport.errors import error_response

GRAPHQL_PATH = "/graphql"


def refused(error: GatewayError, path: str, request_id: str) -> Response:
    """The answer, as JSON, which clients of every surface read."""
    if path != GRAPHQL_PATH:
        return error_response(error, request_id)
    headers = {"Retry-After": str(error.retry_after)} if isinstance(error, Unavailable) else None
    return Response(orjson.dumps(refusal(error, request_id)), error.status, headers, "application/json; charset=utf-8")
