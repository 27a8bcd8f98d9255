"""Folders of files on the GraphQL surface."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from contract.criteria import All
from resolvers import folders as service
from schema.connections import After, Before, Connection, First, Last, Node, Offset, listing
from schema.declare import Info, argument, computed_field, field, guarded_field, link_field, operation_field
from schema.errors import UserError
from schema.execution.selections import selected, selected_nodes
from schema.files import File
from schema.inputs import DeletePayload, change, deletion
from schema.links import FolderLink
from schema.records import record
from storage import tables as t
from storage.rows import FolderRow


@record(t.Folder, "A folder of files; folders form a tree at most 16 deep.", hidden=("depth", "trash_root"))
class Folder(Node):
    parent: FolderLink | None = link_field("parent", service.get_folder, "The folder above; null at the top.")

    @computed_field("From the root down to this folder.")
    async def path(root: strawberry.Parent[FolderRow], info: Info) -> list[FolderLink]:
        return await service.path_of(info.context, root.id)

    @guarded_field(service.folders_in_folder, "The folders below, by name.")
    async def folders(
        root: strawberry.Parent[FolderRow], info: Info, first: First = UNSET, after: After = UNSET
    ) -> Connection[FolderLink]:
        question = listing(first=first, after=after)
        return await service.folders_in_folder(info.context, root.id, question, selected_nodes(info))

    @guarded_field(service.files_in_folder, "The files in it, newest first.")
    async def files(
        root: strawberry.Parent[FolderRow], info: Info, first: First = UNSET, after: After = UNSET
    ) -> Connection[File]:
        question = listing(first=first, after=after)
        return await service.files_in_folder(info.context, root.id, question, selected_nodes(info))


@strawberry.type(description="What came of a change to a folder.")
class FolderPayload:
    folder: Folder | None = field("The folder; null at the top, or where nothing was done.")
    user_errors: list[UserError] = field("Problems that the client can act on.")


FolderId = Annotated[strawberry.ID, argument("The folder's identifier.")]
ParentId = Annotated[strawberry.ID | None, argument("The folder above; the top where it is null.")]


@strawberry.type
class FolderQueries:
    @operation_field(service.get_folder, "A folder by its id.")
    async def folder(self, info: Info, id: FolderId) -> Folder | None:
        return await service.get_folder(info.context, id, selected(info))

    @operation_field(service.list_folders, "The folders below one, or the top ones.")
    async def folders(
        self,
        info: Info,
        parent_id: ParentId = UNSET,
        first: First = UNSET,
        after: After = UNSET,
        last: Last = UNSET,
        before: Before = UNSET,
        offset: Offset = UNSET,
    ) -> Connection[Folder]:
        condition = All(service.directly_in(parent_id or None))
        question = listing(condition, first=first, after=after, last=last, before=before, offset=offset)
        return await service.list_folders(info.context, question, selected_nodes(info))


@strawberry.type
class FolderMutations:
    @operation_field(service.create_folder, "Makes a folder; DUPLICATE where a sibling has the name.")
    async def folder_create(
        self,
        info: Info,
        name: Annotated[str, argument("The name, 1 to 255 characters.")],
        parent_id: ParentId = UNSET,
    ) -> FolderPayload:
        given = {"name": name, **({} if parent_id is UNSET else {"parent_id": parent_id})}
        made, problems = await change(info, service.create_folder, model=service.FolderCreate, input=given, at=())
        return FolderPayload(folder=made, user_errors=problems)

    @operation_field(service.update_folder, "Renames or moves; a folder cannot go below itself.")
    async def folder_update(
        self,
        info: Info,
        id: FolderId,
        name: Annotated[str | None, argument("The new name; unless given it stays.")] = UNSET,
        parent_id: ParentId = UNSET,
        expected_version: Annotated[int | None, argument("Change only this version.")] = UNSET,
    ) -> FolderPayload:
        named = {"name": name, "parent_id": parent_id, "expected_version": expected_version}
        given = {key: value for key, value in named.items() if value is not UNSET}
        model = service.FolderUpdate
        changed, problems = await change(info, service.update_folder, id, model=model, input=given, at=())
        return FolderPayload(folder=changed, user_errors=problems)

    @operation_field(service.delete_folder, "Into the trash with all below it; up to 10,000 folders and files at once.")
    async def folder_delete(self, info: Info, id: FolderId) -> DeletePayload:
        return await deletion(info, service.delete_folder, id)

    @operation_field(service.restore_folder, "Out of the trash with what went there with it.")
    async def folder_restore(self, info: Info, id: FolderId) -> FolderPayload:
        restored, problems = await change(info, service.restore_folder, id)
        return FolderPayload(folder=restored, user_errors=problems)


QUERIES, MUTATIONS = FolderQueries, FolderMutations
