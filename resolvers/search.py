"""The full-text search across the records that the caller may read (decisions 46 to 48)."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from contract.criteria import Selection
from contract.errors import Problem, Problems, ResponseTooLarge
from contract.limits import SEARCH_DEFAULT, SEARCH_MAX, SEARCH_QUERY_MAX, SEARCH_WORDS_MAX
from contract.scopes import ScopeGroup
from contract.vocabulary import SearchType
from resolvers.accounts import get_account
from resolvers.activities import get_activity
from resolvers.contacts import get_contact
from resolvers.deals import get_deal
from resolvers.files import get_file
from resolvers.leads import get_lead
from resolvers.meetings import get_meeting
from resolvers.search_passages import Passage, length, passage
from resolvers.shared.access import Rule, requires, rule_of
from resolvers.shared.context import Context
from resolvers.shared.lists import by_id
from resolvers.shared.node_lookup import NodeResult
from resolvers.shared.threads import aside
from storage.queries import listables, paging
from storage.queries import search as statements
from storage.queries.listable import Listable
from storage.rows import RecordRow
from storage.search_index import words_of
from storage.tables.search import SEARCHED

_LISTABLES: Mapping[SearchType, tuple[str, Listable[RecordRow], Rule]] = {
    SearchType.ACCOUNT: ("Account", listables.ACCOUNTS, rule_of(get_account)),
    SearchType.CONTACT: ("Contact", listables.CONTACTS, rule_of(get_contact)),
    SearchType.LEAD: ("Lead", listables.LEADS, rule_of(get_lead)),
    SearchType.DEAL: ("Deal", listables.DEALS, rule_of(get_deal)),
    SearchType.MEETING: ("Meeting", listables.MEETINGS, rule_of(get_meeting)),
    SearchType.TASK: ("Task", listables.TASKS, rule_of(get_activity)),
    SearchType.NOTE: ("Note", listables.NOTES, rule_of(get_activity)),
    SearchType.CALL: ("Call", listables.CALLS, rule_of(get_activity)),
    SearchType.EMAIL: ("Email", listables.EMAILS, rule_of(get_activity)),
    SearchType.FILE: ("File", listables.FILES, rule_of(get_file)),
}
"""The type of a hit, and the rule of the operation that reads it."""


_SEARCHED = frozenset(list(_LISTABLES)[:5])
"""The types that are searched where none is named."""

_READ_AT_ONCE = 10
"""The number of records' texts in memory at a time where all of them together are too long (decision 128)."""

_LOOKED_THROUGH_AT_ONCE = 50_000
"""Characters, which take about two milliseconds; nothing else waits for more."""


_UNASKED = Passage("", "")


@dataclass(frozen=True, slots=True)
class Hit:
    """A record that has all the words, and where, if that is wanted."""

    node: NodeResult
    type: SearchType
    passage: Passage


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

    They come with what is selected of their types. Types that the caller may not read find nothing. Raises Problems,
    and ResponseTooLarge where what is selected is more than an answer can hold.
    """
    first = SEARCH_DEFAULT if first is None else first
    words = _words(query, first)
    wanted = [
        kind
        for kind, (_, _, rule) in _LISTABLES.items()
        if kind in (_SEARCHED if types is None else types) and rule.admits(ctx.principal)
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
    kinds = list(dict.fromkeys(kind for kind, _ in found))
    read = (
        _hits(ctx, kind, [i for one, i in found if one is kind], selections, words if with_passages else None)
        for kind in kinds
    )
    hits = dict(zip(kinds, await asyncio.gather(*read), strict=True))
    return [hits[kind][identifier] for kind, identifier in found if identifier in hits[kind]]


async def _hits(
    ctx: Context, kind: SearchType, ids: Sequence[str], selections: Mapping[str, Selection], words: Sequence[str] | None
) -> dict[str, Hit]:
    """The hits of a type by identifier, without those that went in between; without passages where no words are given.

    Their texts come with what is selected, unless all of them together are too long.
    """
    name, listable, _ = _LISTABLES[kind]
    selection = selections[name]
    passages: Mapping[str, Passage] = dict.fromkeys(ids, _UNASKED)
    if words is None:
        records = await _records(ctx, listable, ids, selection)
    else:
        fields = (*SEARCHED[kind].name, *SEARCHED[kind].rest)
        texts = Selection(frozenset(field.partition(".")[0] for field in fields))
        try:
            with_texts = replace(selection, columns=selection.columns | texts.columns)
            records = await _records(ctx, listable, ids, with_texts)
            passages = await _passages(records, fields, words)
        except ResponseTooLarge:
            records = await _records(ctx, listable, ids, selection)
            passages = await _passages_by_and_by(ctx, listable.selecting(texts), ids, fields, words)
    return {i: Hit(NodeResult(name, record), kind, passages[i]) for i, record in records.items() if i in passages}


async def _records(
    ctx: Context, listable: Listable[RecordRow], ids: Sequence[str], selection: Selection
) -> dict[str, RecordRow]:
    records = await asyncio.gather(*(by_id(ctx, listable, i, selection) for i in ids))
    return {record.id: record for record in records if record is not None}


async def _passages_by_and_by(
    ctx: Context, texts: Listable[RecordRow], ids: Sequence[str], fields: Sequence[str], words: Sequence[str]
) -> dict[str, Passage]:
    passages: dict[str, Passage] = {}
    for start in range(0, len(ids), _READ_AT_ONCE):
        async with ctx.reading() as session:
            records = await paging.by_ids(session, texts, ids[start : start + _READ_AT_ONCE])
        passages |= await _passages(records, fields, words)
    return passages


async def _passages(
    records: Mapping[str, RecordRow], fields: Sequence[str], words: Sequence[str]
) -> dict[str, Passage]:
    """Finds where the records have the words; in a thread where that takes a while, so that nothing else waits."""

    def find(pace: Callable[[], None] = lambda: None) -> dict[str, Passage]:
        return {identifier: passage(record, fields, words, pace) for identifier, record in records.items()}

    is_long = sum(length(record, fields) for record in records.values()) > _LOOKED_THROUGH_AT_ONCE
    return await aside(find) if is_long else find()


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
