"""Processes tell each other of changes after their commits: what notified inside every transaction goes."""

from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

TOLD = {"events": "INSERT", "jobs": "INSERT OR UPDATE"}


def upgrade() -> None:
    if op.get_context().dialect.name != "postgresql":
        return
    for table in TOLD:
        op.execute(f"DROP TRIGGER {table}_told ON {table}")
    op.execute("DROP FUNCTION crm_changed()")


def downgrade() -> None:
    if op.get_context().dialect.name != "postgresql":
        return
    op.execute(
        "CREATE FUNCTION crm_changed() RETURNS trigger LANGUAGE plpgsql AS $$"
        " BEGIN PERFORM pg_notify('crm_changes', NEW.org_id::text); RETURN NULL; END $$"
    )
    for table, what in TOLD.items():
        op.execute(f"CREATE TRIGGER {table}_told AFTER {what} ON {table} FOR EACH ROW EXECUTE FUNCTION crm_changed()")
