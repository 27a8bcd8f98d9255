"""Semantic queries that nobody thought of: names of the catalogue, with values that the records have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from contract.catalog import CATALOG, ColumnKind, DateGrain, Entity
from contract.errors import Problems
from resolvers.analytics_inputs import AnalyticsQuery
from resolvers.analytics_queries import answer, prepare
from storage.tenancy.sessions import TenantSession
from tests.support.rules import SCOPES

Known = Mapping[tuple[str, str], Sequence[Any]]
"""The values that a dimension has, by the names of entity and dimension."""
_ZONES = ("UTC", "UTC", "Pacific/Auckland", "America/New_York", "Asia/Kathmandu")
_LARGER = ("gt", "gte", "lt", "lte")


async def known_values(session: TenantSession) -> Known:
    """The values of every dimension."""
    found = {}
    for entity in CATALOG.values():
        for name in entity.dimensions:
            query = AnalyticsQuery.model_validate(
                {"entity": entity.name, "measures": ["count"], "by": [name], "grain": "day"}
            )
            prepared = prepare(query, frozenset(SCOPES))
            rows = (await answer(prepared, session, prepared.statement(session.dialect))).rows
            found[entity.name, name] = [row[0] for row in rows if row[0] is not None]
    return found


def random_query(random: Random, known: Known) -> AnalyticsQuery:
    """A query that can be run."""
    while True:
        entity = random.choice([*CATALOG.values()])
        measures = random.sample([*entity.measures], random.randint(0, min(3, len(entity.measures))))
        by = random.sample([*entity.dimensions], random.randint(0, 2))
        sortable = [*measures, *by] if measures else [*entity.dimensions]
        order = random.sample(sortable, random.randint(0, min(2, len(sortable))))
        query = AnalyticsQuery.model_validate(
            {
                "entity": entity.name,
                "measures": measures,
                "by": by,
                "grain": random.choice([*DateGrain]),
                "time_zone": random.choice(_ZONES),
                "where": [_condition(random, known, entity, 0) for _ in range(random.randint(0, 3))],
                "order_by": [{"field": name, "direction": random.choice(["asc", "desc"])} for name in order],
                "first": random.choice([0, 1, 7, 1000, 1000]),
            }
        )
        try:
            prepare(query, frozenset(SCOPES))
        except Problems:  # such as tags that rows are to have a column of
            continue
        return query


def _condition(random: Random, known: Known, entity: Entity, depth: int) -> dict[str, Any]:
    if entity.links and depth < 2 and random.random() < 0.2:
        link = random.choice([*entity.links])
        there = CATALOG[entity.links[link]]
        inner = [_condition(random, known, there, depth + 1) for _ in range(random.randint(0, 2))]
        return {"field": link, "op": random.choice(["exists", "missing"]), "where": inner}
    name = random.choice([*entity.dimensions])
    dimension, values = entity.dimensions[name], known[entity.name, name]
    roll = random.random()
    if roll < 0.2 or not values:
        return {"field": name, "op": random.choice(["is_null", "is_not_null"])}
    if roll < 0.35:
        return {"field": name, "op": "in", "value": random.choices(values, k=random.randint(1, 4))}
    is_text = dimension.kind is ColumnKind.TEXT
    op = random.choice(("eq", "neq") if is_text else ("eq", "neq", *_LARGER))
    return {"field": name, "op": op, "value": random.choice(values)}
