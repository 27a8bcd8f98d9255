"""Semantic queries on the GraphQL surface."""

from __future__ import annotations

from typing import Annotated

import strawberry
from strawberry import UNSET
from strawberry.scalars import JSON

from contract.analytics_queries import Operator
from contract.catalog import DateGrain
from contract.vocabulary import SortDirection
from resolvers import analytics_queries
from resolvers.analytics_inputs import AnalyticsQuery
from resolvers.shared.inputs import parse
from schema import aggregates  # noqa: F401  # which declares the grains
from schema.analytics_results import AnalyticsResult
from schema.declare import Info, argument, enum, field, operation_field
from schema.inputs import given

enum(
    Operator,
    "A comparison.",
    "AnalyticsOperator",
    EQ="Equal.",
    NEQ="Not equal.",
    IN="One of a list.",
    GT="Greater.",
    GTE="Greater or equal.",
    LT="Less.",
    LTE="Less or equal.",
    IS_NULL="No value.",
    IS_NOT_NULL="Some value.",
    EXISTS="A linked record is there.",
    MISSING="No linked record is there.",
)


@strawberry.input(description="One condition.")
class AnalyticsConditionInput:
    field: str = field("A dimension, or a link with `exists` and `missing`.")
    op: Operator = strawberry.field(description="How it is compared.", default=Operator.EQ)
    value: JSON | None = strawberry.field(
        description="What with: a value, or a list for IN; none for the last four.", default=UNSET
    )
    where: list[AnalyticsConditionInput] | None = strawberry.field(
        description="Conditions on the linked records, for EXISTS and MISSING.", default=UNSET
    )


@strawberry.input(description="One order.")
class AnalyticsOrderInput:
    field: str = field("A measure or dimension of the query.")
    direction: SortDirection = strawberry.field(
        description="Which way; null last in either.", default=SortDirection.ASC
    )


@strawberry.input(description="A semantic query: names of the catalogue, values that are bound.")
class AnalyticsQueryInput:
    entity: str = field("The entity.")
    measures: list[str] | None = field("The measures; rows of the entity where none is given.", default_factory=list)
    by: list[str] | None = field("Dimensions to group by, two at most.", default_factory=list)
    grain: DateGrain = field("The width of date dimensions.", default=DateGrain.MONTH)
    where: list[AnalyticsConditionInput] | None = field("Conditions that all hold.", default_factory=list)
    order_by: list[AnalyticsOrderInput] | None = field(
        "The order; by the dimensions unless given.", default_factory=list
    )
    first: int | None = field("How many rows, 0 to 1,000.", default=1000)
    time_zone: str = field("The zone whose days and months moments fall into.", default="UTC")


@strawberry.type
class AnalyticsQueryQueries:
    @operation_field(analytics_queries.run_query, "Runs a semantic query, such as the plan that an answer showed.")
    async def analytics_query(
        self, info: Info, input: Annotated[AnalyticsQueryInput, argument("The query, in the catalogue's names.")]
    ) -> AnalyticsResult:
        query = parse(AnalyticsQuery, given(input), at=("input",))
        return await analytics_queries.run_query(info.context, query)


QUERIES = AnalyticsQueryQueries
