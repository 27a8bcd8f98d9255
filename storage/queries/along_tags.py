"""Narrows a list in the order of creation to records with some tags, by the links of these (decision 820)."""

from collections.abc import Callable, Sequence

from contract.criteria import All, Condition, HasTag, TagMatch
from storage.expressions import AnyColumn, AnySelect
from storage.queries.filtering import ALWAYS, narrowed
from storage.queries.list_conditions import tag_links
from storage.queries.listable import Listable
from storage.rows import Row

Columns = Callable[[str], Sequence[AnyColumn]]
"""The function that gives the columns that have what a row shows under a name, the first of which orders the list."""


def columns_of(listable: Listable[Row]) -> Columns:
    """The columns of the listable, each alone."""
    return lambda name: [listable.column(name)]


class AlongTags:
    """The links that narrow a page in order of creation to records with some tags; they are joined (decision 820)."""

    def __init__(self, listable: Listable[Row], condition: Condition) -> None:
        tags, others = _tags_apart(condition)
        self._listable, self._others = listable, others
        names = [name.parameter for tag in tags for name in (tag.names if tag.match is TagMatch.FEW else (tag.names,))]
        self._links = tag_links(listable.entity, tags[0].kind, names) if tags else []

    def __bool__(self) -> bool:
        """Says whether there are such tags."""
        return bool(self._links)

    def narrowed(self, statement: AnySelect) -> AnySelect:
        """A select of the listable's rows, with all that the condition asks."""
        for link, joined in self._links:
            statement = statement.join(link, joined)
        return narrowed(statement, self._listable, self._others)

    def columns(self, name: str) -> list[AnyColumn]:
        """The columns that have what a row shows under this name: the order of a list is that of the first."""
        known = {"created_at": "record_created_at", "id": "record_id"}.get(name)
        if known is None or not self._links:
            return [self._listable.column(name)]
        return [getattr(link, known) for link, _ in self._links]


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
