"""Timelines and histories: what happened to a record, newest first, as far as the caller may read it.

A timeline has activities, changes, moves of deals and enrollments (decision 235); a history has the changes of the
record itself.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final

from contract.criteria import PageWindow
from contract.errors import CostExceeded, Problem, Problems
from contract.limits import OPERATION_NODES_MAX, TIMELINE_MAX
from contract.scopes import ROW_GROUPS, ScopeGroup
from contract.vocabulary import TimelineKind
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.lists import PageResult, may_read
from storage.joined_rows import FeedItem
from storage.queries import timeline as statements
from storage.queries.timeline import Feed, FeedPage

_Read = Callable[..., Awaitable[PageResult[FeedItem]]]
_NARROWER = {TimelineKind.ENROLLMENT: ScopeGroup.OUTREACH_READ}
"""The kinds of items that need another group than the timeline."""


@requires(ScopeGroup.MEETINGS_READ)
async def timeline_of_account(
    ctx: Context,
    account_id: str,
    page: PageWindow,
    *,
    kinds: Sequence[TimelineKind] | None = None,
    is_upcoming: bool = False,
) -> PageResult[FeedItem]:
    """A page of the timeline of an account."""
    return await _timeline(ctx, "account", account_id, page, kinds, is_upcoming=is_upcoming)


@requires(ScopeGroup.MEETINGS_READ)
async def timeline_of_contact(
    ctx: Context,
    contact_id: str,
    page: PageWindow,
    *,
    kinds: Sequence[TimelineKind] | None = None,
    is_upcoming: bool = False,
) -> PageResult[FeedItem]:
    """A page of the timeline of a contact."""
    return await _timeline(ctx, "contact", contact_id, page, kinds, is_upcoming=is_upcoming)


@requires(ScopeGroup.MEETINGS_READ)
async def timeline_of_deal(
    ctx: Context,
    deal_id: str,
    page: PageWindow,
    *,
    kinds: Sequence[TimelineKind] | None = None,
    is_upcoming: bool = False,
) -> PageResult[FeedItem]:
    """A page of the timeline of a deal."""
    return await _timeline(ctx, "deal", deal_id, page, kinds, is_upcoming=is_upcoming)


@requires(ScopeGroup.MEETINGS_READ)
async def timeline_of_lead(
    ctx: Context,
    lead_id: str,
    page: PageWindow,
    *,
    kinds: Sequence[TimelineKind] | None = None,
    is_upcoming: bool = False,
) -> PageResult[FeedItem]:
    """A page of the timeline of a lead."""
    return await _timeline(ctx, "lead", lead_id, page, kinds, is_upcoming=is_upcoming)


@requires(ScopeGroup.CRM_READ)
async def history_of_account(ctx: Context, account_id: str, page: PageWindow) -> PageResult[FeedItem]:
    """A page of the changes of an account."""
    return await _history(ctx, "account", account_id, page)


@requires(ScopeGroup.CRM_READ)
async def history_of_contact(ctx: Context, contact_id: str, page: PageWindow) -> PageResult[FeedItem]:
    """A page of the changes of a contact."""
    return await _history(ctx, "contact", contact_id, page)


@requires(ScopeGroup.CRM_READ)
async def history_of_deal(ctx: Context, deal_id: str, page: PageWindow) -> PageResult[FeedItem]:
    """A page of the changes of a deal."""
    return await _history(ctx, "deal", deal_id, page)


@requires(ScopeGroup.CRM_READ)
async def history_of_lead(ctx: Context, lead_id: str, page: PageWindow) -> PageResult[FeedItem]:
    """A page of the changes of a lead."""
    return await _history(ctx, "lead", lead_id, page)


@requires(ScopeGroup.OUTREACH_READ)
async def history_of_campaign(ctx: Context, campaign_id: str, page: PageWindow) -> PageResult[FeedItem]:
    """A page of the changes of a campaign."""
    return await _history(ctx, "campaign", campaign_id, page)


TIMELINES: Final[Mapping[str, _Read]] = {
    "account": timeline_of_account,
    "contact": timeline_of_contact,
    "deal": timeline_of_deal,
    "lead": timeline_of_lead,
}
HISTORIES: Final[Mapping[str, _Read]] = {
    "account": history_of_account,
    "contact": history_of_contact,
    "deal": history_of_deal,
    "lead": history_of_lead,
    "campaign": history_of_campaign,
}
"""The resolvers that read the feeds of each kind of record."""


async def _timeline(
    ctx: Context,
    subject: str,
    record_id: str,
    page: PageWindow,
    kinds: Sequence[TimelineKind] | None,
    *,
    is_upcoming: bool,
) -> PageResult[FeedItem]:
    """A page of the items of the named kinds that the caller may read."""
    asked = frozenset(TimelineKind if kinds is None else kinds)
    scopes = ctx.caller.scopes
    readable = {kind for kind in asked if kind not in _NARROWER or _NARROWER[kind].passes(scopes)}
    withheld = tuple(group for group in ROW_GROUPS if not may_read(ctx, group))
    return await _page(ctx, Feed(subject, frozenset(readable), page.size, is_upcoming, withheld), record_id, page)


async def _history(ctx: Context, subject: str, record_id: str, page: PageWindow) -> PageResult[FeedItem]:
    return await _page(ctx, Feed(subject, frozenset({TimelineKind.CHANGE}), page.size), record_id, page)


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
