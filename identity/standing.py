"""Says what a caller was found by, so that another look finds out by rows alone whether that is so still."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from identity.coalescing import CoalescedReads
from identity.directory import Row
from identity.principal import Principal

Found = tuple[CoalescedReads[Row], str, Sequence[Row]]
"""A read, its key, and the rows that it gave."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A caller, the rows of which it was made, and whether they would be judged now as they were.

    What a credential stands for follows from its text, these rows and the time, so that the same rows need no judging
    while `holds` says so (decision 1196).
    """

    principal: Principal
    found: tuple[Found, ...]
    holds: Callable[[], bool]


async def unchanged(standings: Collection[Standing]) -> list[bool]:
    """Says which of these stand as they did, by one statement for each kind of rows. Raises what the reads raise.

    Whether a standing `holds` is asked behind the reading, which may have taken long.
    """
    keys: dict[CoalescedReads[Row], dict[str, None]] = {}
    for standing in standings:
        for reads, key, _ in standing.found:
            keys.setdefault(reads, {})[key] = None
    rows = {reads: await reads.each(wanted) for reads, wanted in keys.items()}  # of three kinds at the most
    return [
        standing.holds() and all(rows[reads].get(key, []) == before for reads, key, before in standing.found)
        for standing in standings
    ]
