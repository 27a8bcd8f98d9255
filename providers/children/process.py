"""One child process, as its parent sees it."""

import asyncio
import os
import resource
import signal
import sys
from contextlib import suppress
from pathlib import Path

from providers.children.errors import ChildError, Faulty, OutOfMemory, OutOfTime, Raised
from providers.children.frames import LENGTH, framed, read_plain
from providers.children.limits import Limits

_MAIN = str(Path(__file__).with_name("main.py"))
_LAST_WORDS = 4_096
_THROWN_AWAY = 65_536
_NO_MEMORY = (b"memory allocation of", b"MemoryError", b"out of memory", b"bad_alloc", b"Cannot allocate memory")
"""The words that native code writes before it aborts."""
_ENVIRONMENT = {
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "RAYON_NUM_THREADS": "1",  # threads reserve address space, and a report is one run of one processor
    "MALLOC_ARENA_MAX": "1",
}


class Child:
    """A process that does one thing after another, until it dies or is killed."""

    def __init__(self, process: asyncio.subprocess.Process, limits: Limits) -> None:
        self._process = process
        self._limits = limits
        self._last_words = b""
        self._listening = asyncio.create_task(self._listen())
        self._reading = asyncio.Lock()
        self.runs = 0

    @classmethod
    async def start(cls, limits: Limits) -> "Child":
        """A new one. Raises Faulty where the machine lets none start."""
        try:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-I", _MAIN, str(os.getpid())),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=_ENVIRONMENT,
                start_new_session=True,
            )
        except OSError:
            raise Faulty from None
        child = cls(process, limits)
        with suppress(ConnectionError):  # its first run says so
            child._write((_path(), limits.memory_bytes))
        return child

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.returncode is None

    @property
    def resident_bytes(self) -> int:
        """The bytes of the machine's memory that it has now; 0 where the system does not say."""
        try:
            return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * resource.getpagesize()
        except (OSError, IndexError):
            return 0

    async def run(self, module: str, name: str, arguments: tuple[object, ...], keywords: dict[str, object]) -> object:
        """Returns the function's result. Raises ChildError; after any but Raised, or cancelling, the child is over."""
        self.runs += 1
        try:
            async with self._reading, asyncio.timeout(self._limits.seconds):
                self._write((module, name, arguments, keywords, self._limits.processor_seconds))
                await self._input.drain()
                answer = await self._read()
        except TimeoutError:
            self.kill()
            raise OutOfTime from None
        except (asyncio.IncompleteReadError, ConnectionError):
            raise await self._reason() from None
        except BaseException:
            self.kill()
            raise
        match answer:
            case ("done", result):
                return result
            case ("raised", str(type), str(place)):
                raise Raised(type, place)
            case _:
                self.kill()
                raise OutOfMemory if answer == ("memory",) else Faulty

    def kill(self) -> None:
        """End it at once; `ended` waits for that."""
        with suppress(ProcessLookupError):
            self._process.kill()

    async def ended(self) -> None:
        """Wait until it is gone, and nothing of it is left open.

        What it has said is read to the end: while a pipe of it is full, the event loop does not notice that it is gone.
        """
        async with self._reading:
            while await self._output.read(_THROWN_AWAY):
                pass
        await self._process.wait()
        await self._listening
        self._input.close()
        with suppress(ConnectionError):
            await self._input.wait_closed()

    @property
    def _input(self) -> asyncio.StreamWriter:
        assert self._process.stdin is not None  # noqa: S101  # it was asked for
        return self._process.stdin

    @property
    def _output(self) -> asyncio.StreamReader:
        assert self._process.stdout is not None  # noqa: S101  # it was asked for
        return self._process.stdout

    def _write(self, value: object) -> None:
        for part in framed(value):
            self._input.write(part)

    async def _read(self) -> object:
        """The answer. Raises IncompleteReadError where the child died, or OutOfMemory or Faulty."""
        size = LENGTH.unpack(await self._output.readexactly(LENGTH.size))[0]
        if size > self._limits.result_bytes:
            raise OutOfMemory
        data = await self._output.readexactly(size)
        try:
            return read_plain(data)
        except ValueError:
            raise Faulty from None

    async def _reason(self) -> ChildError:
        code = await self._process.wait()
        await self._listening
        if code == -signal.SIGXCPU:
            return OutOfTime()
        if any(words in self._last_words for words in _NO_MEMORY):
            return OutOfMemory()
        return Faulty()

    async def _listen(self) -> None:
        """Keep the end of what it says on its standard error, which the log is spared."""
        errors = self._process.stderr
        assert errors is not None  # noqa: S101  # it was asked for
        while said := await errors.read(_LAST_WORDS):
            self._last_words = (self._last_words + said)[-_LAST_WORDS:]


def _path() -> list[str]:
    """Makes the path where modules are found; the child need not be where this process is."""
    return [os.path.abspath(entry) for entry in sys.path]
