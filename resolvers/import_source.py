"""Reads the file of an import from the store: its head to find out how, or all of its rows, a few at a time."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from contract.limits import IMPORT_BATCH_CHARACTERS, IMPORT_HEAD_BYTES
from providers.artifacts import Artifacts
from resolvers.import_csv import FileRow
from resolvers.import_forms import Definition

_READ_AT_ONCE = 64 * 1024
"""Bytes that are cut into rows before others have a turn."""

AnyFile = Any
"""A file. Any: a row of the table, read either way."""


async def head_of(store: Artifacts, file: AnyFile) -> tuple[bytes, bool]:
    """The beginning of the file, and whether that is all of it. Raises what the store does."""
    length = min(file.bytes, IMPORT_HEAD_BYTES)
    if not length:
        return b"", True
    pieces = await store.open(file.storage_name, 0, length)
    try:
        return b"".join([piece async for piece in pieces]), length == file.bytes
    finally:
        await pieces.aclose()


async def batches(
    store: Artifacts, file: AnyFile, definition: Definition, size: int
) -> AsyncGenerator[list[FileRow], None]:
    """The rows below the headings, so many at a time or fewer long ones. Raises Broken, and what the store does."""
    waiting: list[FileRow] = []
    characters = 0
    has_begun = not definition.input.has_header
    async with aclosing(_rows(store, file, definition)) as pieces:
        async for rows in pieces:
            for row in rows:
                if not has_begun:
                    has_begun = True
                    continue
                waiting.append(row)
                characters += sum(map(len, row[1]))
                if len(waiting) == size or characters > IMPORT_BATCH_CHARACTERS:
                    yield waiting
                    waiting, characters = [], 0
    if waiting:
        yield waiting


async def _rows(store: Artifacts, file: AnyFile, definition: Definition) -> AsyncGenerator[list[FileRow], None]:
    """The rows as the file's pieces bring them."""
    if not file.bytes:
        return
    reader = definition.reader()
    pieces = await store.open(file.storage_name, 0, file.bytes)
    try:
        async for piece in pieces:
            for begin in range(0, len(piece), _READ_AT_ONCE):
                reader.feed(piece[begin : begin + _READ_AT_ONCE])
                yield list(reader.rows())
                await asyncio.sleep(0)
        reader.end()
        yield list(reader.rows())
    finally:
        await pieces.aclose()
