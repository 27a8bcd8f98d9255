"""Bounds redis-py's parser of replies, below the documented surface of the library (decision 160).

The library reads a reply as long as the server likes, into memory, and answers nonsense with whatever error that leads
to. Relied on are `_AsyncRESP2Parser`, that its `read_response` reads through `_readline` and `_read`, that
its `_read_response` calls itself for each item of a list, and that `parser_class` is taken for protocol 2.
"""

from typing import Any, Final

from redis._parsers import _AsyncRESP2Parser
from redis.exceptions import InvalidResponse, RedisError

REPLY_MOST: Final = 4_096
_LINE: Final = 16  # what a line counts besides its text, so that lists within lists are bounded as well


class BoundedReplies(_AsyncRESP2Parser):
    """Reads a reply of a few kilobytes at most. Raises RedisError or OSError, and nothing else, for any bytes."""

    _left = REPLY_MOST

    async def read_response(self, disable_decoding: bool = False) -> Any:  # a reply of any kind
        self._left = REPLY_MOST
        try:
            return await super().read_response(disable_decoding=disable_decoding)
        except (RedisError, OSError):
            raise
        except Exception as error:
            raise InvalidResponse(f"no reply of Redis: {type(error).__name__}") from None

    async def _readline(self) -> bytes:
        line: bytes = await super()._readline()
        self._spend(len(line) + _LINE)
        return line

    async def _read(self, length: int) -> bytes:
        self._spend(length)
        found: bytes = await super()._read(length)
        return found

    def _spend(self, size: int) -> None:
        self._left -= size
        if size < 0 or self._left < 0:
            raise InvalidResponse("a reply that is too long, or has no length")
