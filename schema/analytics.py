"""Shows what can be asked, on the GraphQL surface."""

import strawberry

from contract import catalog, catalog_tables
from contract.catalog import ColumnKind
from resolvers import analytics
from schema.analytics_results import AnalyticsColumn
from schema.declare import Info, computed_field, field, operation_field


@strawberry.type(description="A dimension or a measure.")
class AnalyticsField:
    name: str = field("For example close_date.")
    kind: ColumnKind = field("What it holds.")
    is_date: bool = field("Whether it has grains.")

    @computed_field("What it is.", "text")
    def description(root: strawberry.Parent[catalog.Field]) -> str:
        return root.text

    @computed_field("Its values, where they are few and fixed.", "values")
    def values(root: strawberry.Parent[catalog.Field]) -> list[str] | None:
        return None if root.values is None else [value.value for value in root.values]


@strawberry.type(description="A kind of record.")
class AnalyticsEntity:
    name: str = field("For example deals.")

    @computed_field("What it is.", "text")
    def description(root: strawberry.Parent[catalog.Entity]) -> str:
        return root.text

    @computed_field("What it can be grouped and filtered by.", "dimensions")
    def dimensions(root: strawberry.Parent[catalog.Entity]) -> list[AnalyticsField]:
        return list(root.dimensions.values())  # type: ignore[arg-type]  # which the type reads

    @computed_field("What can be counted or added up.", "measures")
    def measures(root: strawberry.Parent[catalog.Entity]) -> list[AnalyticsField]:
        return list(root.measures.values())  # type: ignore[arg-type]  # which the type reads

    @computed_field("Entities that it leads to.", "links")
    def links(root: strawberry.Parent[catalog.Entity]) -> list[str]:
        return list(root.links)


@strawberry.type(description="A table of ad-hoc SQL.")
class AnalyticsTable:
    name: str = field("The name.")

    @computed_field("The columns that may be read.", "shown")
    def columns(root: strawberry.Parent[catalog_tables.SqlTable]) -> list[AnalyticsColumn]:
        return root.shown


@strawberry.type(description="What can be asked.")
class AnalyticsCatalog:
    entities: list[AnalyticsEntity] = field("The kinds of records, for semantic queries.")
    tables: list[AnalyticsTable] = field("The tables of ad-hoc SQL; empty where it is not configured.")
    sql_available: bool = field("Whether ad-hoc SQL is configured.")
    dialect: str = field("The SQL that is spoken: sqlite or postgresql.")
    functions: list[str] = field("Functions that a statement may call.")
    examples: list[str] = field("Questions that are answered, to begin with.")


@strawberry.type
class AnalyticsQueries:
    @operation_field(
        analytics.get_catalog,
        "What the caller may ask about: entities with their dimensions, measures and links, and the tables of ad-hoc "
        "SQL. Narrowed by the caller's other scopes.",
    )
    async def analytics_catalog(self, info: Info) -> AnalyticsCatalog:
        return await analytics.get_catalog(info.context)


QUERIES = AnalyticsQueries
