"""The tools of a chat on the GraphQL surface."""

import strawberry
from strawberry.scalars import JSON

from contract.tools import Effect
from resolvers import chat_tools
from schema.declare import Info, enum, field, operation_field

enum(
    Effect,
    "What calling a tool does.",
    "ChatToolEffect",
    READ="It reads.",
    WRITE="It changes records; in a chat it needs an approval.",
)


@strawberry.type(description="A tool over an operation of the service, as chat and MCP have it.")
class ChatTool:
    name: str = field("Its name.")
    description: str = field("What it is for, in the words that the model reads.")
    input_schema: JSON = field("The JSON Schema of its arguments, cut to what this caller may ask for.")
    effect: Effect = field("What calling it does.")
    operations: list[str] = field("The fields of Query or Mutation that it stands for.")
    documents: JSON = field("The GraphQL documents that it runs, by operation.")


@strawberry.type
class ChatQueries:
    @operation_field(
        chat_tools.list_tools,
        "The tools that a run of this caller may use now: the same list, in the same order, as `tools/list` of the MCP "
        "door.",
    )
    async def chat_tools(self, info: Info) -> list[ChatTool]:
        return await chat_tools.list_tools(info.context)


QUERIES = ChatQueries
