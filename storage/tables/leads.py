"""Leads: people met, as confirmed captures of their cards or badges tell of them (specification 4.2)."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, Index, UniqueConstraint

from contract.vocabulary import CaptureSource, LeadStatus
from storage.base import JsonDict, Record, tenant_key
from storage.columns import (
    DOMAIN,
    EMAIL,
    FILTER,
    JSON,
    LINE,
    MOMENT,
    NAMES,
    SORT,
    TEXT,
    UPDATE,
    column,
    created,
    external_key,
    folds,
    owner,
    reference,
    updated,
    versioned,
)
from storage.indexes import index_of_given


class Lead(Record, table=True):
    """A lead. One card makes one lead; `account_id`, `contact_id` and `deal_id` are what it was converted into."""

    __tablename__ = "leads"
    __events__ = {"lead": "created updated disqualified reopened converted", "leads": "upserted"}
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        tenant_key("accounts", "account_id"),
        tenant_key("contacts", "contact_id"),
        tenant_key("deals", "deal_id"),
        CheckConstraint("status IN ('new', 'working', 'qualified', 'converted', 'disqualified')", name="status"),
        CheckConstraint("source IN ('scan_badge', 'scan_card', 'manual')", name="source"),
        UniqueConstraint("org_id", "card_id"),
        index_of_given("org_id", "external_key", name="uq_leads_org_id_external_key", unique=True),
        Index(None, "org_id", "created_at"),
        Index(None, "org_id", "updated_at"),
        Index(None, "org_id", "owner_id", "id"),
        Index(None, "org_id", "folded_email"),
        Index(None, "org_id", "status", "created_at"),
        index_of_given("org_id", "account_id"),
        index_of_given("org_id", "contact_id"),
        index_of_given("org_id", "deal_id"),
    )

    status: str = column(
        LeadStatus,
        "Where the lead stands.",
        UPDATE | FILTER,
        default="new",
        words={UPDATE: "WORKING or QUALIFIED; the other states have mutations."},
        example="converted",
    )
    card_id: str | None = column(
        LINE,
        "The captured card, of which there is one lead.",
        default=None,
        example="card_8841",
    )
    name: str = column(
        LINE,
        "The person's name.",
        UPDATE | FILTER | SORT,
        words={UPDATE: "The person's name; it cannot be cleared."},
        example="Ada Park",
    )
    title: str | None = column(LINE, "The job title.", UPDATE, default=None, example="Head of Operations")
    company: str | None = column(
        LINE, "The company's name.", UPDATE | FILTER, default=None, example="Example Industries"
    )
    company_domain: str | None = column(
        DOMAIN, "The company's domain.", UPDATE | FILTER, default=None, example="example.com"
    )
    email: str | None = column(EMAIL, "The e-mail address.", UPDATE | FILTER, default=None, example="ada@example.com")
    phone: str | None = column(LINE, "The phone number.", UPDATE, default=None, example="+49 30 1234567")
    linkedin: str | None = column(LINE, "The LinkedIn profile.", UPDATE, default=None)
    notes: str | None = column(
        TEXT, "Free text.", UPDATE, default=None, example="Met at the fair; wants a pilot in spring."
    )
    tags: list[str] = column(
        NAMES,
        "The tags, each once.",
        UPDATE,
        default_factory=list,
        words={UPDATE: "All tags that it is to have."},
        example=("fair", "pilot"),
    )
    source: str = column(CaptureSource, "How it was captured.", FILTER, default="scan_card", example="scan_card")
    capture_payload: JsonDict | None = column(
        JSON,
        "The raw output of the extraction; read only where it is selected.",
        default=None,
        example={"engine": "ocr-2", "confidence": 0.93},
    )
    owner_id: str | None = owner(UPDATE | FILTER)
    disqualified_reason: str | None = column(LINE, "Why it was given up; null unless it is.", default=None)
    converted_at: datetime | None = column(
        MOMENT, "When it was converted.", FILTER, default=None, example="2026-11-20T16:02:31.118000Z"
    )
    account_id: str | None = reference("accounts", "What the lead was converted into, like the next two.")
    contact_id: str | None = reference("contacts", "The contact that it became.")
    deal_id: str | None = reference("deals", "The deal that it became, if it became one.")
    external_key: str | None = external_key("leads", UPDATE | FILTER)
    created_at: datetime = created()
    updated_at: datetime = updated()
    version: int = versioned()
    folded_name: str | None = folds("name")
    folded_company: str | None = folds("company")
    folded_company_domain: str | None = folds("company_domain")
    folded_email: str | None = folds("email")
    folded_owner_id: str | None = folds("owner_id")
    folded_external_key: str | None = folds("external_key")
