"""Both surfaces for one member, and what the one says in the words of the other."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import httpx

from tests.support.gateway import Gateway
from tests.support.world import Headers

ENUMS = {"status", "geo_scope", "trend", "key", "provider_sync"}
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
ERRORS = "userErrors { code message field }"


def camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def selection(keys: list[str], *more: str) -> str:
    return " ".join([*(camel(key) for key in keys), *more])


def plain(record: dict[str, Any]) -> dict[str, Any]:
    """A record of a documented path as GraphQL says it: names in camel case, enums upper case, amounts as strings."""
    result = {}
    for key, value in record.items():
        if key in ENUMS or (key == "source" and ("due_at" in record or "lead_id" in record)):
            value = value and value.upper()
        elif key == "value" and "currency" in record:
            value = None if value is None else str(value)
        elif isinstance(value, Decimal):
            value = float(value)
        result[camel(key)] = value
    return result


class Surfaces:
    """Both surfaces for one member."""

    def __init__(self, gateway: Gateway, headers: Headers) -> None:
        self.gateway = gateway
        self.headers = headers

    async def rest(self, method: str, path: str, body: Any = None, **headers: str) -> httpx.Response:
        return await self.gateway.rest(method, path, self.headers | headers, body)

    async def graphql(self, document: str, **variables: Any) -> Any:
        """The only field of an answer without errors."""
        body = (await self.gateway.graphql(document, self.headers, **variables)).json()
        assert "errors" not in body, body
        [value] = body["data"].values()
        return value

    async def change(self, mutation: str, arguments: str, record: str, **variables: Any) -> Any:
        """A mutation's payload without problems: its record."""
        declared, given = arguments.split(" -> ")
        value = await self.graphql(
            f"mutation({declared}) {{ {mutation}({given}) {{ {record} {ERRORS} }} }}", **variables
        )
        assert value.pop("userErrors") == []
        return value
