"""Refusals as responses (specification part 7): the 422 list, and one shape for everything else."""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import Final

import orjson
from starlette.exceptions import HTTPException
from starlette.responses import Response

from contract.chat import RunUnfinished
from contract.error_origin import origin_of
from contract.errors import (
    AnalyticsFailed,
    AnalyticsRefused,
    Forbidden,
    GatewayError,
    Gone,
    NotFound,
    Problems,
    Unauthenticated,
)
from contract.http_errors import RangeNotSatisfiable

_log = logging.getLogger(__name__)

_CODES: Final = {s.value: s.name for s in HTTPStatus} | {413: "PAYLOAD_TOO_LARGE", 422: "VALIDATION"}
_PHRASES: Final = {s.value: s.phrase for s in HTTPStatus}


def error_response(error: Exception, request_id: str) -> Response:
    """The response to any exception; one that is not for the client's eyes is masked and leaves one line in the log."""
    if isinstance(error, Problems):
        return _json(422, {"detail": [{"loc": p.path, "msg": p.words(), "type": p.type} for p in error.problems]})
    if isinstance(error, AnalyticsFailed | AnalyticsRefused):
        loc = ("body", *(error.field or ()))
        return _json(422, {"detail": [{"loc": loc, "msg": error.message, "type": error.code.lower()}]})
    if isinstance(error, GatewayError):
        body = _body(error.message, error.code.lower(), request_id)
        if isinstance(error, Forbidden):
            body |= {"required_scopes": error.required_scopes, "granted_scopes": error.granted_scopes}
        elif isinstance(error, RunUnfinished):
            body["run_id"] = error.run_id
        elif isinstance(error, Gone) and error.place:
            body[error.place] = error.location
        return _json(error.status, body, _headers(error))
    if isinstance(error, HTTPException):
        return _json(error.status_code, _of_http(error, request_id), dict(error.headers or {}))
    report(error, request_id)
    return _json(500, _body(GatewayError.message, GatewayError.code.lower(), request_id))


def code_of(error: Exception) -> str:
    """The code that an exception is counted under, one of few."""
    if isinstance(error, GatewayError):
        return error.code
    return code_of_status(error.status_code) if isinstance(error, HTTPException) else GatewayError.code


def code_of_status(status: int) -> str:
    """The same for a refusal of which nothing is known but its status."""
    return _CODES.get(status, f"HTTP_{status}")


def report(error: Exception, request_id: str) -> None:
    """One line in the log for an error that is masked: what and where, and none of its words, which may quote data."""
    _log.error("internal error request_id=%s type=%s at=%s", request_id, type(error).__name__, origin_of(error))


def _body(detail: str, code: str, request_id: str) -> dict[str, object]:
    return {"detail": detail, "code": code, "request_id": request_id}


def _headers(error: GatewayError) -> dict[str, str]:
    if isinstance(error, Unauthenticated):
        return {"WWW-Authenticate": "Bearer"}
    if isinstance(error, RangeNotSatisfiable):
        return {"Content-Range": f"bytes */{error.size}"}
    if isinstance(error, Gone):
        return {"Location": error.location}
    return {} if error.retry_after is None else {"Retry-After": str(error.retry_after)}


def _of_http(error: HTTPException, request_id: str) -> dict[str, object]:
    """The router's own refusals, of which the 404 reads as that of a missing record."""
    if error.status_code == NotFound.status:
        return _body(NotFound.message, NotFound.code.lower(), request_id)
    is_usual = error.detail == _PHRASES.get(error.status_code)
    detail = error.detail.capitalize() if is_usual else error.detail
    return _body(detail, code_of_status(error.status_code).lower(), request_id)


def _json(status: int, body: dict[str, object], headers: dict[str, str] | None = None) -> Response:
    return Response(orjson.dumps(body), status, headers, "application/json")
