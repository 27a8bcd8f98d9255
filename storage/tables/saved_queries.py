"""Queries that are kept: a question, a semantic query or a statement, of one person or of all."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, Index, UniqueConstraint, text

from storage.base import JsonDict, Record
from storage.columns import FLAG, LINE, MOMENT, NONE, OBJECT, TEXT, column, created, updated, versioned


class SavedQuery(Record, table=True):
    """A query with a name that its owner has once. Every statement for a caller says that it is theirs, or shared.

    `name_key` and `question_key` are digests of the folded texts: those may be longer than an index takes. `query` is
    a semantic query as `AnalyticsQuery.plan` writes it. A question has one answer that was verified.
    """

    __tablename__ = "saved_queries"
    __events__ = {"saved_query": "created updated shared verified deleted"}
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        UniqueConstraint("org_id", "owner_id", "name_key"),
        CheckConstraint("dialect IN ('sqlite', 'postgresql')", name="dialect"),
        CheckConstraint("(sql IS NULL) = (dialect IS NULL)", name="statement"),
        CheckConstraint("(sql IS NULL) <> (question IS NULL AND query IS NULL)", name="one"),
        CheckConstraint("is_verified = (verified_at IS NOT NULL) AND (is_shared OR NOT is_verified)", name="verified"),
        Index(
            "uq_saved_queries_verified",
            "org_id",
            "question_key",
            unique=True,
            sqlite_where=text("is_verified = 1"),
            postgresql_where=text("is_verified"),
        ),
        Index(None, "org_id", "is_shared"),
    )

    name: str = column(LINE, "Unique among the owner's.", least=1, example="Pipeline by stage")
    description: str | None = column(TEXT, "What it is for.", default=None, example="For the Monday meeting.")
    question: str | None = column(
        LINE, "The question; with `query` where one was saved.", default=None, example="What is the pipeline by stage?"
    )
    query: JsonDict | None = column(
        OBJECT,
        "The semantic query.",
        default=None,
        example={"entity": "deals", "measures": ["value_sum"], "by": ["stage"]},
    )
    sql: str | None = column(TEXT, "The statement.", default=None)
    dialect: str | None = column(LINE, "The SQL that the statement is written in.", default=None)
    owner_id: str = column(LINE, "Who saved it.", example="user_2mF7")
    is_shared: bool = column(FLAG, "Whether the organization sees it.", default=False, example=True)
    is_verified: bool = column(FLAG, "Whether an administrator checked it.", default=False, example=True)
    verified_by: str | None = column(LINE, "The administrator who checked it.", default=None)
    verified_at: datetime | None = column(MOMENT, "When it was checked.", default=None)
    created_at: datetime = created(NONE)
    updated_at: datetime = updated(NONE)
    version: int = versioned()
    name_key: str = column(LINE, "What stands for the name.", default="")
    question_key: str | None = column(LINE, "What stands for the question.", default=None)
