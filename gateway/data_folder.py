"""Finds what is wrong with the data folder, before anything in it is made, read or migrated (decision 162).

A user who can write there can put keys of their own in the place of the service's, and one who can read there has the
database and can sign tokens. So no command that opens the folder goes on before this is well.
"""

import logging
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from gateway.settings import Settings
from identity.key_names import KEY_FILES
from storage.addresses import file_of
from storage.folders import close, file_fault, folder_fault, is_only_open, is_private

_log = logging.getLogger(__name__)

_DATA = "CRM_DATA_DIR"
_DATABASE, _ARTIFACTS = f"CRM_DATABASE_URL (or {_DATA})", f"CRM_ARTIFACTS_URL (or {_DATA})"
_BESIDE = ("", "-wal", "-shm", "-journal", ".lock", ".next", ".turn")
"""The endings of what SQLite and the service put beside a database file, and of the file itself."""


def faults(settings: Settings) -> list[str]:
    """A line for each fault: the setting's name, the path, and what to do about it."""
    return [f"{setting}: {path}: {fault}" for setting, path, fault in _faults(settings) if fault is not None]


def open_files(settings: Settings) -> list[Path]:
    """The database's files in the data folder that others could read if they got there, which they do not.

    Versions before made them with the umask's mode. Nobody has read them, since the folder is this user's alone.
    """
    folder, database = settings.data_dir, file_of(settings.database_url.get_secret_value())
    if database is None or database.parent.absolute() != folder.absolute() or not is_private(folder):
        return []
    return [file for file in _files_of(database) if is_only_open(file)]


def mend(settings: Settings) -> None:
    """Close those files, and say so."""
    if found := open_files(settings):
        for file in found:
            close(file)
        _log.warning("closed to others, who could not reach them (mode 0600 now): %s", ", ".join(map(str, found)))


def _files_of(database: Path) -> list[Path]:
    return [database.with_name(f"{database.name}{suffix}") for suffix in _BESIDE]


def _faults(settings: Settings) -> Iterator[tuple[str, Path, str | None]]:
    folder = settings.data_dir
    yield _DATA, folder, folder_fault(folder)
    for name in KEY_FILES:
        yield _DATA, folder / name, file_fault(folder / name)
    database = file_of(settings.database_url.get_secret_value())
    if database is not None:
        if database.parent.absolute() != folder.absolute():
            yield _DATABASE, database.parent, folder_fault(database.parent, sticky=True)
        harmless = open_files(settings)
        for beside in _files_of(database):
            yield _DATABASE, beside, None if beside in harmless else file_fault(beside)
    artifacts = _artifacts(settings)
    if artifacts is not None and (artifacts.is_dir() or artifacts.is_symlink()):
        is_link = "is a symbolic link, which is not followed; name the folder itself in CRM_ARTIFACTS_URL"
        yield _ARTIFACTS, artifacts, is_link if artifacts.is_symlink() else folder_fault(artifacts)


def _artifacts(settings: Settings) -> Path | None:
    """The folder of rendered files; None where they lie in a bucket."""
    address = settings.artifacts_url
    if not address:
        return settings.data_dir / "artifacts"
    return Path(unquote(urlsplit(address).path)) if address.startswith("file:") else None
