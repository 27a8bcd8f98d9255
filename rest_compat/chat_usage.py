"""Serves what chats asked of models."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from resolvers.chat_usage import list_usage
from resolvers.shared.inputs import CalendarDate, Input
from rest_compat.operations import RestOperation, RestRequest, RestResponse
from rest_compat.schemas import or_null, record_schema

_TEXT: Final = {"type": "string"}
_WHOLE: Final = {"type": "integer", "minimum": 0}
USAGE_SCHEMA: Final = record_schema(
    {
        "date": {"type": "string", "format": "date", "description": "The day, in UTC."},
        "subject": {**_TEXT, "description": "The member."},
        "provider": {**_TEXT, "description": "Who answered."},
        "model": or_null(_TEXT, "Null for the embedded answerer."),
        "runs": {**_WHOLE, "description": "Runs that began."},
        "input_tokens": _WHOLE,
        "output_tokens": _WHOLE,
        "is_estimated": {"type": "boolean", "description": "Whether the provider did not count the tokens."},
    },
    "One day, member and model.",
)


class UsageQuery(Input):
    """Has the query parameters of GET /chat/usage."""

    from_: CalendarDate | None = Field(
        default=None, alias="from", description="The first day; 30 days ago unless given."
    )
    to: CalendarDate | None = Field(default=None, description="The last day; today unless given.")


async def usage(call: RestRequest) -> RestResponse:
    """Lists what the organization's runs asked of models."""
    query: UsageQuery = call.query
    rows = await list_usage(call.ctx, query.from_, query.to)
    return RestResponse(
        [
            {
                "date": row.day,
                "subject": row.subject,
                "provider": row.provider,
                "model": row.model or None,
                "runs": row.runs,
                "input_tokens": row.input_tokens,
                "output_tokens": row.output_tokens,
                "is_estimated": row.is_estimated,
            }
            for row in rows
        ]
    )


OPERATIONS: Final = (
    RestOperation(
        "GET",
        "/chat/usage",
        usage,
        "List what chats asked of models",
        resolver=list_usage,
        query=UsageQuery,
        answer="ChatUsageDay",
        many=True,
        graphql_field="Query.chatUsage",
        description="By day, member and model, the newest day first: counts, and no text.",
    ),
)
