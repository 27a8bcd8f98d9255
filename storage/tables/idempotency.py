"""Idempotency keys: which write was made under which, and what it gave."""

from datetime import datetime

from sqlalchemy import ForeignKeyConstraint, Index, LargeBinary
from sqlmodel import Field

from storage.base import Directory, Identifier, PlainText


class IdempotencyKey(Directory, table=True):
    """One key of one caller for one operation (decision 110). Nothing here can be read without the pepper.

    `id` stands for the key with its scope, and after a colon for the place in the request; `fingerprint` for the
    arguments, and after a colon for the request where it has several writes. All are keyed hashes. Without a `result`
    the write is under way until `leased_until`, by the attempt that is named in `holder`. `answer` is what a GraphQL
    request was told in the end.
    """

    __tablename__ = "idempotency_keys"
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        Index(None, "org_id"),
        Index(None, "expires_at"),
    )

    id: str = Field(sa_type=PlainText, primary_key=True)
    org_id: str | None = Field(default=None, sa_type=Identifier)
    fingerprint: str = Field(sa_type=PlainText)
    holder: str = Field(sa_type=Identifier)
    leased_until: datetime
    expires_at: datetime
    result: bytes | None = Field(default=None, sa_type=LargeBinary)
    answer: bytes | None = Field(default=None, sa_type=LargeBinary)
