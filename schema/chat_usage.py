"""Shows what chats asked of models, on the GraphQL surface."""

from collections.abc import Sequence
from datetime import date as Day  # a field is called date
from types import SimpleNamespace
from typing import Annotated

import strawberry
from strawberry import UNSET

from resolvers import chat_usage
from schema.declare import Info, argument, field, operation_field
from storage.tables import ModelUsage


@strawberry.type(description="One day, member and model.")
class ChatUsageDay:
    date: Day = field("The day, in UTC.")
    subject: str = field("The member's subject.")
    provider: str = field("Who answered.")
    model: str | None = field("The model's name; null for the embedded answerer.")
    runs: int = field("Runs that began.")
    input_tokens: int = field("Tokens that the model read.")
    output_tokens: int = field("Tokens that the model wrote.")
    is_estimated: bool = field("Whether the provider did not count, so that the tokens are estimated from the text.")


@strawberry.type
class ChatUsageQueries:
    @operation_field(
        chat_usage.list_usage,
        "What the organization's runs asked of the model, by day, member and model; days are those of UTC. No text of "
        "a chat.",
    )
    async def chat_usage(
        self,
        info: Info,
        from_: Annotated[Day | None, argument("The first day; 30 days ago unless given.", name="from")] = UNSET,
        to: Annotated[Day | None, argument("The last day; today unless given.")] = UNSET,
    ) -> list[ChatUsageDay]:
        return _shown(await chat_usage.list_usage(info.context, from_ or None, to or None))


def _shown(rows: Sequence[ModelUsage]) -> object:
    return [
        SimpleNamespace(
            date=Day.fromisoformat(row.day),
            subject=row.subject,
            provider=row.provider,
            model=row.model or None,
            runs=row.runs,
            input_tokens=row.input_tokens,
            output_tokens=row.output_tokens,
            is_estimated=row.is_estimated,
        )
        for row in rows
    ]


QUERIES = ChatUsageQueries
