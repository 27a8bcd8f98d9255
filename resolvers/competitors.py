"""Competitors: the organization's catalogue, and their detection on a deal (specification 2.2, 4.11)."""

import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from pydantic import AfterValidator, Field, StrictStr

from contract.criteria import ListQuery, PageWindow, Selection
from contract.errors import Duplicate, NotFound, Problem, Problems
from contract.limits import (
    ALIASES_MAX,
    COMPETITOR_NAME_MAX,
    COMPETITORS_MAX,
    DETECTION_CHARACTERS_MAX,
    DETECTION_MEETINGS_MAX,
)
from contract.scopes import ScopeGroup
from resolvers.competitor_detection import APPLIED, Detected, Known, Source, detect, folded_name
from resolvers.shared import changes
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.inputs import Input, storable
from resolvers.shared.threads import aside
from storage.base import JsonDict
from storage.new_rows import new_row
from storage.queries import history, listables, paging, records
from storage.queries.history import Told
from storage.rows import CompetitorRow, DealRow
from storage.statements import parsed
from storage.tables import Activity, Competitor, Deal
from storage.tenancy.sessions import TenantSession

_HEARD = listables.MEETINGS.selecting(Selection(frozenset({"subject", "body", "metadata", "due_at", "created_at"})))
"""The columns that are read of a meeting whose texts are looked through."""

_READ_AT_ONCE = 20
"""The number of meetings that are in memory at a time."""

_DOMAIN = re.compile(r"[^\W_](?:[\w-]{0,61}[^\W_])?(?:\.[^\W_](?:[\w-]{0,61}[^\W_])?)+")


def _named(text: str) -> str:
    """Trimmed, and with something to look for."""
    name = storable(text).strip()
    if not any(map(str.isalnum, name)):
        raise ValueError("must have a letter or a digit")
    return name


def _domain(text: str) -> str:
    domain = storable(text).strip().casefold().removeprefix("www.")
    if len(domain) > COMPETITOR_NAME_MAX or "_" in domain or _DOMAIN.fullmatch(domain) is None:
        raise ValueError("must be a domain such as example.com")
    return domain


Name = Annotated[StrictStr, Field(max_length=COMPETITOR_NAME_MAX), AfterValidator(_named)]
Domain = Annotated[StrictStr, AfterValidator(_domain)]


class CompetitorInput(Input):
    """A competitor for the catalogue."""

    name: Name
    aliases: Annotated[list[Name], Field(max_length=ALIASES_MAX)] | None = None
    domains: Annotated[list[Domain], Field(max_length=ALIASES_MAX)] | None = None


@dataclass(frozen=True, slots=True)
class Detection:
    """The deal after the detection, and what was found."""

    deal: Deal | DealRow
    detected: Sequence[Detected]


@requires(ScopeGroup.CRM_READ, finds=(listables.COMPETITORS,))
async def list_competitors(ctx: Context) -> Sequence[CompetitorRow]:
    """The catalogue, by name."""
    async with ctx.reading() as session:
        return await records.all_of(session, listables.COMPETITORS)


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def create_competitor(ctx: Context, input: CompetitorInput) -> Competitor:
    """Add a competitor. Raises Duplicate for a name that there is, letter case aside, or Problems."""
    folded = folded_name(input.name)
    competitor = new_row(
        Competitor,
        name=input.name,
        folded_name=folded,
        aliases=_distinct(input.aliases or (), folded),
        domains=list(dict.fromkeys(input.domains or ())),
    )
    async with ctx.writing() as session:
        await records.lock_organization(session)
        there = await records.all_of(session, listables.COMPETITORS)
        if any(other.folded_name == folded for other in there):
            raise Duplicate("There is a competitor of this name", field=("input", "name"))
        if len(there) >= COMPETITORS_MAX:
            raise Problems([Problem(("input",), f"there can be at most {COMPETITORS_MAX} competitors", "too_long")])
        await session.insert(competitor)
        await _log(ctx, session, "competitor_created", {"competitor_id": competitor.id, "name": competitor.name})
    ctx.forget()
    return competitor


