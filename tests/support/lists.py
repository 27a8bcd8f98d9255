"""A connection of the GraphQL surface, asked as a client does, and the order that it must have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.support.tenants import Tenant

_ARGUMENTS = {"first": "Int", "after": "String", "last": "Int", "before": "String", "offset": "Int"}


@dataclass
class Listing:
    """A root list, such as `deals` of `Deal`, over rows that have labels."""

    tenant: Tenant
    field: str
    kind: str
    rows: Mapping[str, Any]

    @property
    def query(self) -> str:
        types = {"filter": f"{self.kind}Filter", "orderBy": f"{self.kind}Order", **_ARGUMENTS}
        declared = ", ".join(f"${name}: {kind}" for name, kind in types.items())
        given = ", ".join(f"{name}: ${name}" for name in types)
        return (
            f"query({declared}) {{ {self.field}({given}) {{ edges {{ cursor node {{ id }} }} nodes {{ id }} "
            "pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } }"
        )

    async def page(self, **variables: Any) -> Page:
        """One page; `edges`, `nodes` and `pageInfo` agree with each other."""
        found = await self.tenant.ask(self.query, **variables)
        edges = found["edges"]
        assert [edge["node"] for edge in edges] == found["nodes"]
        info = found["pageInfo"]
        cursors = [edge["cursor"] for edge in edges]
        assert info["startCursor"] == (cursors[0] if cursors else None)
        assert info["endCursor"] == (cursors[-1] if cursors else None)
        labels = {row.id: label for label, row in self.rows.items()}
        return Page(
            [labels[node["id"]] for node in found["nodes"]], cursors, info["hasPreviousPage"], info["hasNextPage"]
        )

    async def matching(self, filter: Any) -> str:
        """The labels of the rows that meet the filter, sorted and joined; `totalCount` counts the same."""
        query = f"query($filter: {self.kind}Filter) {{ {self.field}(filter: $filter) {{ nodes {{ id }} totalCount }} }}"
        found = await self.tenant.ask(query, filter=filter)
        labels = {row.id: label for label, row in self.rows.items()}
        assert found["totalCount"] == len(found["nodes"])
        return "".join(sorted(labels[node["id"]] for node in found["nodes"]))

    async def error(self, **variables: Any) -> dict[str, Any]:
        """The only error of an answer."""
        return await self.tenant.error(self.query, **variables)

    def ordered(self, attribute: str, direction: str) -> list[str]:
        """The labels by the attribute, nulls last, ties by the newest and then by the id."""
        labels = sorted(self.rows, key=lambda label: self.rows[label].id)
        labels.sort(key=lambda label: self.rows[label].created_at, reverse=True)
        have = [label for label in labels if getattr(self.rows[label], attribute) is not None]
        lack = [label for label in labels if getattr(self.rows[label], attribute) is None]
        return sorted(have, key=lambda label: getattr(self.rows[label], attribute), reverse=direction == "DESC") + lack

    async def check_order(self, field: str, direction: str) -> None:
        """The list is in order, and a walk in pages of any size, from either end, gives it without gap or repeat."""
        order = {"field": field, "direction": direction}
        expected = self.ordered(field.lower(), direction)
        whole = await self.page(orderBy=order)
        assert whole.labels == expected
        assert (whole.has_previous, whole.has_next) == (False, False)
        for size in range(1, len(expected) + 1):
            forward = [page async for page in self._walk(order, size, "first", "after")]
            assert [label for page in forward for label in page.labels] == expected
            backward = [page async for page in self._walk(order, size, "last", "before")]
            assert [label for page in reversed(backward) for label in page.labels] == expected
            for pages in (forward, backward[::-1]):
                assert [page.has_next for page in pages] == [True] * (len(pages) - 1) + [False]
                assert [page.has_previous for page in pages] == [False] + [True] * (len(pages) - 1)
                assert [c for page in pages for c in page.cursors] == whole.cursors

    async def _walk(self, order: Any, size: int, count: str, mark: str) -> Any:
        page = await self.page(orderBy=order, **{count: size})
        yield page
        while page.has_next if mark == "after" else page.has_previous:
            cursor = page.cursors[-1 if mark == "after" else 0]
            page = await self.page(orderBy=order, **{count: size, mark: cursor})
            yield page


@dataclass
class Page:
    """What one request gave."""

    labels: list[str]
    cursors: list[str]
    has_previous: bool
    has_next: bool
