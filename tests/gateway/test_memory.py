"""A process that serves has its memory in large pages where the system lets it (decision 966)."""

from __future__ import annotations

import gc
import mmap
import platform
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gateway.server import memory

_PAGE = 2 * 1024 * 1024


def test_large_pages_begin_within_memory_of_no_file() -> None:
    maps = """\
00400000-00500000 r-xp 00000000 fe:00 26723                      /usr/bin/python3.11
01f00000-02600000 rw-p 00000000 00:00 0                          [heap]
7f0000300000-7f0000700000 rw-p 00000000 00:00 0\x20
7f0000800000-7f0000900000 rw-p 00000000 00:00 0\x20
7f0000a00000-7f0001000000 rw-p 00043000 fe:00 26933              /usr/lib/libpython3.11.so.1.0
7f0001200000-7f0001600000 rw-s 00000000 00:01 15                 /dev/zero (deleted)
7f0001800000-7f0001c00000 ---p 00000000 00:00 0\x20
7fff00000000-7fff00400000 rw-p 00000000 00:00 0                  [stack]
"""
    assert [*memory._places(maps)] == [0x2000000, 0x2200000, 0x2400000, 0x7F0000400000]


@pytest.mark.parametrize("words", ["always madvise [never]\n", None])
def test_a_system_without_large_pages_is_left_as_it_is(
    words: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = tmp_path / "enabled"
    if words is not None:
        policy.write_text(words)
    monkeypatch.setattr(memory, "_POLICY", policy)
    monkeypatch.setattr(memory, "_MAPS", tmp_path / "asked for by nobody")
    assert memory.use_large_pages() == 0


def test_what_is_in_memory_stays_what_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of this process's memory a piece of its own alone: the others are the tests'."""
    known = Path("/proc/self/maps").read_text().splitlines() if Path("/proc/self/maps").exists() else []
    with mmap.mmap(-1, 4 * _PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as held:
        held.write(bytes(range(256)) * (4 * _PAGE // 256))
        if known:
            new = [line for line in Path("/proc/self/maps").read_text().splitlines() if line not in known]
            maps = tmp_path / "maps"
            maps.write_text("\n".join(new))
            monkeypatch.setattr(memory, "_MAPS", maps)
            assert 0 <= memory.use_large_pages() <= len([*memory._places(maps.read_text())])
        assert held[:] == bytes(range(256)) * (4 * _PAGE // 256)


def test_nothing_that_a_system_refuses_is_told_but_to_who_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise OSError("no such word")

    monkeypatch.setattr(memory, "use_large_pages", refuse)
    before = gc.get_threshold()
    try:
        memory.settle()
        assert gc.get_threshold() == (10_000, 2, 40)  # decision 1154
        for thread in threading.enumerate():
            if thread.name == "large pages":
                thread.join()
    finally:
        gc.set_threshold(*before)


_BUSY = """
import ctypes, sys, threading
from gateway.server import memory
if sys.argv[1] == "shared":
    memory.settle()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
together = threading.Barrier(8)
def take():
    together.wait()
    for _ in range(100):
        libc.malloc(4_000)
    together.wait()
threads = [threading.Thread(target=take) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
libc.fdopen.restype = ctypes.c_void_p
libc.malloc_info(0, ctypes.c_void_p(libc.fdopen(1, b"w")))
libc.fflush(None)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have no arenas")
def test_threads_take_their_memory_from_few_arenas() -> None:
    """Eight at once have an arena each unless they share (decision 1171)."""

    def arenas(word: str) -> int:
        done = subprocess.run([sys.executable, "-c", _BUSY, word], capture_output=True, text=True, check=True)
        return done.stdout.count("<heap nr=")

    assert arenas("shared") <= 2 < arenas("own")
