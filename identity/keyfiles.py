"""The two secrets of a service that are files: the signing key of the embedded identity provider, and the pepper.

Both are made when they are first asked for. Several processes may ask at once: each writes a file of its own aside and
links it to the name, which succeeds for exactly one of them, and all of them read what that one wrote.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from joserfc.errors import JoseError
from joserfc.jwk import ECKey

from identity.key_names import PEPPER_FILE, PREVIOUS_KEY_FILE, PREVIOUS_PEPPER_FILE, SIGNING_KEY_FILE
from identity.secrets import Pepper
from storage.folders import file_fault, folder_fault, make

PEPPER_BYTES = 32

_LARGEST = 16_384


class KeyFileError(Exception):
    """A key file, or the folder of one, cannot be used; the text names the path and the reason, never the content."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")


def signing_key(folder: Path) -> ECKey:
    """The private P-256 key (PEM, PKCS 8) of this folder, with its RFC 7638 thumbprint as `kid`."""
    path = folder / SIGNING_KEY_FILE
    return _key(path, _content(path, lambda: ECKey.generate_key("P-256").as_pem(private=True)))


def previous_signing_key(folder: Path) -> ECKey | None:
    """The key that the signing key took the place of, as long as its file is there (decision 125)."""
    path = folder / PREVIOUS_KEY_FILE
    content = _there(path)
    return None if content is None else _key(path, content)


def _key(path: Path, content: bytes) -> ECKey:
    try:
        key = ECKey.import_key(content)
    except (JoseError, ValueError, TypeError, UnsupportedAlgorithm):
        raise KeyFileError(path, "does not hold a private key in PEM form") from None
    if not key.is_private or key.curve_name != "P-256":
        raise KeyFileError(path, "does not hold a private key of the curve P-256")
    key.ensure_kid()
    return key


def pepper(folder: Path) -> Pepper:
    """The 32 bytes (hexadecimal in the file) without which the stored hashes of credentials prove nothing.

    Those that it took the place of come along, as long as their file is there (decision 125).
    """
    path = folder / PEPPER_FILE
    value = _bytes(path, _content(path, lambda: secrets.token_hex(PEPPER_BYTES).encode() + b"\n"))
    previous = _there(folder / PREVIOUS_PEPPER_FILE)
    return Pepper(value) if previous is None else Pepper(value).before(_bytes(folder / PREVIOUS_PEPPER_FILE, previous))


def _there(path: Path) -> bytes | None:
    """The file's content; None where there is none."""
    try:
        return _read(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise KeyFileError(path, error.strerror or type(error).__name__) from error


def _bytes(path: Path, content: bytes) -> bytes:
    try:
        value = bytes.fromhex(content.decode("ascii").strip())
    except ValueError:
        value = b""
    if len(value) != PEPPER_BYTES:
        raise KeyFileError(path, f"does not hold {PEPPER_BYTES} bytes in hexadecimal form")
    return value


def _content(path: Path, fresh: Callable[[], bytes]) -> bytes:
    try:
        _prepare(path.parent)
        with contextlib.suppress(FileNotFoundError):
            return _read(path)
        _make(path, fresh())
        return _read(path)
    except OSError as error:
        raise KeyFileError(path, error.strerror or type(error).__name__) from error


def _prepare(folder: Path) -> None:
    make(folder)
    # A folder that someone else made may be open to readers, because the files are not; but a user who can write in it
    # could put keys of their own there.
    if fault := folder_fault(folder):
        raise KeyFileError(folder, fault)


def _read(path: Path) -> bytes:
    if fault := file_fault(path):
        raise KeyFileError(path, fault)
    # Nobody else can change the folder; but a link is not followed in any case, and a pipe is not waited for.
    flags_more = os.O_NONBLOCK | os.O_NOFOLLOW
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | flags_more)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise KeyFileError(path, "is not a file")
        return file.read(_LARGEST)


def _make(path: Path, content: bytes) -> None:
    """Put the content there, whole and durable, unless another process was faster."""
    descriptor, aside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mode 0600, whatever the umask
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(descriptor)
        with contextlib.suppress(FileExistsError):
            os.link(aside, path)
    finally:
        os.unlink(aside)
    folder = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
