"""Takes the parts of an upload: an offset that is told is in the store for good, and two senders never mix.

A part holds its upload while its bytes come. They count once they lie in the store for good: those of a part with a
checksum once it is proven, and the last ones once the whole file is there. So what is lost of an upload, whenever the
machine stops, is what came in the last moments.

Where the store lets a file grow, all parts go behind each other into one, which is the file in the end: each byte is
written once. Other stores keep pieces, which are put together (decision 990).
"""

import asyncio
import hmac
from base64 import b64decode
from binascii import Error
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from hashlib import sha256
from time import thread_time

from contract.errors import BadRequest, Conflict, InvalidState, Unavailable
from contract.file_errors import ChecksumMismatch, UploadHeld
from contract.limits import UPLOAD_PIECE_BYTES, UPLOAD_RUN_BYTES, UPLOAD_WAIT_SECONDS
from contract.scopes import ScopeGroup
from providers.artifacts import Growing
from resolvers import uploads
from resolvers.receiving import announce, give_up, new_name
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.measured import Measured
from resolvers.upload_coming import Coming, Part, later, too_long
from storage.base import new_id, now
from storage.new_rows import new_row
from storage.queries import files
from storage.queries import uploads as statements
from storage.tables import FilePiece, FileUpload

_POLL_SECONDS = 0.1
_OF_THREAD_AND_LOOP = 2.0
"""How much longer bytes keep the processor busy than the thread that writes them: they come through the loop."""


class BrokenOff(Exception):
    """The client has gone before all of its part was there."""


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
    upload, is_clean = await _take(ctx, upload_id, part, holder)
    if upload.state == "open":
        coming = Coming(ctx, upload, holder, part, pieces)
        try:
            await _Appending(ctx, upload, holder, part, coming).work(is_clean=is_clean)
        finally:
            await coming.leave()
            with suppress(Exception):  # it will be taken over then
                async with ctx.writing() as session:
                    await statements.let_go(session, upload.id, holder)
    return await uploads.get_upload(ctx, upload.id)


async def _take(ctx: Context, upload_id: str, part: Part, holder: str) -> tuple[FileUpload, bool]:
    """The upload, held for this part, and whether the one before let go of it. Raises what stands in the part's way."""
    until = asyncio.get_running_loop().time() + UPLOAD_WAIT_SECONDS
    while True:
        async with ctx.writing() as session:
            upload = uploads.standing(await uploads.locked(session, upload_id))
            is_free = upload.holder is None or upload.held_until is None or upload.held_until <= now()
            if is_free or upload.state == "done":
                if part.offset != upload.received:
                    raise Conflict(f"The upload goes on at {upload.received}")
                if part.offset + (part.length or 0) > upload.bytes:
                    raise too_long(upload)
                if upload.state == "done":
                    return upload, True
                return await statements.hold(session, upload, holder, later()), upload.holder is None
        if asyncio.get_running_loop().time() > until:
            raise UploadHeld()
        await asyncio.sleep(_POLL_SECONDS)


