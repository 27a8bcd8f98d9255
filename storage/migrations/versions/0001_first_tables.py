"""The first tables: the directory, credentials, and everything that belongs to an organization."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

# Written out once more and never changed again: what the tables become later is for later migrations.
ID = sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)
MONEY = sa.Numeric(19, 4).with_variant(sa.String(20), "sqlite")
DOCUMENT = sa.JSON()

TENANT_TABLES = (
    "accounts",
    "pipeline_stages",
    "contacts",
    "deals",
    "deal_contacts",
    "stage_changes",
    "activities",
    "health_snapshots",
    "health_factors",
    "events",
    "event_counters",
)

# The orders of the meeting listing, whole and below each of its filters.
BELOW = ("account", "deal", "contact", "owner")
LISTINGS = {
    "ix_meetings_due_desc": ("due_at DESC NULLS LAST",),
    "ix_meetings_due_asc": ("due_at",),
} | {f"ix_meetings_{name}": (f"{name}_id", "due_at DESC NULLS LAST") for name in BELOW}


def upgrade() -> None:
    _create_tables()
    _index_listings()
    if op.get_context().dialect.name == "postgresql":
        _separate_organizations()


def downgrade() -> None:
    for table in (
        "stage_changes",
        "deal_contacts",
        "activities",
        "health_factors",
        "deals",
        "health_snapshots",
        "contacts",
        "pipeline_stages",
        "memberships",
        "events",
        "event_counters",
        "credentials",
        "accounts",
        "organizations",
        "members",
    ):
        op.drop_table(table)


def _index_listings() -> None:
    sqlite = op.get_context().dialect.name == "sqlite"
    for name, order in LISTINGS.items():
        terms = ", ".join(("org_id", *order, "created_at DESC", "id"))
        if sqlite:
            terms = terms.replace(" NULLS LAST", "")  # it takes no such words in an index, and sorts just so
        op.execute(f"CREATE INDEX {name} ON activities ({terms}) WHERE type = 'meeting'")


def _separate_organizations() -> None:
    own = "org_id = nullif(current_setting('crm.org_id', true), '')::uuid"
    for table in TENANT_TABLES:
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")  # which binds the owner too
        op.execute(f"CREATE POLICY {table}_own ON {table} USING ({own}) WITH CHECK ({own})")


def _of_organization(table: str) -> sa.ForeignKeyConstraint:
    name = op.f(f"fk_{table}_org_id")
    return sa.ForeignKeyConstraint(["org_id"], ["organizations.id"], name=name, ondelete="CASCADE")


def _linked(table: str, column: str, to: str, ondelete: str | None = None) -> sa.ForeignKeyConstraint:
    """A reference within the organization."""
    target = [f"{to}.org_id", f"{to}.id"]
    return sa.ForeignKeyConstraint(
        ["org_id", column], target, name=op.f(f"fk_{table}_org_id_{column}"), ondelete=ondelete
    )


def _create_tables() -> None:
    _create_directory_and_accounts()
    _create_credentials()
    _create_events_and_memberships()
    _create_stages_and_contacts()
    _create_health_snapshots()
    _create_deals()
    _create_health_factors()
    _create_activities()
    _create_below_deals()


def _create_directory_and_accounts() -> None:
    op.create_table(
        "members",
        sa.Column("subject", TEXT, nullable=False),
        sa.Column("email", TEXT),
        sa.Column("name", TEXT),
        sa.Column("created_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("subject", name=op.f("pk_members")),
    )
    op.create_table(
        "organizations",
        sa.Column("id", ID, nullable=False),
        sa.Column("external_id", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_organizations")),
        sa.UniqueConstraint("external_id", name=op.f("uq_organizations_external_id")),
    )
    op.create_table(
        "accounts",
        *(sa.Column(name, ID, nullable=False) for name in ("org_id", "id")),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("domain", TEXT),
        sa.Column("industry", TEXT),
        sa.Column("owner_id", TEXT),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        _of_organization("accounts"),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_accounts")),
    )
    op.create_index(op.f("ix_accounts_org_id_created_at"), "accounts", ["org_id", "created_at"])
    op.create_index(op.f("ix_accounts_org_id_domain"), "accounts", ["org_id", "domain"])


def _create_credentials() -> None:
    op.create_table(
        "credentials",
        sa.Column("id", ID, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("key_id", TEXT, nullable=False),
        sa.Column("secret_hash", TEXT, nullable=False),
        sa.Column("hint", TEXT, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("org_id", ID),
        sa.Column("owner_subject", TEXT, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("last_used_at", TIME),
        sa.Column("expires_at", TIME),
        sa.Column("revoked_at", TIME),
        sa.CheckConstraint("(kind = 'organization_key') = (org_id IS NOT NULL)", name=op.f("ck_credentials_binding")),
        sa.CheckConstraint("kind IN ('organization_key', 'user_token')", name=op.f("ck_credentials_kind")),
        _of_organization("credentials"),
        sa.ForeignKeyConstraint(
            ["owner_subject"], ["members.subject"], name=op.f("fk_credentials_owner_subject"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_credentials")),
        sa.UniqueConstraint("key_id", name=op.f("uq_credentials_key_id")),
    )
    op.create_index(op.f("ix_credentials_org_id_owner_subject"), "credentials", ["org_id", "owner_subject"])
    op.create_index(op.f("ix_credentials_owner_subject"), "credentials", ["owner_subject"])


def _create_events_and_memberships() -> None:
    op.create_table(
        "event_counters",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("last", sa.BigInteger(), nullable=False),
        _of_organization("event_counters"),
        sa.PrimaryKeyConstraint("org_id", name=op.f("pk_event_counters")),
    )
    op.create_table(
        "events",
        *(sa.Column(name, ID, nullable=False) for name in ("org_id", "id")),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("type", TEXT, nullable=False),
        sa.Column("area", TEXT, nullable=False),
        sa.Column("actor", TEXT, nullable=False),
        sa.Column("occurred_at", TIME, nullable=False),
        sa.Column("request_id", TEXT),
        sa.Column("data", DOCUMENT, nullable=False),
        _of_organization("events"),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_events")),
        sa.UniqueConstraint("org_id", "sequence", name=op.f("uq_events_org_id_sequence")),
    )
    op.create_table(
        "memberships",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("subject", TEXT, nullable=False),
        sa.Column("role", TEXT),
        sa.Column("scopes", DOCUMENT, nullable=False),
        sa.Column("token_issued_at", sa.BigInteger()),
        sa.Column("created_at", TIME, nullable=False),
        _of_organization("memberships"),
        sa.ForeignKeyConstraint(
            ["subject"], ["members.subject"], name=op.f("fk_memberships_subject"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("org_id", "subject", name=op.f("pk_memberships")),
    )
    op.create_index(op.f("ix_memberships_subject"), "memberships", ["subject"])


def _create_stages_and_contacts() -> None:
    op.create_table(
        "pipeline_stages",
        *(sa.Column(name, ID, nullable=False) for name in ("org_id", "id")),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("type", TEXT, nullable=False),
        sa.Column("probability", sa.Integer()),
        sa.Column("created_at", TIME, nullable=False),
        sa.CheckConstraint("type IN ('open', 'won', 'lost')", name=op.f("ck_pipeline_stages_type")),
        sa.CheckConstraint("probability BETWEEN 0 AND 100", name=op.f("ck_pipeline_stages_probability")),
        _of_organization("pipeline_stages"),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_pipeline_stages")),
    )
    op.create_index(op.f("ix_pipeline_stages_org_id_position"), "pipeline_stages", ["org_id", "position"])
    op.create_table(
        "contacts",
        *(sa.Column(name, ID, nullable=False) for name in ("org_id", "id")),
        sa.Column("first_name", TEXT),
        sa.Column("last_name", TEXT),
        sa.Column("email", TEXT),
        sa.Column("phone", TEXT),
        sa.Column("title", TEXT),
        sa.Column("linkedin", TEXT),
        sa.Column("account_id", ID),
        sa.Column("owner_id", TEXT),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        _linked("contacts", "account_id", "accounts"),
        _of_organization("contacts"),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_contacts")),
    )
    op.create_index(
        op.f("ix_contacts_org_id_account_id_created_at"), "contacts", ["org_id", "account_id", "created_at"]
    )
    op.create_index(op.f("ix_contacts_org_id_created_at"), "contacts", ["org_id", "created_at"])


def _create_health_snapshots() -> None:
    op.create_table(
        "health_snapshots",
        *(sa.Column(name, ID, nullable=False) for name in ("org_id", "id")),
        sa.Column("account_id", ID, nullable=False),
        sa.Column("score", sa.Integer(), nullable=False),
        sa.Column("trend", TEXT),
        sa.Column("data_points", sa.Integer()),
        sa.Column("snapshot_at", TIME, nullable=False),
        sa.Column("formula_version", TEXT, nullable=False),
        sa.CheckConstraint("trend IN ('improving', 'declining', 'stable')", name=op.f("ck_health_snapshots_trend")),
        sa.CheckConstraint("score BETWEEN 0 AND 100", name=op.f("ck_health_snapshots_score")),
        _linked("health_snapshots", "account_id", "accounts", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_health_snapshots")),
    )
    op.create_index(
        op.f("ix_health_snapshots_org_id_account_id_snapshot_at_id"),
        "health_snapshots",
        ["org_id", "account_id", "snapshot_at", "id"],
    )


def _create_deals() -> None:
    op.create_table(
        "deals",
        *(sa.Column(name, ID, nullable=False) for name in ("org_id", "id")),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("account_id", ID),
        sa.Column("value", MONEY),
        sa.Column("currency", TEXT, nullable=False),
        sa.Column("stage_id", ID),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("close_date", sa.Date()),
        sa.Column("geo_scope", TEXT),
        sa.Column("source", TEXT),
        sa.Column("champion_id", ID),
        sa.Column("notes", TEXT),
        sa.Column("parent_deal_id", ID),
        sa.Column("competitors", DOCUMENT, nullable=False),
        sa.Column("owner_id", TEXT),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.CheckConstraint("geo_scope IN ('local', 'regional', 'international')", name=op.f("ck_deals_geo_scope")),
        sa.CheckConstraint("status IN ('open', 'won', 'lost')", name=op.f("ck_deals_status")),
        _linked("deals", "account_id", "accounts"),
        _linked("deals", "champion_id", "contacts"),
        _linked("deals", "parent_deal_id", "deals"),
        _linked("deals", "stage_id", "pipeline_stages"),
        _of_organization("deals"),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_deals")),
    )
    op.create_index(op.f("ix_deals_org_id_account_id_created_at"), "deals", ["org_id", "account_id", "created_at"])
    op.create_index(op.f("ix_deals_org_id_champion_id"), "deals", ["org_id", "champion_id"])
    op.create_index(op.f("ix_deals_org_id_created_at"), "deals", ["org_id", "created_at"])
    op.create_index(op.f("ix_deals_org_id_parent_deal_id"), "deals", ["org_id", "parent_deal_id"])
    op.create_index(op.f("ix_deals_org_id_stage_id_created_at"), "deals", ["org_id", "stage_id", "created_at"])


def _create_health_factors() -> None:
    op.create_table(
        "health_factors",
        *(sa.Column(name, ID, nullable=False) for name in ("org_id", "id")),
        sa.Column("account_id", ID, nullable=False),
        sa.Column("health_score_id", ID, nullable=False),
        sa.Column("snapshot_at", TIME, nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("key", TEXT, nullable=False),
        sa.Column("label", TEXT, nullable=False),
        sa.Column("score", sa.Integer(), nullable=False),
        sa.Column("weight", sa.Float(), nullable=False),
        sa.Column("value", sa.Float()),
        sa.Column("explanation", TEXT, nullable=False),
        sa.Column("sample_size", sa.Integer(), nullable=False),
        sa.CheckConstraint("score BETWEEN 0 AND 100", name=op.f("ck_health_factors_score")),
        _linked("health_factors", "account_id", "accounts", ondelete="CASCADE"),
        _linked("health_factors", "health_score_id", "health_snapshots", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_health_factors")),
        sa.UniqueConstraint(
            "org_id", "health_score_id", "position", name=op.f("uq_health_factors_org_id_health_score_id_position")
        ),
    )
    op.create_index(op.f("ix_health_factors_org_id_account_id"), "health_factors", ["org_id", "account_id"])


def _create_activities() -> None:
    op.create_table(
        "activities",
        *(sa.Column(name, ID, nullable=False) for name in ("org_id", "id")),
        sa.Column("type", TEXT, nullable=False),
        sa.Column("subject", TEXT),
        sa.Column("body", TEXT),
        sa.Column("due_at", TIME),
        sa.Column("completed_at", TIME),
        sa.Column("duration_minutes", sa.Integer()),
        sa.Column("metadata", DOCUMENT),
        sa.Column("account_id", ID),
        sa.Column("deal_id", ID),
        sa.Column("contact_id", ID),
        sa.Column("owner_id", TEXT),
        sa.Column("source", TEXT, nullable=False),
        sa.Column("direction", TEXT),
        sa.Column("created_at", TIME, nullable=False),
        sa.CheckConstraint(
            "source IN ('manual', 'import', 'calendar', 'gmail', 'outlook', 'slack', 'zoom')",
            name=op.f("ck_activities_source"),
        ),
        _linked("activities", "account_id", "accounts"),
        _linked("activities", "contact_id", "contacts"),
        _linked("activities", "deal_id", "deals"),
        _of_organization("activities"),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_activities")),
    )
    op.create_index(op.f("ix_activities_created"), "activities", ["org_id", "type", sa.text("created_at DESC"), "id"])


def _create_below_deals() -> None:
    op.create_table(
        "deal_contacts",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("deal_id", ID, nullable=False),
        sa.Column("contact_id", ID, nullable=False),
        sa.Column("role", TEXT),
        sa.Column("is_primary", sa.Boolean(), nullable=False),
        sa.Column("linked_at", TIME, nullable=False),
        _linked("deal_contacts", "contact_id", "contacts", ondelete="CASCADE"),
        _linked("deal_contacts", "deal_id", "deals", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("org_id", "deal_id", "contact_id", name=op.f("pk_deal_contacts")),
    )
    op.create_index(op.f("ix_deal_contacts_org_id_contact_id"), "deal_contacts", ["org_id", "contact_id"])
    op.create_table(
        "stage_changes",
        *(sa.Column(name, ID, nullable=False) for name in ("org_id", "id")),
        sa.Column("deal_id", ID, nullable=False),
        sa.Column("from_stage_id", ID),
        sa.Column("to_stage_id", ID),
        sa.Column("at", TIME, nullable=False),
        sa.Column("by", TEXT),
        _linked("stage_changes", "deal_id", "deals", ondelete="CASCADE"),
        _linked("stage_changes", "from_stage_id", "pipeline_stages"),
        _linked("stage_changes", "to_stage_id", "pipeline_stages"),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_stage_changes")),
    )
    op.create_index(op.f("ix_stage_changes_org_id_deal_id_at"), "stage_changes", ["org_id", "deal_id", "at"])
    op.create_index(op.f("ix_stage_changes_org_id_from_stage_id"), "stage_changes", ["org_id", "from_stage_id"])
    op.create_index(op.f("ix_stage_changes_org_id_to_stage_id"), "stage_changes", ["org_id", "to_stage_id"])
