"""Folders and files that nobody but this user may change: how they are made, and what is wrong with those there are."""

import os
import stat
from contextlib import suppress
from pathlib import Path

_FOLDER, _FILE = 0o700, 0o600
_WRITABLE, _OPEN = stat.S_IWGRP | stat.S_IWOTH, stat.S_IRWXG | stat.S_IRWXO


def make(folder: Path) -> None:
    """Make the folder, and those that it lies in, for this user alone, whatever the umask; leave what is there."""
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for one in reversed(missing):
        try:
            one.mkdir(mode=_FOLDER)
        except FileExistsError:  # another process was faster
            continue
        one.chmod(_FOLDER)


def folder_fault(folder: Path, *, sticky: bool = False) -> str | None:
    """Says why the folder cannot be trusted; None for one that can, or is not there yet. The operator may link to it.

    `sticky` lets one pass that everybody may write to, but nobody may take another's files out of, such as /tmp.
    """
    try:
        link, found = folder.lstat(), folder.stat()
    except FileNotFoundError:
        return "is a link that leads nowhere" if folder.is_symlink() else None
    except OSError as error:
        return error.strerror or type(error).__name__
    if not stat.S_ISDIR(found.st_mode):
        return "is no folder"
    if sticky and found.st_mode & stat.S_ISVTX:
        return None
    if link.st_uid not in (os.geteuid(), 0) or found.st_uid != os.geteuid():
        return f"belongs to another user (uid {found.st_uid}); chown it, or name another folder"
    if found.st_mode & _WRITABLE:
        return f"is writable by others than its owner (mode {_mode(found)}); chmod go-w, or name another folder"
    return None


def file_fault(file: Path) -> str | None:
    """Says why the file cannot be trusted, as a link, another's, or open to others; None where none is there."""
    try:
        found = file.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return error.strerror or type(error).__name__
    if stat.S_ISLNK(found.st_mode):
        return "is a symbolic link, which is not followed; move the file itself here"
    if not stat.S_ISREG(found.st_mode):
        return "is not a file"
    if found.st_uid != os.geteuid():
        return f"belongs to another user (uid {found.st_uid}); chown it"
    if found.st_mode & _OPEN:
        return f"is open to others than its owner (mode {_mode(found)}); chmod 600"
    return None


def is_private(folder: Path) -> bool:
    """Says whether it is this user's, and nobody else gets at what lies in it, whatever the modes there are."""
    try:
        found = folder.stat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & _OPEN


def is_only_open(file: Path) -> bool:
    """Says whether it is this user's file, under this name alone, with no fault but being open to others."""
    try:
        found = file.lstat()
    except OSError:
        return False
    is_own = stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and found.st_nlink == 1
    return is_own and bool(found.st_mode & _OPEN)


def close(file: Path) -> None:
    """Take from the others what they may do with the file."""
    with suppress(FileNotFoundError):  # SQLite took it away in between
        file.chmod(_FILE)


def mode_of(path: Path) -> str:
    """The mode as `chmod` takes it."""
    return _mode(path.lstat())


def _mode(found: os.stat_result) -> str:
    return f"{stat.S_IMODE(found.st_mode):04o}"
