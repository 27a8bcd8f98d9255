"""Asks what an operation would cost, for callers that may: the answer comes from the one that runs operations."""

from contract.costs import CostReport
from resolvers.shared.access import requires
from resolvers.shared.context import Context


@requires(None, organization=False)
async def estimate_cost(ctx: Context, document: str, variables: object, operation_name: str | None) -> CostReport:
    """The report. Raises Problems naming what cannot be read, and LimitExceeded."""
    if ctx.estimate is None:
        raise RuntimeError("nobody runs operations here")
    return ctx.estimate(document, variables, operation_name)
