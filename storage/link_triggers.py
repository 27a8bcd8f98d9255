"""The triggers that write with a link of a tag when its record was made, where the writer leaves it out (decision 820).

A link that goes to another record gets that one's. Whatever writes links, a version from before among it, leaves none
by which its record would not be found.
"""

# ruff: noqa: S608  # no value stands in these texts, only names of our own tables and columns

from collections.abc import Iterator, Mapping

MOMENT = "record_created_at"
OF_KINDS: Mapping[str, str] = {
    "account": "accounts",
    "contact": "contacts",
    "deal": "deals",
    "lead": "leads",
    "activity": "activities",
    "campaign": "campaigns",
}
"""The kinds of records that have tags, each with its table; a test compares them with those that there are."""


def triggers(dialect: str) -> Iterator[str]:
    """The statements that write the moments from now on."""
    return _sqlite() if dialect == "sqlite" else _postgresql()


def removal(dialect: str) -> Iterator[str]:
    """The statements that take the triggers away."""
    on = "" if dialect == "sqlite" else " ON tag_links"
    for event in ("insert", "update"):
        yield f"DROP TRIGGER tag_links_{event}{on}"
    if dialect == "postgresql":
        yield "DROP FUNCTION crm_tag_link()"


def moment_of(row: str, kind: str) -> str:
    """An expression of when the record of a link was made, of this kind."""
    return f"(SELECT r.created_at FROM {OF_KINDS[kind]} AS r WHERE r.org_id = {row}.org_id AND r.id = {row}.record_id)"


def _postgresql() -> Iterator[str]:
    cases = "".join(f" WHEN '{kind}' THEN NEW.{MOMENT} := {moment_of('NEW', kind)};" for kind in OF_KINDS)
    yield (
        "CREATE FUNCTION crm_tag_link() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        f" CASE NEW.kind{cases} ELSE NULL; END CASE; RETURN NEW; END $$"
    )
    row = "FOR EACH ROW"
    yield (
        f"CREATE TRIGGER tag_links_insert BEFORE INSERT ON tag_links {row}"
        f" WHEN (NEW.{MOMENT} IS NULL) EXECUTE FUNCTION crm_tag_link()"
    )
    yield (
        f"CREATE TRIGGER tag_links_update BEFORE UPDATE OF record_id, kind ON tag_links {row}"
        " EXECUTE FUNCTION crm_tag_link()"
    )


def _sqlite() -> Iterator[str]:
    cases = "".join(f" WHEN '{kind}' THEN {moment_of('NEW', kind)}" for kind in OF_KINDS)
    own = " AND ".join(f"{name} = NEW.{name}" for name in ("org_id", "kind", "record_id", "tag_id"))
    write = f"BEGIN UPDATE tag_links SET {MOMENT} = CASE NEW.kind{cases} END WHERE {own}; END"
    yield f"CREATE TRIGGER tag_links_insert AFTER INSERT ON tag_links WHEN NEW.{MOMENT} IS NULL {write}"
    yield f"CREATE TRIGGER tag_links_update AFTER UPDATE OF record_id, kind ON tag_links {write}"
