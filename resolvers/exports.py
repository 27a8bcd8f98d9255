"""Exports: every record of a list that there is at the start, by identifier, a thousand at a time (decision 416)."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from contract.bulk_vocabulary import ExportFormat, ExportKind
from contract.criteria import Condition
from contract.errors import Path, TimedOut
from contract.limits import EXPORT_ROWS_MAX, EXPORT_SECONDS
from contract.scopes import ScopeGroup
from resolvers.export_forms import FORMS
from resolvers.export_reading import ExportReading
from resolvers.export_rows import EXPORTED, Exported
from resolvers.shared.access import Rule, requires
from resolvers.shared.context import Context
from storage.base import FIRST_ID, now
from storage.queries import exports as statements


@dataclass(frozen=True, slots=True)
class Export:
    """An export as it was asked for: which records, which columns by name, and in which form."""

    condition: Condition
    columns: Sequence[str] | None = None
    format: ExportFormat = ExportFormat.CSV


_AT: Path = ("columns",)


class ExportStream:
    """An export as pieces of bytes. It comes to its end once the last record is written; what stops it before raises.

    `bound` is the moment up to which records are in it.
    """

    def __init__(self, ctx: Context, rule: Rule, exported: Exported, wanted: Export) -> None:
        self.bound: datetime = now()
        self.media_type = FORMS[wanted.format].media_type
        self._ctx = ctx
        self._rule = rule
        self._exported = exported
        self._wanted = wanted
        self._columns = exported.chosen(wanted.columns, _AT)
        self._reading: ExportReading | None = None
        self._first: bytes | None = None
        self._has_place = False
        self._until = asyncio.get_running_loop().time() + EXPORT_SECONDS

    async def open(self) -> "ExportStream":
        """Take a place and read the first records, so that what is wrong is said before anything is sent.

        Raises TooManyRuns, and what the database raises.
        """
        self._ctx.services.exports.enter(self._ctx.org_id)
        self._has_place = True
        try:
            async with self._ctx.reading() as session:
                last = await statements.last_id(session, self._exported.listable)
            wanted = self._wanted
            self._reading = ExportReading(
                self._ctx.reading,
                partial(self._ctx.services.lanes.make_way, self._ctx.org_id),
                self._exported,
                wanted.condition,
                self._columns,
                wanted.format,
                after=FIRST_ID,
                last=last,
            )
            self._first = FORMS[self._wanted.format].head(self._columns) + await self._piece()
        except BaseException:
            await self.aclose()
            raise
        return self

    async def aclose(self) -> None:
        """Give the place back."""
        if self._has_place:
            self._has_place = False
            self._ctx.services.exports.leave(self._ctx.org_id)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """The pieces, in order."""
        if self._first:
            yield self._first
        while piece := await self._piece():
            yield piece

    async def _piece(self) -> bytes:
        """The next records; nothing once there are none."""
        reading = self._reading
        if reading is None or reading.is_done:
            return b""
        if reading.rows >= EXPORT_ROWS_MAX or asyncio.get_running_loop().time() > self._until:
            raise TimedOut
        if reading.rows and self._ctx.look is not None:
            self._rule.enforce(await self._ctx.look())
        return await reading.piece()


def _stream(ctx: Context, kind: ExportKind, group: ScopeGroup, wanted: Export) -> ExportStream:
    return ExportStream(ctx, Rule(group), EXPORTED[kind], wanted)


@requires(ScopeGroup.CRM_READ)
async def export_accounts(ctx: Context, wanted: Export) -> ExportStream:
    """The accounts as a stream, which its caller opens and closes. Raises Problems for a column that there is not."""
    return _stream(ctx, ExportKind.ACCOUNT, ScopeGroup.CRM_READ, wanted)


@requires(ScopeGroup.CRM_READ)
async def export_contacts(ctx: Context, wanted: Export) -> ExportStream:
    """The contacts as a stream, which its caller opens and closes. Raises Problems for a column that there is not."""
    return _stream(ctx, ExportKind.CONTACT, ScopeGroup.CRM_READ, wanted)


@requires(ScopeGroup.CRM_READ)
async def export_deals(ctx: Context, wanted: Export) -> ExportStream:
    """The deals as a stream, which its caller opens and closes. Raises Problems for a column that there is not."""
    return _stream(ctx, ExportKind.DEAL, ScopeGroup.CRM_READ, wanted)


@requires(ScopeGroup.CRM_READ)
async def export_leads(ctx: Context, wanted: Export) -> ExportStream:
    """The leads as a stream, which its caller opens and closes. Raises Problems for a column that there is not."""
    return _stream(ctx, ExportKind.LEAD, ScopeGroup.CRM_READ, wanted)


@requires(ScopeGroup.MEETINGS_READ)
async def export_meetings(ctx: Context, wanted: Export) -> ExportStream:
    """The meetings as a stream, which its caller opens and closes. Raises Problems for a column that there is not."""
    return _stream(ctx, ExportKind.MEETING, ScopeGroup.MEETINGS_READ, wanted)


@requires(ScopeGroup.MEETINGS_READ)
async def export_activities(ctx: Context, wanted: Export) -> ExportStream:
    """The activities as a stream, which its caller opens and closes. Raises Problems for a column that there is not."""
    return _stream(ctx, ExportKind.ACTIVITY, ScopeGroup.MEETINGS_READ, wanted)


@requires(ScopeGroup.OUTREACH_READ)
async def export_campaigns(ctx: Context, wanted: Export) -> ExportStream:
    """The campaigns as a stream, which its caller opens and closes. Raises Problems for a column that there is not."""
    return _stream(ctx, ExportKind.CAMPAIGN, ScopeGroup.OUTREACH_READ, wanted)
