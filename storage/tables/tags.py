"""Tags: words that records of any kind are sorted by."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, Index, UniqueConstraint, text
from sqlmodel import Field

from storage.base import Identifier, PlainText, Record, Tenant, tenant_key
from storage.columns import LINE, NONE, column, created, folds


class Tag(Record, table=True):
    """A tag; names that differ in letter case or width alone are one (decision 241)."""

    __tablename__ = "tags"
    __events__ = {"tag": "created updated merged deleted", "records": "tagged"}
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        UniqueConstraint("org_id", "folded_name"),
    )

    name: str = column(
        LINE, "The name as it was first written or last renamed, 1 to 100 characters.", least=1, example="vip"
    )
    color: str | None = column(LINE, "A color as #RRGGBB.", default=None, example="#0B3D5C")
    created_at: datetime = created(NONE)
    folded_name: str = folds("name", default="")


class TagLink(Tenant, table=True):
    """A tag on a record of any kind; `position` is its place among the record's.

    `record_created_at` is the record's own, by which the records that have a tag are found in the order of lists
    (decision 820). What leaves it out has it written by the database (storage/link_triggers.py).
    """

    __tablename__ = "tag_links"
    __table_args__ = (
        tenant_key("tags", "tag_id", ondelete="CASCADE"),
        CheckConstraint("kind IN ('account', 'contact', 'deal', 'lead', 'activity', 'campaign')", name="kind"),
        Index("ix_tag_links_in_order", "org_id", "tag_id", "kind", text("record_created_at DESC"), "record_id"),
    )

    kind: str = Field(sa_type=PlainText, primary_key=True)
    record_id: str = Field(sa_type=Identifier, primary_key=True)
    tag_id: str = Field(sa_type=Identifier, primary_key=True)
    position: int = 0
    record_created_at: datetime | None = Field(default=None)


TAGGED = {
    "accounts": "account",
    "contacts": "contact",
    "deals": "deal",
    "leads": "lead",
    "activities": "activity",
    "campaigns": "campaign",
}
"""The tables whose records have tags, each with the kind that the links have; one more is one line."""