def _distinct(aliases: Sequence[str], folded: str) -> list[str]:
    """The aliases that differ from the name and from each other."""
    by_fold = {folded_name(alias): alias for alias in reversed(aliases)}
    by_fold.pop(folded, None)
    return list(reversed(by_fold.values()))


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def delete_competitor(ctx: Context, competitor_id: str) -> str:
    """Take a competitor out of the catalogue; deals keep the name until the next detection."""
    async with ctx.writing() as session:
        competitor = await records.lock_for_update(session, Competitor, competitor_id)
        if competitor is None:
            raise NotFound(field=("id",))
        await session.delete(competitor)
        await _log(ctx, session, "competitor_deleted", {"competitor_id": competitor.id, "name": competitor.name})
    ctx.forget()
    return competitor.id


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def detect_competitors(ctx: Context, deal_id: str, apply: bool = True) -> Detection:
    """Look for the catalogue's competitors in the deal's notes and meetings; the only way to set a deal's (2.2).

    With `apply` those that are sure enough become the deal's competitors, by name (decision 44).
    """
    async with ctx.reading() as session:
        deal = await records.one(session, listables.DEALS, deal_id)
        if deal is None:
            raise NotFound(field=("deal_id",))
        catalogue = await records.all_of(session, listables.COMPETITORS)
        sources = await _sources(session, deal)
    known = [Known(row.name, row.aliases, row.domains) for row in catalogue]
    # Long transcripts take a while, during which nothing else should wait.
    detected = await aside(lambda pace: detect(known, sources, pace))
    if not apply:
        return Detection(deal, detected)
    names = sorted((d.name for d in detected if d.confidence >= APPLIED), key=lambda n: (n.casefold(), n))
    async with ctx.writing() as session:
        locked = await records.lock_for_update(session, Deal, deal.id)
        if locked is None:
            raise NotFound(field=("deal_id",))
        changed, differs = await changes.apply(session, locked, {"competitors": names})
        if differs:
            data = {"deal_id": changed.id, "competitors": names, "before": locked.competitors}
            await _log(ctx, session, "deal_competitors_detected", data, history.edited(locked, changed))
    ctx.forget()
    return Detection(changed, detected)


async def _sources(session: TenantSession, deal: DealRow) -> list[Source]:
    """The deal's texts: its notes, then the meetings, latest first, as far as the room goes."""
    room, kept = DETECTION_CHARACTERS_MAX, []
    async for source in _texts(session, deal):
        kept.append(replace(source, text=source.text[:room]))
        room -= len(kept[-1].text)
        if not room:
            break
    return kept


async def _texts(session: TenantSession, deal: DealRow) -> AsyncIterator[Source]:
    """Read by and by: all meetings at once could be a quarter of a gigabyte (decision 128).

    One whose place in the order changes meanwhile may come twice or not at all.
    """
    yield Source("notes", deal.id, None, deal.notes or "")
    after = None
    for _ in range(0, DETECTION_MEETINGS_MAX, _READ_AT_ONCE):
        window = ListQuery(page=PageWindow(first=_READ_AT_ONCE, after=after))
        meetings = await paging.page(session, _HEARD, window, parent=Activity.deal_id, parent_id=deal.id)
        for meeting in meetings.rows:
            at = meeting.due_at or meeting.created_at
            for name, text in (
                ("subject", meeting.subject),
                ("body", meeting.body),
                ("transcript", _transcript(meeting.metadata)),
            ):
                if text:
                    yield Source(f"meeting.{name}", meeting.id, at, text)
        if not meetings.has_next:
            return
        after = paging.cursor(_HEARD, None, meetings.rows[-1])


def _transcript(metadata: object) -> str | None:
    details = parsed(metadata)
    text = details.get("transcript") if isinstance(details, dict) else None
    return text if isinstance(text, str) else None


async def _log(ctx: Context, session: TenantSession, type: str, data: JsonDict, told: Sequence[Told] = ()) -> None:
    await changes.append_event(ctx, session, type, data, told=told)
