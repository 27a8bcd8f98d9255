"""Answers the browser that a provider sends back after a consent; outside of the table, since no client calls it."""

from __future__ import annotations

import html
import uuid
from typing import Final
from urllib.parse import urlencode

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from contract.errors import BadRequest
from resolvers.integration_callback import WRONG, Returned, take_back
from resolvers.shared.context import Services
from transport.errors import code_of, error_response

PATH: Final = "/integrations/callback/{provider}"
_HEADERS: Final = {"Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
_PAGE: Final = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><h1>{title}</h1><p>{words}</p>{code}'
)
_ONCE: Final = ("state", "code", "error")


def callback_route(services: Services) -> Route:
    """The route that a consent leads back to."""

    async def answer(request: Request) -> Response:
        request_id = str(getattr(request.state, "request_id", "") or uuid.uuid4())
        try:
            asked = {name: request.query_params.getlist(name) for name in _ONCE}
            if any(len(values) > 1 for values in asked.values()):
                raise BadRequest(WRONG)
            state, code, error = (values[0] if values else None for values in asked.values())
            provider = request.path_params["provider"]
            returned = await take_back(services, provider, state or "", code, error, request_id)
        except Exception as error:
            record = getattr(request.state, "record", None)
            if record is not None:
                record.code = code_of(error)
            response = error_response(error, request_id)
            response.headers.update(_HEADERS)
            return response
        return _answered(request, returned)

    return Route(PATH, answer, methods=["GET"])


def _answered(request: Request, returned: Returned) -> Response:
    told = {"integration_id": returned.integration_id}
    told |= {"error": returned.error} if returned.error else {"completion_code": returned.completion_code or ""}
    if returned.return_to is not None:
        return Response(status_code=303, headers={**_HEADERS, "Location": f"{returned.return_to}#{urlencode(told)}"})
    if "application/json" in request.headers.get("accept", ""):
        return Response(orjson.dumps(told), headers=_HEADERS, media_type="application/json")
    if returned.error:
        title, words, code = "Nothing was connected", f"The provider answered: {returned.error}.", ""
    else:
        title = "One step is left"
        words = f"Complete connection {returned.integration_id} with this code, where you began it, within ten minutes."
        code = f"<pre>{html.escape(returned.completion_code or '')}</pre>"
    page = _PAGE.format(title=title, words=html.escape(words), code=code)
    return Response(page, headers=_HEADERS, media_type="text/html; charset=utf-8")
