"""A connection as one answer on it is written (decision 106)."""

from asyncio import AbstractEventLoop, Transport
from collections.abc import Callable

_JOINED_MAX = 64 * 1024
"""Beyond this a copy costs more than a further call of the system."""


class ResponseBuffer:
    """Stands in, for the server's request cycle, for the connection's transport.

    The head of the answer is kept until the first piece of the body comes, or else for the rest of the loop's turn:
    both go to the system at once, and reach the client in one packet where they fit. While `is_patient`, more of the
    request may come behind the answer, and the connection is closed by `linger`.
    """

    __slots__ = ("_head", "_linger", "_loop", "_transport", "is_patient")

    def __init__(self, loop: AbstractEventLoop, transport: Transport, linger: Callable[[], None]) -> None:
        self._loop = loop
        self._transport = transport
        self._linger = linger
        self._head: bytes | None = None
        """None before the answer, empty once it is sent."""
        self.is_patient = True

    def write(self, data: bytes) -> None:
        """Send, the first time with what comes next."""
        if self._head is None:
            self._head = data
            self._loop.call_soon(self.flush)
            return
        if self._head and len(data) <= _JOINED_MAX:
            data, self._head = self._head + data, b""
        else:
            self.flush()
        self._transport.write(data)

    def flush(self) -> None:
        if self._head:
            head, self._head = self._head, b""
            self._transport.write(head)

    def is_closing(self) -> bool:
        return self._transport.is_closing()

    def end(self) -> None:
        """The connection is lost: let go of what has this buffer, which would be a ring (decision 1170)."""
        self._linger = self._transport.close

    def close(self) -> None:
        self.flush()
        if self.is_patient:
            self._linger()
        else:
            self._transport.close()
