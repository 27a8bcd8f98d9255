"""Looks at the servers of a database address with several hosts for `doctor` (decision 960)."""

from collections.abc import AsyncIterator, Iterator
from contextlib import suppress

from contract.errors import Unavailable
from gateway.observability.doctor_settings import Finding
from gateway.observability.readiness import migrations
from storage.clusters import Clusters, found_on_servers
from storage.database import Database
from storage.postgres.replication import Hosts
from storage.queries import organizations

LATE_SECONDS = 5.0
"""How old what a standby shows may be; a later one is a long way from taking the primary's place."""


def of_replicas(replicas: Hosts) -> Iterator[Finding]:
    """Looks whether each server of CRM_DATABASE_REPLICAS is there, follows, and is not far behind (decision 996)."""
    for name in replicas.away:
        yield Finding(
            "replica", False, f"{name} cannot be reached", "start it, or take it out of CRM_DATABASE_REPLICAS"
        )
    for host in replicas.found:
        yield Finding(
            "replica",
            host.follows and host.late_seconds <= LATE_SECONDS,
            f"{host.name} is {host.late_seconds:.1f} s behind" if host.follows else f"{host.name} takes writes",
            "look at its log and the line to it; until it has caught up, the primary reads what was just written"
            if host.follows
            else "name servers that follow the one of CRM_DATABASE_URL; one that was promoted belongs there instead",
        )


async def of_clusters(clusters: Clusters) -> AsyncIterator[Finding]:
    """Looks whether each server of CRM_CLUSTERS can be used, and whether all that organizations lie on are named."""
    for name, server in clusters.others.items():  # a few
        state = await migrations(server.url.render_as_string(hide_password=False))
        yield Finding(
            "cluster",
            state.ok and state.message != "unknown",
            f"{name}: {'cannot be reached' if state.message == 'unknown' else state.message}",
            "start it, and run `crm-gateway migrate`: its organizations are answered 503 until then",
        )
        with suppress(Unavailable):  # told above
            bypassed = await server.bypasses_row_security()
            advice = "use an ordinary role: ALTER ROLE … NOSUPERUSER NOBYPASSRLS"
            words = "the role bypasses row security" if bypassed else "row security is in force"
            yield Finding("row_security", not bypassed, f"{name}: {words}", advice)
    for name in sorted(clusters.unknown()):
        words = f"organizations lie on {name}, which is not named"
        yield Finding("cluster", False, words, "name it in CRM_CLUSTERS, in every process: they are answered 503")


async def of_moves(database: Database) -> AsyncIterator[Finding]:
    """Looks for what moves have left: a server keeps its log for them, until its disk is full."""
    moving = set(await found_on_servers(database, organizations.with_moves))
    async with database.directory() as session:
        names = {one.id: one.external_id for one in await organizations.everyone(session)} if moving else {}
    for org_id in sorted(moving):
        name = names.get(org_id, org_id)
        yield Finding(
            "move",
            False,
            f"a server keeps its log for a move of {name}",
            f"where nobody moves it at the moment, end what is left: `crm-gateway organization move {name}`, with the "
            "server that it lies on",
        )


def of_hosts(hosts: Hosts) -> Iterator[Finding]:
    """Looks at who takes writes, who follows, and whether a failover loses nothing."""
    told = [f"{host.name} {'follows' if host.follows else 'takes writes'}" for host in hosts.found]
    told += [f"{name} cannot be reached" for name in hosts.away]
    primaries = [host for host in hosts.found if not host.follows]
    yield Finding(
        "database_hosts",
        len(primaries) == 1 and not hosts.away,
        ", ".join(told),
        "one server has to take writes and each has to be reachable: two that take writes have parted, so end one",
    )
    yield Finding(
        "database_target",
        hosts.attributes in ("read-write", "primary"),
        f"target_session_attrs is {hosts.attributes or 'not set'}",
        "add target_session_attrs=read-write to CRM_DATABASE_URL: else the first host is taken, even where it follows",
    )
    for primary in primaries:
        yield Finding(
            "synchronous_standby",
            bool(primary.synchronous),
            f"{primary.name} waits for {primary.synchronous or 'none'}",
            "set synchronous_standby_names, for example to ANY 1 (*): else the last commits die with the primary",
        )
    for host in hosts.found:
        yield Finding(
            "rewind",
            host.can_rewind,
            f"{host.name} {'can' if host.can_rewind else 'cannot'} follow the server that takes its place",
            "turn wal_log_hints on, or data checksums: else pg_rewind refuses, and the whole server is copied anew",
        )
        if host.follows:
            yield Finding(
                "standby_lag",
                host.late_seconds <= LATE_SECONDS,
                f"{host.name} is {host.late_seconds:.1f} s behind",
                "look at its log and the line to it; until it has caught up it loses what is missing if it is promoted",
            )