class _Appending:
    """One part on its way into an upload that is held for it."""

    def __init__(self, ctx: Context, upload: FileUpload, holder: str, part: Part, came: Coming) -> None:
        self._ctx = ctx
        self._store = ctx.services.artifacts
        self._upload = upload
        self._holder = holder
        self._digest = part.digest
        self._coming = came
        self._came = self._counted = part.offset
        self._there: list[FilePiece] = []
        self._waiting: list[FilePiece] = []
        """What is in the store and does not count yet; the first of it may be the last one that counts, grown."""
        self._grows = False
        self._measured = ctx.services.measured.take(upload.id, upload.received)
        self._hash = sha256()

    async def work(self, *, is_clean: bool) -> None:
        """Take all that comes. Raises what breaks it off once that which has come before counts.

        The file of the part before grows only where that one `is_clean`, so that nobody can still be writing to it.
        """
        if self._came:
            async with self._ctx.reading() as session:
                self._there = [*await statements.pieces_of(session, [self._upload.id])]
            if sum(piece.bytes for piece in self._there) != self._came:  # the rows were put back without the bytes
                raise InvalidState("What had come of the upload is not there any more; begin it anew")
            self._grows = is_clean
        try:
            while self._coming.may_go_on and self._came < self._upload.bytes:
                await self._piece()
            await self._coming.end()
            self._prove()
            if self._came == self._upload.bytes:
                await self._complete()
            elif self._waiting:
                await self._commit()
        except BaseException:
            await self._drop()
            raise
        finally:
            if self._measured is not None and self._measured.bytes == self._counted < self._upload.bytes:
                self._ctx.services.measured.keep(self._upload.id, self._measured)
        if self._coming.broken is not None:
            raise self._coming.broken

    async def _piece(self) -> None:
        """Store what comes next; it counts at once unless there is a checksum, or the file is whole with it."""
        before = self._there[-1] if self._there and self._grows and isinstance(self._store, Growing) else None
        name = new_name(self._ctx) if before is None else before.storage_name
        if before is None:
            await announce(self._ctx, name)
        come = self._coming.bytes
        try:
            await self._stored(name, 0 if before is None else before.bytes)
        except OSError as error:
            if before is None:
                await give_up(self._ctx, name)
            raise Unavailable() from error
        size = self._coming.bytes - come
        if not size:
            if before is None:
                await give_up(self._ctx, name)
            return
        start = self._came if before is None else before.start
        size += 0 if before is None else before.bytes
        org_id, upload_id = self._ctx.org_id, self._upload.id
        self._waiting.append(
            new_row(FilePiece, org_id=org_id, upload_id=upload_id, start=start, bytes=size, storage_name=name)
        )
        self._came = start + size
        if self._digest is None and self._came < self._upload.bytes:
            await self._commit()

    async def _stored(self, name: str, size: int) -> None:
        """Have what comes next stored under this name, which has so many bytes already. Raises OSError."""
        left = self._upload.bytes - self._came
        if isinstance(self._store, Growing):
            most = left if self._digest is not None else min(UPLOAD_RUN_BYTES, left)
            await self._store.append(name, size, self._coming.next(most), self._look, self._rest)
        else:
            await self._store.put_stream(name, self._looked_at(min(UPLOAD_PIECE_BYTES, left)))

    async def _looked_at(self, most: int) -> AsyncIterator[bytes]:
        async for chunk in self._coming.next(most):
            taken = await asyncio.to_thread(self._timed_look, chunk)  # and not how long the store takes it elsewhere
            yield chunk
            await self._rest(taken)

    def _timed_look(self, chunk: bytes) -> float:
        begun = thread_time()
        self._look(chunk)
        return thread_time() - begun

    def _look(self, chunk: bytes) -> None:
        """Measure what comes."""
        if self._measured is not None:
            self._measured.add(chunk)
        if self._digest is not None:
            self._hash.update(chunk)

    async def _rest(self, seconds: float) -> None:
        """Make way for other organizations (decision 1157)."""
        services = self._ctx.services
        with services.pacing.aside():
            await services.lanes.make_way(self._ctx.org_id, _OF_THREAD_AND_LOOP * seconds)

    def _prove(self) -> None:
        """Raises ChecksumMismatch for a part that is not what it said; of one that broke off nothing counts."""
        if self._digest is None:
            return
        if self._coming.broken is not None:
            raise self._coming.broken
        if not hmac.compare_digest(self._hash.digest(), self._digest):
            raise ChecksumMismatch()

    async def _commit(self) -> None:
        """Have what waits count. Raises UploadHeld where another request has taken over."""
        before = self._there[-1] if self._there else None
        async with self._ctx.writing() as session:
            if not await statements.advance(session, self._upload.id, self._holder, self._waiting, before):
                raise UploadHeld()
        self._there, self._waiting, self._counted, self._grows = self._all, [], self._came, True

    @property
    def _all(self) -> list[FilePiece]:
        """What there is with what waits."""
        begin = self._waiting[0].start if self._waiting else self._came
        return [*(piece for piece in self._there if piece.start < begin), *self._waiting]

    async def _complete(self) -> None:
        """Make the file, with which the last bytes count: of the one piece that there is, or of all put together."""
        [first, *others] = pieces = self._all
        name, measured = first.storage_name, self._measured
        if others:
            name = new_name(self._ctx)
            await announce(self._ctx, name)
        if measured is not None and measured.bytes != self._upload.bytes:
            measured = None
        whole = measured or Measured()
        try:
            content = self._read(pieces, whole if measured is None else None)
            if others:
                await self._store.put_stream(name, content)
            elif measured is None:
                async for _ in content:
                    pass
        except (OSError, LookupError) as error:
            if others:
                await give_up(self._ctx, name)
            raise Unavailable() from error
        is_right = self._upload.sha256 in (None, whole.sha256)
        async with self._ctx.writing() as session:
            usage = await files.lock_usage(session)
            upload = await uploads.locked(session, self._upload.id)
            if upload.holder != self._holder:
                raise UploadHeld()
            if is_right:
                await uploads.completed(self._ctx, session, upload, whole, name)
            else:
                await uploads.abandoned(session, usage, upload)
        self._counted = self._came
        if not is_right:
            await give_up(self._ctx, name)
            await self._drop()
            raise ChecksumMismatch("The file is not the one whose SHA-256 was declared; the upload has ended")
        if others:
            await self._drop()
        self._waiting = []
        self._ctx.forget()

    async def _read(self, pieces: list[FilePiece], measured: Measured | None) -> AsyncIterator[bytes]:
        """Read the pieces, one behind the other; they are measured where they have not been."""
        for piece in pieces:
            async with aclosing(await self._store.open(piece.storage_name, 0, piece.bytes)) as content:
                async for chunk in content:
                    if measured is not None:
                        await measured.add_aside(chunk)
                    yield chunk
                    await self._coming.renew()

    async def _drop(self) -> None:
        """Have pieces that never counted removed soon."""
        counted = {piece.storage_name for piece in self._there}
        if names := [piece.storage_name for piece in self._waiting if piece.storage_name not in counted]:
            with suppress(Exception):  # within a day it will be done anyway
                await give_up(self._ctx, *names)
        self._waiting = []
