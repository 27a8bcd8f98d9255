"""Statements on files: what they take up, where they lie, and the records that they are attached to."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

from sqlalchemy import delete, func, select, update
from sqlmodel import col

from contract.file_errors import QuotaExceeded
from contract.limits import FILES_ON_RECORD_MAX
from storage.base import Record, as_uuid, now
from storage.expressions import AnyColumn, AnyEntity, AnySelect, Values
from storage.new_rows import model_named, new_row
from storage.queries import merged_ids
from storage.queries.filtering import in_list
from storage.queries.kinds import kinds_of
from storage.queries.list_conditions import among as is_among
from storage.queries.listable import Listable
from storage.queries.record_listables import ACCOUNTS, ACTIVITIES, CONTACTS, DEALS, LEADS
from storage.queries.records import missing_references
from storage.rows import Row
from storage.statements import ORG_PARAM
from storage.tables import File, FileLink, FileUsage, Leftover
from storage.tables.files import ATTACHABLE
from storage.tenancy.sessions import TenantSession

ON_RECORD: AnyColumn = col(FileLink.record_id)
"""The column by which the files of records are found."""
KINDS: dict[str, Listable[Row]] = {
    "account": ACCOUNTS,
    "contact": CONTACTS,
    "deal": DEALS,
    "lead": LEADS,
    "activity": ACTIVITIES,
}
"""The kinds of records that have files."""
_MODELS: dict[str, AnyEntity] = {kind: model_named(table) for table, kind in ATTACHABLE.items()}


def kind_of(model: type[Record]) -> str | None:
    """The kind that records of this table are linked as; None for those that have no files."""
    return ATTACHABLE.get(str(model.__tablename__))


async def lock_usage(session: TenantSession) -> FileUsage:
    """Lock the use of space by files: whoever changes files, folders or their places comes one after the other."""
    usage = await session.find(FileUsage, lock=True)
    if usage is None:
        await session.insert_missing(new_row(FileUsage, org_id=session.org_id))
        usage = await session.find(FileUsage, lock=True)
    assert usage is not None, "the row was made above"  # noqa: S101  # told to the type checker
    return usage


async def usage_of(session: TenantSession) -> FileUsage:
    """Return the space that the files take up."""
    return await session.find(FileUsage) or new_row(FileUsage, org_id=session.org_id)


async def kinds_kept(session: TenantSession, ids: Sequence[str]) -> dict[str, tuple[str, str]]:
    """The records with their kinds by the canonical identifiers that name them, or that a merge took away.

    They are kept from being deleted meanwhile.
    """
    canonical = list(dict.fromkeys(i for i in map(as_uuid, ids) if i is not None))
    kinds = await _kinds_kept(session, canonical)
    leads = await merged_ids.leading(session, [i for i in canonical if i not in kinds])
    kinds |= await _kinds_kept(session, list(leads.values())) if leads else {}
    return {i: (record, kinds[record]) for i in canonical if (record := leads.get(i, i)) in kinds}


async def _kinds_kept(session: TenantSession, ids: Sequence[str]) -> dict[str, str]:
    found = await kinds_of(session, KINDS, ids)
    gone = await missing_references(session, {i: (_MODELS[kind], i) for i, kind in found.items()})
    return {i: kind for i, kind in found.items() if i not in gone}


async def attached(session: TenantSession, record_ids: Collection[str]) -> dict[str, int]:
    """Says how many files the records have, those in the trash counted."""
    own = col(FileLink.org_id) == session.org_id, is_among(col(FileLink.record_id), record_ids)
    counted = select(col(FileLink.record_id), func.count().label("files")).where(*own)
    rows = await session.rows(counted.group_by(col(FileLink.record_id)))
    return dict.fromkeys(record_ids, 0) | {row.record_id: row.files for row in rows}


async def kinds_with_room(session: TenantSession, ids: Sequence[str]) -> dict[str, str]:
    """The kinds of those of the records that are there and may have another file."""
    kinds = dict((await kinds_kept(session, ids)).values())
    numbers = await attached(session, kinds) if kinds else {}
    return {i: kind for i, kind in kinds.items() if numbers[i] < FILES_ON_RECORD_MAX}


async def records_of(session: TenantSession, file_ids: Sequence[str]) -> dict[str, list[str]]:
    """The records that the files are attached to, in the order in which they were."""

    def build() -> AnySelect:
        own = col(FileLink.org_id) == ORG_PARAM, in_list(col(FileLink.file_id), "ids")
        linked = select(col(FileLink.file_id), col(FileLink.record_id), col(FileLink.kind)).where(*own)
        return linked.order_by(col(FileLink.attached_at), col(FileLink.id))

    found: dict[str, list[str]] = {i: [] for i in file_ids}
    for row in await session.fetch("records_of_files", build, ids=list(file_ids)):
        found[row.file_id].append(row.record_id)
    return found


async def unlink_record(session: TenantSession, kind: str, record_id: str) -> None:
    """Take all files off a record that is deleted."""
    own = col(FileLink.org_id) == session.org_id, col(FileLink.kind) == kind
    await session.execute(delete(FileLink).where(*own, col(FileLink.record_id) == record_id))


async def trash(session: TenantSession, folder_ids: Sequence[str], values: Values) -> None:
    """Put the files in these folders into the trash that are not there yet."""
    await _change(session, values, col(File.trashed_at).is_(None), is_among(col(File.folder_id), folder_ids))


async def untrash(session: TenantSession, folder_ids: Sequence[str], root: str) -> None:
    """Take the files in these folders out of the trash that went there with this folder."""
    its = col(File.trash_root) == root, is_among(col(File.folder_id), folder_ids)
    await _change(session, {"trashed_at": None, "trash_root": None}, *its)


async def _change(session: TenantSession, values: Values, *wanted: AnyColumn) -> None:
    changed = values | {"version": col(File.version) + 1, "updated_at": now()}
    await session.execute(update(File).where(col(File.org_id) == session.org_id, *wanted).values(changed))


async def number_in(session: TenantSession, folder_ids: Sequence[str], *wanted: AnyColumn) -> int:
    """Says how many files are in these folders and not in the trash."""
    own = (
        col(File.org_id) == session.org_id,
        col(File.trashed_at).is_(None),
        is_among(col(File.folder_id), folder_ids),
    )
    counted: int = await session.scalar(select(func.count()).select_from(File).where(*own, *wanted))
    return counted


async def in_trash_since(session: TenantSession, before: datetime, size: int) -> Sequence[File]:
    """So many of the files that have been in the trash since then."""
    own = col(File.org_id) == session.org_id, col(File.trashed_at) <= before
    return await session.find_all(select(File).where(*own).order_by(col(File.trashed_at)).limit(size))


async def among(session: TenantSession, ids: Sequence[str]) -> Sequence[File]:
    """Those of these files that are there."""
    own = col(File.org_id) == session.org_id, is_among(col(File.id), ids)
    return await session.find_all(select(File).where(*own)) if ids else []


async def purge(session: TenantSession, files: Sequence[File]) -> None:
    """Delete the rows of files with their links, give their place back, and note their bytes to be removed.

    Their usage is locked.
    """
    if not files:
        return
    usage = await lock_usage(session)
    ids = [file.id for file in files]
    await session.execute(delete(File).where(col(File.org_id) == session.org_id, is_among(col(File.id), ids)))
    await session.update(usage, bytes=usage.bytes - sum(file.bytes for file in files), files=usage.files - len(files))
    await note_leftovers(session, [file.storage_name for file in files if file.storage_name], now())


async def note_leftovers(session: TenantSession, names: Iterable[str], moment: datetime) -> None:
    """Have the bytes of these names removed after this moment, unless a row takes them on."""
    notes = [new_row(Leftover, org_id=session.org_id, storage_name=name, gone_after=moment) for name in names]
    await session.insert_each_missing(notes)


async def hasten_leftovers(session: TenantSession, names: Sequence[str]) -> None:
    """Have bytes that were noted removed now."""
    own = col(Leftover.org_id) == session.org_id, is_among(col(Leftover.storage_name), names)
    await session.execute(update(Leftover).where(*own).values(gone_after=now()))


async def keep(
    session: TenantSession, usage: FileUsage, drafts: Sequence[File], quota: int, *, reserved: int = 0
) -> list[File] | None:
    """Insert files whose bytes are in the store, and take up their place, of which so much is reserved.

    Their usage is locked. None where bytes are not there any more. Raises QuotaExceeded (decision 391).
    """
    size = sum(draft.bytes for draft in drafts)
    if usage.bytes + usage.reserved - reserved + size > quota:
        raise QuotaExceeded(quota)
    names = [draft.storage_name for draft in drafts if draft.storage_name]
    if names and not await take_on(session, names):
        return None
    files = await session.insert(*drafts)
    await session.update(
        usage, bytes=usage.bytes + size, reserved=usage.reserved - reserved, files=usage.files + len(files)
    )
    return files


async def take_on(session: TenantSession, names: Sequence[str]) -> bool:
    """Take the notes on these bytes back, since a row names them from now on; False where one is there no more."""
    own = col(Leftover.org_id) == session.org_id, is_among(col(Leftover.storage_name), names)
    return await session.execute(delete(Leftover).where(*own)) == len(names)


async def leftovers(session: TenantSession, moment: datetime, size: int) -> Sequence[tuple[str, str]]:
    """So many of the bytes that are to be removed, of any organization (a session of the directory)."""
    due = select(col(Leftover.org_id), col(Leftover.storage_name)).where(col(Leftover.gone_after) <= moment)
    rows = await session.rows(due.order_by(col(Leftover.gone_after)).limit(size))
    return [(row.org_id, row.storage_name) for row in rows]


async def forget_leftovers(session: TenantSession, names: Sequence[str]) -> None:
    """Forget bytes that are removed (a session of the directory)."""
    await session.execute(delete(Leftover).where(is_among(col(Leftover.storage_name), names)))


async def put_leftovers_off(session: TenantSession, names: Sequence[str], moment: datetime) -> None:
    """Try again later to remove bytes (a session of the directory)."""
    if names:
        those = is_among(col(Leftover.storage_name), names)
        await session.execute(update(Leftover).where(those).values(gone_after=moment))
