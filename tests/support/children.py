"""Functions for child processes, each of which does what hostile input might make a library do."""

from __future__ import annotations

import os
import resource
import signal
import sys
import time
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Told:
    """A result."""

    text: str
    numbers: tuple[int, ...]


def tell(text: str, *numbers: int) -> Told:
    return Told(text, numbers)


def pid() -> int:
    return os.getpid()


def loaded() -> list[str]:
    return sorted(sys.modules)


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def die(number: int) -> None:
    os.kill(os.getpid(), number)
    time.sleep(10)


def abort() -> None:
    os.abort()


def leave() -> None:
    os._exit(0)


def swallow_memory() -> int:
    """Many small pieces, as a parser's tree has them."""
    kept = []
    while True:
        kept.append(bytearray(1 << 20))


def keep(size: int) -> int:
    """Leave so much behind, as caches and fragments do."""
    _KEPT.append(bytearray(b"x") * size)
    return os.getpid()


_KEPT: list[bytearray] = []


def spin() -> None:
    while True:
        pass


def recurse() -> Any:
    """What a deep tree does to native code: it runs out of stack."""
    import ctypes

    sys.setrecursionlimit(1 << 30)
    return ctypes.string_at(0)


def give(size: int) -> bytes:
    return bytes(size)


def fail() -> None:
    raise LookupError("secret")


def evil() -> object:
    """A result that would call a function of its parent's."""

    class Evil:
        def __reduce__(self) -> Any:
            return os.system, ("false",)

    return Evil()


def print_much() -> int:
    for descriptor in (1, 2):
        os.write(descriptor, b"x" * 300_000)
    return 1


def surroundings() -> dict[str, Any]:
    """What the process has of its parent."""
    return {
        "environment": dict(os.environ),
        "sockets": [name for name in _descriptors() if name.startswith("socket:")],
        "files": [name for name in _descriptors() if name.startswith("/") and name != "/dev/null"],
        "core": resource.getrlimit(resource.RLIMIT_CORE),
        "session": os.getsid(0) == os.getpid(),
        "ignored": [
            n for n in ("SIGINT", "SIGTERM", "SIGHUP") if signal.getsignal(getattr(signal, n)) == signal.SIG_IGN
        ],
    }


def _descriptors() -> list[str]:
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{name}"))
        except OSError:
            continue
    return found
