"""The histories of records: what changed in each, from which value to which."""

from datetime import datetime

from sqlalchemy import CheckConstraint, Column, Computed, ForeignKeyConstraint, Index, text
from sqlmodel import Field

from storage.base import Document, Identifier, JsonDict, PlainText, Record, now
from storage.indexes import partial_index

FORMER_OWNER = "fields -> 'owner_id' ->> 0"
"""The owner that a change took the record from: of the first one it is who made the record (decision 234)."""
_HANDED_OVER = "former_owner IS NOT NULL"


class RecordChange(Record, table=True):
    """A change of a record. `fields` has the values before and after by the names of columns, in a list of two.

    Edits of one person within two minutes are one row, whose `at` is that of the last (decision 232). A row without
    fields says that they took each other back, and is shown nowhere. `merged_from` is the record that it was told of
    before that went into this one.
    """

    __tablename__ = "record_changes"
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        CheckConstraint(
            "subject_kind IN ('account', 'contact', 'deal', 'lead', 'campaign')",
            name="subject_kind",
        ),
        Index("ix_record_changes_subject", "org_id", "subject_kind", "subject_id", text("at DESC"), "id"),
        partial_index("ix_record_changes_owners", "org_id", "subject_kind", "subject_id", "at", where=_HANDED_OVER),
    )

    subject_kind: str = Field(sa_type=PlainText)
    subject_id: str = Field(sa_type=Identifier)
    at: datetime = Field(default_factory=now)
    actor: str = Field(sa_type=PlainText)
    type: str = Field(sa_type=PlainText)
    merged_from: str | None = Field(default=None, sa_type=Identifier)
    fields: JsonDict = Field(sa_column=Column(Document, nullable=False))
    former_owner: str | None = Field(
        default=None, sa_type=PlainText, sa_column_args=[Computed(FORMER_OWNER, persisted=True)]
    )
