"""Roll-ups: what the records of an organization come to by the columns that they are mostly grouped by (decision 262).

A cell has the sums of all records that share its columns. What a write changes of them is appended as a delta, in the
transaction of the write and by triggers (storage/cell_triggers.py), so that no writer waits for another; deltas are
folded into cells now and then. Cells and deltas together are always what the records come to.
"""

from datetime import date
from decimal import Decimal

from sqlalchemy import BigInteger, ForeignKeyConstraint, Integer, Numeric
from sqlmodel import Field

from storage.base import Identifier, PlainText, Tenant

_EXACT = Numeric().with_variant(Integer(), "sqlite")
"""A sum of amounts or of seconds, which SQLite has in two whole numbers (storage/queries/exact.py)."""


class _DealSums(Tenant):
    """The columns that deals of a cell share, and what they come to."""

    stage_id: str | None = Field(default=None, sa_type=Identifier)
    status: str = Field(sa_type=PlainText)
    owner_id: str | None = Field(default=None, sa_type=PlainText)
    currency: str = Field(sa_type=PlainText)
    close_month: date | None = None
    deals: int = Field(sa_type=BigInteger)
    valued: int = Field(sa_type=BigInteger)
    high: Decimal = Field(sa_type=_EXACT)
    low: int = Field(sa_type=BigInteger)
    timed: int = Field(sa_type=BigInteger)
    seconds: Decimal = Field(sa_type=_EXACT)
    micros: int = Field(sa_type=BigInteger)


class DealCell(_DealSums, table=True):
    """The deals of one stage, status, owner, currency and closing month, all of which `cell` has in one text."""

    __tablename__ = "deal_cells"
    __table_args__ = (ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),)

    cell: str = Field(sa_type=PlainText, primary_key=True)


class DealCellDelta(_DealSums, table=True):
    """The change that a write made to a cell of deals."""

    __tablename__ = "deal_cell_deltas"
    __table_args__ = (ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),)

    id: str = Field(sa_type=Identifier, primary_key=True)


class _MeetingSums(Tenant):
    """The columns that meetings of a cell share, and what they come to."""

    owner_id: str | None = Field(default=None, sa_type=PlainText)
    source: str = Field(sa_type=PlainText)
    due_day: date | None = None
    is_completed: bool
    meetings: int = Field(sa_type=BigInteger)
    minutes: int = Field(sa_type=BigInteger)
    timed: int = Field(sa_type=BigInteger)


class MeetingCell(_MeetingSums, table=True):
    """The meetings of one owner, source and day in UTC, completed or not, all of which `cell` has in one text."""

    __tablename__ = "meeting_cells"
    __table_args__ = (ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),)

    cell: str = Field(sa_type=PlainText, primary_key=True)


class MeetingCellDelta(_MeetingSums, table=True):
    """The change that a write made to a cell of meetings."""

    __tablename__ = "meeting_cell_deltas"
    __table_args__ = (ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),)

    id: str = Field(sa_type=Identifier, primary_key=True)
