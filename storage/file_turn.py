"""The turn to write a SQLite file, among the processes that have it open (decision 1188).

SQLite itself keeps writers apart. It does not say who is next: one that finds another writing looks again after pauses
of up to a tenth of a second, and one that writes without a pause, such as an import, is hardly ever found in between.
"""

import asyncio
import fcntl
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from storage.addresses import file_in

if TYPE_CHECKING:
    from sqlalchemy.engine import URL

SECONDS = 2.0
"""The seconds for which a turn is waited for. Then SQLite is asked all the same, and says how it is."""


class FileTurn:
    """Waits in line. The holder has the turn's lock; who is next has that of the place in front of it.

    So who gives the turn back and wants it again stands behind whoever waited meanwhile.
    """

    def __init__(self, file: Path) -> None:
        self._paths = [file.with_name(f"{file.name}.{name}") for name in ("next", "turn")]
        self._files: list[int] = []
        self._is_held = False
        self._left: asyncio.Future[None] | None = None
        """The wait of somebody who has left."""

    async def take(self) -> None:
        """Have the turn, or after some seconds not; where files cannot be locked, nobody waits."""
        if self._left is not None:
            return
        try:
            if not self._files:
                self._open()
            if self._at_once():
                self._is_held = True
                return
            waiting = _in_a_thread(self._wait)
        except (OSError, RuntimeError):  # a folder or a file system without room for locks, or no room for a thread
            return
        try:
            async with asyncio.timeout(SECONDS):
                await asyncio.shield(waiting)
            self._is_held = True
        except BaseException as error:
            self._left = waiting
            waiting.add_done_callback(self._leave)
            if not isinstance(error, TimeoutError):
                raise

    def give_back(self) -> None:
        """Let whoever is next have the turn."""
        if self._is_held:
            self._is_held = False
            with suppress(OSError, IndexError):  # the files are closed already
                fcntl.flock(self._files[1], fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the files; a turn that is held ends with that."""
        while self._files:
            os.close(self._files.pop())

    def _leave(self, _waited: object) -> None:
        self._left, self._is_held = None, True
        self.give_back()

    def _open(self) -> None:
        flags = os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            for path in self._paths:
                self._files.append(os.open(path, flags, 0o600))
        except OSError:
            self.close()
            raise

    def _at_once(self) -> bool:
        front, turn = self._files
        try:
            fcntl.flock(front, fcntl.LOCK_EX | fcntl.LOCK_NB)
            try:
                fcntl.flock(turn, fcntl.LOCK_EX | fcntl.LOCK_NB)
            finally:
                fcntl.flock(front, fcntl.LOCK_UN)
        except BlockingIOError:
            return False
        return True

    def _wait(self) -> None:
        front, turn = self._files
        fcntl.flock(front, fcntl.LOCK_EX)
        fcntl.flock(turn, fcntl.LOCK_EX)
        fcntl.flock(front, fcntl.LOCK_UN)


def turn_of(url: "URL") -> FileTurn | None:
    """The turn to write the file of this address; None where that is no file. Raises ValueError for SQLite without."""
    file = file_in(url)
    return None if file is None else FileTurn(file)


def _in_a_thread(work: Callable[[], None]) -> asyncio.Future[None]:
    """Do what may wait for as long as another process likes; the end of this one does not wait for it."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def run() -> None:
        with suppress(OSError):
            work()
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(_set, done)

    threading.Thread(target=run, name="turn", daemon=True).start()
    return done


def _set(done: asyncio.Future[None]) -> None:
    if not done.done():
        done.set_result(None)
