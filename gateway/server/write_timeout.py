"""Clients that do not read what they asked for (decision 106)."""

import fcntl
import sys
import termios
from asyncio import AbstractEventLoop, TimerHandle, Transport

from contract.limits import ANSWER_STALL_SECONDS

_STALL_BYTES = 1024 * ANSWER_STALL_SECONDS


class WriteTimeout:
    """Watches one connection while there is more to be written than the client takes at once."""

    def __init__(self, loop: AbstractEventLoop, transport: Transport) -> None:
        self._loop = loop
        self._transport = transport
        self._timer: TimerHandle | None = None

    def watch(self) -> None:
        """Look from time to time until everything is written, or `end`; cut the connection if next to nothing is."""
        if self._timer is None:
            self._timer = self._loop.call_later(ANSWER_STALL_SECONDS, self._look, self._untaken())

    def end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self, before: int) -> None:
        self._timer = None
        size = self._untaken()
        if size > max(0, before - _STALL_BYTES):
            self._transport.abort()
        elif size:
            self.watch()

    def _untaken(self) -> int:
        """Bytes on their way to the client, those included that the system has, which it takes in large lumps."""
        size = self._transport.get_write_buffer_size()
        try:
            queued = fcntl.ioctl(self._transport.get_extra_info("socket").fileno(), termios.TIOCOUTQ, bytes(4))
        except (OSError, ValueError):  # not known here, or closed
            return size
        return size + int.from_bytes(queued, sys.byteorder)
