"""The one cache of values that can be made again: bounded, by recent use, and safe from what comes once (decision 149).

What is new is on probation. What is asked for again is protected, in four fifths of the room at most, and goes back on
probation when it was used the longest ago of these. Whoever sends one new thing after the other so pushes out what
others sent once, and not what is used. `docs/caches.md` lists every cache.
"""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_PROTECTED = 0.8


@dataclass(slots=True, eq=False)
class _Entry(Generic[K, V]):
    """A value that is kept. The order of use is one of entries, whose hashes cost less than those of their keys."""

    key: K
    value: V
    size: int
    is_protected: bool = False


class BoundedCache(Generic[K, V]):
    """Values by the value of their key: at most `entries`, and of any whose sizes come to at most `size` together."""

    def __init__(self, *, entries: int, size: int | None = None) -> None:
        self.entries = entries
        self.size = size
        self.used = 0
        """The sum of the sizes of all."""
        self.hits = 0
        self.misses = 0
        self._found: dict[K, _Entry[K, V]] = {}
        self._probation: OrderedDict[_Entry[K, V], None] = OrderedDict()
        self._protected: OrderedDict[_Entry[K, V], None] = OrderedDict()
        self._protected_used = 0

    def __len__(self) -> int:
        return len(self._found)

    def get(self, key: K) -> V | None:
        """Returns what was kept under the key, where it still is; it has been used now."""
        entry = self._found.get(key)
        if entry is None:
            self.misses += 1
            return None
        self.hits += 1
        if entry.is_protected:
            self._protected.move_to_end(entry)
        else:
            del self._probation[entry]
            self._protect(entry)
        return entry.value

    def peek(self, key: K) -> V | None:
        """The same for somebody whose use is not to count."""
        entry = self._found.get(key)
        return None if entry is None else entry.value

    def put(self, key: K, value: V, size: int = 1) -> None:
        """Keep a value of this size, and let go of what there is no room for, be it the value itself."""
        before = self._found.get(key)
        self.pop(key)
        if self.size is not None and size > self.size:
            return
        entry = self._found[key] = _Entry(key, value, size)
        self.used += size
        if before is not None and before.is_protected:
            self._protect(entry)
        else:
            self._probation[entry] = None
        while len(self._found) > self.entries or (self.size is not None and self.used > self.size):
            self.pop(next(iter(self._probation or self._protected)).key)

    def pop(self, key: K) -> None:
        """Forget what is kept under the key, where it is."""
        entry = self._found.pop(key, None)
        if entry is None:
            return
        self.used -= entry.size
        if entry.is_protected:
            del self._protected[entry]
            self._protected_used -= entry.size
        else:
            del self._probation[entry]

    def clear(self) -> None:
        """Forget everything."""
        for key in [*self._found]:
            self.pop(key)

    def _protect(self, entry: _Entry[K, V]) -> None:
        """Protect an entry that is in neither order, in place of those that were used the longest ago."""
        entry.is_protected = True
        self._protected[entry] = None
        self._protected_used += entry.size
        while len(self._protected) > 1 and self._protects_too_much():
            oldest, _ = self._protected.popitem(last=False)
            self._protected_used -= oldest.size
            oldest.is_protected = False
            self._probation[oldest] = None

    def _protects_too_much(self) -> bool:
        too_many = len(self._protected) > self.entries * _PROTECTED
        return too_many or (self.size is not None and self._protected_used > self.size * _PROTECTED)
