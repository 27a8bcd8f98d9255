"""Other names than the service's own are refused, at every surface (decision 161): from outside, in plain bytes."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import pytest_asyncio

from gateway.middleware.hosts import hosts_of
from gateway.settings import Settings
from tests.support.live import Live, going

pytestmark = pytest.mark.asyncio(loop_scope="module")

SETTINGS = {
    "loopback": {},
    "public": {"CRM_PUBLIC_URL": "https://CRM.example.com/", "CRM_ALLOWED_HOSTS": "gateway, inside.example"},
}
OWN = ["localhost", "localhost:{port}", "LOCALHOST.", "127.0.0.1:{port}", "127.0.0.1", "127.8.9.1", "[::1]", "[::1]:80"]
OWN += ["app.localhost:1", "a.b.LocalHost.", "[::ffff:127.0.0.1]:8000"]
OTHERS = ["evil.example", "evil.example:{port}", "localhost.evil.example", "127.0.0.1.evil.example", "notlocalhost"]
OTHERS += [
    "128.0.0.1",
    "0.0.0.0",
    "10.0.0.1:{port}",
    "[::2]",
    "[::]",
    "127.1",
    "2130706433",
    "crm.example.org",
    "_",
    ".",
]
PUBLIC = ["crm.example.com", "CRM.Example.COM:8443", "crm.example.com.", "gateway:8000", "inside.example"]
EVIL = {"X-Forwarded-Host": "localhost", "Forwarded": "host=localhost", "Origin": "http://evil.example"}


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=SETTINGS)
async def service(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path
) -> AsyncIterator[tuple[str, Live]]:
    folder = tmp_path_factory.mktemp("hosts")
    shutil.copyfile(sqlite_template, folder / "crm.db")
    (folder / "crm.db").chmod(0o600)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = {"PORT": str(port), **SETTINGS[request.param]}
    async with going(folder, f"sqlite+aiosqlite:///{folder / 'crm.db'}", **settings) as live:
        live.service.address = f"http://127.0.0.1:{port}"  # the public one is printed
        yield request.param, live


async def _exchange(live: Live, *lines: str, body: str = "") -> tuple[int, dict[str, str], bytes]:
    """What a request in these lines gets: status, headers and body."""
    parts = urlsplit(live.service.address)
    host, port = parts.hostname, parts.port
    reader, writer = await asyncio.open_connection(host, port)
    text = "\r\n".join(
        [*lines, f"Content-Length: {len(body)}", "Connection: close", "", body] if body else [*lines, "", ""]
    )
    writer.write(text.replace("{port}", str(port)).encode())
    async with asyncio.timeout(60):
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        first, *rest = head.strip().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in rest)}
        content = await reader.readexactly(int(headers.get("content-length", 0)))
    writer.close()
    return int(first.split()[1]), headers, content


async def _get(live: Live, path: str, host: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    extra = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return await _exchange(live, f"GET {path} HTTP/1.1", f"Host: {host}", *extra)


async def test_the_machine_s_own_names_are_served(service: tuple[str, Live]) -> None:
    for host in OWN:
        assert (await _get(service[1], "/health", host))[0] == 200, host
        assert (await _get(service[1], "/openapi.json", host))[0] == 200, host


async def test_the_public_name_and_those_that_are_allowed(service: tuple[str, Live]) -> None:
    kind, live = service
    for host in PUBLIC:
        status, _, _ = await _get(live, "/openapi.json", host)
        assert status == (200 if kind == "public" else 421), host


@pytest.mark.parametrize("host", OTHERS)
async def test_other_names_are_refused_at_every_surface(service: tuple[str, Live], host: str) -> None:
    live = service[1]
    for path in ("/", "/graphql", "/docs", "/deals", "/nowhere", "/static/graphiql/x", "/media/x", "/openapi.json"):
        status, headers, content = await _get(live, path, host, **EVIL)
        assert status == 421, path
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers
        body = json.loads(content)
        told = body["errors"][0]["extensions"] if path == "/graphql" else body
        assert told["code"] == ("MISDIRECTED_REQUEST" if path == "/graphql" else "misdirected_request")
        assert told["request_id"] == headers["x-request-id"]
        assert b"evil" not in content
    lines = ("POST /graphql HTTP/1.1", f"Host: {host}", "Content-Type: application/json")
    status, _, content = await _exchange(live, *lines, body='{"query": "{ viewer { id } }"}')
    assert (status, json.loads(content)["errors"][0]["extensions"]["code"]) == (421, "MISDIRECTED_REQUEST")


@pytest.mark.parametrize("host", ["localhost", *OTHERS])
async def test_web_sockets(service: tuple[str, Live], host: str) -> None:
    status, _, content = await _exchange(
        service[1],
        "GET /graphql HTTP/1.1",
        f"Host: {host}",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Protocol: graphql-transport-ws",
        f"Origin: http://{host}",
    )
    assert status == (101 if host == "localhost" else 421)
    if host != "localhost":
        assert json.loads(content)["errors"][0]["extensions"]["code"] == "MISDIRECTED_REQUEST"


async def test_probes_may_ask_by_address(service: tuple[str, Live]) -> None:
    for path in ("/health", "/ready", "/metrics"):
        assert (await _get(service[1], path, "10.1.2.3:8000"))[0] == 200
        assert (await _get(service[1], path, "[fd00::7]:8000"))[0] == 200
        assert (await _get(service[1], path, "evil.example"))[0] == 421


async def test_absolute_targets_and_hosts_that_are_missing_or_double(service: tuple[str, Live]) -> None:
    live = service[1]
    assert (await _exchange(live, "GET http://evil.example/health HTTP/1.1", "Host: evil.example"))[0] == 421
    assert (await _exchange(live, "GET http://localhost/health HTTP/1.1", "Host: evil.example"))[0] == 400
    assert (await _exchange(live, "GET http://localhost/health HTTP/1.1", "Host: localhost"))[0] == 200
    assert (await _exchange(live, "GET /health HTTP/1.1", "Host: localhost", "Host: evil.example"))[0] == 400
    assert (await _exchange(live, "GET /health HTTP/1.1", "X: y"))[0] == 400
    assert (await _exchange(live, "GET /health HTTP/1.1", "Host:"))[0] in (400, 421)


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({}, set()),
        ({"host": "localhost"}, set()),
        ({"host": "::1"}, set()),
        ({"host": "0.0.0.0"}, None),
        ({"host": "::"}, None),
        ({"host": "192.168.1.4", "allowed_hosts": "crm.example"}, None),
        ({"host": "0.0.0.0", "public_url": "https://crm.example:8443/x"}, {"crm.example"}),
        ({"allowed_hosts": " One.Example. ,two"}, {"one.example", "two"}),
    ],
)
async def test_where_names_are_looked_at(given: dict[str, str], names: set[str] | None) -> None:
    assert hosts_of(Settings(_env_file=None, **given)) == names
