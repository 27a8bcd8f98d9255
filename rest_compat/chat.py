"""Serves the tools of a chat."""

from __future__ import annotations

from typing import Final

from contract.tools import Effect
from resolvers.chat_tools import list_tools
from rest_compat.operations import RestOperation, RestRequest, RestResponse
from rest_compat.schemas import enumerated, record_schema

_TEXT: Final = {"type": "string"}
TOOL_SCHEMA: Final = record_schema(
    {
        "name": _TEXT,
        "description": {**_TEXT, "description": "What it is for, in the words that a model reads."},
        "input_schema": {
            "type": "object",
            "description": "The JSON Schema of its arguments, cut to what the caller may ask for.",
        },
        "effect": enumerated(Effect),
        "operations": {
            "type": "array",
            "items": _TEXT,
            "description": "The fields of Query or Mutation that it stands for.",
        },
        "documents": {
            "type": "object",
            "additionalProperties": _TEXT,
            "description": "The GraphQL documents that it runs, by operation.",
        },
    },
    "A tool over an operation of the service, as chat and the MCP door have it.",
)


async def tools(call: RestRequest) -> RestResponse:
    """Lists the tools that a run of the caller may use now."""
    return RestResponse(
        [
            {
                "name": tool.name,
                "description": tool.description,
                "input_schema": tool.input_schema,
                "effect": tool.effect.value,
                "operations": tool.operations,
                "documents": tool.documents,
            }
            for tool in await list_tools(call.ctx)
        ]
    )


OPERATIONS: Final = (
    RestOperation(
        "GET",
        "/chat/tools",
        tools,
        "List the tools of a chat",
        resolver=list_tools,
        answer="ChatTool",
        many=True,
        graphql_field="Query.chatTools",
        description="The same list, in the same order, as `tools/list` of the MCP door.",
    ),
)
