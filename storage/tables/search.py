"""The entries of the full-text search: one per searchable record, kept by triggers in the record's own transaction."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

from sqlalchemy import ForeignKeyConstraint, Integer, SmallInteger
from sqlalchemy.dialects.postgresql import TSVECTOR
from sqlmodel import Field

from contract.vocabulary import SearchType
from storage.base import Identifier, Tenant
from storage.search_index import ENTRIES


class SearchEntry(Tenant, table=True):
    """The entry by which a record is found.

    `kind` is the type's place among the hits, `size` the length of the record's name. `words` are, on PostgreSQL, the
    words themselves, each with the mark of the organization; on SQLite the number of the row of `search_words`, the
    FTS5 table, which has them.
    """

    __tablename__ = ENTRIES
    __table_args__ = (ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),)

    kind: int = Field(sa_type=SmallInteger, primary_key=True)
    id: str = Field(sa_type=Identifier, primary_key=True)
    created_at: datetime
    size: int
    words: str = Field(sa_type=TSVECTOR().with_variant(Integer(), "sqlite"))


SEARCH_INDEX = "ix_search_entries_words"
"""The name of the index by the words; the migration makes it in the dialect's own way."""


@dataclass(frozen=True, slots=True)
class Searched:
    """The way a table is searched: the columns of a record's name, and those of its other texts.

    `column.key` is a text in a JSON object. The triggers of the migrations name the same columns; a test compares.
    """

    kind: int
    name: tuple[str, ...]
    rest: tuple[str, ...]


SEARCHED: Mapping[SearchType, Searched] = MappingProxyType(
    {
        SearchType.ACCOUNT: Searched(1, ("name",), ("domain", "industry")),
        SearchType.CONTACT: Searched(2, ("first_name", "last_name"), ("email", "title", "phone", "linkedin")),
        SearchType.LEAD: Searched(
            3,
            ("name",),
            ("company", "company_domain", "email", "title", "phone", "linkedin", "notes", "tags"),
        ),
        SearchType.DEAL: Searched(4, ("name",), ("notes", "source")),
        SearchType.MEETING: Searched(5, ("subject",), ("body", "metadata.transcript")),
        SearchType.TASK: Searched(6, ("subject",), ("body",)),
        SearchType.NOTE: Searched(7, ("subject",), ("body",)),
        SearchType.CALL: Searched(8, ("subject",), ("body",)),
        SearchType.EMAIL: Searched(9, ("subject",), ("body",)),
        SearchType.FILE: Searched(10, ("name",), ()),
    }
)
"""The tables that are searched, in the order of the hits."""
