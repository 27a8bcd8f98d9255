"""Narrows a list in the order of creation to records with some tags, by the links of these (decision 820)."""

from collections.abc import Callable, Sequence
from typing import Final

from sqlalchemy import BigInteger, ColumnElement, and_, literal_column, select, true

from contract.criteria import All, Condition, HasTag, TagMatch
from storage.expressions import AnyColumn, AnyEntity, AnySelect
from storage.queries.filtering import ALWAYS, narrowed
from storage.queries.list_conditions import tag_links
from storage.queries.listable import Listable
from storage.rows import Row

Columns = Callable[[str], Sequence[AnyColumn]]
"""The function that gives the columns that have what a row shows under a name, the first of which orders the list."""

Within = Callable[[AnySelect, Columns], AnySelect]
"""The function that narrows a select to what lies behind a page's cursor by these columns, and puts it in order."""

_OF_LINK: Final = {"created_at": "record_created_at", "id": "record_id"}
"""The columns of a link that have what the record shows under these names."""


def columns_of(listable: Listable[Row]) -> Columns:
    """The columns of the listable, each alone."""
    return lambda name: [listable.column(name)]


_ALL: ColumnElement[int] = literal_column(f"(SELECT {2**63 - 1})", BigInteger)
"""A limit that no list comes to, and that PostgreSQL cannot see: so it takes a tenth for all that is read."""


class AlongTags:
    """The links that narrow a page in order of creation to records with some tags; they are joined (decision 820).

    Where `within` puts the page's bounds and order into a select of links, the links of each tag are a select of their
    own behind a limit, a fence: so they are read in order, and can only be merged. Else PostgreSQL takes the links
    behind a cursor for a third of all, those of several tags for next to none, and may read all of them and sort.
    """

    def __init__(self, listable: Listable[Row], condition: Condition, within: Within | None) -> None:
        tags, others = _tags_apart(condition)
        self._listable, self._others = listable, others
        names = [name.parameter for tag in tags for name in (tag.names if tag.match is TagMatch.FEW else (tag.names,))]
        links = tag_links(tags[0].kind, names) if tags else []
        self.is_fenced = bool(links) and within is not None
        """Whether the bounds and the order stand where the links are read."""
        self._links: list[tuple[AnyEntity, ColumnElement[bool]]] = links
        if within is not None:
            self._links = [(_fenced(link, own, within), true()) for link, own in links]

    def __bool__(self) -> bool:
        """Says whether there are such tags."""
        return bool(self._links)

    def narrowed(self, statement: AnySelect) -> AnySelect:
        """A select of the listable's rows, with all that the condition asks."""
        entity = self._listable.entity
        for link, own in self._links:
            first = self._links[0][0]
            joined = [own, link.record_id == entity.id]
            joined += [] if link is first else [link.record_created_at == first.record_created_at]
            source = link.record_id.table if self.is_fenced else link
            statement = statement.join(source, and_(*joined))
        return narrowed(statement, self._listable, self._others)

    def columns(self, name: str) -> list[AnyColumn]:
        """The columns that have what a row shows under this name: the order of a list is that of the first."""
        if name not in _OF_LINK or not self._links:
            return [self._listable.column(name)]
        return [getattr(link, _OF_LINK[name]) for link, _ in self._links]


def _fenced(link: AnyEntity, own: ColumnElement[bool], within: Within) -> AnyEntity:
    """The columns of a select of these links that is planned by itself, as if for a part of them."""
    links = select(link.record_id, link.record_created_at).where(own)
    return within(links, lambda name: [getattr(link, _OF_LINK[name])]).limit(_ALL).subquery().c


def _tags_apart(condition: Condition) -> tuple[list[HasTag], Condition]:
    """The tags that every row has to have, as far as they are named one by one, and whatever else is asked."""
    match condition:
        case HasTag(match=TagMatch.ONE | TagMatch.FEW):
            return [condition], ALWAYS
        case All(parts):
            apart = [_tags_apart(part) for part in parts]
            tags = [tag for found, _ in apart for tag in found]
            return (tags, All(tuple(other for _, other in apart))) if len(tags) == 1 else ([], condition)
        case _:
            return [], condition
