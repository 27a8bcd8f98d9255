"""Charges a request's caller, and makes the headers that say its cost (decisions 86, 100 and 101)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from contract.costs import LEAST, rest_cost
from identity.budget import Budget
from identity.pairs import Drawn
from identity.principal import Principal
from resolvers.shared.inputs import Input
from resolvers.shared.settling import Settling
from rest_compat.operations import RestOperation, RestResponse
from storage.database_time import DatabaseTime, measured
from transport.budget_headers import budget_headers


class Meter:
    """Meters one request: charges its caller when they are known, settles when there is a response."""

    __slots__ = ("_budget", "_cost", "_principal", "_settling", "_taken", "_time")

    def __init__(self, budget: Budget, settling: Settling) -> None:
        self._budget = budget
        self._settling = settling
        self._time = DatabaseTime()
        self._taken: Drawn | None = None
        self._cost = LEAST
        self._principal: Principal | None = None

    async def charge(self, principal: Principal, points: int) -> None:
        """Charges what the operation may cost. Raises RateLimited."""
        if not self._budget.is_metered:
            return
        self._principal = principal
        self._taken = await self._budget.charge(principal, points)

    @contextmanager
    def operating(self) -> Iterator[None]:
        """Sets the cost: a point if refused before; all that was asked for, or the database's time, if it fails."""
        if self._taken is not None:
            self._cost = self._taken.points
        with measured() as self._time:
            yield

    def ended(self, operation: RestOperation, query: Input | None, answer: RestResponse) -> None:
        """Sets the cost of a listing: the rows that it gave and those that it skipped."""
        if self._taken is not None and isinstance(answer.content, list):
            self._cost = _points(operation, query, len(answer.content))

    async def headers(self) -> list[tuple[bytes, bytes]]:
        """Refunds what was not used, and returns the headers that tell the cost."""
        cost, taken = self._cost, self._taken
        if self._principal is None:
            return []
        if taken is None:  # the budget did not reach: see what there is
            cost, taken = 0, await self._budget.charge(self._principal, 0)
        else:
            cost = await self._settling.cost(self._principal, cost, self._time.seconds)
        throttle = await self._budget.settle(taken, cost)
        return budget_headers(throttle, cost)


def points_of(operation: RestOperation, query: Input | None) -> int:
    """Returns the points that a request may cost; at least one."""
    return _points(operation, query, getattr(query, "limit", None))


def _points(operation: RestOperation, query: Input | None, rows: int | None) -> int:
    return max(LEAST, rest_cost(operation.graphql_field, rows, getattr(query, "offset", 0)))
