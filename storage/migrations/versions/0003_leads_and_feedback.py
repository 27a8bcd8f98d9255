"""Leads, and feedback on the platform."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

# Written out once more and never changed again: what the tables become later is for later migrations.
ID = sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)
DOCUMENT = sa.JSON()


def upgrade() -> None:
    _create_leads()
    _create_feedback()
    if op.get_context().dialect.name == "postgresql":
        own = "org_id = nullif(current_setting('crm.org_id', true), '')::uuid"
        op.execute("ALTER TABLE leads ENABLE ROW LEVEL SECURITY")
        op.execute("ALTER TABLE leads FORCE ROW LEVEL SECURITY")  # which binds the owner too
        op.execute(f"CREATE POLICY leads_own ON leads USING ({own}) WITH CHECK ({own})")


def downgrade() -> None:
    op.drop_table("feedback")
    op.drop_table("leads")


def _create_leads() -> None:
    op.create_table(
        "leads",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("id", ID, nullable=False),
        sa.Column("status", TEXT, nullable=False),
        sa.Column("card_id", TEXT),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("title", TEXT),
        sa.Column("company", TEXT),
        sa.Column("company_domain", TEXT),
        sa.Column("email", TEXT),
        sa.Column("phone", TEXT),
        sa.Column("linkedin", TEXT),
        sa.Column("notes", TEXT),
        sa.Column("tags", DOCUMENT, nullable=False),
        sa.Column("source", TEXT, nullable=False),
        sa.Column("capture_payload", DOCUMENT),
        sa.Column("owner_id", TEXT),
        sa.Column("disqualified_reason", TEXT),
        sa.Column("converted_at", TIME),
        sa.Column("account_id", ID),
        sa.Column("contact_id", ID),
        sa.Column("deal_id", ID),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("updated_at", TIME, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.CheckConstraint(
            "status IN ('new', 'working', 'qualified', 'converted', 'disqualified')", name=op.f("ck_leads_status")
        ),
        sa.CheckConstraint("source IN ('scan_badge', 'scan_card', 'manual')", name=op.f("ck_leads_source")),
        sa.ForeignKeyConstraint(
            ["org_id", "account_id"], ["accounts.org_id", "accounts.id"], name=op.f("fk_leads_org_id_account_id")
        ),
        sa.ForeignKeyConstraint(
            ["org_id", "contact_id"], ["contacts.org_id", "contacts.id"], name=op.f("fk_leads_org_id_contact_id")
        ),
        sa.ForeignKeyConstraint(
            ["org_id", "deal_id"], ["deals.org_id", "deals.id"], name=op.f("fk_leads_org_id_deal_id")
        ),
        sa.ForeignKeyConstraint(["org_id"], ["organizations.id"], name=op.f("fk_leads_org_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_leads")),
        sa.UniqueConstraint("org_id", "card_id", name=op.f("uq_leads_org_id_card_id")),
    )
    for columns in (("created_at",), ("status", "created_at"), ("account_id",), ("contact_id",), ("deal_id",)):
        op.create_index(op.f("_".join(("ix_leads_org_id", *columns))), "leads", ["org_id", *columns])


def _create_feedback() -> None:
    op.create_table(
        "feedback",
        sa.Column("id", ID, nullable=False),
        sa.Column("org_id", ID),
        sa.Column("subject", TEXT, nullable=False),
        sa.Column("kind", TEXT, nullable=False),
        sa.Column("message", TEXT, nullable=False),
        sa.Column("page", TEXT),
        sa.Column("request_id", TEXT),
        sa.Column("created_at", TIME, nullable=False),
        sa.CheckConstraint("kind IN ('bug', 'idea', 'question', 'praise')", name=op.f("ck_feedback_kind")),
        sa.ForeignKeyConstraint(["org_id"], ["organizations.id"], name=op.f("fk_feedback_org_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_feedback")),
    )
    op.create_index(op.f("ix_feedback_org_id_created_at"), "feedback", ["org_id", "created_at"])
