"""The tools of a chat and of the MCP door, as the caller may call them (decision 310)."""

from contract.scopes import ScopeGroup
from contract.tool_answers import ToolTold
from resolvers.shared.access import requires
from resolvers.shared.context import Context


@requires(ScopeGroup.CRM_READ)
async def list_tools(ctx: Context) -> list[ToolTold]:
    """The tools that a run of this caller may use now, in the order of `tools/list` of the MCP door."""
    return ctx.tools.offered(ctx)
