"""Makes the SQL for the rights of the login of ad-hoc SQL on PostgreSQL, and looks whether it has just these."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from contract.catalog_tables import SQL_TABLES
from storage.postgres.tenant_connection import TenantConnection

_NAME: Final = re.compile(r"[a-z_][a-z0-9_]{0,62}")
_HIDDEN: Final = "org_id"
"""The column that the wall names; no statement of a caller does."""


def is_role(name: str) -> bool:
    """Says whether a name may stand in the SQL."""
    return _NAME.fullmatch(name) is not None and not name.startswith("pg_")


def statements(role: str, app_role: str) -> Iterator[str]:
    """The SQL that makes the login, and takes nothing that is not the catalogue's for granted; it may run again."""
    yield f"-- The login of ad-hoc SQL. Run it as a superuser in the service's database; then: \\password {role}"
    yield (
        f"DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '{role}') THEN CREATE ROLE {role}; "
        "END IF; END $$;"
    )
    yield (
        f"ALTER ROLE {role} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS NOINHERIT "
        "CONNECTION LIMIT 64;"
    )
    yield f"ALTER ROLE {role} SET default_transaction_read_only = on;"
    yield f"ALTER ROLE {role} SET statement_timeout = '5s';"
    yield f"ALTER ROLE {role} SET lock_timeout = '500ms';"
    yield f"ALTER ROLE {role} SET temp_file_limit = '64MB';"
    yield f"REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {role};"
    yield f"REVOKE ALL ON ALL SEQUENCES IN SCHEMA public FROM {role};"
    yield f"GRANT USAGE ON SCHEMA public TO {role};"
    for table in SQL_TABLES.values():
        columns = ", ".join(f'"{name}"' for name in (_HIDDEN, *table.columns))
        yield f'REVOKE ALL ({columns}) ON "{table.name}" FROM {role};'
        yield f'GRANT SELECT ({columns}) ON "{table.name}" TO {role};'
    yield "-- Who may call it sets the organization of a session; the ordinary login needs it."
    yield "REVOKE EXECUTE ON FUNCTION pg_catalog.set_config(text, text, boolean) FROM PUBLIC;"
    yield f"GRANT EXECUTE ON FUNCTION pg_catalog.set_config(text, text, boolean) TO {app_role};"


@dataclass(frozen=True, slots=True)
class _Look:
    """A question to the server, and what is wrong where the answer is yes."""

    question: str
    wrong: str


_LOOKS: Final = (
    _Look(
        "SELECT rolsuper OR rolbypassrls OR rolcreaterole OR rolcreatedb OR rolreplication FROM pg_roles "
        "WHERE rolname = current_user",
        "it is above the row-level policies, or makes roles or databases",
    ),
    _Look("SELECT EXISTS (SELECT FROM pg_class WHERE relowner = current_user::regrole)", "it owns tables"),
    _Look(
        "SELECT EXISTS (SELECT FROM pg_auth_members WHERE member = current_user::regrole)", "it is a member of a role"
    ),
    _Look(
        "SELECT has_function_privilege('pg_catalog.set_config(text,text,boolean)', 'execute')",
        "it may call set_config, which chooses the organization",
    ),
    _Look("SELECT has_schema_privilege('public', 'create')", "it may make tables"),
)
_GRANTED: Final = """
SELECT c.relname || '.' || a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND a.attnum > 0
AND NOT a.attisdropped AND has_column_privilege(c.oid, a.attnum, 'select')"""
_WRITABLE: Final = """
SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm')
AND (has_table_privilege(c.oid, 'insert,update,delete,truncate,references,trigger')
OR has_any_column_privilege(c.oid, 'insert,update,references'))"""


async def faults(driver: TenantConnection) -> list[str]:
    """List what the login may do that it should not, and what it may not read that it should."""
    found = [look.wrong for look in _LOOKS if await driver.fetchval(look.question)]
    wanted = {f"{table.name}.{name}" for table in SQL_TABLES.values() for name in (_HIDDEN, *table.columns)}
    granted = {row[0] for row in await driver.fetch(_GRANTED)}
    if more := sorted(granted - wanted):
        found.append(f"it may read {', '.join(more[:3])}{' and more' if len(more) > 3 else ''}")
    if less := sorted(wanted - granted):
        found.append(f"it may not read {', '.join(less[:3])}{' and more' if len(less) > 3 else ''}")
    if written := sorted(row[0] for row in await driver.fetch(_WRITABLE)):
        found.append(f"it may write to {', '.join(written[:3])}{' and more' if len(written) > 3 else ''}")
    return found
