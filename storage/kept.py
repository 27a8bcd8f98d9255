"""What was made last of the texts of statements, bounded by their number and by their length together."""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

ENTRIES_MAX = 2_000
CHARACTERS_MAX = 4_000_000
"""What is kept with a text takes up to ten times as much (decision 126)."""


class Kept(Generic[K, V]):
    """The first to come is the first to go."""

    def __init__(self) -> None:
        self._values: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._characters = 0

    def get(self, key: K) -> V | None:
        """What was kept under the key, where it still is."""
        found = self._values.get(key)
        return None if found is None else found[0]

    def put(self, key: K, value: V, text: str) -> None:
        """Keep a value that was made of this text, and let go of what there is no room for."""
        _, before = self._values.get(key, (None, 0))
        self._values[key] = (value, len(text))
        self._characters += len(text) - before
        while len(self._values) > ENTRIES_MAX or self._characters > CHARACTERS_MAX:
            _, (_, length) = self._values.popitem(last=False)
            self._characters -= length

    def __len__(self) -> int:
        return len(self._values)
