"""Uploads in parts, by the tus protocol: begun, asked for, ended. `resolvers/upload_parts.py` takes the parts."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated

from pydantic import Field, StrictStr

from contract.errors import Expired, InvalidState, NotFound
from contract.file_errors import QuotaExceeded
from contract.http_errors import TooLarge
from contract.limits import UPLOAD_HOURS, UPLOADS_MAX
from contract.scopes import ScopeGroup
from resolvers.files import AttachTo, add_file, to_attach, to_attachable
from resolvers.folders import found_folder, to_folder
from resolvers.receiving import FileName, Sha256
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.inputs import Input, Line, Reference
from resolvers.shared.measured import Measured
from resolvers.shared.told_at_once import EACH, leading
from storage.base import as_uuid, now
from storage.new_rows import new_row
from storage.queries import files, records
from storage.queries import uploads as statements
from storage.tables import File, FileUpload, FileUsage, Folder
from storage.tenancy.sessions import TenantSession

PATH = "/files/uploads"


@leading({("folder_id",): to_folder, ("attach_to", EACH): to_attachable})
class UploadCreate(Input):
    """A file that will come in parts."""

    name: FileName
    bytes: Annotated[float, Field(ge=0, lt=2**53, multiple_of=1, strict=True)]
    content_type: Line | None = None
    sha256: Sha256 | None = None
    folder_id: Reference | None = None
    attach_to: AttachTo | None = None
    details: StrictStr = ""


@dataclass(frozen=True, slots=True)
class Upload:
    """An upload as clients see it; `file_id` is that of the file that it has become."""

    id: str
    url: str
    offset: int
    bytes: int
    expires_at: datetime
    file_id: str | None
    details: str


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def create_upload(ctx: Context, input: UploadCreate) -> Upload:
    """Reserve the place of a file. An empty one is there at once.

    Raises Problems, TooLarge, QuotaExceeded, and InvalidState where as many uploads as may be are under way.
    """
    size, most = int(input.bytes), ctx.services.files.one
    if size > most:
        raise TooLarge(f"The file is larger than the {most} bytes that one may have")
    async with ctx.writing() as session:
        usage = await files.lock_usage(session)
        if await statements.expire(session):
            usage = await files.lock_usage(session)
        folder = await found_folder(session, input.folder_id, ("input", "folder_id"))
        kinds = await to_attach(session, input.attach_to or [], ("input", "attach_to"))
        if await statements.open_ones(session) >= UPLOADS_MAX:
            raise InvalidState(f"{UPLOADS_MAX} uploads are under way already; end one of them first")
        if usage.bytes + usage.reserved + size > ctx.services.files.all:
            raise QuotaExceeded(ctx.services.files.all)
        upload = new_row(
            FileUpload,
            org_id=ctx.org_id,
            name=input.name,
            bytes=size,
            declared_type=input.content_type,
            sha256=input.sha256,
            folder_id=None if folder is None else folder.id,
            attach_to=list(kinds),
            details=input.details,
            uploaded_by=ctx.caller.subject,
            expires_at=now() + timedelta(hours=UPLOAD_HOURS),
        )
        [upload] = await session.insert(upload)
        await session.update(usage, reserved=usage.reserved + size)
        if not size:
            upload = await completed(ctx, session, upload, Measured(), "")
    ctx.forget()
    return _shown(ctx, upload)


@requires(ScopeGroup.CRM_MANAGE)
async def get_upload(ctx: Context, upload_id: str) -> Upload:
    """The upload, also once it has become a file. Raises NotFound, and Expired for one that was given up."""
    canonical = as_uuid(upload_id)
    async with ctx.reading() as session:
        found = None if canonical is None else await session.find(FileUpload, id=canonical)
    if found is None:
        raise NotFound()
    return _shown(ctx, standing(found))


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def end_upload(ctx: Context, upload_id: str) -> str:
    """Give an upload up, with all that has come. Raises NotFound, and Expired for one that was given up before."""
    async with ctx.writing() as session:
        usage = await files.lock_usage(session)
        upload = standing(await locked(session, upload_id))
        if upload.state == "done":
            raise NotFound()
        await abandoned(session, usage, upload)
    ctx.forget()
    return upload.id


@requires(ScopeGroup.CRM_MANAGE)
async def describe_uploads(ctx: Context) -> int:
    """Says how many bytes the largest file may have that comes in parts."""
    return ctx.services.files.one


async def locked(session: TenantSession, upload_id: str) -> FileUpload:
    """The upload, locked. Raises NotFound."""
    upload = await records.lock_for_update(session, FileUpload, upload_id)
    if upload is None:
        raise NotFound()
    return upload


def standing(upload: FileUpload) -> FileUpload:
    """The upload, where it has not expired, or a part of it comes just now. Raises Expired."""
    moment = now()
    is_held = upload.held_until is not None and upload.held_until > moment
    if upload.state == "expired" or (upload.expires_at <= moment and not is_held):
        raise Expired("The upload has expired")
    return upload


async def abandoned(session: TenantSession, usage: FileUsage, upload: FileUpload) -> None:
    """Delete an open upload, and give its place back; it and the usage are locked."""
    await statements.drop_pieces(session, [upload.id])
    await session.delete(upload)
    await session.update(usage, reserved=usage.reserved - upload.bytes)


async def completed(
    ctx: Context, session: TenantSession, upload: FileUpload, measured: Measured, storage_name: str
) -> FileUpload:
    """Make the file of an upload whose bytes lie in the store whole; the upload is locked.

    What has gone meanwhile, its folder or a record that it was to be attached to, is in no one's way (decision 395).
    """
    usage = await files.lock_usage(session)
    await statements.drop_pieces(session, [upload.id])  # of which one may be the file: it takes its bytes on again
    folder = None if upload.folder_id is None else await session.find(Folder, id=upload.folder_id)
    kinds = await files.kinds_with_room(session, upload.attach_to) if upload.attach_to else {}
    draft = new_row(
        File,
        org_id=ctx.org_id,
        name=upload.name,
        content_type=measured.kind(upload.declared_type),
        bytes=upload.bytes,
        sha256=measured.sha256,
        folder_id=None if folder is None or folder.trashed_at is not None else folder.id,
        uploaded_by=upload.uploaded_by,
        storage_name=storage_name,
    )
    file = await add_file(ctx, session, usage, draft, kinds, reserved=upload.bytes)
    return await session.update(
        upload, received=upload.bytes, state="done", file_id=file.id, holder=None, held_until=None
    )


def _shown(ctx: Context, upload: FileUpload) -> Upload:
    url = f"{ctx.services.public_url}{PATH}/{upload.id}"
    return Upload(upload.id, url, upload.received, upload.bytes, upload.expires_at, upload.file_id, upload.details)
