"""Reads the rows of an export, a batch at a time, as what is written: for a stream as for a job."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from time import perf_counter

from contract.bulk_vocabulary import ExportFormat
from contract.criteria import Condition
from contract.errors import ResponseTooLarge
from contract.limits import EXPORT_BATCH
from resolvers.export_forms import FORMS, Tags
from resolvers.export_rows import Exported
from storage.queries import exports as statements
from storage.queries.tags import names_between, names_of
from storage.sent_records import SentRecords
from storage.tenancy.sessions import TenantSession

Reading = Callable[[], AbstractAsyncContextManager[TenantSession]]
"""Opens a read of the organization."""
Rest = Callable[[float], Awaitable[None]]
"""Makes way for others after so many seconds of work (`resolvers/shared/lanes.py`)."""

_AT_A_TIME = 50
"""Rows that are written before others have a turn."""
_LINKS_OF_ONE = 4
"""Tags for each row that are read from the first to the last of a batch, whosever they are (decision 1187). Where there
are more, most are of records in between that are not exported, and those of each row are looked for.
"""
_STEP = 10
"""How many times fewer rows are read where their texts are too long to be read together; then as many times more. So
few come first, too: whoever waits sees the beginning the sooner.
"""


class ExportReading:
    """The records of a list from one identifier up to another, written in a format.

    `after` is the last one that has been read, `rows` how many have been, and `is_done` whether that is all.
    """

    def __init__(
        self,
        reading: Reading,
        rest: Rest,
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
        self._rest = rest
        self._condition = condition
        self._columns = tuple(columns)
        self._tagged = exported.tagged if "tags" in columns else None
        self._lie_together = True
        self._listable = exported.selecting(columns)
        self._form = FORMS[format]
        self._size = max(1, EXPORT_BATCH // _STEP)

    async def piece(self) -> bytes:
        """The next records as bytes; nothing once there are none."""
        if self.is_done:
            return b""
        begun = perf_counter()
        rows = await self._batch()
        if not rows:
            return b""
        tags = await self._tags(rows)
        self.rows += len(rows)
        await self._rest(perf_counter() - begun)
        write = self._form.writer(self._columns, rows.columns)
        pieces = []
        for first in range(0, len(rows), _AT_A_TIME):
            begun = perf_counter()
            pieces.append(write(rows[first : first + _AT_A_TIME], tags))
            await self._rest(perf_counter() - begun)
        return b"".join(pieces)

    async def _tags(self, rows: SentRecords) -> Tags:
        if self._tagged is None:
            return {}
        place = rows.place("id")
        async with self._reading() as session:
            if self._lie_together:
                most = _LINKS_OF_ONE * len(rows)
                found = await names_between(session, self._tagged, rows[0][place], rows[-1][place], most)
                if found is not None:
                    return found
                self._lie_together = False
            return await names_of(session, self._tagged, [row[place] for row in rows])

    async def _batch(self) -> SentRecords:
        rows: SentRecords | None = None
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
            self.after = rows[-1][rows.place("id")]
        self._size = min(self._size * _STEP, EXPORT_BATCH)
        return rows
