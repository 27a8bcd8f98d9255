"""Nothing that refers to accounts and contacts is forgotten when they are merged (decision 434)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import CheckConstraint, Table
from sqlmodel import SQLModel

import storage.tables  # noqa: F401  # registers them
from contract.bulk_vocabulary import MergeableKind
from contract.mergeable import LINKS, REFERENCES, TABLES, Way
from storage.base import Identifier
from storage.queries.merging import key_column

OF_THE_ROW = {"record_changes.id", "merges.id", "merged_ids.merge_id", "tag_links.tag_id", "file_links.id"}
OF_THE_ROW |= {"file_links.file_id", *(f"imports.{name}" for name in ("id", "job_id", "file_id", "refused_file_id"))}
OF_THE_ROW |= {f"exports.{name}" for name in ("id", "job_id", "file_id", "after_id", "last_id")}
"""Identifiers in tables that name records of several kinds, and that name no record of such a kind."""
OF_THE_PAST = {"record_changes.merged_from", "merges.into_id", "merged_ids.from_id", "match_keys.record_id"}
"""What says which record it was before or after a merge, and stays so; and a table that is empty."""


def by_foreign_key(kind: MergeableKind) -> set[str]:
    """The columns whose foreign keys lead to the table of the kind."""
    target = f"{TABLES[kind]}.id"
    return {
        f"{table.name}.{key.parent.name}"
        for table in SQLModel.metadata.sorted_tables
        for key in table.foreign_keys
        if key.target_fullname == target
    }


def by_kind(kind: MergeableKind) -> Iterator[str]:
    """The identifiers in tables that say of which kind they are, and may be of this one."""
    for table in SQLModel.metadata.sorted_tables:
        if names_kinds(table, kind):
            for column in table.columns:
                if isinstance(column.type, Identifier) and column.name != "org_id":
                    yield f"{table.name}.{column.name}"


def names_kinds(table: Table, kind: MergeableKind) -> bool:
    checks = [str(c.sqltext) for c in table.constraints if isinstance(c, CheckConstraint)]
    return any("kind" in check and f"'{kind.value}'" in check for check in checks)


@pytest.mark.parametrize("kind", list(MergeableKind))
def test_every_reference_has_its_way(kind: MergeableKind) -> None:
    known = {f"{one.table}.{one.column}" for one in REFERENCES[kind]}
    there = by_foreign_key(kind) | set(by_kind(kind)) - OF_THE_ROW - OF_THE_PAST
    assert known == there
    assert len(known) == len(REFERENCES[kind])


def test_what_is_no_reference_is_there() -> None:
    columns = {f"{t.name}.{c.name}" for t in SQLModel.metadata.sorted_tables for c in t.columns}
    assert (OF_THE_ROW | OF_THE_PAST) - columns == set()


@pytest.mark.parametrize("kind", list(MergeableKind))
def test_ways_have_what_they_need(kind: MergeableKind) -> None:
    tables = SQLModel.metadata.tables
    for one in REFERENCES[kind]:
        columns = tables[one.table].columns
        assert {one.column, one.kind_column or one.column, one.beside or one.column} <= set(columns.keys())
        assert one.count is None or one.count in LINKS
        if one.way in (Way.MOVED, Way.LINKED, Way.ENROLLED):
            assert key_column(one) is not None
        is_part_of_key = columns[one.column] in set(tables[one.table].primary_key.columns)
        assert is_part_of_key == (one.way in (Way.LINKED, Way.PAIRED)), one
