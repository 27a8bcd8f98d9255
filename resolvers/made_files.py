"""Files that a job makes: their bytes are stored first, and a row names them in the transaction that ends the work."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta

from contract.limits import LEFTOVER_HOURS
from jobs.work import Run
from resolvers.shared.measured import Measured
from storage.base import new_id, now
from storage.new_rows import new_row
from storage.queries import files as statements
from storage.queries.records import append_event
from storage.tables import File
from storage.tenancy.sessions import TenantSession


@dataclass(frozen=True, slots=True)
class MadeFile:
    """Bytes in the store that no row names yet."""

    name: str
    content_type: str
    storage_name: str
    bytes: int
    sha256: str


async def put_made(run: Run, name: str, content_type: str, pieces: AsyncIterator[bytes]) -> MadeFile:
    """Store the pieces, noted before as what may come to be there. Raises what the store and the pieces do."""
    storage_name, measured = f"{run.org_id}/{new_id()}", Measured()

    async def looked_at() -> AsyncIterator[bytes]:
        async for piece in pieces:
            measured.add(piece)
            yield piece

    async with run.writing() as session:
        await statements.note_leftovers(session, [storage_name], now() + timedelta(hours=LEFTOVER_HOURS))
    await run.ports.artifacts.put_stream(storage_name, looked_at())
    return MadeFile(name, content_type, storage_name, measured.bytes, measured.sha256)


async def add_made(
    session: TenantSession, quota: int, made: MadeFile, subject: str, needs: str | None = None
) -> File | None:
    """Make a file of the stored bytes; None where the quota has no place for it, or the bytes lay for too long.

    Its readers need this group beside that of files.
    """
    usage = await statements.lock_usage(session)
    if usage.bytes + usage.reserved + made.bytes > quota:
        return None
    if made.bytes and not await statements.take_on(session, [made.storage_name]):
        return None
    draft = new_row(
        File,
        org_id=session.org_id,
        name=made.name,
        content_type=made.content_type,
        bytes=made.bytes,
        sha256=made.sha256,
        uploaded_by=subject,
        storage_name=made.storage_name if made.bytes else "",
        needs=needs,
    )
    [file] = await session.insert(draft)
    await session.update(usage, bytes=usage.bytes + file.bytes, files=usage.files + 1)
    await append_event(
        session,
        type="file_uploaded",
        area="crm",
        actor=subject,
        request_id=None,
        data={"file_id": file.id, "attached_to": []},
    )
    return file
