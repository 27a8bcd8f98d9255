"""How far an organization's change log goes, for sessions that look up a caller before its organization is known."""

from alembic import op

revision = "0047"
down_revision = "0045"
branch_labels = None
depends_on = None


def upgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        # The policy of event_counters holds: the function sets the organization for its one look, and takes it back.
        op.execute(
            "CREATE FUNCTION crm_position(org uuid) RETURNS bigint STRICT LANGUAGE plpgsql AS $$"
            " DECLARE before text := coalesce(current_setting('crm.org_id', true), ''); found bigint; BEGIN"
            " PERFORM set_config('crm.org_id', org::text, true);"
            " SELECT last INTO found FROM event_counters WHERE org_id = org;"
            " PERFORM set_config('crm.org_id', before, true);"
            " RETURN coalesce(found, 0); END $$"
        )


def downgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        op.execute("DROP FUNCTION crm_position(uuid)")
