"""Answers calls of tools without the protocol's library, whose copies cost more than a result (decision 318)."""

from importlib.metadata import version
from typing import Final

import orjson
from starlette.responses import Response

from contract.tool_answers import ToolAnswer, UnknownTool
from gateway.mcp.messages import INVALID_PARAMS, Message, answered, refusal
from resolvers.shared.context import Context, Key
from resolvers.shared.idempotency import REPLAYED
from transport.request_log import RequestLog

SERVER: Final = {"name": "crm-gateway", "title": "CRM gateway", "version": version("crm-gateway")}
"""The server's name, title and version, as it tells them."""
_META: Final = "crm-gateway/"
_SERVER: Final = "io.modelcontextprotocol/serverInfo"


async def answer_call(
    ctx: Context, message: Message, *, key: Key | None, reading: bool, is_modern: bool, record: RequestLog
) -> Response:
    """The response to a call. Raises GatewayError for a caller who may not call so, or not now."""
    params = message.params
    try:
        answer = await ctx.tools.call(ctx, params["name"], params.get("arguments", {}), key=key, reading=reading)
    except UnknownTool as error:
        near = f"; did you mean {error.nearest}?" if error.nearest else ""
        words = f"There is no tool of this name here{near}"
        return _response(refusal(INVALID_PARAMS, words, identifier=message.id), 400 if is_modern else 200)
    record.cost = answer.cost
    record.code = answer.errors[0].code if answer.errors else ""
    text = orjson.dumps(_content(answer), option=orjson.OPT_UTC_Z)
    result: dict[str, object] = {
        "content": [{"type": "text", "text": text.decode()}],
        "structuredContent": orjson.Fragment(text),
        "isError": bool(answer.errors),
    }
    meta = _meta(answer)
    if is_modern:
        meta[_SERVER] = SERVER
        result["resultType"] = "complete"
    response = _response(answered(message.id, result | ({"_meta": meta} if meta else {})))
    if answer.is_replayed:
        response.headers[REPLAYED] = "true"
    return response


def _response(body: bytes, status: int = 200) -> Response:
    return Response(body, status, media_type="application/json")


def _content(answer: ToolAnswer) -> dict[str, object]:
    if answer.errors:
        errors = [{"code": one.code, "message": one.message, "field": one.field} for one in answer.errors]
        return {"operation": answer.operation, "errors": errors, "cost": answer.cost}
    return {
        "operation": answer.operation,
        "data": answer.data,
        "truncated": answer.is_truncated,
        "untrusted": answer.untrusted,
        "cost": answer.cost,
    }


def _meta(answer: ToolAnswer) -> dict[str, object]:
    meta: dict[str, object] = {f"{_META}replayed": True} if answer.is_replayed else {}
    if answer.document:
        meta[f"{_META}twin"] = {"document": answer.document, "variables": answer.variables}
    return meta
