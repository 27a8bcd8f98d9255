"""The places of a worker for work that takes long, so that work that is short always finds one (decision 1030)."""

from collections import Counter
from collections.abc import Collection

LONG = 8
"""The number of attempts that may take long at a time: half of a worker's slots."""
LONG_OF_ONE = 2


class LongPlaces:
    """The attempts of a worker that take long, by their claims."""

    def __init__(self) -> None:
        self._taken: dict[str, str] = {}

    def take(self, org_id: str, holder: str) -> bool:
        """Have a place, unless all of them, or those of the organization, are taken; a second time changes nothing."""
        if holder not in self._taken:
            if self.are_all_taken or org_id in self.crowded:
                return False
            self._taken[holder] = org_id
        return True

    def give_back(self, holder: str) -> None:
        self._taken.pop(holder, None)

    @property
    def are_all_taken(self) -> bool:
        return len(self._taken) >= LONG

    @property
    def crowded(self) -> Collection[str]:
        """The organizations that have as many places as one may."""
        return {org_id for org_id, number in Counter(self._taken.values()).items() if number >= LONG_OF_ONE}
