"""Organizations that share one running application: what a client of `/graphql` sees of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import httpx
from sqlalchemy import select

from contract.scopes import Role
from identity.principal import Organization
from storage.base import new_id
from tests.support.founding import found
from tests.support.gateway import Gateway
from tests.support.world import Headers

GraphQL = Callable[..., Awaitable[dict[str, Any]]]

_numbers = count(1)


@dataclass
class Tenant:
    """One organization and its callers."""

    gateway: Gateway
    organization: Organization
    _headers: dict[str, Headers] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return self.organization.id

    def subject(self, role: str = "member") -> str:
        """The member with this role."""
        return f"{role}@{self.organization.external_id}"

    def headers(self, role: str = "member") -> Headers:
        """A session of the member with this role."""
        if role not in self._headers:
            self._headers[role] = self.gateway.world.session(self.subject(role), self.organization)
        return self._headers[role]

    async def scoped(self, *scopes: str, name: str = "scoped") -> Headers:
        """A session of a further member with exactly these scopes."""
        subject = await self.gateway.world.join(self.subject(name), self.organization, scopes=scopes)
        return self.gateway.world.session(subject, self.organization)

    async def post(self, query: str, headers: Headers | None = None, **variables: Any) -> httpx.Response:
        """The response to an operation; of the member unless other headers are given."""
        return await self.gateway.graphql(query, self.headers() if headers is None else headers, **variables)

    async def body(self, query: str, headers: Headers | None = None, **variables: Any) -> dict[str, Any]:
        """The body of the answer to an operation that was let through as a whole."""
        response = await self.post(query, headers, **variables)
        assert response.status_code == 200, response.text
        body: dict[str, Any] = response.json()
        return body

    async def ask(self, query: str, headers: Headers | None = None, **variables: Any) -> Any:
        """What an operation without errors gives; what its only field gives where it has one."""
        body = await self.body(query, headers, **variables)
        assert "errors" not in body, body["errors"]
        data = body["data"]
        return next(iter(data.values())) if len(data) == 1 else data

    async def error(self, query: str, headers: Headers | None = None, **variables: Any) -> dict[str, Any]:
        """The only error of an answer."""
        [error] = (await self.body(query, headers, **variables))["errors"]
        return error

    async def add(self, *records: Any) -> None:
        """Insert rows, each after the one before."""
        await self.gateway.world.add(self.organization, *records)

    async def rows(self, *columns: Any) -> list[tuple[Any, ...]]:
        """These columns of the organization's rows, read past every resolver; those of a log in its order."""
        model = columns[0].class_
        order = [model.sequence] if hasattr(model, "sequence") else []
        async with self.gateway.world.database.reading(self.id) as session:
            found = await session.rows(select(*columns).where(model.org_id == self.id).order_by(*order))
        return [tuple(row) for row in found]


async def new_tenant(gateway: Gateway) -> Tenant:
    """A new organization, with a member per role and no rows."""
    number = next(_numbers)
    organization = Organization(new_id(), f"org-{number}", f"Organization {number:04}")
    tenant = Tenant(gateway, organization)
    people = [(role, tenant.subject(role), f"The {role}", f"{role}@example.com") for role in Role]
    await found(gateway.world.database, organization, people)
    return tenant
