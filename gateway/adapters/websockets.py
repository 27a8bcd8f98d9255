"""websockets below its documented surface: what its protocol for servers logs, takes and has of a message."""

from typing import Any

from websockets.server import ServerProtocol


class QuietProtocol(ServerProtocol):
    """The protocol without its lines: at DEBUG they are whole frames and headers, with the ends of tokens."""

    def __init__(self, **options: Any) -> None:  # those of the library
        super().__init__(**options)
        # What the constructor reads off the logger's level.
        self.debug = False

    def take(self, size: int) -> None:
        """Take messages of this size from now on."""
        self.max_message_size = size

    @property
    def unfinished(self) -> int:
        """Counts the bytes that have come of a message that is not whole, in pieces that are and in one that is not."""
        return len(self.reader.buffer) + (self.current_size or 0)

    def forget(self) -> None:
        self.reader.discard()
