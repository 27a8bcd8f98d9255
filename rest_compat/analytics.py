"""Serves GET /analytics/catalog: what the caller may ask about."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Final

from contract.catalog import Field
from resolvers.analytics import get_catalog
from rest_compat.operations import RestOperation, RestRequest, RestResponse
from rest_compat.schemas import JsonObject


async def catalog(call: RestRequest) -> RestResponse:
    """Answers with the part of the catalogue that the caller's scopes leave."""
    found = await get_catalog(call.ctx)
    entities = [
        {
            "name": one.name,
            "description": one.text,
            "dimensions": _shown(one.dimensions.values()),
            "measures": _shown(one.measures.values()),
            "links": list(one.links),
        }
        for one in found.entities
    ]
    tables = [{"name": one.name, "columns": [asdict(column) for column in one.shown]} for one in found.tables]
    return RestResponse(
        {
            "entities": entities,
            "tables": tables,
            "sql_available": found.sql_available,
            "dialect": found.dialect,
            "functions": found.functions,
            "examples": found.examples,
        }
    )


def _shown(fields: Iterable[Field]) -> list[JsonObject]:
    return [
        {
            "name": one.name,
            "description": one.text,
            "kind": one.kind.value,
            "values": None if one.values is None else [value.value for value in one.values],
            "is_date": one.is_date,
        }
        for one in fields
    ]


OPERATIONS: Final = (
    RestOperation(
        "GET",
        "/analytics/catalog",
        catalog,
        "What can be asked",
        resolver=get_catalog,
        answer="AnalyticsCatalog",
        graphql_field="Query.analyticsCatalog",
        description="Kinds of records with their dimensions, measures and links, and the tables of ad-hoc SQL, "
        "narrowed by the caller's other scopes.",
    ),
)
