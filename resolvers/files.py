"""Files: what is known of them, where they stand, what they are attached to, and their trash."""

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated

from pydantic import Field, StrictInt, StrictStr

from contract.criteria import All, AttachedTo, Compare, Condition, ListQuery, Op, Selection
from contract.errors import InvalidState, NotFound, Path, Problem, Problems
from contract.limits import ATTACHED_TOGETHER_MAX, FILES_ON_RECORD_MAX
from contract.scopes import ScopeGroup
from resolvers.folders import expect, found_folder, to_folder
from resolvers.receiving import FileName, Received, Sha256
from resolvers.shared import changes
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.inputs import Given, Input, Reference
from resolvers.shared.lists import PageResult, by_id, children, may_read, page_of
from resolvers.shared.sentences import ABSENT
from resolvers.shared.told_at_once import EACH, leading
from storage.base import as_uuid, now
from storage.new_rows import new_row
from storage.queries import files as statements
from storage.queries import listables, merged_ids, records
from storage.rows import FileRow
from storage.tables import File, FileLink, FileUsage, Folder
from storage.tenancy.sessions import TenantSession

AttachTo = Annotated[list[StrictStr], Field(max_length=ATTACHED_TOGETHER_MAX)]


async def to_attachable(ctx: Context, session: TenantSession, identifiers: Sequence[str]) -> Mapping[str, str]:
    """The look for records that files are attached to."""
    found = await statements.kinds_kept(session, identifiers)
    return {each: ABSENT for each in identifiers if (as_uuid(each) or "") not in found}


@leading({("folder_id",): to_folder, ("attach_to", EACH): to_attachable})
class FileCreate(Input):
    """A file that has come, as its sender describes it and as it was found to be."""

    name: FileName
    bytes: StrictInt
    content_type: StrictStr
    found_sha256: StrictStr
    folder_id: Reference | None = None
    attach_to: AttachTo | None = None
    sha256: Sha256 | None = None


@leading({("folder_id",): to_folder})
class FileUpdate(Input):
    """Changes to a file; a null for the folder is the top."""

    name: FileName = None  # type: ignore[assignment]  # a default that is never read: it may be left out
    folder_id: Reference | None = None
    expected_version: StrictInt | None = None


@requires(ScopeGroup.CRM_READ, finds=(listables.FILES,))
async def get_file(ctx: Context, file_id: str, selection: Selection | None = None) -> FileRow | None:
    """The file, or None; those in the trash included."""
    return await by_id(ctx, listables.FILES, file_id, selection)


@requires(ScopeGroup.CRM_READ)
async def list_files(ctx: Context, listing: ListQuery, selection: Selection | None = None) -> PageResult[FileRow]:
    """A page of the files; `wanted` makes a part of the condition."""
    return await page_of(ctx, listables.FILES, listing, selection)


def wanted(condition: Condition, *, is_trashed: bool = False, attached_to: str | None = None) -> Condition:
    """The condition, of files in the trash or of those that are not, and attached to this record."""
    parts = [condition, Compare("trashed_at", Op.IS_NULL, not is_trashed)]
    return All((*parts, *([] if attached_to is None else [AttachedTo(attached_to)])))


@requires(ScopeGroup.CRM_READ)
async def files_of_record(
    ctx: Context, record_id: str, listing: ListQuery, selection: Selection | None = None
) -> PageResult[FileRow]:
    """A page of the files that are attached to a record, newest first."""
    return await children(ctx, listables.FILES_OF_RECORDS, statements.ON_RECORD, record_id, listing, selection)


@requires(ScopeGroup.CRM_READ)
async def get_usage(ctx: Context) -> FileUsage:
    """Measure the room that the files take up."""
    async with ctx.reading() as session:
        return await statements.usage_of(session)


