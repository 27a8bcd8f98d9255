"""Derives a REST document from a record type: its JSON schema, its example, and the function that writes it.

The keys and their order stand by hand, because they are the published contract; what a key holds comes from the table
(`storage/columns.py`).
"""

from __future__ import annotations

import re
from asyncio import gather
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter, itemgetter
from typing import Any, Final

from contract.vocabulary import TaggedKind
from resolvers.shared.context import Context
from resolvers.shared.inputs import Input
from resolvers.tags import names_of
from rest_compat.example_identifiers import identifier_of
from rest_compat.schemas import JsonObject, Schema, enumerated, or_null, record_schema, reference_to
from storage.base import Record
from storage.columns import (
    CURRENCY,
    DATE,
    DOMAIN,
    EMAIL,
    FLAG,
    JSON,
    LARGE,
    LINE,
    MOMENT,
    MONEY,
    NAMES,
    NUMBER,
    OBJECT,
    OBJECTS,
    REFERENCE,
    TEXT,
    WHOLE,
    Column,
    Kind,
    column_of,
    columns_of,
)

_STRING: Final = {"type": "string"}
_UUID: Final = {"type": "string", "format": "uuid"}
_SCHEMAS: Final[Mapping[Kind, Schema]] = {
    LINE: _STRING,
    TEXT: _STRING,
    EMAIL: _STRING,
    DOMAIN: _STRING,
    CURRENCY: _STRING,
    MONEY: {"type": "number"},
    DATE: {"type": "string", "format": "date"},
    MOMENT: {"type": "string", "format": "date-time"},
    WHOLE: {"type": "integer"},
    LARGE: {"type": "integer"},
    NUMBER: {"type": "number"},
    FLAG: {"type": "boolean"},
    NAMES: {"type": "array", "items": _STRING},
    OBJECTS: {"type": "array", "items": {"type": "object"}},
    OBJECT: {"type": "object"},
    JSON: {"type": "object"},
    REFERENCE: _UUID,
}
_IDENTIFIERS: Final = ("id", "org_id")  # of every record; the base of the tables declares them
_TEXTS: Final = {"version": "Counts the changes; the ETag is this number in quotes."}
"""Descriptions of columns that are not the table's, which speaks of GraphQL."""

AnyRow = Any  # Any: a row of a statement or an entity, whose columns have the names that the tables say


@dataclass(frozen=True)
class Linked:
    """Describes the summary of a linked record within a document: null where there is none.

    The row has its columns as `<key>_<column>`; the first of `keys` is the one that says whether there is a record.
    """

    name: str
    model: type[Record]
    text: str
    keys: tuple[str, ...]


