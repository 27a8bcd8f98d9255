"""Holds the keys by which accounts and contacts are found to be duplicates, and the pairs that are known to be none."""

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, Index, text
from sqlmodel import Field

from storage.base import Identifier, PlainText, Tenant
from storage.indexes import partial_index

_KIND = "kind IN ('account', 'contact')"
_SHARED = "size > 1"


class MatchKey(Tenant, table=True):
    """Something that a record has and that another may have, too, such as its e-mail address.

    Its first letter is what it is (contract/mergeable.py: SIGNS), the surest first. Triggers write it with the record
    (storage/match_triggers.py), of which it is made: so it refers to nothing, and nobody looks for the keys of a record
    here (decision 1051). SQLite needs no rows beside the key (decision 1155).
    """

    __tablename__ = "match_keys"
    __table_args__ = (CheckConstraint(_KIND, name="kind"), {"sqlite_with_rowid": False})

    kind: str = Field(sa_type=PlainText, primary_key=True)
    key: str = Field(sa_type=PlainText, primary_key=True)
    record_id: str = Field(sa_type=Identifier, primary_key=True)


class MatchGroup(Tenant, table=True):
    """Counts the records of a key; the same triggers keep it, so that a page of groups looks at no other key."""

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
