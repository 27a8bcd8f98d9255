"""Files that the service made or was sent, such as rendered reports: put, read in parts, and deleted by name.

Names are paths of a few plain characters that the service chose (`ORGANIZATION/IDENTIFIER.pdf`); a name is written
once and never changes its bytes. Who may read a file is not known here.
"""

import asyncio
import os
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO, Protocol, runtime_checkable
from urllib.parse import unquote, urlsplit

from providers import growing_files
from providers.growing_files import Look, Rest

CHUNK = 64 * 1024
"""The bytes of a file that are read at once: larger pieces take what others work on out of the processor's cache."""
_WRITTEN_AT_ONCE = 16 * CHUNK
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*(/[a-z0-9][a-z0-9_-]*)*(\.[a-z0-9]{1,8})?")


class ArtifactMissing(LookupError):
    """There is no file of that name."""


class Pieces(Protocol):
    """Bytes as they are read, in order; closed by the caller, read to their end or not."""

    def __aiter__(self) -> AsyncIterator[bytes]:
        """The pieces."""

    async def aclose(self) -> None:
        """Let go of what they are read from."""


class Artifacts(Protocol):
    """The port. Every verb raises OSError where the store cannot do it or cannot be reached."""

    async def put(self, name: str, data: bytes) -> None:
        """Store the file whole or not at all; once this returns it outlives the process and the machine's power."""

    async def put_stream(self, name: str, pieces: AsyncIterator[bytes]) -> None:
        """The same with bytes that come in pieces, few of which are in memory; what reading them raises is raised."""

    async def open(self, name: str, start: int, length: int) -> Pieces:
        """Reads so many bytes from there, in pieces that do not load the file whole. Raises ArtifactMissing at once."""

    async def delete(self, name: str) -> None:
        """Remove the file; one that is not there is fine."""

    async def check(self) -> None:
        """Find out whether the store can be used, without writing to it."""


@runtime_checkable
class Growing(Protocol):
    """What some stores can do besides: a file grows before anybody is told of it."""

    async def append(self, name: str, start: int, pieces: AsyncIterator[bytes], look: Look, rest: Rest) -> None:
        """Write behind the first `start` bytes of the file, and drop what lay there; a file begins with the first.

        Once this returns they outlive the process and the machine's power; when it returns or raises, nobody writes
        any more. `look` is called in a thread with all that is written, in order, and `rest` is awaited behind each
        batch, with the seconds that it took. What reading the pieces raises is raised.
        """


def checked(name: str) -> str:
    """The name. Raises ValueError for one that could lead anywhere but below the store's root."""
    if _NAME.fullmatch(name) is None:
        raise ValueError("not the name of an artifact")
    return name


def artifacts_at(address: str, folder: Path) -> Artifacts:
    """The store of an address: `file:///…`, `s3://bucket/prefix`, or nothing for files in the folder.

    Raises ValueError for any other address.
    """
    check_artifacts_address(address)
    if not address:
        return Files(folder)
    if address.startswith("file:"):
        return Files(Path(unquote(urlsplit(address).path)))
    # Only here: its packages belong to an extra, and take their time to load.
    made: Artifacts = import_module("providers.artifacts_s3").ObjectStore(address)
    return made


def check_artifacts_address(address: str) -> None:
    """Raise ValueError for an address of no kind that there is, or whose packages are not installed."""
    if not address:
        return
    try:
        parts = urlsplit(address)
    except ValueError:  # brackets that do not match
        parts = urlsplit("")
    if parts.scheme == "s3" and parts.netloc and not (parts.query or "@" in parts.netloc):
        if find_spec("obstore") is None:
            raise ValueError("needs the extra s3: pip install 'crm-gateway[s3]'")
    elif parts.scheme != "file" or parts.netloc not in ("", "localhost") or parts.path in ("", "/"):
        raise ValueError("must be file:///FOLDER or s3://BUCKET/PREFIX")