@dataclass(frozen=True)
class Document:
    """Describes the JSON document of a record.

    `name` is that of the component in the description. `keys` are columns, or names in `schemas` and `links`; a key
    `lead_id=id` shows the column `id` once more. `texts` replace the columns' descriptions. `schemas` describe keys
    that the row has beside its columns, or describe a column otherwise. `added` are keys that a handler puts there
    itself; they come last, and behind them those of `asked`, which stand there only where the request asks for them.
    `examples` replaces examples of the columns. `tagged` is the kind of records whose tags stand under the key `tags`:
    `shown` puts them there. Raises TypeError for a key that there is not.
    """

    name: str
    model: type[Record]
    text: str
    keys: Sequence[str]
    texts: Mapping[str, str] = field(default_factory=dict)
    schemas: Mapping[str, Schema] = field(default_factory=dict)
    links: Mapping[str, Linked] = field(default_factory=dict)
    added: Mapping[str, Schema] = field(default_factory=dict)
    asked: Mapping[str, Schema] = field(default_factory=dict)
    examples: Mapping[str, object] = field(default_factory=dict)
    tagged: TaggedKind | None = None

    async def shown(self, ctx: Context, rows: Sequence[AnyRow]) -> list[JsonObject]:
        """Returns the documents of the rows, with the names of their tags, which come in a statement of their own."""
        documents = self.all_of(rows)
        if self.tagged is not None:
            names = await gather(*(names_of(ctx, self.tagged, row.id) for row in rows))
            for document, tags in zip(documents, names, strict=True):
                document["tags"] = tags
        return documents

    def of(self, row: AnyRow) -> JsonObject:
        """Returns the document of one row, or of one entity."""
        return self.all_of([row])[0]

    def all_of(self, rows: Sequence[AnyRow]) -> list[JsonObject]:
        """Returns the documents of the rows of one statement.

        A row of a statement is read by position: for a page that takes an eighth of the time that reading by name does.
        """
        if not rows:
            return []
        columns, write = self._writer
        fields = getattr(rows[0], "_fields", None)
        take = attrgetter(*columns) if fields is None else itemgetter(*map(fields.index, columns))
        return write(map(take, rows))

    @cached_property
    def components(self) -> dict[str, Schema]:
        """Returns the schemas of the document and of the summaries in it, by name."""
        own = {key: self._schema(key, source) for key, source in self._sources()}
        summaries = {
            link.name: record_schema({k: _schema_of(own_column(link.model, k), None) for k in link.keys}, link.text)
            for link in self.links.values()
        }
        described = record_schema({**own, **self.added}, self.text)
        described["properties"] |= self.asked
        return {self.name: described, **summaries}

    @property
    def columns(self) -> tuple[str, ...]:
        """Returns the columns of a row that it shows."""
        return self._writer[0]

    @cached_property
    def identifier(self) -> Document:
        """Returns the document of a new record that has its identifier alone."""
        return Document(f"{self.name}Id", self.model, f"The new {words_of(self.name)}.", ("id",))

    @cached_property
    def example(self) -> JsonObject:
        """Returns an example of the document."""
        shown = {key: self._example(key, source) for key, source in self._sources()}
        return {**shown, **self.examples}

    def body_example(self, body: type[Input], dropped: Collection[str] = ()) -> JsonObject:
        """Returns an example of a body that writes such a record, without references, so that it works as it is."""
        kept = body.model_fields.keys() - set(dropped)
        columns = [column for column in columns_of(self.model) if column.name in kept and column.to is None]
        return {column.name: _example_of(self.model, column.name) for column in columns if column.example is not None}

    def _sources(self) -> Iterator[tuple[str, str]]:
        """Yields each key with the column that it shows."""
        for key in self.keys:
            name, _, source = key.partition("=")
            yield name, source or name

    def _schema(self, key: str, source: str) -> Schema:
        if key in self.schemas:
            return self.schemas[key]
        if key == "tags" and self.tagged is not None:
            return {"type": "array", "items": _STRING, "description": "The names of its tags, in their order."}
        if key in self.links:
            return or_null(reference_to(self.links[key].name))
        text = self.texts.get(key, _TEXTS.get(key) if key == source else f"The same as {source}.")
        schema = _schema_of(own_column(self.model, source), text)
        return schema if text is None else {**schema, "description": text}

    def _example(self, key: str, source: str) -> object:
        if key in self.examples:
            return self.examples[key]
        if key == "tags" and self.tagged is not None:
            return ["vip"]
        if (link := self.links.get(key)) is not None:
            return {k: _example_of(link.model, k) for k in link.keys}
        return None if key in self.schemas and source == key else _example_of(self.model, source)

    @cached_property
    def _writer(self) -> tuple[tuple[str, ...], Callable[[Iterator[object]], list[JsonObject]]]:
        """Returns the columns that are read, and the function that makes documents of their values.

        It is compiled from its source, as a written-out dict is the fastest way to one. Every name in it is a column's
        or a key's, so nothing of a request gets in.
        """
        columns: list[str] = []

        def variable(column: str) -> str:
            if column not in columns:
                columns.append(column)
            return f"v{columns.index(column)}"

        items = []
        for key, source in self._sources():
            if key == "tags" and self.tagged is not None:
                items.append("'tags': None")
                continue
            if (link := self.links.get(key)) is None:
                items.append(f"{key!r}: {variable(source)}")
                continue
            inner = ", ".join(f"{k!r}: {variable(f'{key}_{k}')}" for k in link.keys)
            items.append(f"{key!r}: None if {variable(f'{key}_{link.keys[0]}')} is None else {{{inner}}}")
        names = ", ".join(f"v{position}" for position in range(len(columns)))
        source_text = f"lambda rows: [{{{', '.join(items)}}} for {names} in rows]"
        return tuple(columns), eval(source_text)  # noqa: S307  # made of names of columns and keys only


def words_of(name: str) -> str:
    """Returns the name of a type as words of a sentence."""
    return re.sub(r"(?<=.)(?=[A-Z])", " ", name).lower()


def own_column(model: type[Record], name: str) -> Column | None:
    """Returns the column of this name; None for those that every record has. Raises TypeError where there is none."""
    return None if name in _IDENTIFIERS else column_of(model, name)


def _schema_of(column: Column | None, text: str | None) -> Schema:
    if column is None:
        return _UUID
    schema = dict(_SCHEMAS[column.kind]) if isinstance(column.kind, Kind) else enumerated(column.kind)
    if column.kind in (WHOLE, NUMBER):
        bounds = {"minimum": column.least, "maximum": column.most}
        schema |= {name: bound for name, bound in bounds.items() if bound is not None}
    if text is None:
        text = f"{column.text} ISO 8601 in UTC." if column.kind is MOMENT else column.text
    return {**(or_null(schema) if column.nullable else schema), "description": text}


def _example_of(model: type[Record], name: str) -> object:
    if name == "org_id":
        return identifier_of("organizations")
    if name == "id":
        return identifier_of(str(model.__tablename__))
    column = column_of(model, name)
    if column.to is not None and column.to != model.__tablename__:  # nothing is its own parent
        return identifier_of(column.to)
    return list(column.example) if isinstance(column.example, tuple) else column.example
