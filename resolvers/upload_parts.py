"""Takes the parts of an upload: an offset that is told is in the store for good, and two senders never mix.

A part holds its upload while its bytes come. They are kept in pieces, each of which counts once it lies in the store;
those of a part with a checksum count once it is proven, and the last one once the whole file is there. So what is lost
of an upload, whenever the machine stops, is a piece.
"""

import asyncio
import hmac
from base64 import b64decode
from binascii import Error
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256

from contract.errors import BadRequest, Conflict, Unavailable
from contract.file_errors import ChecksumMismatch, UploadHeld
from contract.http_errors import TooLarge
from contract.limits import (
    UPLOAD_CHECKED_MAX_BYTES,
    UPLOAD_HOLD_SECONDS,
    UPLOAD_PIECE_BYTES,
    UPLOAD_WAIT_SECONDS,
)
from contract.scopes import ScopeGroup
from resolvers import uploads
from resolvers.receiving import Measured, announce, give_up, new_name
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from storage.base import new_id, now
from storage.new_rows import new_row
from storage.queries import files
from storage.queries import uploads as statements
from storage.tables import FilePiece, FileUpload

_POLL_SECONDS = 0.1
_RENEWED = UPLOAD_HOLD_SECONDS / 3


class BrokenOff(Exception):
    """The client has gone before all of its part was there."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part as its request announces it: where it begins, how long it is if it says, and what it has to hash to."""

    offset: int
    length: int | None
    digest: bytes | None


def digest_of(header: str | None) -> bytes | None:
    """The SHA-256 that a part has to have. Raises BadRequest for another algorithm, or none of the form."""
    if header is None:
        return None
    algorithm, _, encoded = header.strip().partition(" ")
    try:
        digest = b64decode(encoded.strip(), validate=True)
    except Error:
        digest = b""
    if algorithm.lower() != "sha256" or len(digest) != sha256().digest_size:
        raise BadRequest("Upload-Checksum must be sha256 and the hash in base64")
    return digest


@requires(ScopeGroup.CRM_MANAGE)
async def append(ctx: Context, upload_id: str, part: Part, pieces: AsyncIterator[bytes]) -> uploads.Upload:
    """Add a part to an upload, and tell how it stands then. What has come of a part that breaks off counts.

    Raises NotFound, Expired, UploadHeld, Conflict for another offset, TooLarge, ChecksumMismatch, Unavailable, and what
    reading the bytes raises.
    """
    holder = new_id()
    upload = await _take(ctx, upload_id, part, holder)
    if upload.state == "open":
        try:
            await _Appending(ctx, upload, holder, part, pieces).work()
        finally:
            with suppress(Exception):  # it will be taken over then
                async with ctx.writing() as session:
                    await statements.let_go(session, upload.id, holder)
    return await uploads.get_upload(ctx, upload.id)


async def _take(ctx: Context, upload_id: str, part: Part, holder: str) -> FileUpload:
    """The upload, held for this part. Raises what stands in the part's way."""
    until = asyncio.get_running_loop().time() + UPLOAD_WAIT_SECONDS
    while True:
        async with ctx.writing() as session:
            upload = uploads.standing(await uploads.locked(session, upload_id))
            is_free = upload.holder is None or upload.held_until is None or upload.held_until <= now()
            if is_free or upload.state == "done":
                if part.offset != upload.received:
                    raise Conflict(f"The upload goes on at {upload.received}")
                if part.offset + (part.length or 0) > upload.bytes:
                    raise _too_long(upload)
                if upload.state == "done":
                    return upload
                return await statements.hold(session, upload, holder, _later())
        if asyncio.get_running_loop().time() > until:
            raise UploadHeld()
        await asyncio.sleep(_POLL_SECONDS)


