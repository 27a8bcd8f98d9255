"""Asks in SQL what a list has in it: a JSON list of a row, a list that is one parameter, tags and files of a record."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import ClassVar, Self

import orjson
from sqlalchemy import (
    BindParameter,
    Boolean,
    ColumnElement,
    Text,
    and_,
    bindparam,
    exists,
    func,
    intersect,
    literal_column,
    select,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.orm import aliased
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeDecorator
from sqlmodel import col

from contract.criteria import TagMatch
from contract.vocabulary import TaggedKind
from storage import tables as t  # each is loaded when a statement is made of it (decision 1183)
from storage.adapters.sqlalchemy import SQLCompiler
from storage.base import Identifier
from storage.expressions import AnyColumn, AnyEntity, AnyType
from storage.queries.dialects import Dialectal
from storage.statements import ORG_PARAM


class TextList(TypeDecorator[list[str]]):
    """A list of texts as one parameter: an array on PostgreSQL, JSON on SQLite."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> AnyType:
        """The array type where there is one."""
        return dialect.type_descriptor(ARRAY(Text()) if dialect.name == "postgresql" else Text())

    def process_bind_param(self, value: list[str] | None, dialect: Dialect) -> str | list[str] | None:
        """The list as the driver takes it."""
        return orjson.dumps(value).decode() if dialect.name == "sqlite" else value


class any_of(FunctionElement[bool]):
    """Says whether a column's value is in a list that is one parameter, so that its length is no part of the text."""

    type = Boolean()
    inherit_cache = True
    name = "any_of"

    def self_group(self, against: object = None) -> Self:
        """Stays as it is: compared with 1, as SQLite's truth values are, no index would find it."""
        return self


@compiles(any_of, "postgresql")
def _any(element: FunctionElement[object], compiler: SQLCompiler, **kw: object) -> str:
    column, values = element.clauses
    suffix = "UUID" if isinstance(column.type, Identifier) else "TEXT"
    return f"({compiler.process(column, **kw)} = ANY ({compiler.process(values, **kw)}::{suffix}[]))"


@compiles(any_of, "sqlite")
def _in(element: FunctionElement[object], compiler: SQLCompiler, **kw: object) -> str:
    column, values = (compiler.process(part, **kw) for part in element.clauses)
    return f"({column} IN (SELECT value FROM json_each({values})))"  # noqa: S608  # compiled parts


def among(column: AnyColumn, values: Collection[str]) -> any_of:
    """Says whether the column has one of the values, which are one parameter however many they are."""
    return any_of(column, bindparam(None, list(values), type_=TextList()))


class has_item(Dialectal[bool]):
    """Says whether a JSON list of texts has the text as one of its items."""

    type = Boolean()
    inherit_cache = True
    name = "has_item"
    templates: ClassVar = {
        "postgresql": "(CAST({0} AS JSONB) @> to_jsonb(CAST({1} AS TEXT)))",
        "sqlite": "({1} IN (SELECT value FROM json_each({0})))",
    }

    def self_group(self, against: object = None) -> Self:
        """Stays as it is, like `any_of`."""
        return self


class has_any(Dialectal[bool]):
    """Says whether a JSON list of texts has one of the texts of a list that is one parameter."""

    type = Boolean()
    inherit_cache = True
    name = "has_any"
    templates: ClassVar = {
        "postgresql": "(CAST({0} AS JSONB) ?| {1})",
        "sqlite": "EXISTS (SELECT 1 FROM json_each({0}) WHERE value IN (SELECT value FROM json_each({1})))",
    }


class has_all(Dialectal[bool]):
    """Says whether a JSON list of texts has all of the texts of a list that is one parameter."""

    type = Boolean()
    inherit_cache = True
    name = "has_all"
    templates: ClassVar = {
        "postgresql": "(CAST({0} AS JSONB) ?& {1})",
        "sqlite": "NOT EXISTS (SELECT 1 FROM json_each({1}) WHERE value NOT IN (SELECT value FROM json_each({0})))",
    }


class is_empty_list(Dialectal[bool]):
    """Says whether a JSON list has no item."""

    type = Boolean()
    inherit_cache = True
    name = "is_empty_list"
    templates: ClassVar = {"postgresql": "(json_array_length({0}) = 0)", "sqlite": "(json_array_length({0}) = 0)"}


class _is_in_whole(Dialectal[bool]):
    """Says whether a value is among a subquery's rows, which is read whole before: no planner guesses what it gives.

    PostgreSQL takes an array to have ten items, and goes from these to the rows that are asked for.
    """

    type = Boolean()
    inherit_cache = True
    name = "is_in_whole"
    templates: ClassVar = {"postgresql": "({0} IN (SELECT unnest(ARRAY{1})))", "sqlite": "({0} IN {1})"}

    def self_group(self, against: object = None) -> Self:
        """Stays as it is, like `any_of`."""
        return self