async def records_of_file(ctx: Context, file_id: str) -> list[str]:
    """The identifiers of the records that the file is attached to, for who has the file."""

    async def load(ids: list[str]) -> list[list[str]]:
        async with ctx.reading() as session:
            found = await statements.records_of(session, ids)
        return [found[i] for i in ids]

    ids: list[str] = await ctx.loader("records_of_files", load).load(file_id)
    return ids


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def create_file(ctx: Context, input: FileCreate, stored: Received) -> File:
    """Make a file of what was received. Raises Problems, and QuotaExceeded where there is no place for it."""
    if input.sha256 is not None and input.sha256 != input.found_sha256:
        raise Problems([Problem(("sha256",), "is not the SHA-256 of the file", "sha256")])
    async with ctx.writing() as session:
        usage = await statements.lock_usage(session)
        file = await add_file(
            ctx,
            session,
            usage,
            new_row(
                File,
                org_id=ctx.org_id,
                name=input.name,
                content_type=input.content_type,
                bytes=input.bytes,
                sha256=input.found_sha256,
                folder_id=_id_of(await found_folder(session, input.folder_id, ("folder_id",))),
                uploaded_by=ctx.caller.subject,
                storage_name=stored.storage_name if input.bytes else "",
            ),
            await to_attach(session, input.attach_to or []),
        )
    ctx.forget()
    return file


async def add_file(
    ctx: Context, session: TenantSession, usage: FileUsage, draft: File, kinds: dict[str, str], reserved: int = 0
) -> File:
    """Insert a file whose bytes are in the store, attach it, and take up its place, of which so much is reserved.

    Raises QuotaExceeded (decision 391).
    """
    files = await statements.keep(session, usage, [draft], ctx.services.files.all, reserved=reserved)
    if files is None:
        raise InvalidState("The bytes of the file lay unused for too long; send it again")
    [file] = files
    links = [
        new_row(FileLink, org_id=ctx.org_id, record_id=i, file_id=file.id, kind=kind, attached_by=ctx.caller.subject)
        for i, kind in kinds.items()
    ]
    if links:
        await session.insert(*links)
    await changes.append_event(ctx, session, "file_uploaded", {"file_id": file.id, "attached_to": list(kinds)})
    return file


