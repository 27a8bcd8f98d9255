"""How a process that serves handles its memory, once everything is loaded that stays (decision 966)."""

import contextlib
import ctypes
import gc
import logging
import re
import threading
from collections.abc import Iterator
from pathlib import Path

_log = logging.getLogger(__name__)

_NEW_MAX = 10_000
"""So many new objects are there before garbage is looked for. A request makes hundreds, which go with it: to look for
every 700, as Python does, finds those of the requests under way."""
_YOUNG_MAX = 2
"""So many times only new objects are looked at, before those that stayed are looked at once more (decision 1154).
Everything waits meanwhile. Python does it after ten times, which takes 40 ms once hundreds of streams begin."""
_MIDDLE_MAX = 40
"""So many of those, before everything is looked at, as rarely as Python does."""
_LARGE = 2 * 1024 * 1024
"""The size of a large page."""
_COLLAPSE = 25
"""madvise's word for making one large page of many small ones now (MADV_COLLAPSE, Linux 6.1)."""
_ARENA_MAX = -8
"""mallopt's word for the number of arenas (M_ARENA_MAX)."""
_ARENAS = 2
_MAPS = Path("/proc/self/maps")
_POLICY = Path("/sys/kernel/mm/transparent_hugepage/enabled")
_MAP = re.compile(r"([0-9a-f]+)-([0-9a-f]+) rw-p 00000000 00:00 0\s*(\[heap\])?")


def settle() -> None:
    """Look for garbage less often, share arenas, and have what is there in large pages, beside what else is done."""
    gc.set_threshold(_NEW_MAX, _YOUNG_MAX, _MIDDLE_MAX)
    _share_arenas()
    threading.Thread(target=_collapsed, name="large pages", daemon=True).start()


def _share_arenas() -> None:
    """Have threads take memory from few arenas, where the C library has some (glibc).

    Each connection to a file is a thread. With an arena of its own a thread keeps what was freed in it (decision 1171).
    """
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_ARENA_MAX, _ARENAS)


def _collapsed() -> None:
    try:
        count = use_large_pages()
    except Exception:  # another system, or one that does not let us
        _log.debug("no large pages", exc_info=True)
    else:
        _log.debug("memory is in %d large pages", count)


def use_large_pages() -> int:
    """Have the memory of the process in pages of 2 MiB as far as it is there, and say how many.

    What a request touches is spread over 150 MiB. With pages of 4 KiB the processor forgets where most of them are
    before it comes to them again, and to find out takes longest in a virtual machine. The memory is no more than it
    was but for what was free within these pages. A system on which large pages are off is left as it is.
    """
    if not _POLICY.exists() or "[never]" in _POLICY.read_text():
        return 0
    advise = ctypes.CDLL(None, use_errno=True).madvise
    advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return sum(advise(start, _LARGE, _COLLAPSE) == 0 for start in _places(_MAPS.read_text()))


def _places(maps: str) -> Iterator[int]:
    """The addresses at which a large page may begin, of the memory that belongs to no file."""
    for line in maps.splitlines():
        found = _MAP.fullmatch(line)
        if found is not None:
            begin, end = int(found[1], 16), int(found[2], 16)
            yield from range(-(-begin // _LARGE) * _LARGE, end - _LARGE + 1, _LARGE)
