"""Analytics: what a caller may ask about (docs/analytics.md)."""

from collections.abc import Sequence
from dataclasses import dataclass

from contract.catalog import Entity, catalog_for
from contract.catalog_tables import SQL_FUNCTIONS, SqlTable, sql_tables_for
from contract.scopes import ScopeGroup
from resolvers.questions.reading import examples_for
from resolvers.shared.access import requires
from resolvers.shared.context import Context


@dataclass(frozen=True, slots=True)
class CatalogPart:
    """The part of the catalogue that a caller sees; tables and functions where ad-hoc SQL is set up."""

    entities: Sequence[Entity]
    tables: Sequence[SqlTable]
    functions: Sequence[str]
    sql_available: bool
    dialect: str
    examples: Sequence[str]


@requires(ScopeGroup.DATA_ACCESS)
async def get_catalog(ctx: Context) -> CatalogPart:
    """The part of the catalogue that the caller's scopes leave."""
    scopes, dialect = frozenset(ctx.caller.scopes), ctx.services.database.dialect
    is_there = ctx.sql is not None
    tables = list(sql_tables_for(scopes).values()) if is_there else []
    functions = [*SQL_FUNCTIONS[dialect]] if is_there else []
    entities = catalog_for(scopes)
    return CatalogPart(entities, tables, functions, is_there, dialect, examples_for(entities))
