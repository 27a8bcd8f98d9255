"""Ad-hoc SQL on the GraphQL surface."""

from __future__ import annotations

from typing import Annotated

import strawberry

from resolvers import sql_queries
from resolvers.shared.inputs import parse
from resolvers.sql_queries import SqlQuery
from schema.analytics_results import AnalyticsResult
from schema.declare import Info, argument, operation_field


@strawberry.type
class SqlQueries:
    @operation_field(
        sql_queries.run_sql,
        "Runs one SELECT of the caller's own over the organization's data. A statement that the guard does not let "
        "through is the error ANALYTICS_REFUSED, with the layer and the place.",
    )
    async def sql_query(
        self,
        info: Info,
        sql: Annotated[
            str,
            argument("The statement: at most 8,192 bytes, no comments, names of the catalogue without a schema."),
        ],
        first: Annotated[int | None, argument("How many rows, 0 to 1,000.")] = 1000,
    ) -> AnalyticsResult:
        return await sql_queries.run_sql(info.context, parse(SqlQuery, {"sql": sql, "first": first}))


QUERIES = SqlQueries
