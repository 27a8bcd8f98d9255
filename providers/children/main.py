"""The child's side: what `python -I main.py PARENT` runs. It reads work from its standard input until that ends.

Of this project it imports nothing but what the work names, so that it is small and starts fast.
"""

import ctypes
import mmap
import os
import pickle
import resource
import signal
import struct
import sys
from importlib import import_module
from typing import BinaryIO

_LENGTH = struct.Struct("!Q")
_PR_SET_PDEATHSIG = 1
_PR_SET_NO_NEW_PRIVS = 38
_OPEN_FILES = 128
_CODE_BYTES = 128 * 1024 * 1024
_DATA_BYTES = 16 * 1024 * 1024
"""The most that one library maps, of what it reads and of what it writes to."""
_FILES_BYTES = 256 * 1024 * 1024
"""The bytes of address space for libraries and fonts, which are mapped, and what is reserved and never used."""
OUT_OF_MEMORY = pickle.dumps(("memory",))
"""Made before there is none left."""


def main() -> None:
    """Serve the parent."""
    _harden()
    requests, answers = _pipes()
    if not (first := _read(requests)):
        return
    sys.path[:], memory_bytes = pickle.loads(first)  # noqa: S301  # the parent wrote it
    for limit, most in ((resource.RLIMIT_DATA, memory_bytes), (resource.RLIMIT_AS, memory_bytes + _FILES_BYTES)):
        resource.setrlimit(limit, (most, most))
    while answer := _answer(requests):
        answers.write(_LENGTH.pack(len(answer)))
        answers.write(answer)
        answers.flush()
        if answer == OUT_OF_MEMORY:
            return


def _harden() -> None:
    """No core dump, no new rights, no signals of a terminal or a supervisor, and no life after the parent's."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (_OPEN_FILES, _OPEN_FILES))
    if sys.platform == "linux":
        process = ctypes.CDLL(None)
        process.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        process.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if os.getppid() != int(sys.argv[1]):  # it died before it could be asked to take this one along
        os._exit(1)


def _pipes() -> tuple[BinaryIO, BinaryIO]:
    """The parent's, moved away from where a library might read or print."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(nothing, 1)
    os.close(nothing)
    return requests, answers


def _read(requests: BinaryIO) -> bytes:
    """The next frame; empty where the parent is gone."""
    head = requests.read(_LENGTH.size)
    return requests.read(_LENGTH.unpack(head)[0]) if len(head) == _LENGTH.size else b""


def _answer(requests: BinaryIO) -> bytes:
    """Runs what is asked next, and pickles what became of it: ("done", result), ("memory",) or ("raised", type, place).

    Empty where the parent is gone.
    """
    try:
        if not (asked := _read(requests)):
            return b""
        module, name, arguments, keywords, processor_seconds = pickle.loads(asked)  # noqa: S301  # the parent wrote it
        del asked  # which may be as large as what was in it
        used = resource.getrusage(resource.RUSAGE_SELF)
        most = int(used.ru_utime + used.ru_stime) + 1 + processor_seconds
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.RLIM_INFINITY))
        result = getattr(import_module(module), name)(*arguments, **keywords)
        return pickle.dumps(("done", result), pickle.HIGHEST_PROTOCOL)
    except MemoryError:
        return OUT_OF_MEMORY
    except Exception as error:
        if isinstance(error, ImportError) and not _has_room():
            return OUT_OF_MEMORY
        return pickle.dumps(_raised(error))


def _has_room() -> bool:
    """Says whether a library can still be mapped: the loader tells a lack of address space in words alone."""
    try:
        mmap.mmap(-1, _CODE_BYTES, prot=mmap.PROT_READ).close()
        mmap.mmap(-1, _DATA_BYTES).close()
    except (OSError, MemoryError):
        return False
    return True


def _raised(error: Exception) -> tuple[str, str, str]:
    from contract.error_origin import origin_of

    return "raised", type(error).__name__, str(origin_of(error))  # without its frames, which are not plain


def run() -> None:
    """Leave without the interpreter's tidying up, which may touch what hostile input broke."""
    try:
        main()
    finally:
        os._exit(0)


if __name__ == "__main__":
    run()
