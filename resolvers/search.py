"""The full-text search across the records that the caller may read (decisions 46 to 48)."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contract.criteria import Selection
from contract.errors import Problem, Problems
from contract.limits import SEARCH_DEFAULT, SEARCH_MAX, SEARCH_QUERY_MAX, SEARCH_WORDS_MAX
from contract.scopes import ScopeGroup
from contract.vocabulary import SearchType
from resolvers.access import requires, rule_of
from resolvers.accounts import get_account
from resolvers.contacts import get_contact
from resolvers.context import Context
from resolvers.deals import get_deal
from resolvers.found import Found
from resolvers.leads import get_lead
from resolvers.lists import by_id
from resolvers.meetings import get_meeting
from resolvers.search_passages import Passage, passage
from storage.full_text import words_of
from storage.queries import nouns, paging
from storage.queries import search as statements
from storage.sessions import TenantSession
from storage.tables import SEARCHED

_NOUNS = {
    SearchType.ACCOUNT: ("Account", nouns.ACCOUNTS, rule_of(get_account)),
    SearchType.CONTACT: ("Contact", nouns.CONTACTS, rule_of(get_contact)),
    SearchType.LEAD: ("Lead", nouns.LEADS, rule_of(get_lead)),
    SearchType.DEAL: ("Deal", nouns.DEALS, rule_of(get_deal)),
    SearchType.MEETING: ("Meeting", nouns.MEETINGS, rule_of(get_meeting)),
}
"""What a hit is, and the rule of the operation that reads it."""


_READ_AT_ONCE = 10
"""So many records' texts are in memory at a time, which are no more than a list may hold (decision 128)."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A record that has all the words, and where, if that is wanted."""

    node: Found
    type: SearchType
    passage: Passage | None


@requires(ScopeGroup.CRM_READ)
async def search(
    ctx: Context,
    query: str,
    selections: Mapping[str, Selection],
    types: Sequence[SearchType] | None = None,
    first: int | None = None,
    *,
    with_passages: bool = True,
) -> list[Hit]:
    """The records of these types in which every word of the query begins some word; the best first.

    They come with what is selected of their types. Types that the caller may not read find nothing. Raises Problems.
    """
    first = SEARCH_DEFAULT if first is None else first
    words = _words(query, first)
    wanted = [
        kind for kind, (_, _, rule) in _NOUNS.items() if (types is None or kind in types) and rule.admits(ctx.principal)
    ]
    if not wanted or not first:
        return []
    types_by_kind = {SEARCHED[kind].kind: kind for kind in wanted}
    async with ctx.reading() as session:
        rows = await statements.hits(
            session,
            words,
            list(types_by_kind),
            length=len(query.strip()),
            first=first,
            dialect=ctx.services.database.dialect,
        )
        found = [(types_by_kind[row.kind], row.id) for row in rows]
        passages = await _passages(session, found, words) if with_passages else {}
    hits = await asyncio.gather(
        *(_hit(ctx, kind, identifier, selections, passages.get(identifier)) for kind, identifier in found)
    )
    return [hit for hit in hits if hit is not None and (hit.passage is not None or not with_passages)]


async def _passages(
    session: TenantSession, found: Sequence[tuple[SearchType, str]], words: Sequence[str]
) -> dict[str, Passage]:
    """Where the records that were found have the words, by identifier, without those that went in between."""
    passages: dict[str, Passage] = {}
    for kind in dict.fromkeys(kind for kind, _ in found):
        searched = SEARCHED[kind]
        fields = (*searched.name, *searched.rest)
        texts = _NOUNS[kind][1].selecting(Selection(frozenset(field.partition(".")[0] for field in fields)))
        ids = [identifier for one, identifier in found if one is kind]
        for start in range(0, len(ids), _READ_AT_ONCE):
            rows = await paging.by_ids(session, texts, ids[start : start + _READ_AT_ONCE])
            passages |= await asyncio.to_thread(_passages_of, rows, fields, words)
    return passages


def _passages_of(rows: Mapping[str, Any], fields: Sequence[str], words: Sequence[str]) -> dict[str, Passage]:
    """Long texts take a while, during which nothing else should wait."""
    return {identifier: passage(row, fields, words) for identifier, row in rows.items()}


async def _hit(
    ctx: Context, kind: SearchType, identifier: str, selections: Mapping[str, Selection], passage: Passage | None
) -> Hit | None:
    """The hit with its record, read beside all others of its type; None where it went in between."""
    name, noun, _ = _NOUNS[kind]
    record = await by_id(ctx, noun, identifier, selections[name])
    return None if record is None else Hit(Found(name, record), kind, passage)


def _words(query: str, first: int) -> list[str]:
    """The words to look for; one that begins another asks for nothing more, and is left out. Raises Problems."""
    problems = []
    if not 0 <= first <= SEARCH_MAX:
        problems.append(Problem(("first",), f"must be between 0 and {SEARCH_MAX}", "page_size"))
    found = list(dict.fromkeys(words_of(query)))
    words = [w for w in found if not any(other != w and other.startswith(w) for other in found)]
    if len(query) > SEARCH_QUERY_MAX:
        problems.append(Problem(("query",), f"must have at most {SEARCH_QUERY_MAX} characters", "too_long"))
    elif not words:
        problems.append(Problem(("query",), "must have a letter or a digit", "no_words"))
    elif len(words) > SEARCH_WORDS_MAX:
        problems.append(Problem(("query",), f"must have at most {SEARCH_WORDS_MAX} words", "too_long"))
    if problems:
        raise Problems(problems)
    return words
