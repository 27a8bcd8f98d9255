"""The full-text search: which records have all the words, in the order of the hits (decisions 46 and 47)."""

from collections.abc import Sequence

from sqlalchemy import Integer, Text, bindparam, case, column, literal_column, select, table
from sqlmodel import col

from storage.expressions import AnySelect
from storage.rows import SearchEntryRow
from storage.search_index import FULL_TEXT_TABLE
from storage.statements import ORG_PARAM, SEARCH_PARAM
from storage.tables import SearchEntry
from storage.tenancy.sessions import TenantSession

_KEY_CHARACTERS = {"postgresql": 8, "sqlite": 12}
"""The number of characters of the organization's identifier, from its end, that stand in the index."""

RANKED_MAX = 25_000
"""The number of records with the words beyond which SQLite ranks those that were written last (decision 75)."""


async def hits(
    session: TenantSession,
    words: Sequence[str],
    kinds: Sequence[int],
    *,
    length: int,
    first: int,
    dialect: str,
    ranked: int = RANKED_MAX,
) -> list[SearchEntryRow]:
    """Finds at most `first` entries, each with `kind` and `id`, of these kinds, in which every word begins some word.

    Those that have all of them in the record's name come before the others; among either, those whose name has the
    length of the question, then by kind, the newest, and the identifier.
    """
    question = _postgresql if dialect == "postgresql" else _sqlite
    mark = session.org_id.replace("-", "")[-_KEY_CHARACTERS[dialect] :]
    found: dict[tuple[int, str], SearchEntryRow] = {}

    def build() -> AnySelect:
        return _statement(dialect, kinds, first, ranked)

    for in_name in (True, False):
        if len(found) < first:
            values = {"sought": question(mark, words, in_name=in_name), "length": length}
            for row in await session.fetch(("search", tuple(kinds), first, ranked), build, **values):
                found.setdefault((row.kind, row.id), row)
    return list(found.values())[:first]


def _statement(dialect: str, kinds: Sequence[int], first: int, ranked: int) -> AnySelect:
    entry = SearchEntry
    matching: AnySelect = select(col(entry.kind), col(entry.id), col(entry.size), col(entry.created_at)).where(
        col(entry.org_id) == ORG_PARAM, col(entry.kind).in_([literal_column(str(kind)) for kind in kinds])
    )
    if dialect == "sqlite":
        index = table(FULL_TEXT_TABLE, column("rowid", Integer), column(FULL_TEXT_TABLE, Text))
        asked = index.c[FULL_TEXT_TABLE].op("MATCH")(bindparam("sought", type_=Text))
        matching = matching.join(index, index.c.rowid == col(entry.words)).where(asked)
        matching = matching.order_by(index.c.rowid.desc()).limit(literal_column(str(ranked), Integer))
    found = matching.subquery("matching").c
    closest = case((found.size == bindparam("length", type_=Integer), literal_column("0")), else_=literal_column("1"))
    statement: AnySelect = (
        select(found.kind, found.id)
        .order_by(closest, found.kind, found.created_at.desc(), found.id)
        .limit(literal_column(str(first), Integer))
    )
    # The policy of PostgreSQL's table asks the question.
    return statement.execution_options(**{SEARCH_PARAM: "sought"}) if dialect == "postgresql" else statement


def _postgresql(mark: str, words: Sequence[str], *, in_name: bool) -> str:
    """Words of letters and digits only, so none of them can be syntax."""
    fields = ("n",) if in_name else ("n", "o")
    return " & ".join(f"({' | '.join(f'{mark}{field}{word}:*' for field in fields)})" for word in words)


def _sqlite(mark: str, words: Sequence[str], *, in_name: bool) -> str:
    fields = "name" if in_name else "name rest"
    return f'org : "{mark}" AND {{{fields}}} : ({" AND ".join(f"{chr(34)}{word}{chr(34)} *" for word in words)})'
