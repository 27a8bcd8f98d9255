"""Timelines and histories: what happened to a record, newest first, as far as the caller may read it.

A timeline has activities, changes, moves of deals and enrollments (decision 235); a history has the changes of the
record itself.
"""

from collections.abc import Sequence

from contract.criteria import PageWindow
from contract.errors import CostExceeded, Problem, Problems
from contract.limits import OPERATION_NODES_MAX, TIMELINE_MAX
from contract.scopes import ScopeGroup
from contract.vocabulary import TimelineKind
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.lists import PageResult
from storage.queries import timeline as statements
from storage.queries.timeline import Feed, FeedItem, FeedPage

_NARROWER = {TimelineKind.ENROLLMENT: ScopeGroup.OUTREACH_READ}
"""The kinds of items that need another group than the timeline."""


@requires(ScopeGroup.MEETINGS_READ)
async def timeline_of(
    ctx: Context,
    subject: str,
    record_id: str,
    page: PageWindow,
    *,
    kinds: Sequence[TimelineKind] | None = None,
    is_upcoming: bool = False,
) -> PageResult[FeedItem]:
    """A page of the timeline of a record of this kind; of the named kinds of items those that the caller may read."""
    asked = frozenset(TimelineKind if kinds is None else kinds)
    scopes = ctx.caller.scopes
    readable = {kind for kind in asked if kind not in _NARROWER or _NARROWER[kind].passes(scopes)}
    return await _page(ctx, Feed(subject, frozenset(readable), page.size, is_upcoming), record_id, page)


@requires(ScopeGroup.CRM_READ)
async def history_of(ctx: Context, subject: str, record_id: str, page: PageWindow) -> PageResult[FeedItem]:
    """A page of the changes of an account, a contact, a deal or a lead."""
    return await _page(ctx, _changes(subject, page), record_id, page)


@requires(ScopeGroup.OUTREACH_READ)
async def history_of_campaign(ctx: Context, campaign_id: str, page: PageWindow) -> PageResult[FeedItem]:
    """A page of the changes of a campaign."""
    return await _page(ctx, _changes("campaign", page), campaign_id, page)


def _changes(subject: str, page: PageWindow) -> Feed:
    return Feed(subject, frozenset({TimelineKind.CHANGE}), page.size)


async def _page(ctx: Context, feed: Feed, record_id: str, page: PageWindow) -> PageResult[FeedItem]:
    """A page of one record's items; those of its siblings come in the same statement."""
    if page.size > TIMELINE_MAX:
        raise Problems([Problem(("first",), f"must be between 0 and {TIMELINE_MAX}", "page_size")])

    async def load(ids: list[str]) -> list[FeedPage]:
        if (rows := len(ids) * feed.size) > OPERATION_NODES_MAX:
            message = f"{len(ids)} pages of {feed.size} items are more than {OPERATION_NODES_MAX} nodes; ask for fewer"
            raise CostExceeded(message, rows, OPERATION_NODES_MAX, ())
        async with ctx.reading() as session:
            found = await statements.pages(session, feed, ids, after=page.after)
        return [found[i] for i in ids]

    async def count(ids: list[str]) -> list[int]:
        async with ctx.reading() as session:
            found = await statements.counts(session, feed.subject, ids)
        return [found[i] for i in ids]

    found = await ctx.loader((feed, page.after), load).load(record_id)

    async def total() -> int:
        return await ctx.loader(("changes", feed.subject), count).load(record_id)

    return PageResult(statements.cursor, found.rows, found.has_next, page.after is not None, total)
