"""Asks each server of an address with several hosts who it is: who takes writes, who follows, and how late it is."""

from collections.abc import Sequence
from dataclasses import dataclass

import asyncpg
from sqlalchemy.engine import URL

from contract.limits import CONNECTION_SECONDS
from storage.postgres import tenant_connection

_QUESTION = """
SELECT pg_is_in_recovery() AS follows,
       current_setting('synchronous_standby_names') AS synchronous,
       current_setting('wal_log_hints') = 'on' OR current_setting('data_checksums') = 'on' AS can_rewind,
       CASE WHEN NOT pg_is_in_recovery() OR pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() THEN 0
            ELSE extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()) END::float8 AS late_seconds
"""


@dataclass(frozen=True, slots=True)
class Host:
    """Holds what one server says of itself."""

    name: str
    follows: bool
    synchronous: str
    """The names of standbys that have a commit before it is acknowledged; empty where none has to."""
    can_rewind: bool
    """Whether it can follow the server that took its place without being copied anew."""
    late_seconds: float
    """How old what it shows is; 0 where it shows all that it was sent, or follows none."""


@dataclass(frozen=True, slots=True)
class Hosts:
    """The servers of an address, those that cannot be reached by name alone."""

    found: tuple[Host, ...]
    away: tuple[str, ...]
    attributes: str | None
    """`target_session_attrs` of the address; None where it does not say whom it wants."""


async def hosts_of(url: URL) -> Hosts | None:
    """Every server of the address, asked by itself; None where it names one alone."""
    _, options = url.get_dialect()().create_connect_args(url)
    names, ports = options.get("host"), options.get("port")
    if not (isinstance(names, list) and isinstance(ports, list)):
        return None
    attributes = options.pop("target_session_attrs", None)
    found, away = [], []
    for host, port in zip(names, ports, strict=True):  # one connection each: they are different servers
        name = f"{host}:{port}"
        single = {**tenant_connection.driver_options(options), "host": host, "port": port}
        try:
            found.append(await _ask(name, single))
        except (OSError, asyncpg.PostgresError, asyncpg.InternalClientError):
            away.append(name)
    return Hosts(tuple(found), tuple(away), attributes)


async def replicas_at(urls: Sequence[URL]) -> Hosts:
    """Every replica, asked by itself; by the name of its address."""
    found, away = [], []
    for url in urls:  # one connection each: they are different servers
        _, options = url.get_dialect()().create_connect_args(url)
        name = f"{options.get('host', 'localhost')}:{options.get('port', 5432)}"
        try:
            found.append(await _ask(name, tenant_connection.driver_options(options)))
        except (OSError, asyncpg.PostgresError, asyncpg.InternalClientError):
            away.append(name)
    return Hosts(tuple(found), tuple(away), None)


async def _ask(name: str, options: tenant_connection.Options) -> Host:
    connection = await tenant_connection.connect(**options, timeout=CONNECTION_SECONDS)
    try:
        return Host(name, **await connection.fetchrow(_QUESTION))
    finally:
        await connection.close(timeout=CONNECTION_SECONDS)