class _Appending:
    """One part on its way into an upload that is held for it."""

    def __init__(self, ctx: Context, upload: FileUpload, holder: str, part: Part, pieces: AsyncIterator[bytes]) -> None:
        self._ctx = ctx
        self._upload = upload
        self._holder = holder
        self._part = part
        self._pieces = pieces
        self._rest = b""
        self._came = part.offset
        self._waiting: list[FilePiece] = []
        self._hash = sha256()
        self._broken: Exception | None = None
        self._is_over = False
        self._renewed = asyncio.get_running_loop().time()

    async def work(self) -> None:
        """Take all that comes. Raises what breaks it off once that which has come before counts."""
        try:
            while self._part.length != 0 and not self._is_over and self._came < self._upload.bytes:
                await self._piece()
            if not self._is_over and self._part.length is None:
                await self._expect_end()
            await self._prove()
            if self._came == self._upload.bytes:
                await self._complete()
            elif self._waiting:
                await self._commit()
        except BaseException:
            await self._drop()
            raise
        if self._broken is not None:
            raise self._broken

    async def _piece(self) -> None:
        """Store the next piece; it counts at once unless there is a checksum, or the file is whole with it."""
        name, start = new_name(self._ctx), self._came
        await announce(self._ctx, name)
        try:
            await self._ctx.services.artifacts.put_stream(name, self._next())
        except OSError as error:
            await give_up(self._ctx, name)
            raise Unavailable() from error
        except BaseException:
            self._came = start
            raise
        size = self._came - start
        if not size:
            await give_up(self._ctx, name)
            return
        org_id, upload_id = self._ctx.org_id, self._upload.id
        made = new_row(FilePiece, org_id=org_id, upload_id=upload_id, start=start, bytes=size, storage_name=name)
        self._waiting.append(made)
        if self._part.digest is None and self._came < self._upload.bytes:
            await self._commit()

    async def _next(self) -> AsyncIterator[bytes]:
        """The bytes of one piece. What breaks the request off ends it."""
        room = min(UPLOAD_PIECE_BYTES, self._upload.bytes - self._came)
        while room > 0:
            chunk = self._rest or await self._read()
            if chunk is None:
                return
            taken, self._rest = chunk[:room], chunk[room:]
            room -= len(taken)
            self._came += len(taken)
            if self._part.digest is not None:
                self._hash.update(taken)
                if self._came - self._part.offset > UPLOAD_CHECKED_MAX_BYTES:
                    raise TooLarge(f"A part with a checksum is larger than {UPLOAD_CHECKED_MAX_BYTES} bytes")
            yield taken
            await self._renew()

    async def _read(self) -> bytes | None:
        """Read the next piece; None at the end, or where the request breaks off."""
        try:
            return await anext(self._pieces)
        except StopAsyncIteration:
            self._is_over = True
        except Exception as error:
            self._is_over, self._broken = True, error
        return None

    async def _expect_end(self) -> None:
        """Raises TooLarge where there is more than the upload has room for."""
        while not self._rest and not self._is_over:
            self._rest = await self._read() or b""
        if self._rest:
            raise _too_long(self._upload)

    async def _prove(self) -> None:
        """Raises ChecksumMismatch for a part that is not what it said; of one that broke off nothing counts."""
        digest = self._part.digest
        if digest is None:
            return
        if self._broken is not None:
            raise self._broken
        if not hmac.compare_digest(self._hash.digest(), digest):
            raise ChecksumMismatch()

    async def _commit(self) -> None:
        """Have the waiting pieces count. Raises UploadHeld where another request has taken over."""
        async with self._ctx.writing() as session:
            if not await statements.advance(session, self._upload.id, self._holder, self._waiting):
                raise UploadHeld()
        self._waiting = []

    async def _complete(self) -> None:
        """Put the pieces together and make the file of them, with which the last of them counts."""
        async with self._ctx.reading() as session:
            there = await statements.pieces_of(session, [self._upload.id])
        pieces = [*there, *self._waiting]
        name, measured = new_name(self._ctx), Measured()
        await announce(self._ctx, name)
        try:
            await self._ctx.services.artifacts.put_stream(name, self._joined(pieces, measured))
        except (OSError, LookupError) as error:
            await give_up(self._ctx, name)
            raise Unavailable() from error
        is_right = self._upload.sha256 in (None, measured.sha256)
        async with self._ctx.writing() as session:
            usage = await files.lock_usage(session)
            upload = await uploads.locked(session, self._upload.id)
            if upload.holder != self._holder:
                raise UploadHeld()
            if is_right:
                await uploads.completed(self._ctx, session, upload, measured, name)
            else:
                await uploads.abandoned(session, usage, upload)
        if not is_right:
            await give_up(self._ctx, name)
            raise ChecksumMismatch("The file is not the one whose SHA-256 was declared; the upload has ended")
        await give_up(self._ctx, *(piece.storage_name for piece in self._waiting))
        self._waiting = []
        self._ctx.forget()

    async def _joined(self, pieces: list[FilePiece], measured: Measured) -> AsyncIterator[bytes]:
        for piece in pieces:
            async with aclosing(await self._ctx.services.artifacts.open(piece.storage_name, 0, piece.bytes)) as content:
                async for chunk in content:
                    measured.add(chunk)
                    yield chunk
                    await self._renew()

    async def _renew(self) -> None:
        """Hold on, since something came. Raises UploadHeld where another request has taken over."""
        moment = asyncio.get_running_loop().time()
        if moment - self._renewed < _RENEWED:
            return
        self._renewed = moment
        async with self._ctx.writing() as session:
            if not await statements.go_on_holding(session, self._upload.id, self._holder, _later()):
                raise UploadHeld()

    async def _drop(self) -> None:
        """Have pieces that never counted removed soon."""
        if self._waiting:
            with suppress(Exception):  # within a day it will be done anyway
                await give_up(self._ctx, *(piece.storage_name for piece in self._waiting))


def _later() -> datetime:
    return now() + timedelta(seconds=UPLOAD_HOLD_SECONDS)


def _too_long(upload: FileUpload) -> TooLarge:
    return TooLarge(f"The upload has {upload.bytes} bytes, and the part reaches beyond them")
