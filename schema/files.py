"""Files and what is done with them on the GraphQL surface."""

from asyncio import gather
from datetime import datetime
from enum import Enum
from typing import Annotated, Any, ClassVar

import strawberry
from strawberry import UNSET

from contract.criteria import All, AttachedTo
from contract.vocabulary import SortDirection
from resolvers import file_contents, folders, members, uploads, viewer
from resolvers import files as service
from resolvers.shared.context import FileLimits
from schema.connections import After, Before, Connection, First, Last, Node, Offset, listing
from schema.declare import Info, argument, computed_field, enum, field, guarded_field, link_field, operation_field
from schema.errors import UserError
from schema.execution.selections import selected, selected_by_type, selected_nodes
from schema.filters import DateTimeFilter, IDFilter, StringFilter, condition_of, order_of
from schema.inputs import DeletePayload, change, deletion
from schema.links import FolderLink
from schema.members import Member
from schema.records import record
from storage import tables as t
from storage.rows import FileRow, FileUsageRow


@record(
    t.File,
    "A file of the organization. Its bytes never change; another content is another file.",
    hidden=("storage_name", "trash_root", "needs"),
)
class File(Node):
    folder: FolderLink | None = link_field(
        "folder", folders.get_folder, "The folder; null at the top, or where nothing was done."
    )

    @computed_field("The size.", "bytes")
    def bytes(root: strawberry.Parent[FileRow]) -> float:
        return float(root.bytes)

    @computed_field("The records that it is attached to, as far as the caller may read them.")
    async def attached_to(root: strawberry.Parent[FileRow], info: Info) -> list[Node]:
        ids = await service.records_of_file(info.context, root.id)
        selections = selected_by_type(info)
        found: list[Any] = await gather(  # Any: each stands for its type
            *(viewer.get_node(info.context, i, selections) for i in ids)
        )
        return [one for one in found if one is not None]

    @guarded_field(members.get_member, "Who uploaded it.", "uploaded_by")
    async def uploaded_by_member(root: strawberry.Parent[FileRow], info: Info) -> Member | None:
        return None if root.uploaded_by is None else await members.get_member(info.context, root.uploaded_by)

    @computed_field("The path of the content, for callers with a credential.")
    def content_path(root: strawberry.Parent[FileRow]) -> str:
        return f"/files/{root.id}/content"


class FileOrderField(Enum):
    """The columns by which files are ordered."""

    NAME = "name"
    BYTES = "bytes"
    CREATED_AT = "created_at"


enum(
    FileOrderField,
    "What files can be ordered by.",
    NAME="By name, by code point.",
    BYTES="By size.",
    CREATED_AT="By createdAt.",
)


@strawberry.input(description="The order of files.")
class FileOrder:
    field: FileOrderField = strawberry.field(description="By what.", default=FileOrderField.CREATED_AT)
    direction: SortDirection = strawberry.field(description="In which direction.", default=SortDirection.DESC)


@strawberry.input(description="Which files; those in the trash only when asked for.")
class FileFilter:
    conditions: ClassVar = {"attached_to": AttachedTo, "trashed": lambda _: All()}

    name: StringFilter | None = field("A condition on name.", default=UNSET)
    content_type: StringFilter | None = field("A condition on contentType.", default=UNSET)
    folder_id: IDFilter | None = field("A condition on folderId.", default=UNSET)
    attached_to: strawberry.ID | None = field("Attached to this record.", default=UNSET)
    created_at: DateTimeFilter | None = field("A condition on createdAt.", default=UNSET)
    trashed: bool | None = field("Only those in the trash, or only those not in it.", default=False)


@strawberry.type(description="What the files of the organization take up.")
class FileUsage:
    files: int = field("How many files.")

    @computed_field("Stored and reserved bytes, the trash included.", "bytes", "reserved")
    def bytes(root: strawberry.Parent[FileUsageRow]) -> float:
        return float(root.bytes + root.reserved)

    @computed_field("How many bytes there may be.")
    async def quota(root: strawberry.Parent[FileUsageRow], info: Info) -> float:
        return float(_limits(info).all)

    @computed_field("How many bytes one file may have.")
    async def largest_file(root: strawberry.Parent[FileUsageRow], info: Info) -> float:
        return float(_limits(info).one)


def _limits(info: Info) -> FileLimits:
    return info.context.services.files


@strawberry.type(description="An upload in parts, by the tus protocol 1.0.0.")
class FileUpload:
    id: strawberry.ID = field("The record's identifier.")
    url: str = field("Where the parts go (PATCH), and where the offset is asked for (HEAD).")
    expires_at: datetime = field("When the upload is given up, counted from the last part.")

    @computed_field("How many bytes have arrived for good.")
    def offset(root: strawberry.Parent[uploads.Upload]) -> float:
        return float(root.offset)

    @computed_field("How many there will be.")
    def bytes(root: strawberry.Parent[uploads.Upload]) -> float:
        return float(root.bytes)


@strawberry.input(description="A file that will come in parts.")
class FileUploadInput:
    name: str = field("The name without a path, 1 to 255 characters.")
    bytes: float = field("The size in bytes, from 0.")
    content_type: str | None = field("Kept only where the bytes tell nothing.", default=UNSET)
    sha256: str | None = field("Compared at the end, where given.", default=UNSET)
    folder_id: strawberry.ID | None = field("The folder's id; null at the top.", default=UNSET)
    attach_to: list[strawberry.ID] | None = field("Records to attach it to, at most 20.", default=UNSET)


