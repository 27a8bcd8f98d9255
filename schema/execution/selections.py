"""Says what is selected of the rows that a resolver fetches: read off the operation's tree, once for a field.

Conditions of the variant were looked at when the tree was made; a column too many costs little, one too few would be
missed.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar, cast

from graphql import GraphQLList, get_nullable_type
from strawberry import UNSET

from contract.criteria import Along, ListQuery, PageWindow, Selection
from contract.errors import Problems
from schema.adapters.strawberry import raw_info
from schema.connections import is_page
from schema.declare import ALONG, LINK, NEEDS, Guarded, Info
from schema.execution.arguments import Unbuilt, arguments_of
from schema.execution.known import plain_columns, unknown_of
from schema.execution.sources import Unguarded
from schema.execution.tree import Field, Tree, tree_of_run

T = TypeVar("T")

ALONG_MAX = 8
"""The most lists that come in the statement of their record: what it takes to plan grows with them."""


@dataclass(slots=True)
class StepInfo:
    """Stands for the library's info where a step calls a field: the request, and the field in its tree."""

    context: object
    field: Field


def field_of(info: Info) -> Field:
    """Finds the field of the tree that a resolver is called for, by a step or by the library."""
    step: object = info
    if isinstance(step, StepInfo):
        return step.field
    raw = raw_info(info)
    tree = info.context.tree
    if not isinstance(tree, Tree):  # the library alone runs the document
        tree = info.context.tree = tree_of_run(raw)
    return tree.at(raw.path)


def selected(info: Info, *beside: str) -> Selection:
    """Finds what is selected of the record that the field gives, of whichever type, with these columns beside it."""
    return _once(info, f"record {beside}", lambda field: _with(_selection(_of_any_type(field)), beside))


def selected_nodes(info: Info, *beside: str) -> Selection:
    """Finds what is selected of the nodes of the connection that the field gives, with these columns beside it."""
    return _once(info, f"nodes {beside}", lambda field: _with(_of_nodes(field), beside))


def selected_by_type(info: Info, name: str | None = None) -> Mapping[str, Selection]:
    """Finds what is selected of a record that may be of any type, for each of them by its name.

    The record is what the field gives, or what is found under the field of this name in that.
    """
    return _once(info, f"types of {name}", lambda field: _by_type(field, name))


def _once(info: Info, what: str, work: Callable[[Field], T]) -> T:
    field = field_of(info)
    if what not in field.needs:
        field.needs[what] = work(field)
    return cast("T", field.needs[what])


def _by_type(field: Field, name: str | None) -> Mapping[str, Selection]:
    found: dict[str, list[Field]] = {}
    for one in [field] if name is None else [inner for inner in field.fields if inner.name == name]:
        for kind, selection in one.below.items():
            found.setdefault(kind, []).extend(selection.fields)
    return defaultdict(lambda: _selection(()), {kind: _selection(fields) for kind, fields in found.items()})


def _of_any_type(field: Field) -> Sequence[Field]:
    """The fields that are selected of the field's value, of all types that it may be of: they are of one table."""
    return [inner for selection in field.below.values() for inner in selection.fields]


def _with(selection: Selection, beside: Sequence[str]) -> Selection:
    return replace(selection, columns=selection.columns.union(beside)) if beside else selection


def _of_nodes(field: Field) -> Selection:
    """The nodes stand below `nodes`, and below `edges` with the link's own fields beside them."""
    fields: list[Field] = []
    beside: set[str] = set()
    has_cursors = False
    for one in field.fields:
        if one.name == "nodes":
            fields += _of_any_type(one)
        elif one.name == "edges":
            for inner in one.fields:
                if inner.name == "node":
                    fields += _of_any_type(inner)
                    continue
                has_cursors = has_cursors or inner.name == "cursor"
                if inner.declared is not None:
                    beside |= set(inner.declared.metadata.get(NEEDS, ()))
        elif one.name == "pageInfo":
            has_cursors = has_cursors or any(inner.name in _CURSORS for inner in one.fields)
    selection = _selection(fields)
    return replace(selection, columns=selection.columns | beside, has_cursors=has_cursors)


_CURSORS = frozenset({"startCursor", "endCursor"})
"""The fields of a page's PageInfo that are made of its rows."""


def _selection(fields: Iterable[Field]) -> Selection:
    columns: set[str] = set()
    links: dict[str, set[str]] = {}
    along: list[Along | None] = []
    for field in fields:
        link = _link_of(field)
        if link is None:
            columns |= _needs(field)
            along.append(_along(field, None))
            continue
        columns.add(f"{link}_id")
        wanted = links.setdefault(link, set())
        for inner in field.fields:
            nested = _link_of(inner)
            wanted |= _needs(inner) if nested is None else {f"{nested}_id"}
            along.append(_along(inner, link))
    linked = frozenset((name, frozenset(wanted)) for name, wanted in links.items())
    lists = tuple(dict.fromkeys(one for one in along if one))[:ALONG_MAX]
    return Selection(frozenset(columns), linked, lists, has_cursors=False)


def _along(field: Field, link: str | None) -> Along | None:
    """The list that the field gives, where all that is asked of it stands in the text: a page from its start at most.

    Lists below the rows of a page do not come along: these are many.
    """
    name = None if field.declared is None else field.declared.metadata.get(ALONG)
    if name is None:
        return None
    source, group = field.source, None
    if isinstance(source, Guarded):
        group = source.rule.group
    elif not isinstance(source, Unguarded):
        return None
    if not is_page(field.kind):
        one = None if isinstance(get_nullable_type(field.schema_field.type), GraphQLList) else 1
        return Along(name, link, None, one, _selection(_of_any_type(field)), group)
    page = _first_of(field)
    if page is None:
        return None
    return Along(name, link, ListQuery(page=page), page.size + 1, replace(_of_nodes(field), along=()), group)


def _first_of(field: Field) -> PageWindow | None:
    """The page from a list's start that the text of the field asks for; None where it asks for anything else."""
    try:
        arguments = arguments_of(field.schema_field, field.nodes[0])
        given = {name: value for name, value in arguments.fixed.items() if value is not UNSET}
        return None if arguments.slots or given.keys() - {"first"} else PageWindow(**given)
    except (Unbuilt, Problems):
        return None


def _link_of(field: Field) -> str | None:
    return None if field.declared is None else field.declared.metadata.get(LINK)


def _needs(field: Field) -> set[str]:
    """The columns that a field reads: its own, or those that its resolver names, or else the record's id.

    Of a field with permissions or extensions nobody knows what they look at: it has all that its type shows.
    """
    declared = field.declared
    if declared is None:
        return set()
    if unknown_of(field.schema_field):
        return plain_columns(field.parent)
    needs: tuple[str, ...] | None = declared.metadata.get(NEEDS)
    if needs is not None:
        return set(needs)
    return {declared.python_name} if declared.base_resolver is None else {"id"}
