"""Finds which kind of record an identifier is of: asked of all tables at once, so that at most one more is read."""

from collections.abc import Mapping, Sequence

from sqlalchemy import literal_column, select, union_all

from storage.expressions import AnySelect
from storage.queries.filtering import id_matches
from storage.queries.listable import Listable
from storage.rows import Row
from storage.statements import ORG_PARAM
from storage.tenancy.sessions import TenantSession


async def kinds_of(session: TenantSession, kinds: Mapping[str, Listable[Row]], ids: Sequence[str]) -> dict[str, str]:
    """The kind of each of these canonical identifiers; those of no such kind are left out.

    The names of the kinds are the service's own words. Where two kinds had the same identifier, the first one counts.
    """
    if not kinds or not ids:
        return {}
    alone = len(ids) == 1

    def build() -> AnySelect:
        # Not the record type's own select, whose joins find nothing that its entity has not.
        each = [
            select(listable.entity.id.label("id"), literal_column(str(place)).label("place")).where(
                listable.entity.org_id == ORG_PARAM, id_matches(listable.entity.id, alone), *listable.fixed
            )
            for place, listable in enumerate(kinds.values())
        ]
        found = union_all(*each).subquery("found")
        return select(found.c.id, found.c.place)

    rows = await session.fetch(
        ("kinds", tuple((kind, one.name) for kind, one in kinds.items()), alone), build, ids=list(ids), id=ids[0]
    )
    names = tuple(kinds)
    return {row.id: names[row.place] for row in sorted(rows, key=lambda row: -row.place)}