@strawberry.type(description="Where the parts go.")
class FileUploadPayload:
    upload: FileUpload | None = field("The upload; null where nothing was done.")
    user_errors: list[UserError] = field("Problems that the client can act on.")


@strawberry.type(description="What came of a change to a file.")
class FilePayload:
    file: File | None = field("The file; null where nothing was done.")
    user_errors: list[UserError] = field("Problems that the client can act on.")


@strawberry.type(description="A link that works without a credential until it expires.")
class FileLinkPayload:
    url: str | None = field("The address.")
    expires_at: datetime | None = field("When it ends.")
    user_errors: list[UserError] = field("Problems that the client can act on.")


FileId = Annotated[strawberry.ID, argument("The file's identifier.")]
RecordId = Annotated[strawberry.ID, argument("The record's identifier.")]
_DEFAULT_ORDER = FileOrder()


@strawberry.type
class FileQueries:
    @operation_field(service.get_file, "A file by its id, those in the trash included.")
    async def file(self, info: Info, id: FileId) -> File | None:
        return await service.get_file(info.context, id, selected(info))

    @operation_field(service.list_files, "The organization's files.")
    async def files(
        self,
        info: Info,
        filter: Annotated[FileFilter | None, argument("Which files.")] = UNSET,
        order_by: Annotated[FileOrder | None, argument("In which order.")] = _DEFAULT_ORDER,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
        offset: Offset = UNSET,
    ) -> Connection[File]:
        condition = service.wanted(condition_of(filter), is_trashed=bool(filter and filter.trashed))
        question = listing(
            condition, order_of(order_by), first=first, after=after, last=last, before=before, offset=offset
        )
        return await service.list_files(info.context, question, selected_nodes(info))

    @operation_field(service.get_usage, "What the files take up, and what they may.")
    async def file_usage(self, info: Info) -> FileUsage:
        return await service.get_usage(info.context)


@strawberry.type
class FileMutations:
    @operation_field(uploads.create_upload, "Reserves the place of a file that comes in parts.")
    async def file_upload_create(
        self, info: Info, input: Annotated[FileUploadInput, argument("The file.")]
    ) -> FileUploadPayload:
        made, problems = await change(info, uploads.create_upload, model=uploads.UploadCreate, input=input)
        return FileUploadPayload(upload=made, user_errors=problems)

    @operation_field(service.update_file, "Renames or moves; folderId null is the top.")
    async def file_update(
        self,
        info: Info,
        id: FileId,
        name: Annotated[str | None, argument("The new name; unless given it stays.")] = UNSET,
        folder_id: Annotated[strawberry.ID | None, argument("The folder; null for the top.")] = UNSET,
        expected_version: Annotated[int | None, argument("Change only this version.")] = UNSET,
    ) -> FilePayload:
        named = {"name": name, "folder_id": folder_id, "expected_version": expected_version}
        given = {key: value for key, value in named.items() if value is not UNSET}
        changed, problems = await change(info, service.update_file, id, model=service.FileUpdate, input=given, at=())
        return FilePayload(file=changed, user_errors=problems)

    @operation_field(service.attach_file, "Idempotent; at most 200 files on a record.")
    async def file_attach(self, info: Info, id: FileId, record_id: RecordId) -> FilePayload:
        changed, problems = await change(info, service.attach_file, id, record_id)
        return FilePayload(file=changed, user_errors=problems)

    @operation_field(service.detach_file, "Idempotent.")
    async def file_detach(self, info: Info, id: FileId, record_id: RecordId) -> FilePayload:
        changed, problems = await change(info, service.detach_file, id, record_id)
        return FilePayload(file=changed, user_errors=problems)

    @operation_field(file_contents.create_link, "A signed link, one minute to seven days.")
    async def file_link_create(
        self,
        info: Info,
        id: FileId,
        ttl_seconds: Annotated[int | None, argument("For how many seconds.")] = 300,
        inline: Annotated[bool | None, argument("Whether the file is shown, where its kind may be.")] = False,
    ) -> FileLinkPayload:
        named = {"ttl_seconds": ttl_seconds, "inline": inline}
        given = {key: value for key, value in named.items() if value is not None}
        model = file_contents.LinkAsked
        made, problems = await change(info, file_contents.create_link, id, model=model, input=given, at=())
        url, ends = (None, None) if made is None else (made.url, made.expires_at)
        return FileLinkPayload(url=url, expires_at=ends, user_errors=problems)

    @operation_field(service.delete_file, "Into the trash for 30 days; its links stop at once.")
    async def file_delete(self, info: Info, id: FileId) -> DeletePayload:
        return await deletion(info, service.delete_file, id)

    @operation_field(service.restore_file, "Out of the trash, to the top where its folder is gone.")
    async def file_restore(self, info: Info, id: FileId) -> FilePayload:
        restored, problems = await change(info, service.restore_file, id)
        return FilePayload(file=restored, user_errors=problems)

    @operation_field(service.purge_file, "Out of the trash for good: bytes and place.")
    async def file_purge(self, info: Info, id: FileId) -> DeletePayload:
        return await deletion(info, service.purge_file, id)


QUERIES, MUTATIONS = FileQueries, FileMutations
