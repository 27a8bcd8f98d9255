"""The full-text search on the GraphQL surface."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from contract.vocabulary import SearchType
from resolvers import search as service
from schema.connections import Node
from schema.declare import Info, argument, computed_field, enum, field, operation_field
from schema.execution.selections import selected, selected_by_type
from schema.filters import camel

PASSAGE = "passage"
"""The columns that the two fields of a hit need that say where the words are: the texts have to be read for it."""

enum(
    SearchType,
    "The kinds of records that a search finds.",
    ACCOUNT="Accounts.",
    CONTACT="Contacts.",
    DEAL="Deals.",
    LEAD="Leads.",
    MEETING="Meetings.",
    TASK="Tasks; found only where types names them.",
    NOTE="Notes; found only where types names them.",
    CALL="Calls; found only where types names them.",
    EMAIL="E-mail messages; found only where types names them.",
    FILE="Files by name; found only where types names them.",
)


@strawberry.type(description="A record that has every word of the query.")
class SearchHit:
    node: Node = field("The record.")
    type: SearchType = field("Its kind.")

    @computed_field("The field with the most of the words, such as `name` or `metadata.transcript`.", PASSAGE)
    def matched_field(root: strawberry.Parent[service.Hit]) -> str:
        return ".".join(camel(tuple(root.passage.field.split("."))))

    @computed_field("A short passage of that field around a word, as plain text.", PASSAGE)
    def snippet(root: strawberry.Parent[service.Hit]) -> str:
        return root.passage.text


@strawberry.type
class SearchQueries:
    @operation_field(
        service.search,
        "Full-text search across accounts, contacts, deals, leads and meetings. Letter case and accents do not count; "
        "each word of the query must begin a word of the record. Records with all of them in the name come first.",
    )
    async def search(
        self,
        info: Info,
        query: Annotated[str, argument("One to eight words, at most 200 characters; nothing in it is syntax.")],
        types: Annotated[
            list[SearchType] | None, argument("Which kinds of records; the first five unless told.")
        ] = UNSET,
        first: Annotated[int | None, argument("At most this many hits, at most 100.")] = 20,
    ) -> list[SearchHit]:
        return await service.search(
            info.context,
            query,
            selected_by_type(info, "node"),
            None if types is UNSET else types,
            first,
            with_passages=PASSAGE in selected(info).columns,
        )


QUERIES = SearchQueries
