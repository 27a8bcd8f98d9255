"""Takes what operations ask for from their callers' budgets, and gives back what they did not use."""

from contract.costs import LEAST
from identity.budget import Budget
from identity.pairs import Drawn
from resolvers.shared.context import Context
from schema.execution.admission import Admitted
from schema.execution.requests import Answer
from schema.spending import spent
from storage.database_time import DatabaseTime


class Metering:
    """Says who has how much to spend, by this budget."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget

    async def settle(
        self, answer: Answer, admitted: Admitted, taken: Drawn, time: DatabaseTime, context: Context
    ) -> Answer:
        """Adds what it cost to an answer. Where an error left nothing to be counted, it cost what was asked for."""
        body, actual = answer.body, admitted.requested
        if "errors" not in body and actual:
            # To find nothing is work as well.
            actual = max(admitted.compiled.cost.actual(body["data"], admitted.values, admitted.asked), LEAST)
        extensions = await self.spent(admitted, actual, taken, time, context)
        if context.position is not None:
            extensions["position"] = context.position
        body["extensions"] = extensions
        return answer

    async def spent(
        self, admitted: Admitted, price: int, taken: Drawn, time: DatabaseTime, context: Context
    ) -> dict[str, object]:
        """Makes the extensions of an answer of this price, or of more where it took longer, with what is left."""
        actual = await context.services.settling.cost(context.caller, price, time.seconds)
        return spent(admitted.requested, actual, await self.budget.settle(taken, actual))