async def to_attach(session: TenantSession, ids: Sequence[str], at: Path = ("attach_to",)) -> dict[str, str]:
    """The kinds of these records, by identifier.

    Raises Problems for those that are not there or have as many files as they may. The usage of files is locked.
    """
    found = await statements.kinds_kept(session, ids) if ids else {}
    kinds = dict(found.values())
    numbers = await statements.attached(session, kinds) if kinds else {}
    problems = []
    for place, identifier in enumerate(ids):
        one = found.get(as_uuid(identifier) or "")
        if one is None:
            problems.append(Problem((*at, place), ABSENT, "reference"))
        elif numbers[one[0]] >= FILES_ON_RECORD_MAX:
            problems.append(Problem((*at, place), f"has {FILES_ON_RECORD_MAX} files already", "too_long"))
    if problems:
        raise Problems(problems)
    return kinds


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def update_file(ctx: Context, file_id: str, input: FileUpdate, *, seen: Collection[int] | None = None) -> File:
    """Rename or move a file. Raises NotFound, PreconditionFailed, Problems, and InvalidState for one in the trash."""
    fields: Given = input.given()
    version = fields.pop("expected_version", None)
    async with ctx.writing() as session:
        await statements.lock_usage(session)
        file = await _to_change(ctx, session, file_id)
        expect(file.version, version, seen)
        _check_standing(file)
        if fields.get("folder_id") is not None:
            fields["folder_id"] = _id_of(await found_folder(session, fields["folder_id"], ("folder_id",)))
        file, changed = await changes.apply(session, file, fields)
        if changed:
            await _log(ctx, session, "file_updated", file, changed=changed)
    ctx.forget()
    return file


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def attach_file(ctx: Context, file_id: str, record_id: str) -> File:
    """Attach a file to a record; one that is stays as it is.

    Raises NotFound, and InvalidState for a file in the trash or a record with too many.
    """
    async with ctx.writing() as session:
        await statements.lock_usage(session)
        file = await _to_change(ctx, session, file_id)
        kinds = await statements.kinds_kept(session, [record_id])
        if not kinds:
            raise NotFound(field=("record_id",))
        [(record, kind)] = kinds.values()
        if await session.find(FileLink, record_id=record, file_id=file.id) is None:
            _check_standing(file)
            if (await statements.attached(session, [record]))[record] >= FILES_ON_RECORD_MAX:
                raise InvalidState(f"The record has {FILES_ON_RECORD_MAX} files already", field=("record_id",))
            link = new_row(FileLink, org_id=ctx.org_id, record_id=record, file_id=file.id, kind=kind)
            await session.insert(link._replace(attached_by=ctx.caller.subject))  # type: ignore[attr-defined]  # a row
            await _log(ctx, session, "file_attached", file, record_id=record)
    ctx.forget()
    return file


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def detach_file(ctx: Context, file_id: str, record_id: str) -> File:
    """Take a file off a record; from one that it is not on, too. Raises NotFound for a file that there is not."""
    record = as_uuid(record_id)
    async with ctx.writing() as session:
        await statements.lock_usage(session)
        file = await _to_change(ctx, session, file_id)
        ids = [] if record is None else [record, *(await merged_ids.leading(session, [record])).values()]
        link = await session.find(FileLink, record_id=ids[-1], file_id=file.id) if ids else None
        if link is not None:
            await session.delete(link)
            await _log(ctx, session, "file_detached", file, record_id=link.record_id)
    ctx.forget()
    return file


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def delete_file(ctx: Context, file_id: str) -> str:
    """Put a file into the trash. Raises NotFound, and InvalidState for one that is there."""
    async with ctx.writing() as session:
        await statements.lock_usage(session)
        file = await _to_change(ctx, session, file_id)
        _check_standing(file)
        await session.update(file, trashed_at=now(), trash_root=file.id, **changes.next_version(file))
        await _log(ctx, session, "file_deleted", file)
    ctx.forget()
    return file.id


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def restore_file(ctx: Context, file_id: str) -> File:
    """Take a file out of the trash, to the top where its folder is gone. Raises NotFound and InvalidState."""
    async with ctx.writing() as session:
        await statements.lock_usage(session)
        file = await _in_trash(ctx, session, file_id)
        folder = None if file.folder_id is None else await session.find(Folder, id=file.folder_id)
        there = None if folder is None or folder.trashed_at is not None else folder.id
        values = {"trashed_at": None, "trash_root": None, "folder_id": there}
        file = await session.update(file, **values, **changes.next_version(file))
        await _log(ctx, session, "file_restored", file)
    ctx.forget()
    return file


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def purge_file(ctx: Context, file_id: str) -> str:
    """Delete a file of the trash for good. Raises NotFound and InvalidState."""
    async with ctx.writing() as session:
        await statements.lock_usage(session)
        file = await _in_trash(ctx, session, file_id)
        await statements.purge(session, [file])
        await _log(ctx, session, "file_purged", file)
    ctx.forget()
    return file.id


async def _in_trash(ctx: Context, session: TenantSession, file_id: str) -> File:
    file = await _to_change(ctx, session, file_id)
    if file.trashed_at is None:
        raise InvalidState("The file is not in the trash", field=("id",))
    return file


async def _to_change(ctx: Context, session: TenantSession, file_id: str) -> File:
    file = await records.lock_for_update(session, File, file_id)
    if file is None or not may_read(ctx, file.needs):
        raise NotFound(field=("id",))
    return file


def _check_standing(file: File) -> None:
    if file.trashed_at is not None:
        raise InvalidState("The file is in the trash", field=("id",))


def _id_of(folder: Folder | None) -> str | None:
    return None if folder is None else folder.id


async def _log(ctx: Context, session: TenantSession, type: str, file: File, **data: object) -> None:
    await changes.append_event(ctx, session, type, {"file_id": file.id, **data})
