"""What a caller has to spend on operations: charged before one runs, given back what it did not use (decision 86)."""

from dataclasses import dataclass
from typing import Protocol

from contract.limits import BUDGET_MAX, BUDGET_PER_SECOND
from identity.principal import Principal


@dataclass(frozen=True, slots=True)
class Throttle:
    """The state of a budget in points: the most that it holds, what is in it, and what comes back each second."""

    maximum: int
    available: int
    restore_rate: int


FULL = Throttle(BUDGET_MAX, BUDGET_MAX, BUDGET_PER_SECOND)


class Budget(Protocol):
    """The budgets of all callers."""

    async def charge(self, principal: Principal, points: int) -> None:
        """Take the points that an operation asks for. Raises a GatewayError where the caller has not got them."""
        ...

    async def settle(self, principal: Principal, requested: int, actual: int) -> Throttle:
        """Give back what was charged and not used, or take what was used beyond it; and tell the state."""
        ...


class Unmetered:
    """A budget that is always full."""

    async def charge(self, principal: Principal, points: int) -> None:
        """Take nothing."""

    async def settle(self, principal: Principal, requested: int, actual: int) -> Throttle:
        """Give nothing back."""
        return FULL
