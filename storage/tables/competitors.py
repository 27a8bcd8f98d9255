"""The organization's catalogue of competitors (specification 2.2, 4.11)."""

from datetime import datetime

from sqlalchemy import ForeignKeyConstraint, UniqueConstraint

from storage.base import Record
from storage.columns import LINE, NAMES, column, created


class Competitor(Record, table=True):
    """A company that sells the same; `folded_name` is the name without regard to letter case, once per organization."""

    __tablename__ = "competitors"
    __events__ = {"competitor": "created deleted"}
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        UniqueConstraint("org_id", "folded_name"),
    )

    name: str = column(LINE, "The competitor's name, once per organization, letter case aside.", example="Northwind")
    folded_name: str = column(LINE, "The name without regard to letter case.", example="northwind")
    aliases: list[str] = column(
        NAMES, "Other names that it goes by.", default_factory=list, example=("Northwind Traders",)
    )
    domains: list[str] = column(
        NAMES, "Its domains, in lower case.", default_factory=list, example=("northwind.example",)
    )
    created_at: datetime = created()
