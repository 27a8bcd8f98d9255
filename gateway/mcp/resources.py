"""The resources of the MCP door: the kinds of records, and each record."""

import re
from typing import Final

import orjson

from contract.tools import KINDS
from resolvers.shared.context import Context

KINDS_URI: Final = "crm://kinds"
TEMPLATE_URI: Final = "crm://{kind}/{id}"
_RECORD: Final = re.compile(rf"crm://({'|'.join(KINDS)})/([0-9A-Fa-f-]{{1,50}})")


async def read_resource(ctx: Context, uri: str) -> tuple[str | None, int]:
    """The JSON of a resource, None where there is none for this caller; and what it cost. Raises GatewayError."""
    if uri == KINDS_URI:
        return await _kinds(ctx)
    found = _RECORD.fullmatch(uri)
    if found is None:
        return None, 0
    answer = await ctx.tools.call(ctx, "get_record", {"kind": found[1], "id": found[2]})
    return None if answer.errors else orjson.dumps(answer.data, option=orjson.OPT_UTC_Z).decode(), answer.cost


async def _kinds(ctx: Context) -> tuple[str, int]:
    """The kinds that the caller may read, and the stages where the caller may read these."""
    offered = {told.name for told in ctx.tools.offered(ctx)}
    stages: list[object] = []
    cost = 0
    if "describe" in offered:
        answer = await ctx.tools.call(ctx, "describe", {})
        stages, cost = answer.data["pipelineStages"] if not answer.errors else [], answer.cost
    return orjson.dumps({"kinds": ctx.tools.kinds(ctx), "stages": stages}).decode(), cost
