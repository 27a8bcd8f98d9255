"""What is wrong with the data folder, found before anything in it is made, read or migrated (decision 162).

Whoever can write there can put keys of their own in the place of the service's, and whoever can read there has the
database and can sign tokens. So no command that opens the folder goes on before this is well.
"""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from gateway.settings import Settings
from identity.keyfiles import KEY_FILES
from storage.folders import file_fault, folder_fault
from storage.migrate import file_of

_DATA = "CRM_DATA_DIR"
_DATABASE, _ARTIFACTS = f"CRM_DATABASE_URL (or {_DATA})", f"CRM_ARTIFACTS_URL (or {_DATA})"
_BESIDE = ("", "-wal", "-shm", "-journal", ".lock")
"""What SQLite and the service put beside a database file."""


def faults(settings: Settings) -> list[str]:
    """A line for each fault: the setting's name, the path, and what to do about it."""
    return [f"{setting}: {path}: {fault}" for setting, path, fault in _faults(settings) if fault is not None]


def _faults(settings: Settings) -> Iterator[tuple[str, Path, str | None]]:
    folder = settings.data_dir
    yield _DATA, folder, folder_fault(folder)
    for name in KEY_FILES:
        yield _DATA, folder / name, file_fault(folder / name)
    database = file_of(settings.database_url.get_secret_value())
    if database is not None:
        if database.parent.absolute() != folder.absolute():
            yield _DATABASE, database.parent, folder_fault(database.parent, sticky=True)
        for suffix in _BESIDE:
            beside = database.with_name(f"{database.name}{suffix}")
            yield _DATABASE, beside, file_fault(beside)
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
