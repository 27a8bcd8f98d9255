"""Deals, and their links to contacts (specification 2.2)."""

from datetime import date, datetime
from decimal import Decimal

from sqlalchemy import CheckConstraint, ForeignKeyConstraint, Index
from sqlmodel import Field

from contract.vocabulary import DealStatus, GeoScope
from storage.base import Identifier, PlainText, Record, Tenant, now, tenant_key
from storage.columns import (
    CREATE,
    CURRENCY,
    DATE,
    FILTER,
    LINE,
    MOMENT,
    MONEY,
    NAMES,
    SORT,
    TEXT,
    UPDATE,
    WRITE,
    column,
    created,
    external_key,
    folds,
    folds_each,
    owner,
    reference,
    updated,
    versioned,
)
from storage.indexes import index_of_given


class Deal(Record, table=True):
    """A deal; `status` follows the type of its stage (decision 4).

    WRITE, CREATE, UPDATE, FILTER and SORT say what a caller may do with a column, by GraphQL and in the resolvers'
    inputs. A column `| None` may be null wherever it is written; another may not. Lists are also filtered and sorted
    by `created()`, and sorted by `updated()`. Everybody who may read a deal is shown all columns; REST names its own
    in `rest_compat/deals.py`.
    """

    __tablename__ = "deals"
    __events__ = {"deal": "created updated deleted", "deals": "upserted", "deal_competitors": "detected"}
    __table_args__ = (
        ForeignKeyConstraint(["org_id"], ["organizations.id"], ondelete="CASCADE"),
        tenant_key("accounts", "account_id"),
        tenant_key("pipeline_stages", "stage_id"),
        tenant_key("contacts", "champion_id"),
        tenant_key("deals", "parent_deal_id"),
        CheckConstraint("status IN ('open', 'won', 'lost')", name="status"),
        CheckConstraint("geo_scope IN ('local', 'regional', 'international')", name="geo_scope"),
        index_of_given("org_id", "external_key", name="uq_deals_org_id_external_key", unique=True),
        Index(None, "org_id", "created_at"),
        Index(None, "org_id", "updated_at"),
        Index(None, "org_id", "owner_id", "id"),
        Index(None, "org_id", "account_id", "created_at"),
        Index(None, "org_id", "stage_id", "created_at"),
        index_of_given("org_id", "champion_id"),
        index_of_given("org_id", "status", "closed_at"),
        Index(None, "org_id", "status", "close_date"),
        Index(None, "org_id", "status", "currency", "closed_at", "close_date", "value"),
        Index(None, "org_id", "owner_id", "status", "closed_at"),
        index_of_given("org_id", "parent_deal_id"),
    )

    name: str = column(
        LINE, "The deal's name.", WRITE | FILTER | SORT, least=1, short="the name", example="Example renewal"
    )
    account_id: str | None = reference("accounts", "The account's identifier.", WRITE | FILTER)
    value: Decimal | None = column(
        MONEY,
        "The amount in `currency`, exact to four decimals.",
        WRITE | FILTER | SORT,
        default=None,
        short="the amount",
        words={SORT: "The amount, whatever its currency; deals without one come last."},
        example=12500.5,
    )
    stage_id: str | None = reference(
        "pipeline_stages",
        "The stage's identifier; null until a stage is set.",
        WRITE | FILTER,
        short="the stage's identifier",
        words={CREATE: "The initial stage; none is chosen by itself."},
    )
    close_date: date | None = column(
        DATE,
        "When it is expected to close, or closed.",
        WRITE | FILTER | SORT,
        default=None,
        short="the closing day",
        words={CREATE: "When it is expected to close."},
        example="2026-12-31",
    )
    currency: str = column(
        CURRENCY, "The ISO 4217 code.", WRITE | FILTER, default="USD", short="the currency code", example="EUR"
    )
    geo_scope: str | None = column(
        GeoScope, "Its reach.", WRITE | FILTER, default=None, short="the reach", example="regional"
    )
    source: str | None = column(
        LINE, "Where it came from.", UPDATE | FILTER, default=None, short="where it came from", example="referral"
    )
    champion_id: str | None = reference(
        "contacts", "The identifier of the internal champion.", UPDATE | FILTER, short="the champion's identifier"
    )
    notes: str | None = column(TEXT, "Free text.", UPDATE, default=None)
    parent_deal_id: str | None = reference("deals", "The deal that this one is part of.")
    competitors: list[str] = column(
        NAMES, "Names of competitors on the deal.", FILTER, default_factory=list, example=("Northwind",)
    )
    status: str = column(DealStatus, "Where the deal stands.", FILTER, default="open", example="open")
    closed_at: datetime | None = column(
        MOMENT, "When the deal was won or lost last; null while it is open.", FILTER, default=None
    )
    owner_id: str | None = owner(UPDATE | FILTER)
    external_key: str | None = external_key("deals", WRITE | FILTER)
    created_at: datetime = created()
    updated_at: datetime = updated()
    version: int = versioned()
    folded_name: str | None = folds("name")
    folded_currency: str | None = folds("currency", default="usd")
    folded_source: str | None = folds("source")
    folded_owner_id: str | None = folds("owner_id")
    folded_external_key: str | None = folds("external_key")
    folded_competitors: list[str] = folds_each("competitors")


class DealContact(Tenant, table=True):
    """A contact on a deal."""

    __tablename__ = "deal_contacts"
    __events__ = {"contact_link": "updated"}
    __table_args__ = (
        tenant_key("deals", "deal_id", ondelete="CASCADE"),
        tenant_key("contacts", "contact_id", ondelete="CASCADE"),
        Index(None, "org_id", "contact_id"),
    )

    deal_id: str = Field(sa_type=Identifier, primary_key=True)
    contact_id: str = Field(sa_type=Identifier, primary_key=True)
    role: str | None = Field(default=None, sa_type=PlainText)
    is_primary: bool = False
    linked_at: datetime = Field(default_factory=now)
