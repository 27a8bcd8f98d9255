"""The organization's change log, as far as the caller's scopes reach (specification part 6)."""

from collections.abc import Sequence
from typing import Any

from contract.criteria import All, Compare, Condition, Listing, Op, Page
from contract.scopes import ScopeGroup
from resolvers.access import requires
from resolvers.context import Context
from resolvers.lists import PageOf, page_of
from storage.queries import nouns
from storage.queries.paging import cursor

AREAS = {"crm": ScopeGroup.CRM_READ, "outreach": ScopeGroup.OUTREACH_READ, "admin": ScopeGroup.ORG_ADMIN}
"""Who sees the events of an area."""


def areas_of(ctx: Context) -> list[str]:
    """The areas that the caller sees."""
    return [area for area, group in AREAS.items() if group.passes(ctx.caller.scopes)]


@requires(ScopeGroup.CRM_READ)
async def list_events(ctx: Context, types: Sequence[str] | None, page: Page) -> PageOf:
    """The events after the cursor, oldest first, of these types if any are named, in the areas that the caller sees."""
    conditions: list[Condition] = [Compare("area", Op.IN, areas_of(ctx))]
    if types is not None:
        conditions.append(Compare("type", Op.IN, list(types)))
    return await page_of(ctx, nouns.EVENTS, Listing(All(tuple(conditions)), None, page))


def cursor_of(event: Any) -> str:
    """The cursor of an event in the log, whichever page shows it."""
    return cursor(nouns.EVENTS, None, event)
