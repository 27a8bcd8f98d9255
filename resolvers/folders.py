"""Folders: a tree of few levels, moved without rings, and the trash of whole trees."""

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated

from pydantic import AfterValidator, StrictInt

from contract.criteria import Compare, Condition, ListQuery, Op, Selection
from contract.errors import Duplicate, InvalidState, NotFound, Path, PreconditionFailed, Problem, Problems
from contract.limits import FILE_NAME_MAX, FOLDER_DEPTH_MAX, FOLDER_TREE_MAX
from contract.normal_form import folded
from contract.scopes import ScopeGroup
from resolvers.shared import changes
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.inputs import Input, Reference, shown, storable, trimmed
from resolvers.shared.lists import PageResult, by_id, children, page_of
from resolvers.shared.sentences import ABSENT
from resolvers.shared.told_at_once import leading
from storage.base import as_uuid, now
from storage.new_rows import new_row
from storage.queries import files, listables, records
from storage.queries import folders as statements
from storage.rows import FileRow, FolderRow
from storage.tables import File, Folder
from storage.tenancy.sessions import TenantSession

_Name = Annotated[str, trimmed(FILE_NAME_MAX), AfterValidator(storable), AfterValidator(shown)]


async def to_folder(ctx: Context, session: TenantSession, identifiers: Sequence[str]) -> Mapping[str, str]:
    """The look for folders that stand; an input names one."""
    return {each: ABSENT for each in identifiers if await _standing(session, each) is None}


@leading({("parent_id",): to_folder})
class FolderCreate(Input):
    """A new folder."""

    name: _Name
    parent_id: Reference | None = None


@leading({("parent_id",): to_folder})
class FolderUpdate(Input):
    """Changes to a folder; a null for the folder above is the top."""

    name: _Name = None  # type: ignore[assignment]  # a default that is never read: it may be left out
    parent_id: Reference | None = None
    expected_version: StrictInt | None = None


@requires(ScopeGroup.CRM_READ, finds=(listables.FOLDERS,))
async def get_folder(ctx: Context, folder_id: str, selection: Selection | None = None) -> FolderRow | None:
    """The folder, or None; those in the trash included."""
    return await by_id(ctx, listables.FOLDERS, folder_id, selection)


@requires(ScopeGroup.CRM_READ)
async def list_folders(ctx: Context, listing: ListQuery, selection: Selection | None = None) -> PageResult[FolderRow]:
    """A page of folders by name; `directly_in` makes the condition."""
    return await page_of(ctx, listables.FOLDERS, listing, selection)


def directly_in(parent_id: str | None) -> tuple[Condition, ...]:
    """The conditions on the folders that stand directly in one, or at the top, and not in the trash."""
    return Compare("parent_id", Op.EQ, parent_id), Compare("trashed_at", Op.IS_NULL, True)


_STANDING = Compare("trashed_at", Op.IS_NULL, True)


@requires(ScopeGroup.CRM_READ)
async def folders_in_folder(
    ctx: Context, folder_id: str, listing: ListQuery, selection: Selection | None = None
) -> PageResult[FolderRow]:
    """A page of the folders below one, by name."""
    asked = ListQuery(_STANDING, None, listing.page)
    return await children(ctx, listables.FOLDERS, Folder.parent_id, folder_id, asked, selection)


@requires(ScopeGroup.CRM_READ)
async def files_in_folder(
    ctx: Context, folder_id: str, listing: ListQuery, selection: Selection | None = None
) -> PageResult[FileRow]:
    """A page of the files in a folder, newest first."""
    asked = ListQuery(_STANDING, None, listing.page)
    return await children(ctx, listables.FILES, File.folder_id, folder_id, asked, selection)


async def path_of(ctx: Context, folder_id: str) -> list[Folder]:
    """The folders from the top down to this one, for who has the folder; those of its siblings come along."""

    async def load(ids: list[str]) -> list[list[Folder]]:
        async with ctx.reading() as session:
            found = await statements.above(session, ids)
        return [found[i] for i in ids]

    path: list[Folder] = await ctx.loader("folder_paths", load).load(folder_id)
    return path


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def create_folder(ctx: Context, input: FolderCreate) -> Folder:
    """Make a folder. Raises Problems, Duplicate for a sibling's name, InvalidState where it would be too deep."""
    async with ctx.writing() as session:
        await files.lock_usage(session)
        above = await found_folder(session, input.parent_id, ("parent_id",))
        depth = 1 if above is None else above.depth + 1
        _check_depth(depth)
        parent_id = None if above is None else above.id
        await _check_name(session, parent_id, input.name)
        draft = new_row(Folder, org_id=ctx.org_id, name=input.name, parent_id=parent_id, depth=depth)
        [folder] = await session.insert(draft)
        await _log(ctx, session, "folder_created", folder)
    ctx.forget()
    return folder


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def update_folder(
    ctx: Context, folder_id: str, input: FolderUpdate, *, seen: Collection[int] | None = None
) -> Folder:
    """Rename or move a folder.

    Raises NotFound, PreconditionFailed, Problems, Duplicate for a sibling's name, and InvalidState for one in the
    trash, below itself or too deep.
    """
    fields = input.given()
    version = fields.pop("expected_version", None)
    async with ctx.writing() as session:
        await files.lock_usage(session)
        folder = await _to_change(session, folder_id)
        expect(folder.version, version, seen)
        if folder.trashed_at is not None:
            raise InvalidState("The folder is in the trash", field=("id",))
        values = changes.differences(folder, fields)
        if "parent_id" in values:
            values["depth"] = await _moved(session, folder, values["parent_id"])
        if "parent_id" in values or "name" in values:
            after = changes.as_changed(folder, values)
            await _check_name(session, after.parent_id, after.name, but=folder.id)
        if values:
            changed = sorted(values.keys() - {"depth"})
            folder = await session.update(folder, **values, **changes.next_version(folder))
            await _log(ctx, session, "folder_updated", folder, changed=changed)
    ctx.forget()
    return folder


