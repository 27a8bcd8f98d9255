"""Reads the bytes of a part as they come, in runs that end when enough has come, or nothing does for a while."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from contract.file_errors import UploadHeld
from contract.http_errors import TooLarge
from contract.limits import (
    UPLOAD_CHECKED_MAX_BYTES,
    UPLOAD_HOLD_SECONDS,
    UPLOAD_IDLE_SECONDS,
    UPLOAD_RUN_SECONDS,
)
from resolvers.shared.context import Context
from storage.base import now
from storage.queries import uploads as statements
from storage.tables import FileUpload

_RENEWED = UPLOAD_HOLD_SECONDS / 3


@dataclass(frozen=True, slots=True)
class Part:
    """A part as its request announces it: where it begins, how long it is if it says, and what it has to hash to."""

    offset: int
    length: int | None
    digest: bytes | None


def later() -> datetime:
    """Until when an upload is held from now on, unless more is said."""
    return now() + timedelta(seconds=UPLOAD_HOLD_SECONDS)


def too_long(upload: FileUpload) -> TooLarge:
    """What is raised where more comes than was declared."""
    return TooLarge(f"The upload has {upload.bytes} bytes, and the part reaches beyond them")


class Coming:
    """The bytes of a part, while its upload is held for it.

    `bytes` is how many have come, and `broken` what broke the request off.
    """

    def __init__(self, ctx: Context, upload: FileUpload, holder: str, part: Part, pieces: AsyncIterator[bytes]) -> None:
        self.bytes = 0
        self.broken: Exception | None = None
        self._ctx = ctx
        self._upload = upload
        self._holder = holder
        self._part = part
        self._pieces = pieces
        self._rest = b""
        self._is_over = part.length == 0
        self._reading: asyncio.Task[bytes] | None = None
        self._renewed = asyncio.get_running_loop().time()

    @property
    def may_go_on(self) -> bool:
        """Whether more may come."""
        return not self._is_over

    async def next(self, most: int) -> AsyncIterator[bytes]:
        """The next bytes, so many at most. What breaks the request off ends them.

        They end as well where the last ones are to count: a while after the first, or once nothing comes any more. Of a
        part with a checksum nothing counts before it is whole.
        """
        time = asyncio.get_running_loop().time
        begun: float | None = None
        while most > 0:
            is_waited_for = begun is None or self._part.digest is not None
            chunk = self._rest or await self._read(None if is_waited_for else UPLOAD_IDLE_SECONDS)
            if chunk is None:
                return
            taken, self._rest = chunk[:most], chunk[most:]
            most -= len(taken)
            self.bytes += len(taken)
            if self._part.digest is not None and self.bytes > UPLOAD_CHECKED_MAX_BYTES:
                raise TooLarge(f"A part with a checksum is larger than {UPLOAD_CHECKED_MAX_BYTES} bytes")
            yield taken
            await self.renew()
            begun = time() if begun is None else begun
            if self._part.digest is None and time() - begun > UPLOAD_RUN_SECONDS:
                return

    async def end(self) -> None:
        """Wait for the end of a part that does not say how long it is. Raises TooLarge where there is more."""
        while self._part.length is None and not self._rest and not self._is_over:
            self._rest = await self._read(None) or b""
        if self._rest:
            raise too_long(self._upload)

    async def renew(self) -> None:
        """Hold on, since something came. Raises UploadHeld where another request has taken over."""
        moment = asyncio.get_running_loop().time()
        if moment - self._renewed < _RENEWED:
            return
        self._renewed = moment
        async with self._ctx.writing() as session:
            if not await statements.go_on_holding(session, self._upload.id, self._holder, later()):
                raise UploadHeld()

    async def leave(self) -> None:
        """Read no more."""
        if self._reading is not None:
            self._reading.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await self._reading
            self._reading = None

    async def _read(self, seconds: float | None) -> bytes | None:
        """What comes next; None at the end, where the request breaks off, and where nothing comes for so long."""
        if self._reading is None:
            self._reading = asyncio.ensure_future(self._anext())
        await asyncio.wait([self._reading], timeout=seconds)
        if not self._reading.done():
            return None
        reading, self._reading = self._reading, None
        try:
            chunk = reading.result()
        except Exception as error:
            self._is_over, self.broken = True, error
            return None
        self._is_over = not chunk
        return chunk or None

    async def _anext(self) -> bytes:
        """What comes next; nothing at the end. A task cannot raise what a generator ends with."""
        return await anext(self._pieces, b"")
