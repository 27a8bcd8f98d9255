"""Lists that come in the statement of their record, where one record is asked for: its contacts, its latest health.

A record with three lists below it would else be four statements one after the other, each with its own round trip,
policies and parameters. On PostgreSQL its row has a column for each list, with the rows as JSON: cheaper to make and to
read there than an array of records. Their values are decoded as those of a row are, so that nobody can tell.

What has a long column does not come along: such rows are looked at by the byte (decision 128). On SQLite nothing does:
there is no round trip to be saved, and its JSON does not keep every number (decision 247).
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar, cast

from sqlalchemy import Integer, literal_column, select, type_coerce
from sqlmodel import col

from contract.criteria import Along, ListQuery, Selection
from storage.expressions import AnyColumn, AnySelect
from storage.queries import listables
from storage.queries.along_tags import columns_of
from storage.queries.filtering import id_matches
from storage.queries.json_rows import JsonRows, Parsed, as_json, decoder
from storage.queries.listable import Listable
from storage.queries.page_order import order_by
from storage.queries.row_size_limit import is_long
from storage.rows import Row
from storage.statements import INSIDE, ORG_PARAM, reader
from storage.tables import Activity, Contact, Deal, DealContact, HealthFactor, HealthSnapshot
from storage.tenancy.sessions import TenantSession

RowT = TypeVar("RowT", bound=Row)


@dataclass(frozen=True, slots=True)
class Child:
    """The rows that hang on a record, and the column of theirs that holds its identifier."""

    listable: Listable[Row]
    parent: AnyColumn


CHILDREN: Mapping[tuple[str, str], Child] = {
    ("accounts", "contacts"): Child(listables.CONTACTS, col(Contact.account_id)),
    ("accounts", "deals"): Child(listables.DEALS, col(Deal.account_id)),
    ("accounts", "meetings"): Child(listables.MEETINGS, col(Activity.account_id)),
    ("accounts", "health"): Child(listables.SNAPSHOTS, col(HealthSnapshot.account_id)),
    ("contacts", "deals"): Child(listables.DEALS_OF_CONTACTS, col(DealContact.contact_id)),
    ("contacts", "meetings"): Child(listables.MEETINGS, col(Activity.contact_id)),
    ("deals", "contacts"): Child(listables.CONTACTS_OF_DEALS, col(DealContact.deal_id)),
    ("deals", "meetings"): Child(listables.MEETINGS, col(Activity.deal_id)),
    ("snapshots", "factors"): Child(listables.FACTORS, col(HealthFactor.health_score_id)),
}
"""The lists that may come along, by the record's listable and the name of the list."""


@dataclass(frozen=True, slots=True)
class Came:
    """The rows that came along: whose they are, and what stands for the question that they answer."""

    key: Hashable
    parent_id: str
    rows: Sequence[Row]


def key_of(listable: Listable[Row], parent: AnyColumn, listing: ListQuery | None) -> Hashable:
    """Return the key of the question after one parent's rows with these columns; without a page, all of them."""
    return (listable, str(parent), listing)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A list that comes along, below the record or one that it links to, and those below its only row."""

    along: Along
    child: Child
    listable: Listable[Row]
    below: tuple["Wanted", ...]
    key: Hashable
    """The key of its part of a statement."""

    def column(self, parent_id: AnyColumn, source: AnyColumn) -> AnyColumn:
        """The column with the rows, of the record in `source` whose identifier this is."""
        listable = self.listable
        rows = listable.select(ORG_PARAM).where(self.child.parent == parent_id)
        rows = rows.order_by(*order_by(columns_of(listable), listable.terms(None)))
        if self.along.rows is not None:
            rows = rows.limit(literal_column(str(self.along.rows), Integer))
        found = rows.correlate(source).subquery()
        below = [one.column(found.c.id, found) for one in self.below]
        keys = (*found.c.keys(), *map(_name, range(len(below))))
        read = reader(keys, (*(decoder(column.type) for column in found.c), *(column.type.read for column in below)))
        made = select(as_json(*found.c, *below)).select_from(found).correlate(source).scalar_subquery()
        return type_coerce(made, JsonRows(read, Parsed(read)))

    def came(self, record: Row, name: str) -> Iterator[Came]:
        """Yield the rows that came along with a record under this name."""
        link = self.along.link
        parent_id = getattr(record, "id" if link is None else f"{link}{INSIDE}id")
        if parent_id is None:
            return
        rows = getattr(record, name) or []
        yield Came(key_of(self.listable, self.child.parent, self.along.listing), parent_id, rows)
        for row in rows:
            for number, one in enumerate(self.below):
                yield from one.came(row, _name(number))


def wanted_of(listable: Listable[Row], selection: Selection) -> tuple[Wanted, ...]:
    """Finds which of the selected lists can come along with a record; once for the operation it stands in."""
    known = selection.sources.get((listable.name, "along"))
    if known is None:
        known = selection.sources[listable.name, "along"] = tuple(_wanted(listable, selection.along))
    return cast("tuple[Wanted, ...]", known)


def _wanted(listable: Listable[Row], along: Iterable[Along]) -> Iterator[Wanted]:
    for one in along:
        record = listable if one.link is None else listable.links[one.link][1]
        child = CHILDREN.get((record.name, one.name))
        if child is None or not (one.link is None or listable.has_link(one.link)):
            continue
        source = child.listable.selecting(one.selection)
        if not any(is_long(column) for column in source.select(ORG_PARAM).selected_columns):
            below = tuple(_wanted(source, one.selection.along))
            key = (one.link, source, str(child.parent), one.rows, tuple(inner.key for inner in below))
            yield Wanted(one, child, source, below, key)


async def with_children(
    session: TenantSession, listable: Listable[RowT], identifier: str, wanted: Sequence[Wanted]
) -> tuple[RowT | None, list[Came]]:
    """The row with this identifier, which is canonical, and those that come along with it."""

    def build() -> AnySelect:
        statement = listable.select(ORG_PARAM).where(id_matches(listable.entity.id, alone=True))
        places = [_place(listable, statement, one.along.link) for one in wanted]
        columns = [one.column(place, place.table) for one, place in zip(wanted, places, strict=True)]
        return statement.add_columns(*(column.label(_name(number)) for number, column in enumerate(columns)))

    key = ("along", listable, tuple(one.key for one in wanted))
    for row in await session.fetch(key, build, id=identifier):
        return row, [came for number, one in enumerate(wanted) for came in one.came(row, _name(number))]
    return None, []


def _place(listable: Listable[Row], statement: AnySelect, link: str | None) -> AnyColumn:
    """The column with the identifier of the record, or of the one that it links to."""
    if link is None:
        return listable.entity.__table__.c.id
    return statement.selected_columns[f"{link}{INSIDE}id"].element


def _name(number: int) -> str:
    return f"along_{number}"