def used_on(entity: AnyEntity, kinds: BindParameter[object]) -> ColumnElement[bool]:
    """Says whether a tag is on at least one record of one of the kinds."""
    own = and_(col(t.TagLink.org_id) == entity.org_id, col(t.TagLink.tag_id) == entity.id)
    return exists(select(col(t.TagLink.record_id)).where(own, any_of(col(t.TagLink.kind), kinds)))


def attached_to(entity: AnyEntity, record_id: BindParameter[object]) -> ColumnElement[bool]:
    """Says whether a file is attached to the record."""
    own = and_(col(t.FileLink.org_id) == ORG_PARAM, col(t.FileLink.record_id) == record_id)
    return exists(select(col(t.FileLink.id)).where(own, col(t.FileLink.file_id) == entity.id))


def tagged(entity: AnyEntity, kind: TaggedKind, names: BindParameter[object] | None, match: TagMatch) -> AnyColumn:
    """Says whether the record has one of the tags that are named so, or any at all.

    Which tags these are is found out once, and not for each record: one is a value that the index of the links is
    asked for.
    """
    links = select(col(t.TagLink.record_id)).where(*_of_record(entity, kind))
    if names is None:
        return exists(links)
    ids = select(col(t.Tag.id)).where(col(t.Tag.org_id) == ORG_PARAM)
    if match is TagMatch.SOME:
        return exists(links.where(col(t.TagLink.tag_id).in_(ids.where(any_of(col(t.Tag.folded_name), names)))))
    # Of tags that are spelt exactly so there is one at most, as of those that fold so.
    name = col(t.Tag.name) if match is TagMatch.EXACT else col(t.Tag.folded_name)
    wanted = ids.where(name == names)
    # Where there is none such no record is looked at.
    return and_(exists(wanted), exists(links.where(col(t.TagLink.tag_id) == wanted.scalar_subquery())))


def tag_links(kind: TaggedKind, names: Sequence[BindParameter[object]]) -> list[tuple[AnyEntity, ColumnElement[bool]]]:
    """The links of the tags with these names that records of a kind have, each with the condition of its own.

    A record has one of each at most. As they name when the record was made, too, a list in that order is in the order
    of the links' index, and of several tags the indexes are merged (decision 820).
    """
    links: list[tuple[AnyEntity, ColumnElement[bool]]] = []
    for name in names:
        link: AnyEntity = aliased(t.TagLink)
        wanted = select(col(t.Tag.id)).where(col(t.Tag.org_id) == ORG_PARAM, col(t.Tag.folded_name) == name)
        own = [link.org_id == ORG_PARAM, link.kind == literal_column(f"'{kind.value}'")]
        links.append((link, and_(*own, link.tag_id == wanted.scalar_subquery())))
    return links


def tagged_with_few(entity: AnyEntity, kind: TaggedKind, names: Sequence[BindParameter[object]]) -> ColumnElement[bool]:
    """Says whether the record has each of a few tags: the index of the links is read once for each, and intersected."""
    own = (col(t.TagLink.org_id) == ORG_PARAM, col(t.TagLink.kind) == literal_column(f"'{kind.value}'"))
    ids = select(col(t.Tag.id)).where(col(t.Tag.org_id) == ORG_PARAM)
    having = [
        select(col(t.TagLink.record_id)).where(
            *own, col(t.TagLink.tag_id) == ids.where(col(t.Tag.folded_name) == name).scalar_subquery()
        )
        for name in names
    ]
    return _is_in_whole(entity.id, intersect(*having).scalar_subquery())


def tagged_with_each(
    entity: AnyEntity, kind: TaggedKind, names: BindParameter[object] | None, number: BindParameter[object]
) -> AnyColumn:
    """Says whether the record has as many tags of these names as there are names, none of which is there twice."""
    ids = select(col(t.Tag.id)).where(col(t.Tag.org_id) == ORG_PARAM, any_of(col(t.Tag.folded_name), names))
    # Behind a fence, so that the record's own tags are read, and not everyone's that have one of the names.
    links = select(col(t.TagLink.tag_id)).where(*_of_record(entity, kind)).correlate(entity)
    own = links.offset(literal_column("0")).subquery("own")
    return select(func.count()).select_from(own).where(own.c.tag_id.in_(ids)).scalar_subquery() == number


def _of_record(entity: AnyEntity, kind: TaggedKind) -> tuple[ColumnElement[bool], ...]:
    return (
        col(t.TagLink.org_id) == entity.org_id,
        col(t.TagLink.kind) == literal_column(f"'{kind.value}'"),
        col(t.TagLink.record_id) == entity.id,
    )
