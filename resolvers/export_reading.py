"""Reads the rows of an export, a batch at a time, as what is written: for a stream as for a job."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager

from contract.bulk_vocabulary import ExportFormat
from contract.criteria import Condition
from contract.errors import ResponseTooLarge
from contract.limits import EXPORT_BATCH
from resolvers.export_rows import FORMS, Exported, values_of
from storage.queries import exports as statements
from storage.queries.tags import names_of
from storage.statements import AnyRow
from storage.tenancy.sessions import TenantSession

Reading = Callable[[], AbstractAsyncContextManager[TenantSession]]
"""Opens a read of the organization."""

_AT_A_TIME = 100
"""Rows that are written before others have a turn."""
_STEP = 10
"""How many times fewer rows are read where their texts are too long to be read together; then as many times more."""


class ExportReading:
    """The records of a list from one identifier up to another, written in a format.

    `after` is the last one that has been read, `rows` how many have been, and `is_done` whether that is all.
    """

    def __init__(
        self,
        reading: Reading,
        exported: Exported,
        condition: Condition,
        columns: Sequence[str],
        format: ExportFormat,
        *,
        after: str,
        last: str | None,
    ) -> None:
        self.after = after
        self.rows = 0
        self.is_done = last is None
        self._last = last or ""
        self._reading = reading
        self._exported = exported
        self._condition = condition
        self._columns = columns
        self._listable = exported.selecting(columns)
        self._write = FORMS[format].write
        self._size = EXPORT_BATCH

    async def piece(self) -> bytes:
        """The next records as bytes; nothing once there are none."""
        if self.is_done:
            return b""
        rows = await self._batch()
        self.rows += len(rows)
        tags: dict[str, list[str]] = {}
        if rows and self._exported.tagged is not None and "tags" in self._columns:
            async with self._reading() as session:
                tags = await names_of(session, self._exported.tagged, [row.id for row in rows])
        pieces = []
        for begin in range(0, len(rows), _AT_A_TIME):
            pieces.append(self._write(self._columns, values_of(self._columns, rows[begin : begin + _AT_A_TIME], tags)))
            await asyncio.sleep(0)
        return b"".join(pieces)

    async def _batch(self) -> Sequence[AnyRow]:
        rows = None
        while rows is None:
            try:
                async with self._reading() as session:
                    rows = await statements.batch(
                        session, self._listable, self._condition, self.after, self._last, self._size
                    )
            except ResponseTooLarge:  # never of one row
                self._size //= _STEP
        self.is_done = len(rows) < self._size
        if rows:
            self.after = rows[-1].id
        self._size = min(self._size * _STEP, EXPORT_BATCH)
        return rows
