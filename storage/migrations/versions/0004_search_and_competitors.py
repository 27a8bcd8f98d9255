"""The full-text search with its triggers, and the catalogue of competitors."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from storage.search_index import backfill, removal, triggers

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

ID = sa.String(36).with_variant(postgresql.UUID(as_uuid=False), "postgresql")
TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)
OWN = "org_id = nullif(current_setting('crm.org_id', true), '')::uuid"

# Table, kind, columns of the name, columns of the other texts, and which rows.
SEARCHED = (
    ("accounts", 1, ("name",), ("domain", "industry"), ""),
    ("contacts", 2, ("first_name", "last_name"), ("email", "title", "phone", "linkedin"), ""),
    (
        "leads",
        3,
        ("name",),
        ("company", "company_domain", "email", "title", "phone", "linkedin", "notes", "tags"),
        "",
    ),
    ("deals", 4, ("name",), ("notes", "source"), ""),
    ("activities", 5, ("subject",), ("body", "metadata.transcript"), "NEW.type = 'meeting'"),
)

# The first of them that the server has folds letters beyond ASCII, whatever the database's own locale.
COLLATIONS = ("pg_unicode_fast", "und-x-icu", "pg_c_utf8", "C.utf8", "en_US.utf8")


def upgrade() -> None:
    dialect = op.get_context().dialect.name
    _create_tables()
    if dialect == "postgresql":
        _create_functions()
        op.execute(
            "CREATE INDEX ix_search_entries_words ON search_entries USING gin (words)"
            " WITH (gin_pending_list_limit = 512)"
        )
    else:
        op.execute(
            "CREATE VIRTUAL TABLE search_words USING fts5(org, name, rest, tokenize = 'unicode61 remove_diacritics 2')"
        )
        op.execute("CREATE INDEX ix_search_entries_words ON search_entries (words, org_id, size, kind, created_at, id)")
        op.execute(
            "CREATE TRIGGER search_entries_delete AFTER DELETE ON search_entries BEGIN"
            " DELETE FROM search_words WHERE rowid = OLD.words; END"
        )
    for table, kind, name, rest, only in SEARCHED:
        if dialect == "postgresql":
            op.execute(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY")  # for the owner to see all rows
        for statement in (
            *backfill(dialect, table, kind, name, rest, only),
            *triggers(dialect, table, kind, name, rest, only),
        ):
            op.execute(sa.text(statement.replace(":", r"\:")))
        if dialect == "postgresql":
            op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
    if dialect == "postgresql":
        _separate_organizations()


def downgrade() -> None:
    dialect = op.get_context().dialect.name
    for table, *_ in SEARCHED:
        for statement in removal(dialect, table):
            op.execute(statement)
    op.drop_table("competitors")
    op.drop_table("search_entries")
    if dialect == "sqlite":
        op.execute("DROP TABLE search_words")
    else:
        for function in ("sought()", "words(uuid, text, text)", "marked(text, text)"):
            op.execute(f"DROP FUNCTION crm_{function}")


def _create_tables() -> None:
    op.create_table(
        "search_entries",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("kind", sa.SmallInteger(), nullable=False),
        sa.Column("id", ID, nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("words", postgresql.TSVECTOR().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.ForeignKeyConstraint(
            ["org_id"], ["organizations.id"], name=op.f("fk_search_entries_org_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("org_id", "kind", "id", name=op.f("pk_search_entries")),
    )
    op.create_table(
        "competitors",
        sa.Column("org_id", ID, nullable=False),
        sa.Column("id", ID, nullable=False),
        sa.Column("name", TEXT, nullable=False),
        sa.Column("folded_name", TEXT, nullable=False),
        sa.Column("aliases", sa.JSON(), nullable=False),
        sa.Column("domains", sa.JSON(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["org_id"], ["organizations.id"], name=op.f("fk_competitors_org_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("org_id", "id", name=op.f("pk_competitors")),
        sa.UniqueConstraint("org_id", "folded_name", name=op.f("uq_competitors_org_id_folded_name")),
    )


def _create_functions() -> None:
    known = sa.text(
        "SELECT collname FROM pg_collation WHERE collname = ANY (:names)"
        " AND collencoding IN (-1, (SELECT encoding FROM pg_database WHERE datname = current_database()))"
    )
    found = set(op.get_bind().execute(known, {"names": list(COLLATIONS)}).scalars())
    collation = next((name for name in COLLATIONS if name in found), "default")
    lower = f'normalize(lower($2 COLLATE "{collation}"), NFD)'
    plain = rf"normalize(regexp_replace({lower}, '([a-z])[\u0300-\u036f]+', '\1', 'g'), NFC)"
    folded = f"replace({plain}, 'ς', 'σ')"
    folded = f"CASE WHEN octet_length($2) = length($2) THEN lower($2) ELSE {folded} END"
    # A word may have 2,046 bytes in a tsvector; of longer ones than 250 letters the beginning counts.
    cut = f"regexp_replace({folded}, '([[:alnum:]]{{250}})[[:alnum:]]+', '\\1', 'g')"
    short = f"CASE WHEN length($2) > 250 THEN {cut} ELSE {folded} END"
    for statement in (
        f"""
CREATE FUNCTION crm_marked(mark text, content text) RETURNS text IMMUTABLE STRICT PARALLEL SAFE LANGUAGE sql AS $$
  SELECT $1 || regexp_replace(({short}) COLLATE "{collation}", '[^[:alnum:]]+', ' ' || $1, 'g')
$$""",
        """
CREATE FUNCTION crm_words(org uuid, name text, rest text) RETURNS tsvector IMMUTABLE PARALLEL SAFE LANGUAGE sql AS $$
  SELECT (right(org::text, 8) || ' ' || crm_marked(right(org::text, 8) || 'n', name) || ' '
    || crm_marked(right(org::text, 8) || 'o', rest))::tsvector
$$""",
        """
CREATE FUNCTION crm_sought() RETURNS tsquery STABLE PARALLEL SAFE LANGUAGE sql AS $$
  SELECT coalesce(nullif(current_setting('crm.search', true), ''),
    right(current_setting('crm.org_id', true), 8))::tsquery
$$""",
    ):
        op.execute(sa.text(statement.replace(":", r"\:")))


def _separate_organizations() -> None:
    for table in ("search_entries", "competitors"):
        # Only leakproof operators may use an index below a policy, and none of full text is: so the question itself,
        # the organization's mark where nothing is sought, is part of the policy and can do no more than narrow it.
        own = f"{OWN} AND words @@ crm_sought()" if table == "search_entries" else OWN
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(
            sa.text(f"CREATE POLICY {table}_own ON {table} USING ({own}) WITH CHECK ({own})".replace(":", r"\:"))
        )
