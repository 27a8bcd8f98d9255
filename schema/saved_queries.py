"""Saved queries on the GraphQL surface."""

from typing import Annotated, Any

import strawberry
from strawberry import UNSET
from strawberry.scalars import JSON

from contract.canonical_json import JsonObject
from resolvers import saved_queries
from resolvers.saved_queries import Saved, SavedQueryCreate, SavedQueryRun
from resolvers.shared.inputs import parse
from schema.analytics_events import as_input, as_plan
from schema.analytics_results import AnalyticsResult
from schema.connections import After, Connection, First, Node, listing
from schema.declare import Info, argument, clearing, computed_field, field, operation_field
from schema.errors import UserError
from schema.execution.selections import selected_nodes
from schema.inputs import DeletePayload, change, deletion, given
from schema.records import record
from storage import tables as t


@record(
    t.SavedQuery, "A query that was kept.", hidden=("query", "verified_by", "verified_at", "name_key", "question_key")
)
class SavedQuery(Node):
    @computed_field("The semantic query.", "query")
    def query(root: strawberry.Parent[Saved]) -> JSON | None:
        return None if root.query is None else as_input(root.query)


@strawberry.input(description="What is saved: `sql`, or `query`, or `question` with or without `query`.")
class SavedQueryInput:
    name: str = field("1 to 200 characters.")
    description: str | None = field("At most 2,000 characters.", default=UNSET)
    question: str | None = field("1 to 1,000 characters.", default=UNSET)
    query: JSON | None = field("A semantic query in the form of AnalyticsQueryInput.", default=UNSET)
    sql: str | None = field("A statement that the guard lets through.", default=UNSET)


@clearing
@strawberry.input(description="An explicit null clears; what is left out stays.")
class SavedQueryUpdateInput:
    name: str | None = field("1 to 200 characters.", default=UNSET)
    description: str | None = field("At most 2,000 characters.", default=UNSET)
    question: str | None = field("The question.", default=UNSET)
    query: JSON | None = field("The semantic query.", default=UNSET)
    sql: str | None = field("The statement.", default=UNSET)
    expected_version: int | None = field("The version that the caller saw.", default=UNSET)


@strawberry.type(description="The outcome of a change to a saved query.")
class SavedQueryPayload:
    saved_query: SavedQuery | None = field("The saved query.")
    user_errors: list[UserError] = field("What stands in the way.")


SavedQueryId = Annotated[strawberry.ID, argument("The saved query.")]


@strawberry.type
class SavedQueryQueries:
    @operation_field(saved_queries.get_saved_query, "A saved query: the caller's own, or a shared one.")
    async def saved_query(self, info: Info, id: SavedQueryId) -> SavedQuery | None:
        return await saved_queries.get_saved_query(info.context, id)

    @operation_field(
        saved_queries.run_saved_query, "Runs a saved query anew, under the scopes that the caller has now."
    )
    async def saved_query_run(
        self,
        info: Info,
        id: SavedQueryId,
        first: Annotated[int | None, argument("How many rows, 0 to 1,000.")] = 1000,
    ) -> AnalyticsResult:
        return await saved_queries.run_saved_query(info.context, id, parse(SavedQueryRun, {"first": first}))

    @operation_field(
        saved_queries.list_saved_queries, "The caller's own saved queries and those that are shared, by name."
    )
    async def saved_queries(self, info: Info, first: First = UNSET, after: After = UNSET) -> Connection[SavedQuery]:
        question = listing(first=first, after=after)
        return await saved_queries.list_saved_queries(info.context, question, selected_nodes(info))


@strawberry.type
class SavedQueryMutations:
    @operation_field(
        saved_queries.create_saved_query,
        "Saves a question, a semantic query or a statement: exactly one of the three.",
    )
    async def saved_query_create(
        self, info: Info, input: Annotated[SavedQueryInput, argument("What is saved.")]
    ) -> SavedQueryPayload:
        made = await change(info, saved_queries.create_saved_query, model=SavedQueryCreate, input=_read(input))
        return _payload(made)

    @operation_field(
        saved_queries.update_saved_query, "Changes the caller's own saved query. Changed text loses its verification."
    )
    async def saved_query_update(
        self,
        info: Info,
        id: SavedQueryId,
        input: Annotated[SavedQueryUpdateInput, argument("What changes; what is left out stays.")],
    ) -> SavedQueryPayload:
        model = saved_queries.SavedQueryUpdate
        return _payload(await change(info, saved_queries.update_saved_query, id, model=model, input=_read(input)))

    @operation_field(saved_queries.delete_saved_query, "Deletes the caller's own saved query.")
    async def saved_query_delete(self, info: Info, id: SavedQueryId) -> DeletePayload:
        return await deletion(info, saved_queries.delete_saved_query, id)

    @operation_field(
        saved_queries.share_saved_query,
        "Shows the caller's own saved query to the organization, or hides it again.",
    )
    async def saved_query_share(
        self, info: Info, id: SavedQueryId, shared: Annotated[bool, argument("Whether others see it.")]
    ) -> SavedQueryPayload:
        return _payload(await change(info, saved_queries.share_saved_query, id, shared))

    @operation_field(
        saved_queries.verify_saved_query,
        "Marks a shared question with its query as checked: the assistant then answers that question with it, before "
        "anything else.",
    )
    async def saved_query_verify(
        self, info: Info, id: SavedQueryId, verified: Annotated[bool, argument("Whether it is right.")]
    ) -> SavedQueryPayload:
        return _payload(await change(info, saved_queries.verify_saved_query, id, verified))


def _read(input: SavedQueryInput | SavedQueryUpdateInput) -> JsonObject:
    """The input with its semantic query as resolvers have it."""
    fields: Any = given(input)  # Any: JSON
    return {name: as_plan(value) if name == "query" else value for name, value in fields.items()}


def _payload(changed: tuple[Any, list[UserError]]) -> SavedQueryPayload:  # Any: a row stands for its type
    saved, problems = changed
    return SavedQueryPayload(saved_query=saved, user_errors=problems)


QUERIES, MUTATIONS = SavedQueryQueries, SavedQueryMutations
