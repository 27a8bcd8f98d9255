"""Accounts: the companies that the organization sells to."""

from datetime import datetime

from sqlalchemy import ForeignKeyConstraint, Index

from contract.matching import company_match
from storage.base import Record
from storage.columns import (
    DOMAIN,
    FILTER,
    LINE,
    SORT,
    UPDATE,
    WRITE,
    column,
    created,
    external_key,
    folds,
    matches,
    owner,
    updated,
    versioned,
)
from storage.indexes import index_of_given


class Account(Record, table=True):
    """A company."""

    __tablename__ = "accounts"
    __events__ = {"account": "created updated deleted merged", "accounts": "upserted"}
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        index_of_given("org_id", "external_key", name="uq_accounts_org_id_external_key", unique=True),
        Index(None, "org_id", "created_at"),
        Index(None, "org_id", "updated_at"),
        Index(None, "org_id", "owner_id", "id"),
        index_of_given("org_id", "domain"),
        index_of_given("org_id", "match_name"),
    )

    name: str = column(
        LINE, "The company's name.", WRITE | FILTER | SORT, least=1, short="the name", example="Example Industries"
    )
    domain: str | None = column(
        DOMAIN, "Its Internet domain.", WRITE | FILTER, default=None, short="the domain", example="example.com"
    )
    industry: str | None = column(
        LINE, "Its line of business.", WRITE | FILTER, default=None, short="the line of business", example="Logistics"
    )
    owner_id: str | None = owner(UPDATE | FILTER)
    external_key: str | None = external_key("accounts", WRITE | FILTER)
    created_at: datetime = created()
    updated_at: datetime = updated()
    version: int = versioned()
    folded_name: str | None = folds("name")
    folded_domain: str | None = folds("domain")
    folded_industry: str | None = folds("industry")
    folded_owner_id: str | None = folds("owner_id")
    folded_external_key: str | None = folds("external_key")
    match_name: str | None = matches("name", company_match)