class Files:
    """Files below a folder, each with mode 0600, in folders with mode 0700."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    async def check(self) -> None:
        """Says whether the folder, or the one that it would be made in, can be written to."""
        await asyncio.to_thread(self._check)

    def _check(self) -> None:
        folder = next(folder for folder in (self.folder, *self.folder.parents) if folder.exists())
        if not (folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)):
            raise PermissionError("the folder cannot be written to")

    async def put(self, name: str, data: bytes) -> None:
        """Written aside, flushed to the disk, and moved into its place."""
        await asyncio.to_thread(self._put, self.folder / checked(name), data)

    async def put_stream(self, name: str, pieces: AsyncIterator[bytes]) -> None:
        """Written aside as they come, and then as a whole one is."""
        path = self.folder / checked(name)
        aside = await asyncio.to_thread(self._begun, path)
        try:
            waiting: list[bytes] = []
            size = 0
            async for piece in pieces:
                waiting.append(piece)
                size += len(piece)
                if size >= _WRITTEN_AT_ONCE:  # a thread for each small piece would take longer than to write it
                    await asyncio.to_thread(aside.writelines, waiting)
                    waiting, size = [], 0
            await asyncio.to_thread(_finish, aside, waiting, path)
        except BaseException:
            _drop(aside)
            raise

    async def append(self, name: str, start: int, pieces: AsyncIterator[bytes], look: Look, rest: Rest) -> None:
        """Written where they stay."""
        path = self.folder / checked(name)
        if not start:
            await asyncio.to_thread(self._make_folders, path)
        await growing_files.append(path, start, pieces, look, rest)
        if not start:
            await asyncio.to_thread(_sync_folder, path.parent)

    def _put(self, path: Path, data: bytes) -> None:
        aside = self._begun(path)
        try:
            _finish(aside, [data], path)
        except BaseException:
            _drop(aside)
            raise

    def _begun(self, path: Path) -> BinaryIO:
        """The file beside the path, made with the folders that lead there."""
        self._make_folders(path)
        name = path.with_name(f".{path.name}.{token_hex(8)}")
        return open(name, "xb", opener=lambda path, flags: os.open(path, flags, 0o600))

    def _make_folders(self, path: Path) -> None:
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        for folder in reversed([path.parent, *path.parent.parents]):
            if folder.is_relative_to(self.folder):  # each for itself: the parents that mkdir makes are open to all
                with suppress(FileExistsError):
                    folder.mkdir(mode=0o700)
                    _sync_folder(folder.parent)

    async def open(self, name: str, start: int, length: int) -> Pieces:
        path = self.folder / checked(name)
        try:
            file = await asyncio.to_thread(_opened, path)
        except (FileNotFoundError, NotADirectoryError):
            raise ArtifactMissing(name) from None
        return _FilePieces(file, start, length)

    async def delete(self, name: str) -> None:
        await asyncio.to_thread((self.folder / checked(name)).unlink, missing_ok=True)


def _finish(aside: BinaryIO, rest: Sequence[bytes], path: Path) -> None:
    """Write the rest, and have the file outlive a power failure under its name."""
    with aside:
        aside.writelines(rest)
        aside.flush()
        os.fsync(aside.fileno())
    os.replace(aside.name, path)
    _sync_folder(path.parent)


def _drop(aside: BinaryIO) -> None:
    with suppress(OSError):
        aside.close()
    with suppress(OSError):
        os.unlink(aside.name)


def _opened(path: Path) -> BinaryIO:
    return open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW))


class _FilePieces:
    """No generator: one that nobody began would not close its file."""

    def __init__(self, file: BinaryIO, start: int, length: int) -> None:
        self._file = file
        self._left = length
        file.seek(start)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while self._left > 0:
            piece = await asyncio.to_thread(self._file.read, min(CHUNK, self._left))
            if not piece:
                raise OSError("the file is shorter than it was when it was stored")
            self._left -= len(piece)
            yield piece

    async def aclose(self) -> None:
        self._file.close()


def _sync_folder(folder: Path) -> None:
    """Make the new name itself outlive a power failure."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
