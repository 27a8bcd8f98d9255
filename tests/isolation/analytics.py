"""The rows of analytics in the tables of all operations and paths, and what their paths answer beside their twins."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from tests.isolation.requests import Case, Rest, q
from tests.isolation.surfaces import Surfaces

_FIELD = "{ name description kind values isDate }"
CATALOG = f"{{ analyticsCatalog {{ entities {{ name description dimensions {_FIELD} measures {_FIELD} links }} }} }}"

CASES: dict[str, Case] = {
    "analytics.get_catalog": Case("DATA_ACCESS", (Rest("GET", "/analytics/catalog"), q(CATALOG))),
}
PATHS: dict[tuple[str, str], tuple[str | None, bool, int, str | None]] = {
    ("GET", "/analytics/catalog"): ("DATA_ACCESS", True, 200, "Query.analyticsCatalog"),
}
KEYS: dict[tuple[str, str], list[str]] = {("/analytics/catalog", "GET"): ["entities"]}


async def _catalog(surfaces: Surfaces) -> None:
    shown = (await surfaces.rest("GET", "/analytics/catalog")).json()["entities"]
    for entity in shown:
        for one in (*entity["dimensions"], *entity["measures"]):
            one["kind"], one["isDate"] = one["kind"].upper(), one.pop("is_date")
    assert {"entities": shown} == await surfaces.graphql(CATALOG)


COMPARED: dict[str, Callable[[Surfaces], Awaitable[None]]] = {"Query.analyticsCatalog": _catalog}
