"""Keys in other systems of records that were merged away, and where these lead (decision 410)."""

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, Index
from sqlmodel import Field

from storage.base import Identifier, PlainText, Tenant


class ExternalKey(Tenant, table=True):
    """A key of a record that went into another one; the key that a record has itself is its column `external_key`."""

    __tablename__ = "external_keys"
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        CheckConstraint("kind IN ('account', 'contact', 'deal', 'lead')", name="kind"),
        Index(None, "org_id", "kind", "record_id"),
    )

    kind: str = Field(sa_type=PlainText, primary_key=True)
    key: str = Field(sa_type=PlainText, primary_key=True)
    record_id: str = Field(sa_type=Identifier)
