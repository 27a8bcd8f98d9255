"""Finds which kind of record an identifier is of: asked of all tables at once, so that at most one more is read."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import literal_column, select, union_all

from storage.prepared import ORGANIZATION
from storage.queries.filtering import these
from storage.queries.nouns import Noun
from storage.sessions import TenantSession


async def kinds_of(session: TenantSession, kinds: Mapping[str, Noun], ids: Sequence[str]) -> dict[str, str]:
    """The kind of each of these canonical identifiers; those of no such kind are left out.

    The names of the kinds are the service's own words. Where two kinds had the same identifier, the first one counts.
    """
    if not kinds or not ids:
        return {}
    alone = len(ids) == 1

    def build() -> Any:
        # Not the noun's own select, whose joins find nothing that its entity has not.
        each = [
            select(noun.entity.id.label("id"), literal_column(str(place)).label("place")).where(
                noun.entity.org_id == ORGANIZATION, these(noun.entity.id, alone), *noun.fixed
            )
            for place, noun in enumerate(kinds.values())
        ]
        found = union_all(*each).subquery("found")
        return select(found.c.id, found.c.place)

    rows = await session.fetch(("kinds", tuple(kinds), alone), build, ids=list(ids), id=ids[0])
    names = tuple(kinds)
    return {row.id: names[row.place] for row in sorted(rows, key=lambda row: -row.place)}
