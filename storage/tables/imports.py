"""Imports: files that become records, and the rows of them that were refused."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, Index, UniqueConstraint

from contract.bulk_vocabulary import ImportKind, ImportStatus
from storage.base import JsonDict, Record, now, tenant_key
from storage.columns import FLAG, LINE, MADE_AT, MOMENT, OBJECT, OBJECTS, REFERENCE, TEXT, WHOLE, column
from storage.indexes import partial_index

_UNFINISHED = "status IN ('queued', 'running')"


class DataImport(Record, table=True):
    """An import. `definition` says how the file is read (resolvers/import_forms.py).

    `rows` is where it stands: so many of the file's rows are written or in the ledger, in the transactions that
    counted them. `total` is how many there are, once the whole file has been looked at.
    """

    __tablename__ = "imports"
    __events__ = {"import": "started completed cancelled"}
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        CheckConstraint("kind IN ('account', 'contact', 'deal', 'lead')", name="kind"),
        CheckConstraint("status IN ('queued', 'running', 'completed', 'failed', 'cancelled')", name="status"),
        CheckConstraint("rows = created + updated + unchanged + refused", name="rows"),
        Index(None, "org_id", "created_at", "id"),
        partial_index("ix_imports_unfinished", "org_id", "id", where=_UNFINISHED),
    )

    kind: str = column(ImportKind, "What it is.", example="contact")
    status: str = column(ImportStatus, "Where it stands.", default="queued", example="completed")
    dry_run: bool = column(FLAG, "Whether nothing is written.", default=False, example=False)
    file_id: str = column(REFERENCE, "The file that is read.")
    job_id: str = column(REFERENCE, "The job that does it.")
    rows: int = column(WHOLE, "Rows read so far.", default=0, example=3)
    created: int = column(WHOLE, "How many rows became records.", default=0, example=1)
    updated: int = column(WHOLE, "How many rows changed a record.", default=0, example=1)
    unchanged: int = column(WHOLE, "How many rows changed nothing.", default=0, example=0)
    refused: int = column(WHOLE, "How many rows were refused.", default=0, example=1)
    refused_file_id: str | None = column(
        REFERENCE, "The refused rows as a CSV file; null while there is none.", default=None
    )
    error: str | None = column(TEXT, "Why it failed, in words.", default=None, example=None)
    requested_by: str = column(LINE, "The subject of who asked.", example="user_2mF7")
    created_at: datetime = column(MOMENT, "When the record was made.", default_factory=now, example=MADE_AT)
    finished_at: datetime | None = column(MOMENT, "When it ended.", default=None, example="2026-11-20T09:30:02.310000Z")
    total: int | None = column(WHOLE, "How many rows the file has.", default=None)
    widest: int = column(WHOLE, "The most cells that a refused row has.", default=0)
    definition: JsonDict = column(OBJECT, "How the file is read.", default_factory=dict)


class ImportRefusal(Record, table=True):
    """A row that was refused: its line, its cells as they were sent, and each problem with its path in the row."""

    __tablename__ = "import_refusals"
    __table_args__ = (
        tenant_key("imports", "import_id", ondelete="CASCADE"),
        UniqueConstraint("org_id", "import_id", "line"),
    )

    import_id: str = column(REFERENCE, "The import.")
    line: int = column(WHOLE, "The line in the file, from 1.")
    cells: JsonDict = column(OBJECT, "The cells by column, as they were sent, in their order.", default_factory=dict)
    errors: list[JsonDict] = column(OBJECTS, "Which field, and why.", default_factory=list)
