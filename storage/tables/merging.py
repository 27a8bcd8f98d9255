"""Merges: records that became one, with all that it takes to undo it, and where the identifiers of those lead."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, Index
from sqlmodel import Field

from contract.bulk_vocabulary import MergeableKind
from storage.base import Identifier, JsonDict, PlainText, Record, Tenant, now
from storage.columns import LINE, MADE_AT, MOMENT, NAMES, OBJECT, REFERENCE, TEXT, column


class Merge(Record, table=True):
    """A merge. `moved` has every link by its table, `before` the rows as they were, and what the merge made of them.

    Both are text that only an undo reads (resolvers/shared/result_codec.py).
    """

    __tablename__ = "merges"
    __events__ = {"merge": "undone"}
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        CheckConstraint("kind IN ('account', 'contact')", name="kind"),
        Index(None, "org_id", "merged_at", "id"),
        Index(None, "org_id", "into_id"),
        Index(None, "org_id", "undo_until"),
    )

    kind: str = column(MergeableKind, "What it is.", example="contact")
    into_id: str = column(REFERENCE, "The id of the record that stays.")
    from_ids: list[str] = column(NAMES, "The ids of the records that went.", default_factory=list, example=())
    links: JsonDict = column(OBJECT, "How many links go over.", default_factory=dict)
    merged_by: str = column(LINE, "The subject of who merged.", example="user_2mF7")
    merged_at: datetime = column(MOMENT, "When.", default_factory=now, example=MADE_AT)
    undo_until: datetime = column(MOMENT, "Until when it can be undone: 30 days.", example="2026-12-20T09:30:00Z")
    undone_at: datetime | None = column(MOMENT, "When it was undone.", default=None)
    choice: JsonDict = column(OBJECT, "From which record fields were taken.", default_factory=dict)
    moved: str = column(TEXT, "Every link that went over.", default="")
    before: str = column(TEXT, "The rows as they were.", default="")


class MergedId(Tenant, table=True):
    """The identifier of a record that went into another, and which that is now."""

    __tablename__ = "merged_ids"
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        CheckConstraint("kind IN ('account', 'contact')", name="kind"),
        Index(None, "org_id", "kind", "into_id"),
    )

    kind: str = Field(sa_type=PlainText, primary_key=True)
    from_id: str = Field(sa_type=Identifier, primary_key=True)
    into_id: str = Field(sa_type=Identifier)
    merge_id: str = Field(sa_type=Identifier)
