"""Holds the groups of accounts and contacts that may be duplicates, and the pairs that are known to be none."""

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, Index, text
from sqlmodel import Field

from storage.base import Identifier, PlainText, Tenant
from storage.indexes import partial_index

_KIND = "kind IN ('account', 'contact')"
_SHARED = "size > 1"


class MatchKey(Tenant, table=True):
    """Stays empty: processes of the version before ask it for who shares a key, until a later migration drops it.

    Nothing writes it since migration 0061 (decision 1190).
    """

    __tablename__ = "match_keys"
    __table_args__ = (CheckConstraint(_KIND, name="kind"), {"sqlite_with_rowid": False})

    kind: str = Field(sa_type=PlainText, primary_key=True)
    key: str = Field(sa_type=PlainText, primary_key=True)
    record_id: str = Field(sa_type=Identifier, primary_key=True)


class MatchGroup(Tenant, table=True):
    """Counts the records that share a key, where there are two or more; triggers keep it (storage/match_triggers.py).

    A key's first letter is its sign (contract/mergeable.py: SIGNS), the surest first; the rest is what its records have
    in columns of their own, so that they are looked up there (decision 1190). `counted_by` is PostgreSQL's alone: the
    transaction that has counted the records of the key once for all.
    """

    __tablename__ = "match_groups"
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        CheckConstraint(_KIND, name="kind"),
        partial_index("ix_match_groups_shared", "org_id", "kind", "sign", text("size DESC"), "key", where=_SHARED),
    )

    kind: str = Field(sa_type=PlainText, primary_key=True)
    key: str = Field(sa_type=PlainText, primary_key=True)
    sign: str = Field(sa_type=PlainText)
    size: int
    counted_by: str | None = Field(default=None, sa_type=PlainText)


class NotDuplicate(Tenant, table=True):
    """Two records that somebody said are not one, by their identifiers in order."""

    __tablename__ = "not_duplicates"
    __events__ = {"duplicates": "dismissed"}
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        CheckConstraint(_KIND, name="kind"),
        CheckConstraint("low_id < high_id", name="order"),
        Index(None, "org_id", "kind", "high_id"),
    )

    kind: str = Field(sa_type=PlainText, primary_key=True)
    low_id: str = Field(sa_type=Identifier, primary_key=True)
    high_id: str = Field(sa_type=Identifier, primary_key=True)
