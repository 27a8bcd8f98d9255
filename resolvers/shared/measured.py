"""Measures bytes on their way: how many there are, what they hash to, and of which kind they are."""

import asyncio
from hashlib import sha256

from contract.limits import SNIFFED_HEAD_BYTES, SNIFFED_TAIL_BYTES, UPLOADS_HASHED_MAX
from providers.content_types import sniffed
from storage.bounded_cache import BoundedCache


class Measured:
    """Bytes on their way: their number, their hash, and what tells their kind."""

    def __init__(self) -> None:
        self.bytes = 0
        self._digest = sha256()
        self._head = b""
        self._tail = b""

    def add(self, piece: bytes) -> None:
        """Take the next ones into account."""
        self.bytes += len(piece)
        self._digest.update(piece)
        if len(self._head) < SNIFFED_HEAD_BYTES:
            self._head += piece[: SNIFFED_HEAD_BYTES - len(self._head)]
        end = piece[-SNIFFED_TAIL_BYTES:]
        self._tail = (self._tail + end)[-SNIFFED_TAIL_BYTES:]

    async def add_aside(self, piece: bytes) -> None:
        """The same in a thread, for what comes beside much else."""
        await asyncio.to_thread(self.add, piece)

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    def kind(self, declared: str | None) -> str:
        """The media type."""
        return sniffed(self._head, self._tail, declared)


class MeasuredUploads:
    """How far a process has measured uploads that are under way, whose next part most often comes to it as well.

    What is not here is worked out from the store. One upload's is with one request at a time.
    """

    def __init__(self) -> None:
        self._found: BoundedCache[str, Measured] = BoundedCache(entries=UPLOADS_HASHED_MAX)

    def take(self, upload_id: str, received: int) -> Measured | None:
        """What the first `received` bytes were measured as, which is given away; None where that is not known."""
        if not received:
            return Measured()
        found = self._found.get(upload_id)
        self._found.pop(upload_id)
        return found if found is not None and found.bytes == received else None

    def keep(self, upload_id: str, measured: Measured) -> None:
        """Keep it for the next part."""
        self._found.put(upload_id, measured)
