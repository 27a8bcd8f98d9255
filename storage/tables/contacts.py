"""Contacts: the people at the accounts."""

from datetime import datetime

from sqlalchemy import ForeignKeyConstraint, Index

from contract.matching import name_match, phone_match
from storage.base import Record, tenant_key
from storage.columns import (
    EMAIL,
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
    reference,
    updated,
    versioned,
)
from storage.indexes import index_of_given, partial_index
from storage.worked_out import worked_out

FULL_NAME = "nullif(trim(coalesce(match_first_name, '') || ' ' || coalesce(match_last_name, '')), '')"
"""Both parts of the name as duplicates are found by them: null where neither says anything (decision 1190)."""


class Contact(Record, table=True):
    """A person, with or without an account."""

    __tablename__ = "contacts"
    __events__ = {"contact": "created updated deleted linked unlinked merged", "contacts": "upserted"}
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        tenant_key("accounts", "account_id"),
        index_of_given("org_id", "external_key", name="uq_contacts_org_id_external_key", unique=True),
        Index(None, "org_id", "created_at"),
        Index(None, "org_id", "updated_at"),
        Index(None, "org_id", "owner_id", "id"),
        Index(None, "org_id", "account_id", "created_at"),
        index_of_given("org_id", "folded_email"),
        index_of_given("org_id", "match_phone"),
        partial_index(None, "org_id", "match_name", "account_id", where="match_name IS NOT NULL"),
    )

    first_name: str | None = column(LINE, "The given name.", WRITE | FILTER, default=None, example="Ada")
    last_name: str | None = column(LINE, "The family name.", WRITE | FILTER | SORT, default=None, example="Park")
    email: str | None = column(EMAIL, "The e-mail address.", WRITE | FILTER, default=None, example="ada@example.com")
    phone: str | None = column(LINE, "The phone number.", WRITE | FILTER, default=None, example="+49 30 1234567")
    title: str | None = column(LINE, "The job title.", WRITE | FILTER, default=None, example="Head of Operations")
    linkedin: str | None = column(LINE, "The LinkedIn profile.", WRITE, default=None)
    account_id: str | None = reference("accounts", "The account's identifier.", WRITE | FILTER)
    owner_id: str | None = owner(UPDATE | FILTER)
    external_key: str | None = external_key("contacts", WRITE | FILTER)
    created_at: datetime = created()
    updated_at: datetime = updated()
    version: int = versioned()
    folded_first_name: str | None = folds("first_name")
    folded_last_name: str | None = folds("last_name")
    folded_email: str | None = folds("email")
    folded_phone: str | None = folds("phone")
    folded_title: str | None = folds("title")
    folded_owner_id: str | None = folds("owner_id")
    folded_external_key: str | None = folds("external_key")
    match_first_name: str | None = matches("first_name", name_match)
    match_last_name: str | None = matches("last_name", name_match)
    match_phone: str | None = matches("phone", phone_match)
    match_name: str | None = worked_out(FULL_NAME)
