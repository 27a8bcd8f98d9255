"""Frames what goes over the pipes between a process and its child: pickles, each behind its length.

A parent writes what it likes. What a child writes may come from hostile code, so it is read as plain data and
dataclasses only, and calls nothing.
"""

import pickle
import struct
import sys
import zlib
from dataclasses import is_dataclass
from enum import Enum
from io import BytesIO

LENGTH = struct.Struct("!Q")

_PLAIN = {("builtins", "set"), ("builtins", "frozenset"), ("datetime", "datetime"), ("datetime", "timedelta")}
_PLAIN |= {("datetime", "timezone")}


def framed(value: object) -> tuple[bytes, bytes]:
    """The value as it goes over a pipe: in two parts, of which the second may be large, so that it is not copied."""
    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    return LENGTH.pack(len(data)), data


def packed(value: object) -> bytes:
    """A part of a child's result, which is to be unpacked when it is its turn."""
    return zlib.compress(pickle.dumps(value, pickle.HIGHEST_PROTOCOL), zlib.Z_BEST_SPEED)


def unpacked(data: bytes, most: int) -> object:
    """The part. Raises ValueError where it is anything but data, or has more bytes than that."""
    reading = zlib.decompressobj()
    try:
        text = reading.decompress(data, most)
    except zlib.error as error:
        raise ValueError("not packed") from error
    if reading.unconsumed_tail:
        raise ValueError("too large")
    return read_plain(text)


def read_plain(data: bytes) -> object:
    """Reads what a child wrote. Raises ValueError where it is anything but data."""
    try:
        found: object = _PlainUnpickler(BytesIO(data)).load()
    except Exception as error:  # a broken pickle raises nearly anything
        raise ValueError("not a result") from error
    return found


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> object:
        """A class of plain data, of a module that this process has loaded."""
        if (module, name) == ("builtins", "getattr"):
            return _member
        found = vars(sys.modules[module])[name]
        if (module, name) in _PLAIN or (
            isinstance(found, type) and found.__module__ == module and (is_dataclass(found) or issubclass(found, Enum))
        ):
            return found
        raise pickle.UnpicklingError(f"{module}.{name}")


def _member(kind: object, name: str) -> Enum:
    """Finds a member of an enumeration the way Python 3.11 pickles one."""
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind[name]
    raise pickle.UnpicklingError(name)
