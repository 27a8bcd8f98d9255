"""Analytics: what a caller may ask about (docs/analytics.md)."""

from collections.abc import Sequence

from contract.catalog import Entity, catalog_for
from contract.scopes import ScopeGroup
from resolvers.shared.access import requires
from resolvers.shared.context import Context


@requires(ScopeGroup.DATA_ACCESS)
async def get_catalog(ctx: Context) -> Sequence[Entity]:
    """The part of the catalogue that the caller's scopes leave."""
    return catalog_for(frozenset(ctx.caller.scopes))
