"""Counts what has come of WebSocket messages that are not whole yet: how much there may be (decision 137)."""

from collections import Counter

from contract.limits import SOCKETS_UNFINISHED_MAX_BYTES, UNFINISHED_MAX_BYTES
from identity.auth_failures import origin


class Unfinished:
    """The bytes that one process keeps of such messages, by the address that they came from (decision 178)."""

    def __init__(self) -> None:
        self._by_address: Counter[str] = Counter()
        self._all = 0

    def change(self, address: str, more: int) -> bool:
        """Notes so much more, or less, from the address; False if that is too much."""
        place = origin(address)
        self._all += more
        self._by_address[place] += more
        if not self._by_address[place]:
            del self._by_address[place]
        return self._by_address[place] <= UNFINISHED_MAX_BYTES and self._all <= SOCKETS_UNFINISHED_MAX_BYTES

    @property
    def bytes(self) -> int:
        return self._all
