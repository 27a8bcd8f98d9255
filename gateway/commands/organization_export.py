"""Writes everything that belongs to an organization into a folder: rows as JSON Lines, and files."""

import os
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import BinaryIO

import orjson

from contract.limits import VERSION
from providers.artifacts import ArtifactMissing, Artifacts
from storage.base import now
from storage.database import Database
from storage.queries import organization_rows as statements
from storage.tables import Organization


async def export(database: Database, store: Artifacts, organization: Organization, folder: Path) -> dict[str, object]:
    """Write the organization's rows and files into an empty folder; what there is, in numbers.

    A file for each table, `TABLE.jsonl`; stored files are where `storage_name` says, below `files/`; `manifest.json`
    comes last, so that a folder without one is not whole.
    """
    own = {"id": organization.id, "external_id": organization.external_id, "name": organization.name}
    rows = {"organizations": 1}
    with _opened(folder / "organizations.jsonl") as file:
        file.write(_line(own | {"created_at": organization.created_at}, frozenset()))
    for table in statements.tables():
        if table.name in statements.DERIVED:
            continue
        names, opaque, number = statements.exported(table), statements.opaque(table), 0
        with _opened(folder / f"{table.name}.jsonl") as file:
            async for page in statements.pages(database, organization.id, table):
                file.writelines(_line({name: getattr(row, name) for name in names}, opaque) for row in page)
                number += len(page)
        rows[str(table.name)] = number
    files, missing = await _files(database, store, organization.id, folder / "files")
    told = {
        "version": VERSION,
        "exported_at": now().isoformat(),
        "organization": own,
        "rows": rows,
        "files": files,
        "missing_files": missing,
    }
    with _opened(folder / "manifest.json") as file:
        file.write(orjson.dumps(told, option=orjson.OPT_INDENT_2))
    return told


async def _files(database: Database, store: Artifacts, org_id: str, folder: Path) -> tuple[int, list[str]]:
    """Copy the stored files; how many, and the names of those that the store does not have."""
    number, missing = 0, []
    for name, size in sorted((await statements.stored_files(database, org_id)).items()):
        try:
            pieces = await store.open(name, 0, size)
        except ArtifactMissing:
            missing.append(name)
            continue
        for each in reversed([folder / name, *(folder / name).parents][1:]):
            if each.is_relative_to(folder):  # each for itself: the parents that mkdir makes are open to all
                each.mkdir(mode=0o700, exist_ok=True)
        try:
            with _opened(folder / name) as file:
                async for piece in pieces:
                    file.write(piece)
        finally:
            await pieces.aclose()
        number += 1
    return number, missing


def _opened(path: Path) -> BinaryIO:
    return open(path, "xb", opener=lambda name, flags: os.open(name, flags, 0o600))


def _line(values: Mapping[str, object], opaque: frozenset[str]) -> bytes:
    """A row as a line; JSON that is read as text goes on as JSON."""
    shown = {
        name: orjson.Fragment(value) if name in opaque and isinstance(value, str) else value
        for name, value in values.items()
    }
    return orjson.dumps(shown, default=_plain, option=orjson.OPT_APPEND_NEWLINE)


def _plain(value: object) -> str:
    if isinstance(value, Decimal):
        return str(value)
    raise TypeError(type(value).__name__)
