"""Two buckets that the same points are taken out of in one step: a member's, and that of the whole organization.

Both have to hold the points, or nothing is taken out of either (decision 100). A bucket is explained in
token_buckets.py; what a caller is shown of the two is decision 159.
"""

from collections import OrderedDict
from collections.abc import Callable
from time import monotonic_ns
from typing import Any, NamedTuple, Protocol
from weakref import WeakValueDictionary

from identity.token_buckets import Size

_MOST = 50_000


class Sizes(NamedTuple):
    """The size of a member's bucket, and that of an organization's."""

    member: Size
    organization: Size


class Drawn(NamedTuple):
    """Says whether the points were there, and in how many microseconds both buckets are full: member, organization.

    `pairs` is where points are to be given back to, which finds the buckets again by `place`.
    """

    granted: bool
    missing: int
    shared: int
    points: int
    pairs: "Pairs | None"
    place: Any  # of the kind that these pairs find their buckets by


class Pairs(Protocol):
    """The buckets of all members in all organizations."""

    sizes: Sizes

    async def take(self, organization: str, member: str, points: int) -> Drawn:
        """Take the points if they are there. Asking for more than a bucket holds takes full ones, and owes.

        Without an organization, which is the empty text, there is the member's bucket alone.
        """

    async def give(self, drawn: Drawn, points: int) -> tuple[int, int]:
        """Give points back, or below zero take them whatever is there; the microseconds until both are full."""


class _Bucket:
    """The moment at which it is full, or was."""

    __slots__ = ("__weakref__", "full_at")

    def __init__(self) -> None:
        self.full_at = 0


_Both = tuple[_Bucket, _Bucket | None]


class MemoryPairs:
    """Buckets of this process. Of more than `most` members, the one who came the longest ago is taken to have it full.

    An organization's bucket is kept as long as that of one of its members is.
    """

    def __init__(self, sizes: Sizes, *, most: int = _MOST, clock: Callable[[], int] = monotonic_ns) -> None:
        self.sizes = sizes
        self._most = most
        self._clock = clock
        self._members: OrderedDict[tuple[str, str], _Both] = OrderedDict()
        self._organizations: WeakValueDictionary[str, _Bucket] = WeakValueDictionary()
        self._point, self._span = sizes.member.point, sizes.member.span
        self._shared_point, self._shared_span = sizes.organization.point, sizes.organization.span

    def __len__(self) -> int:
        return len(self._members)

    async def take(self, organization: str, member: str, points: int) -> Drawn:
        now = self._clock() // 1000
        key = (organization, member)
        both = self._members.get(key)
        if both is None:
            both = self._new(key)
        else:
            self._members.move_to_end(key)
        own, whole = both
        missing = own.full_at - now if own.full_at > now else 0
        shared = whole.full_at - now if whole is not None and whole.full_at > now else 0
        if points:
            span, wanted = self._span, points * self._point
            if missing and missing + (wanted if wanted < span else span) > span:
                return Drawn(False, missing, shared, points, self, both)
            span, part = self._shared_span, points * self._shared_point
            if shared and shared + (part if part < span else span) > span:
                return Drawn(False, missing, shared, points, self, both)
            missing += wanted
            own.full_at = now + missing
            if whole is not None:
                shared += part
                whole.full_at = now + shared
        return Drawn(True, missing, shared, points, self, both)

    async def give(self, drawn: Drawn, points: int) -> tuple[int, int]:
        now = self._clock() // 1000
        own, whole = drawn.place
        missing = (own.full_at - now if own.full_at > now else 0) - points * self._point
        own.full_at = now + missing
        if whole is None:
            return (missing if missing > 0 else 0), 0
        shared = (whole.full_at - now if whole.full_at > now else 0) - points * self._shared_point
        whole.full_at = now + shared
        return (missing if missing > 0 else 0), (shared if shared > 0 else 0)

    def _new(self, key: tuple[str, str]) -> _Both:
        whole = self._organizations.get(key[0])
        if whole is None and key[0]:
            whole = self._organizations[key[0]] = _Bucket()
        both = self._members[key] = (_Bucket(), whole)
        if len(self._members) > self._most:
            self._members.popitem(last=False)
        return both