async def _moved(session: TenantSession, folder: Folder, parent_id: str | None) -> int:
    """Says how deep the folder is there; those below it are as much deeper. Raises Problems and InvalidState."""
    above = await found_folder(session, parent_id, ("parent_id",))
    depth = 1
    if above is not None:
        depth = above.depth + 1
        if folder.id in [one.id for one in (await statements.above(session, [above.id]))[above.id]]:
            raise InvalidState("A folder cannot go below itself", field=("parent_id",))
    if depth == folder.depth:
        return depth
    below = (await statements.tree(session, folder))[1:]
    if len(below) > FOLDER_TREE_MAX:
        words = f"There are more than {FOLDER_TREE_MAX} folders in it, which would lie at another depth; move a part"
        raise InvalidState(words, field=("id",))
    _check_depth(max([depth, *(one.depth - folder.depth + depth for one in below)]))
    if below:
        await statements.sink(session, [one.id for one in below], depth - folder.depth)
    return depth


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def delete_folder(ctx: Context, folder_id: str) -> str:
    """Put a folder into the trash with all below it.

    Raises NotFound, and InvalidState for one that is there or has too much below it.
    """
    async with ctx.writing() as session:
        await files.lock_usage(session)
        folder = await _to_change(session, folder_id)
        if folder.trashed_at is not None:
            raise InvalidState("The folder is in the trash", field=("id",))
        ids = [one.id for one in await statements.tree(session, folder, statements.standing())]
        number = len(ids) + await files.number_in(session, ids)
        if number > FOLDER_TREE_MAX:
            words = f"There are more than {FOLDER_TREE_MAX} folders and files in it; delete a part of them first"
            raise InvalidState(words, field=("id",))
        values = {"trashed_at": now(), "trash_root": folder.id}
        await statements.change(session, ids, values)
        await files.trash(session, ids, values)
        await _log(ctx, session, "folder_deleted", folder, number=number)
    ctx.forget()
    return folder.id


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def restore_folder(ctx: Context, folder_id: str) -> Folder:
    """Take a folder out of the trash with what went there with it; to the top, where the folder above is gone.

    Raises NotFound, Duplicate where another one has its name by now, and InvalidState for one that is not in the trash,
    or would be too deep (decision 396).
    """
    async with ctx.writing() as session:
        await files.lock_usage(session)
        folder = await _to_change(session, folder_id)
        root = folder.trash_root
        if root is None:
            raise InvalidState("The folder is not in the trash", field=("id",))
        above = await records.lock_for_update(session, Folder, folder.parent_id) if folder.parent_id else None
        if above is not None and above.trashed_at is not None:
            above = None
        parent_id, depth = (None, 1) if above is None else (above.id, above.depth + 1)
        tree = await statements.tree(session, folder, statements.gone_with(root))
        _check_depth(max(one.depth - folder.depth + depth for one in tree))
        await _check_name(session, parent_id, folder.name)
        ids = [one.id for one in tree]
        await statements.change(session, ids, {"trashed_at": None, "trash_root": None})
        await files.untrash(session, ids, root)
        if depth != folder.depth:
            await statements.sink(session, ids, depth - folder.depth)
        restored = await records.lock_for_update(session, Folder, folder.id)
        if restored is None:
            raise NotFound(field=("id",))
        folder = await session.update(restored, parent_id=parent_id)
        await _log(ctx, session, "folder_restored", folder)
    ctx.forget()
    return folder


async def found_folder(session: TenantSession, folder_id: str | None, at: Path) -> Folder | None:
    """The folder that a reference at this place leads to; None for the top. Raises Problems for one that is not there.

    One in the trash is none. It stays what it is while the usage of files is locked.
    """
    if folder_id is None:
        return None
    found = await _standing(session, folder_id)
    if found is None:
        raise Problems([Problem(at, ABSENT, "reference")])
    return found


async def _standing(session: TenantSession, folder_id: str) -> Folder | None:
    canonical = as_uuid(folder_id)
    found = None if canonical is None else await session.find(Folder, id=canonical)
    return None if found is None or found.trashed_at is not None else found


def expect(current: int, version: int | None, seen: Collection[int] | None) -> None:
    """Raise PreconditionFailed where this is not the version that the caller saw, or none of those."""
    if (version is not None and version != current) or (seen is not None and current not in seen):
        raise PreconditionFailed(field=("expected_version",))


async def _to_change(session: TenantSession, folder_id: str) -> Folder:
    folder = await records.lock_for_update(session, Folder, folder_id)
    if folder is None:
        raise NotFound(field=("id",))
    return folder


def _check_depth(depth: int) -> None:
    if depth > FOLDER_DEPTH_MAX:
        raise InvalidState(f"Folders cannot be more than {FOLDER_DEPTH_MAX} deep", field=("parent_id",))


async def _check_name(session: TenantSession, parent_id: str | None, name: str, but: str | None = None) -> None:
    there = await statements.named(session, parent_id, folded(name))
    if there is not None and there.id != but:
        raise Duplicate("There is a folder of this name", field=("name",))


async def _log(ctx: Context, session: TenantSession, type: str, folder: Folder, **data: object) -> None:
    await changes.append_event(ctx, session, type, {"folder_id": folder.id, **data})
