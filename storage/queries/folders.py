"""Statements on the tree of folders. Whoever changes it has locked the organization's usage of files before."""

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import delete, select, update
from sqlmodel import col

from contract.limits import FOLDER_DEPTH_MAX, FOLDER_TREE_MAX
from storage.base import now
from storage.expressions import AnyColumn, AnySelect, Values
from storage.queries.filtering import in_list
from storage.queries.list_conditions import among
from storage.statements import ORG_PARAM
from storage.tables import File, Folder
from storage.tenancy.sessions import TenantSession


async def named(session: TenantSession, parent_id: str | None, folded_name: str) -> Folder | None:
    """The folder of this name there, which is not in the trash."""
    there = col(Folder.parent_id).is_(None) if parent_id is None else col(Folder.parent_id) == parent_id
    own = col(Folder.org_id) == session.org_id, there, col(Folder.folded_name) == folded_name
    rows = await session.find_all(select(Folder).where(*own, col(Folder.trashed_at).is_(None)))
    return rows[0] if rows else None


async def above(session: TenantSession, ids: Sequence[str]) -> dict[str, list[Folder]]:
    """The folders that lead to each of these, from the top down to it."""

    def build() -> AnySelect:
        return select(Folder).where(col(Folder.org_id) == ORG_PARAM, in_list(col(Folder.id), "ids"))

    known: dict[str, Folder] = {}
    wanted = set(ids)
    while wanted:  # a statement for each level, of which there are few (FOLDER_DEPTH_MAX), for all paths together
        rows = await session.fetch("folders_by_id", build, ids=sorted(wanted))
        known |= {row.id: row for row in rows}
        wanted = {row.parent_id for row in rows if row.parent_id is not None} - known.keys()
    paths: dict[str, list[Folder]] = {}
    for i in ids:
        path: list[Folder] = []
        at = known.get(i)
        while at is not None:
            path.insert(0, at)
            at = None if at.parent_id is None else known.get(at.parent_id)
        paths[i] = path
    return paths


async def tree(session: TenantSession, folder: Folder, *wanted: AnyColumn) -> list[Folder]:
    """The folder with those below it that fulfil the conditions, the upper ones first; more than may be, if there are.

    A folder that does not leads to none below it.
    """
    found, level = [folder], [folder.id]
    for _ in range(FOLDER_DEPTH_MAX):  # a statement for each level
        own = col(Folder.org_id) == session.org_id, among(col(Folder.parent_id), level)
        rows = await session.find_all(select(Folder).where(*own, *wanted).limit(FOLDER_TREE_MAX + 1))
        if not rows or len(found) > FOLDER_TREE_MAX:
            break
        found += rows
        level = [row.id for row in rows]
    return found


def standing() -> AnyColumn:
    """The condition that a folder is not in the trash."""
    return col(Folder.trashed_at).is_(None)


def gone_with(root: str) -> AnyColumn:
    """The condition that a folder went into the trash with this one."""
    return col(Folder.trash_root) == root


async def change(session: TenantSession, ids: Sequence[str], values: Values) -> None:
    """Change columns of folders."""
    changed = values | {"version": col(Folder.version) + 1, "updated_at": now()}
    own = col(Folder.org_id) == session.org_id, among(col(Folder.id), ids)
    await session.execute(update(Folder).where(*own).values(changed))


async def sink(session: TenantSession, ids: Sequence[str], levels: int) -> None:
    """Let folders be so many levels deeper, or less deep."""
    own = col(Folder.org_id) == session.org_id, among(col(Folder.id), ids)
    await session.execute(update(Folder).where(*own).values(depth=col(Folder.depth) + levels))


async def in_trash_since(session: TenantSession, before: datetime, size: int) -> Sequence[Folder]:
    """So many of the folders that have been in the trash since then, the deepest first."""
    own = col(Folder.org_id) == session.org_id, col(Folder.trashed_at) <= before
    return await session.find_all(select(Folder).where(*own).order_by(col(Folder.depth).desc()).limit(size))


async def forget(session: TenantSession, folders: Sequence[Folder]) -> None:
    """Delete folders of the trash, and put what still stands in them to the top."""
    ids = [folder.id for folder in folders]
    in_them = col(File.org_id) == session.org_id, among(col(File.folder_id), ids)
    await session.execute(update(File).where(*in_them).values(folder_id=None))
    below = col(Folder.org_id) == session.org_id, among(col(Folder.parent_id), ids)
    await session.execute(update(Folder).where(*below).values(parent_id=None))
    own = col(Folder.org_id) == session.org_id, among(col(Folder.id), ids)
    await session.execute(delete(Folder).where(*own))
