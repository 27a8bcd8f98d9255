"""Exports: every record of a list that there is at the start, by identifier, a thousand at a time (decision 416)."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from contract.bulk_vocabulary import ExportFormat, ExportKind
from contract.criteria import Condition
from contract.errors import Path, ResponseTooLarge, TimedOut
from contract.limits import EXPORT_BATCH, EXPORT_ROWS_MAX, EXPORT_SECONDS
from contract.scopes import ScopeGroup
from resolvers.export_rows import EXPORTED, FORMS, Exported, values_of
from resolvers.shared.access import Rule, requires
from resolvers.shared.context import Context
from storage.base import FIRST_ID, now
from storage.queries import exports as statements
from storage.queries.tags import names_of
from storage.statements import AnyRow


@dataclass(frozen=True, slots=True)
class Export:
    """An export as it was asked for: which records, which columns by name, and in which form."""

    condition: Condition
    columns: Sequence[str] | None = None
    format: ExportFormat = ExportFormat.CSV


_AT: Path = ("columns",)
_AT_A_TIME = 100
"""Rows that are written before others have a turn."""
_STEP = 10
"""How many times fewer rows are read where their texts are too long to be read together; then as many times more."""


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
        self._listable = exported.selecting(self._columns)
        self._write = FORMS[wanted.format].write
        self._after = FIRST_ID
        self._last: str | None = None
        self._first: bytes | None = None
        self._rows = 0
        self._size = EXPORT_BATCH
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
                self._last = await statements.last_id(session, self._exported.listable)
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
        if self._last is None:
            return b""
        if self._rows >= EXPORT_ROWS_MAX or asyncio.get_running_loop().time() > self._until:
            raise TimedOut
        if self._rows and self._ctx.look is not None:
            self._rule.enforce(await self._ctx.look())
        rows = await self._batch(self._last)
        self._rows += len(rows)
        tags: dict[str, list[str]] = {}
        if rows and self._exported.tagged is not None and "tags" in self._columns:
            async with self._ctx.reading() as session:
                tags = await names_of(session, self._exported.tagged, [row.id for row in rows])
        pieces = []
        for begin in range(0, len(rows), _AT_A_TIME):
            pieces.append(self._write(self._columns, values_of(self._columns, rows[begin : begin + _AT_A_TIME], tags)))
            await asyncio.sleep(0)
        return b"".join(pieces)

    async def _batch(self, last: str) -> Sequence[AnyRow]:
        rows = None
        while rows is None:
            try:
                async with self._ctx.reading() as session:
                    rows = await statements.batch(
                        session, self._listable, self._wanted.condition, self._after, last, self._size
                    )
            except ResponseTooLarge:  # never of one row
                self._size //= _STEP
        if len(rows) < self._size:
            self._last = None
        else:
            self._after, self._size = rows[-1].id, min(self._size * _STEP, EXPORT_BATCH)
        return rows


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
