"""Folds what writes have changed of roll-ups into their cells (decision 263).

A question is answered by cells and deltas together, so that folding changes no answer: it keeps the deltas few.
"""

from storage.database import Database
from storage.queries import cell_checks
from storage.queries.cell_checks import differences
from storage.queries.cells import ROLLUPS, fold, forget_empty, has_deltas, has_empty

ORGANIZATIONS_MAX = 10_000
"""The number of organizations of which it is remembered that something was written; the others wait for the round."""


class Folding:
    """Remembers where something was written, by this process or another one, and folds there."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._moved: set[str] = set()
        database.committed.append(self._note)
        database.heard.append(self._note)

    def _note(self, organization: str) -> None:
        if len(self._moved) < ORGANIZATIONS_MAX:
            self._moved.add(organization)

    async def turn(self) -> None:
        """Fold where something was written since the last turn; a read alone where that changed no roll-up."""
        moved, self._moved = self._moved, set()
        for organization in moved:  # a transaction of each organization's own, as everything is
            await fold_all(self._database, organization)


async def fold_all(database: Database, org_id: str) -> None:
    """Fold all roll-ups of an organization; a read alone of those that have no deltas."""
    for rollup in ROLLUPS:
        async with database.reading(org_id) as session:
            found = await has_deltas(session, rollup)
        if found:
            async with database.writing(org_id) as session:
                await fold(session, rollup)


async def tidy(database: Database, org_id: str) -> None:
    """Fold, and forget the cells that nothing is in any more."""
    await fold_all(database, org_id)
    for rollup in ROLLUPS:
        async with database.reading(org_id) as session:
            found = await has_empty(session, rollup)
        if found:
            async with database.writing(org_id) as session:
                await forget_empty(session, rollup)


async def put_right(database: Database, org_id: str, *, dry: bool = False) -> int:
    """Append what is missing in an organization's roll-ups, unless it is only asked for; in how many cells that is."""
    number = 0
    for rollup in ROLLUPS:
        async with database.reading(org_id) if dry else database.writing(org_id) as session:
            number += len(await differences(session, rollup)) if dry else await cell_checks.put_right(session, rollup)
    return number
