"""What a request costs its caller, and the headers that say so (decisions 86, 100 and 101)."""

from __future__ import annotations

from typing import Final

from contract.costs import LEAST, rest_cost
from identity.buckets import Taken
from identity.budget import Budget
from identity.principal import Principal
from resolvers.inputs import Input
from rest_compat.operations import Answer, Operation

BUDGET_HEADERS: Final = ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "X-Request-Cost")


class Meter:
    """One request's: charged once it is known who calls, settled once there is an answer."""

    __slots__ = ("_budget", "_cost", "_principal", "_taken")

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._taken: Taken | None = None
        self._cost = LEAST
        self._principal: Principal | None = None

    async def charge(self, principal: Principal, points: int) -> None:
        """Take what the operation asks for. Raises RateLimited."""
        if not self._budget.is_metered:
            return
        self._principal = principal
        self._taken = await self._budget.charge(principal, points)

    def began(self) -> None:
        """What is refused up to here cost a point, what fails from here on all that was asked for."""
        if self._taken is not None:
            self._cost = self._taken.points

    def ended(self, operation: Operation, answer: Answer) -> None:
        """A listing cost its rows."""
        if self._taken is not None and isinstance(answer.content, list):
            self._cost = points_of(operation, len(answer.content))

    async def headers(self) -> list[tuple[bytes, bytes]]:
        """Give back what was not used; what the answer has to say of it."""
        cost, taken = self._cost, self._taken
        if self._principal is None:
            return []
        if taken is None:  # the budget did not reach: see what there is
            cost, taken = 0, await self._budget.charge(self._principal, 0)
        throttle = await self._budget.settle(taken, cost)
        return [
            (b"ratelimit-limit", b"%d" % throttle.maximum),
            (b"ratelimit-remaining", b"%d" % throttle.available),
            (b"ratelimit-reset", b"%d" % throttle.reset),
            (b"x-request-cost", b"%d" % cost),
        ]


def points_of(operation: Operation, rows: int | None) -> int:
    """The points of a call that asks for so many rows, or gives them; a call is at least a point."""
    return max(LEAST, rest_cost(operation.twin, rows))


def asked_rows(query: Input | None) -> int | None:
    """The rows that the query asks for, where it can say."""
    limit: int | None = getattr(query, "limit", None)
    return limit
