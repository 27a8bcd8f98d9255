"""Outreach: domains, mailboxes, campaigns, enrollments, and what the embedded provider notes."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

# Written out once more and never changed again: what the tables become later is for later migrations.
ID = sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)
DOCUMENT = sa.JSON()

TENANT_TABLES = (
    "outreach_domains",
    "mailboxes",
    "campaigns",
    "campaign_mailboxes",
    "enrollments",
    "outreach_messages",
)


def upgrade() -> None:
    _create_senders()
    _create_campaigns()
    _create_enrollments()
    _create_messages()
    if op.get_context().dialect.name == "postgresql":
        _separate_organizations()


def downgrade() -> None:
    for table in reversed(TENANT_TABLES):
        op.drop_table(table)


def _separate_organizations() -> None:
    own = "org_id = nullif(current_setting('crm.org_id', true), '')::uuid"
    for table in TENANT_TABLES:
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")  # which binds the owner too
        op.execute(f"CREATE POLICY {table}_own ON {table} USING ({own}) WITH CHECK ({own})")


def _create_senders() -> None:
    op.create_table(
        "outreach_domains",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("id", ID, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("spf", sa.Boolean()),
        sa.Column("dkim", sa.Boolean()),
        sa.Column("dmarc", sa.Boolean()),
        sa.Column("created_at", TIME, nullable=False),
        sa.CheckConstraint(
            "status IN ('pending', 'verifying', 'active', 'failed')", name=op.f("ck_outreach_domains_status")
        ),
        sa.ForeignKeyConstraint(
            ["org_id"], ["organizations.id"], name=op.f("fk_outreach_domains_org_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_outreach_domains")),
        sa.UniqueConstraint("org_id", "name", name=op.f("uq_outreach_domains_org_id_name")),
    )
    op.create_table(
        "mailboxes",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("id", ID, nullable=False),
        sa.Column("domain_id", ID, nullable=False),
        sa.Column("email", TEXT, nullable=False),
        sa.Column("display_name", TEXT),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("daily_limit", sa.Integer(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.CheckConstraint("status IN ('pending', 'active', 'paused', 'error')", name=op.f("ck_mailboxes_status")),
        sa.CheckConstraint("daily_limit > 0", name=op.f("ck_mailboxes_daily_limit")),
        sa.ForeignKeyConstraint(
            ["org_id", "domain_id"],
            ["outreach_domains.org_id", "outreach_domains.id"],
            name=op.f("fk_mailboxes_org_id_domain_id"),
        ),
        sa.ForeignKeyConstraint(["org_id"], ["organizations.id"], name=op.f("fk_mailboxes_org_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_mailboxes")),
        sa.UniqueConstraint("org_id", "email", name=op.f("uq_mailboxes_org_id_email")),
    )
    op.create_index(op.f("ix_mailboxes_org_id_domain_id"), "mailboxes", ["org_id", "domain_id"])


def _create_campaigns() -> None:
    op.create_table(
        "campaigns",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("id", ID, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("status_reason", TEXT),
        sa.Column("steps", DOCUMENT, nullable=False),
        sa.Column("daily_limit", sa.Integer(), nullable=False),
        sa.Column("timezone", TEXT, nullable=False),
        sa.Column("stop_on_reply", sa.Boolean(), nullable=False),
        sa.Column("provider", TEXT, nullable=False),
        sa.Column("provider_campaign_id", TEXT),
        sa.Column("provider_sync", TEXT, nullable=False),
        sa.Column("provider_synced_at", TIME),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.CheckConstraint(
            "status IN ('draft', 'active', 'paused', 'blocked', 'completed', 'archived')",
            name=op.f("ck_campaigns_status"),
        ),
        sa.CheckConstraint("provider_sync IN ('synced', 'pending', 'failed')", name=op.f("ck_campaigns_provider_sync")),
        sa.CheckConstraint("daily_limit > 0", name=op.f("ck_campaigns_daily_limit")),
        sa.ForeignKeyConstraint(["org_id"], ["organizations.id"], name=op.f("fk_campaigns_org_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_campaigns")),
    )
    op.create_index(op.f("ix_campaigns_org_id_created_at"), "campaigns", ["org_id", "created_at"])
    op.create_table(
        "campaign_mailboxes",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("mailbox_id", ID, nullable=False),
        sa.ForeignKeyConstraint(
            ["org_id", "campaign_id"],
            ["campaigns.org_id", "campaigns.id"],
            name=op.f("fk_campaign_mailboxes_org_id_campaign_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["org_id", "mailbox_id"],
            ["mailboxes.org_id", "mailboxes.id"],
            name=op.f("fk_campaign_mailboxes_org_id_mailbox_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("org_id", "campaign_id", "mailbox_id", name=op.f("pk_campaign_mailboxes")),
    )
    op.create_index(op.f("ix_campaign_mailboxes_org_id_mailbox_id"), "campaign_mailboxes", ["org_id", "mailbox_id"])


def _create_enrollments() -> None:
    op.create_table(
        "enrollments",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("id", ID, nullable=False),
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("contact_id", ID),
        sa.Column("email", TEXT, nullable=False),
        sa.Column("email_key", TEXT, nullable=False),
        sa.Column("variables", DOCUMENT, nullable=False),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("next_at", TIME),
        sa.Column("told_at", TIME),
        sa.Column("enrolled_at", TIME, nullable=False),
        sa.CheckConstraint(
            "status IN ('pending', 'active', 'paused', 'replied', 'bounced', 'unsubscribed', 'completed', 'failed')",
            name=op.f("ck_enrollments_status"),
        ),
        sa.ForeignKeyConstraint(
            ["org_id", "campaign_id"],
            ["campaigns.org_id", "campaigns.id"],
            name=op.f("fk_enrollments_org_id_campaign_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["org_id", "contact_id"], ["contacts.org_id", "contacts.id"], name=op.f("fk_enrollments_org_id_contact_id")
        ),
        sa.ForeignKeyConstraint(
            ["org_id"], ["organizations.id"], name=op.f("fk_enrollments_org_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_enrollments")),
        sa.UniqueConstraint(
            "org_id", "campaign_id", "contact_id", name=op.f("uq_enrollments_org_id_campaign_id_contact_id")
        ),
        sa.UniqueConstraint(
            "org_id", "campaign_id", "email_key", name=op.f("uq_enrollments_org_id_campaign_id_email_key")
        ),
    )
    op.create_index(
        op.f("ix_enrollments_org_id_campaign_id_enrolled_at"), "enrollments", ["org_id", "campaign_id", "enrolled_at"]
    )
    op.create_index(
        op.f("ix_enrollments_org_id_campaign_id_next_at"), "enrollments", ["org_id", "campaign_id", "next_at"]
    )
    op.create_index(op.f("ix_enrollments_org_id_contact_id"), "enrollments", ["org_id", "contact_id"])


def _create_messages() -> None:
    op.create_table(
        "outreach_messages",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("id", ID, nullable=False),
        sa.Column("campaign_id", ID, nullable=False),
        sa.Column("enrollment_id", ID, nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("sender", TEXT, nullable=False),
        sa.Column("recipient", TEXT, nullable=False),
        sa.Column("subject", TEXT, nullable=False),
        sa.Column("body", TEXT, nullable=False),
        sa.Column("noted_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["org_id", "enrollment_id"],
            ["enrollments.org_id", "enrollments.id"],
            name=op.f("fk_outreach_messages_org_id_enrollment_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_outreach_messages")),
        sa.UniqueConstraint(
            "org_id", "enrollment_id", "step", name=op.f("uq_outreach_messages_org_id_enrollment_id_step")
        ),
    )
    op.create_index(
        op.f("ix_outreach_messages_org_id_campaign_id_noted_at"),
        "outreach_messages",
        ["org_id", "campaign_id", "noted_at"],
    )
