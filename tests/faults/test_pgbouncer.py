"""PgBouncer in transaction mode before PostgreSQL: every transaction may be on another connection of the server."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import httpx
import pytest
from sqlalchemy import TextClause, text

from contract.errors import TimedOut
from storage.base import new_id
from storage.database import Database
from storage.queries import events, organizations
from tests.faults.load import kept, pick, writing
from tests.support.live import going
from tests.support.postgresql import Server
from tests.support.streams import EVENTS, answers

pytestmark = pytest.mark.long

POOL = 3
"""Connections of the server, far fewer than those of the gateway, so that transactions change them all the time."""
_FOLDERS = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"))

_CONFIGURATION = """
[databases]
* = host={host} user={role}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {pool}
max_client_conn = 200
server_reset_query =
logfile = {folder}/log
"""


def _binary() -> str:
    found = shutil.which("pgbouncer", path=_FOLDERS)
    if found is None:
        missing = "pgbouncer is not installed: apt-get install pgbouncer"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    return found


@pytest.fixture
def bouncer(cluster: Server) -> Iterator[int]:
    """The port of a pooler before the cluster."""
    binary = _binary()
    folder = Path(tempfile.mkdtemp(prefix="crm-pgbouncer-"))  # another user of the system has to find it
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    host, role = cluster.address
    file = folder / "pgbouncer.ini"
    file.write_text(_CONFIGURATION.format(host=host, role=role, port=port, pool=POOL, folder=folder))
    if cluster.system_user is not None:  # it refuses to run as root
        shutil.chown(folder, cluster.system_user)
        shutil.chown(file, cluster.system_user)
    process = subprocess.Popen(
        [binary, "-q", str(file)], user=cluster.system_user, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _wait(process, port, folder / "log")
        yield port
    finally:
        process.terminate()
        process.wait(10)
        shutil.rmtree(folder)


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    end = time.monotonic() + 20
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            assert process.poll() is None, log.read_text() if log.exists() else "no log"
            assert time.monotonic() < end
            time.sleep(0.02)


def _pooled(port: int) -> str:
    return f"postgresql+asyncpg://crm@127.0.0.1:{port}/hurt"


async def test_everything_works_and_organizations_stay_apart(
    cluster: Server, hurt_url: str, bouncer: int, tmp_path: Path
) -> None:
    settings = {"CRM_DATABASE_STATEMENT_CACHE": "false", "CRM_DATABASE_LISTEN_URL": hurt_url, "CRM_RATE_LIMIT": "off"}
    async with going(tmp_path, hurt_url, CRM_DATABASE_URL=_pooled(bouncer), **settings) as live:
        async with writing(live) as load, httpx.AsyncClient(base_url=live.service.address, timeout=20) as client:
            await load.until(pick(200, 2_000) // 2)
            client.headers.update(live.token("stranger", "org_two"))
            # Another organization's reads are answered over the same connections of the server meanwhile.
            for _ in range(pick(30, 500)):
                assert (await client.get("/deals")).json() == []
                page = await client.post("/graphql", json={"query": "{ deals { totalCount } accounts { totalCount } }"})
                assert page.json()["data"] == {"deals": {"totalCount": 0}, "accounts": {"totalCount": 0}}
            await load.until(pick(200, 2_000))
        assert load.outcomes.keys() <= {200, 201}, load.outcomes
        found = await kept(load)
        print(f"{len(load.acknowledged)} acknowledged over {POOL} connections; {found}")
        assert (found.lost, found.partial, found.unknown) == (0, 0, 0)
        await _streams(live.service.address, live.token())
        log = live.service.log.read_text()
        assert "cannot listen" not in log
        assert "Traceback" not in log
    await _nothing_stays(cluster)


async def _streams(address: str, headers: dict[str, str]) -> None:
    """Notifications come over the direct connection."""
    async with httpx.AsyncClient(base_url=address, headers=headers, timeout=20) as client:
        stream = answers(client, EVENTS)
        assert await anext(stream) is None
        await asyncio.sleep(0.2)
        made = (await client.post("/deals", json={"name": "Told"})).json()
        assert (await anext(stream))["data"]["deal_id"] == made["id"]
        await stream.aclose()


async def _nothing_stays(cluster: Server) -> None:
    """No prepared statement, transaction, organization or time limit is left on the pooler's connections."""
    connection = await cluster.connect("hurt", role="postgres")
    try:
        states = await connection.fetch(
            "SELECT state FROM pg_stat_activity WHERE datname = 'hurt' AND pid <> pg_backend_pid()"
        )
        assert {row["state"] for row in states} <= {"idle"}
    finally:
        await connection.close()


async def test_a_session_leaves_nothing_on_a_connection(cluster: Server, hurt_url: str, bouncer: int) -> None:
    database = Database(_pooled(bouncer), statement_cache=False, statement_seconds=0.5)
    organization = new_id()
    try:
        await organizations.create_organization(database, "One", "one", organization)

        async def read() -> None:
            async with database.reading(organization) as session:
                assert await events.after(session, 0) == []
                assert await events.last_sequence(session) == 0

        await asyncio.gather(*(read() for _ in range(100)))
        with pytest.raises(TimedOut):
            async with database.directory() as session:
                await session.scalar(_sleep(2))
        await read()
        for _ in range(POOL):
            plain = await asyncpg.connect(
                host="127.0.0.1", port=bouncer, user="crm", database="hurt", statement_cache_size=0
            )
            try:
                left = await plain.execute(
                    "DO $$ BEGIN"
                    " IF coalesce(current_setting('crm.org_id', true), '') <> '' THEN RAISE 'organization'; END IF;"
                    " IF current_setting('statement_timeout') <> '0' THEN RAISE 'timeout'; END IF;"
                    " IF EXISTS (SELECT FROM pg_prepared_statements WHERE name <> '') THEN RAISE 'prepared'; END IF;"
                    " END $$"
                )
                assert left == "DO"
            finally:
                await plain.close()
    finally:
        await database.close()


def _sleep(seconds: float) -> TextClause:
    return text(f"SELECT pg_sleep({seconds})")
