"""What stands around every request: its id, its log line, its count, limits, CORS, and the mask over what breaks."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from io import StringIO
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog
from starlette.types import Message

from gateway.observability import logs
from gateway.observability.metrics import REGISTRY
from gateway.settings import Settings
from tests.support.costs import uncosted
from tests.support.gateway import Gateway, application_of

Start = Callable[..., AbstractAsyncContextManager[Gateway]]
pytestmark = pytest.mark.asyncio(loop_scope="module")  # one application for all of them
MADE = re.compile(r"[0-9a-f]{32}")


def _settings(**values: Any) -> Settings:
    """These, and nothing of the surroundings."""
    given: dict[str, Any] = {"_env_file": None, **values}
    return Settings(**given)


@pytest.fixture
def log(request: pytest.FixtureRequest) -> Iterator[StringIO]:
    """What the process writes as its log, in the format that the test names; JSON unless told."""
    root, kept = logging.getLogger(), structlog.get_config()
    handlers, level = root.handlers, root.level
    logs.configure(_settings(log_format=getattr(request, "param", "json")).logs)
    written = StringIO()
    [handler] = root.handlers
    assert isinstance(handler, logging.StreamHandler)
    handler.setStream(written)
    yield written
    root.handlers, root.level = handlers, level
    structlog.configure(**kept)


def _lines(log: StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.getvalue().splitlines()]


@pytest.mark.parametrize("given", ["a", "req-1.2:3_4", "0" * 128])
async def test_a_sane_request_id_is_kept(gateway: Gateway, given: str) -> None:
    for path in ("/health", "/nothing", "/deals", "/graphql", "/static/none", "/openapi.json"):
        answer = await gateway.http.get(path, headers={"X-Request-Id": given})
        assert answer.headers.get_list("x-request-id") == [given]


@pytest.mark.parametrize("given", [b"", b" ", b"0" * 129, b"a b", b"a\tb", b"a\x7fb", "é".encode(), b"a,b", b"<b>"])
async def test_any_other_request_id_is_replaced(gateway: Gateway, given: bytes) -> None:
    answer = await gateway.http.get("/deals", headers={b"X-Request-Id": given})
    made = answer.headers["x-request-id"]
    assert MADE.fullmatch(made)
    assert answer.json()["request_id"] == made


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 200),
        ("GET", "/docs", 200),
        ("GET", "/openapi.json", 200),
        ("GET", "/graphql/schema.graphql", 200),
        ("GET", "/metrics", 200),
        ("GET", "/health", 200),
        ("GET", "/.well-known/openid-configuration", 200),
        ("GET", "/static/swagger/index.html", 404),
        ("GET", "/nothing", 404),
        ("GET", "/deals//", 404),
        ("GET", "/deals/", 401),
        ("GET", "/deals", 401),
        ("PUT", "/deals", 405),
        ("POST", "/docs", 405),
        ("PUT", "/graphql", 405),
        ("TRACE", "/graphql", 405),
        ("POST", "/graphql", 415),
    ],
)
async def test_every_response_has_an_id_and_one_log_line(
    gateway: Gateway, log: StringIO, method: str, path: str, status: int
) -> None:
    answer = await gateway.http.request(method, path)
    assert answer.status_code == status
    assert MADE.fullmatch(answer.headers["x-request-id"])
    if status == 405:
        assert "allow" in answer.headers
    if status >= 400 and not path.startswith("/graphql"):
        assert list(answer.json()) == ["detail", "code", "request_id"]
    [line] = _lines(log)
    assert {name: line[name] for name in ("event", "level", "method", "path", "status", "request_id")} == {
        "event": "request",
        "level": "info",
        "method": method,
        "path": path,
        "status": status,
        "request_id": answer.headers["x-request-id"],
    }
    assert isinstance(line["ms"], float)


@pytest.mark.parametrize("surface", ["/graphql", "/deals"])
@pytest.mark.parametrize("chunked", [True, False])
@pytest.mark.parametrize(("size", "fits"), [(1024 * 1024, True), (1024 * 1024 + 1, False)])
async def test_bodies_end_at_a_mebibyte(gateway: Gateway, surface: str, chunked: bool, size: int, fits: bool) -> None:
    head = b'{"query": "{ __typename }", "name": ""}'
    body = head + b" " * (size - len(head))

    async def chunks() -> AsyncIterator[bytes]:
        for start in range(0, size, 65_536):
            yield body[start : start + 65_536]

    headers = gateway.world.session("admin@one", gateway.world.one) | {"Content-Type": "application/json"}
    answer = await gateway.http.post(surface, content=chunks() if chunked else body, headers=headers)
    if fits:
        assert answer.status_code == (200 if surface == "/graphql" else 422)
    else:
        assert answer.status_code == 413
        code = answer.json()["errors"][0]["extensions"]["code"] if surface == "/graphql" else answer.json()["code"]
        assert code.upper() == "PAYLOAD_TOO_LARGE"


async def test_a_client_that_leaves_is_counted_and_no_error(gateway: Gateway, log: StringIO) -> None:
    sent: list[Message] = []

    async def leaves() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    before = _count("graphql", 0), _count("rest", 0)
    app = application_of(gateway.runtime)
    token = gateway.world.session("admin@one", gateway.world.one)["Authorization"]
    for path in ("/graphql", "/deals"):
        headers = [(b"content-type", b"application/json"), (b"authorization", token.encode())]
        scope = {
            "type": "http",
            "method": "POST",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": headers,
            "server": ("gateway", 80),
            "scheme": "http",
        }
        await app(scope, leaves, send)
    assert sent == []
    assert [(line["event"], line["level"], line["status"]) for line in _lines(log)] == [("request", "info", 0)] * 2
    assert (_count("graphql", 0), _count("rest", 0)) == (before[0] + 1, before[1] + 1)


def _count(surface: str, status: int) -> float:
    wanted = {"surface": surface, "status": str(status)}
    samples = (s for m in REGISTRY.collect() for s in m.samples if s.name == "crm_requests_total")
    return sum(sample.value for sample in samples if wanted.items() <= sample.labels.items())


async def test_metrics_count_by_surface_and_status_and_nothing_of_the_client(gateway: Gateway) -> None:
    before = {key: _count(*key) for key in (("rest", 404), ("rest", 405), ("graphql", 400), ("graphql", 401))}
    for number in range(3):
        await gateway.http.get(f"/made-up/{number}")
        await gateway.http.request(f"METHOD{number}", "/deals")
        await gateway.http.get("/graphql", params={"query": f"{{ field{number} }}"}, headers=_ONLY_NEWER)
        await gateway.http.post("/graphql", json={}, headers={"Authorization": f"Bearer x{number}"})
    assert {key: _count(*key) - was for key, was in before.items()} == dict.fromkeys(before, 3)
    answer = await gateway.http.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    allowed = {
        "crm_logins": {"way", "outcome"},
        "crm_requests": {"surface", "operation", "status"},
        "crm_request_seconds": {"surface", "operation", "le"},
        "crm_request_cost": {"surface", "le"},
        "crm_refusals": {"surface", "code"},
        "crm_graphql_fallbacks": {"reason"},
        "crm_pool_connections": {"state"},
        "crm_reads": {"place"},
        "crm_read_fallbacks": {"reason"},
        "crm_chat_runs": {"provider", "outcome"},
        "crm_chat_tokens": {"provider", "direction"},
        "crm_chat_first_text_seconds": {"provider", "le"},
        "crm_notifications": {"type", "fate"},
        "crm_integration_runs": {"provider", "outcome"},
        "crm_integration_items": {"provider"},
        "crm_integration_renewals": {"provider", "outcome"},
        "crm_job_attempts": {"kind", "outcome"},
        "crm_sql_queries": {"outcome", "layer"},
        "crm_job_seconds": {"kind", "le"},
        "crm_jobs_running": {"kind"},
        "crm_provider_calls": {"provider", "outcome"},
        "crm_provider_seconds": {"provider", "le"},
        "crm_statement_seconds": {"access", "le"},
    }
    for metric in REGISTRY.collect():
        for sample in metric.samples:
            assert sample.labels.keys() <= allowed.get(metric.name, set()), metric.name
    for line in ("# TYPE crm_requests_total counter", "# TYPE crm_notifications_total counter"):
        assert line in answer.text
    assert "made-up" not in answer.text
    assert not re.search(r"METHOD\d", answer.text)


_ONLY_NEWER = {"Accept": "application/graphql-response+json"}
KEY = "ak_0123456789abcdef." + "S" * 43
PAT = "pat_0123456789abcdef." + "S" * 43
JWT = "eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJTU1MifQ." + "S" * 86
ADDRESS = "postgresql+asyncpg://crm:S%40S@S/S@database/crm"


@pytest.mark.parametrize("log", ["json", "text"], indirect=True)
async def test_no_credential_reaches_the_log(gateway: Gateway, log: StringIO) -> None:
    http = gateway.http
    for secret in (KEY, PAT, JWT):
        for header in ("Authorization", "X-Service-Org", "X-Request-Id", "Cookie", "User-Agent", "If-Match"):
            for value in (secret, f"Bearer {secret}"):
                await http.get("/deals", headers={header: value})
                query = f'{{ node(id: "{secret}") {{ id }} }}'
                await http.post("/graphql", json={"query": query}, headers={header: value})
        await http.get(f"/{secret}")
        await http.get(f"/x{secret}/%0A{secret}/%22{secret}")
        await http.get(f"/deals/{secret}", headers=gateway.world.session("admin@one", gateway.world.one))
        await http.get("/deals", params={"token": secret, secret: "x"})
        await http.get("/graphql", params={"query": secret, "variables": secret})
        await http.post("/graphql", content=f"{{{secret}", headers={"Content-Type": "application/json"})
    for secret in (KEY, PAT, JWT, ADDRESS):
        logger = logging.getLogger("somewhere")
        logger.warning("plain %s", secret)
        logger.warning("%(key)s", {"key": secret})
        logger.warning("lines\n%s\r\n%s", secret, secret)
        logger.error("nested %r", {"a": [secret, secret.encode()]})
        other = structlog.get_logger("elsewhere")
        other.warning("event", value=secret, nested={"a": [secret]}, error=ValueError(secret))
        try:
            raise ValueError(f"no connection with {secret}\nand more")
        except ValueError:
            logger.exception("broken")
            other.exception("broken")
    text = log.getvalue()
    assert "SSS" not in text
    assert "S%40S" not in text
    assert "S/S" not in text
    assert "[redacted]" in text
    # JSON has the frames of what was raised, and none of its words (decision 874).
    assert ("no connection with" in text) == (not text.startswith("{"))


@pytest.mark.parametrize("log", ["json", "text"], indirect=True)
async def test_a_path_cannot_write_a_line_of_its_own(gateway: Gateway, log: StringIO) -> None:
    paths = [
        "/a%0Alevel='error' forged",
        "/a%0D%0A%7B%22level%22:1%7D",
        "/a%1B%5B31m",
        "/%E2%80%A8x",
        "/%C2%85x",
        "/%00",
    ]
    for path in paths:
        assert (await gateway.http.get(path)).status_code == 404
    text = log.getvalue()
    assert len(text.split("\n")) == len(paths) + 1
    assert len(text.splitlines()) == len(paths)  # which counts more than \n as the end of a line
    assert all(character == "\n" or " " <= character <= "~" for character in text)


async def test_no_key_of_a_public_file_reaches_the_log(gateway: Gateway, log: StringIO) -> None:
    assert (await gateway.http.get(f"/media/{'ab' * 16}")).status_code == 404
    [line] = log.getvalue().splitlines()
    assert json.loads(line)["path"] == "/media/***"


async def test_a_long_path_makes_a_short_line_in_no_time(gateway: Gateway, log: StringIO) -> None:
    for part in ("a", "://:", "eyJ", "ak_", "ak_a.", "://a:b@"):
        assert (await gateway.http.get("/" + part * (60_000 // len(part)))).status_code == 404
    for line in log.getvalue().splitlines():
        assert len(line) < 1_000
        assert json.loads(line)["ms"] < 1_000


async def test_text_lines_read_well(log: StringIO) -> None:
    logs.configure(_settings(log_format="text", log_level="warning").logs)
    [handler] = logging.getLogger().handlers
    assert isinstance(handler, logging.StreamHandler)
    handler.setStream(log)
    logging.getLogger("x").info("not worth a line")
    logging.getLogger("x").warning("worth %d", 1)
    pattern = r"timestamp='\d{4}-\d\d-\d\dT[\d:.]+Z' level='warning' event='worth 1' logger='x'\n"
    assert re.fullmatch(pattern, log.getvalue())


async def test_what_breaks_is_masked_with_one_line(
    start: Start, log: StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with start(cors_origins="https://app.example") as gateway:
        http = gateway.http

        async def broken(*_: Any) -> Any:
            raise ValueError("SELECT canary FROM secrets")

        identity = gateway.runtime.services.identity
        monkeypatch.setattr(identity, "authenticate", broken)
        monkeypatch.setattr("gateway.pages._text", dict[str, bytes]().__getitem__)
        headers = {"Authorization": "Bearer x", "Origin": "https://app.example", "X-Request-Id": "mine"}
        for method, path in (("GET", "/deals"), ("GET", "/"), ("POST", "/graphql")):
            log.truncate(log.seek(0))
            answer = await http.request(method, path, headers=headers)
            assert answer.status_code == 500
            assert answer.headers["x-request-id"] == "mine"
            assert answer.headers["access-control-allow-origin"] == "https://app.example"
            assert "canary" not in answer.text
            if path == "/graphql":
                assert uncosted(answer.json()) == {
                    "errors": [{"message": "Internal error", "extensions": {"code": "INTERNAL", "request_id": "mine"}}]
                }
            else:
                assert answer.json() == {"detail": "Internal error", "code": "internal", "request_id": "mine"}
            error, line = _lines(log)
            assert error["level"] == "error"
            assert (error["event"], error["request_id"]) == ("internal error", "mine")
            assert re.fullmatch(r"[\w/.]+:\d+ \w+", error["at"])
            assert error["type"].endswith("Error")
            assert (line["event"], line["status"]) == ("request", 500)
            assert "canary" not in log.getvalue()


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/health", 200),
        ("GET", "/deals", 401),
        ("PUT", "/deals", 405),
        ("GET", "/nothing", 404),
        ("POST", "/graphql", 415),
    ],
)
async def test_browsers_may_read_where_an_origin_is_set(start: Start, method: str, path: str, status: int) -> None:
    async with start(cors_origins="https://app.example/, https://other.example") as gateway:
        http = gateway.http
        answer = await http.request(method, path, headers={"Origin": "https://app.example"})
        assert answer.status_code == status
        assert answer.headers["access-control-allow-origin"] == "https://app.example"
        assert "Origin" in answer.headers["vary"]
        exposed = set(answer.headers["access-control-expose-headers"].split(", "))
        assert exposed == {
            "Accept-Ranges",
            "Allow",
            "Content-Disposition",
            "Content-Range",
            "ETag",
            "Idempotency-Replayed",
            "Location",
            "RateLimit-Limit",
            "RateLimit-Remaining",
            "RateLimit-Reset",
            "Retry-After",
            *("Tus-Checksum-Algorithm", "Tus-Extension", "Tus-Max-Size", "Tus-Resumable", "Tus-Version"),
            *("Upload-Expires", "Upload-Length", "Upload-Metadata", "Upload-Offset"),
            "WWW-Authenticate",
            "X-Chat-Run",
            "X-File-Id",
            "X-Ignored-Fields",
            "X-Position",
            "X-Request-Cost",
            "X-Request-Id",
        }
        assert "access-control-allow-credentials" not in answer.headers
        stranger = await http.request(method, path, headers={"Origin": "https://evil.example"})
        assert "access-control-allow-origin" not in stranger.headers


async def test_preflight(start: Start) -> None:
    async with start(cors_origins="https://app.example") as gateway:
        http = gateway.http
        ask = {
            "Origin": "https://app.example",
            "Access-Control-Request-Method": "PATCH",
            "Access-Control-Request-Headers": "authorization, content-encoding, content-type, idempotency-key, "
            "if-match, if-none-match, if-range, last-event-id, range, x-request-id, x-service-org",
        }
        answer = await http.options("/deals/x", headers=ask)
        assert answer.status_code == 200
        assert answer.headers["access-control-allow-origin"] == "https://app.example"
        assert MADE.fullmatch(answer.headers["x-request-id"])
        assert {"PATCH", "PUT"} <= set(answer.headers["access-control-allow-methods"].split(", "))
        allowed = answer.headers["access-control-allow-headers"].lower()
        assert {"last-event-id", "mcp-protocol-version"} <= set(allowed.split(", "))
        assert "x-trace" not in allowed
        for changed in ({"Origin": "https://evil.example"}, {"Access-Control-Request-Method": "TRACE"}):
            assert (await http.options("/deals/x", headers=ask | changed)).status_code == 400


ADDED = (
    "traceparent, tracestate, baggage, sentry-trace, apollographql-client-name, apollographql-client-version, "
    "apollo-require-preflight, x-requested-with, tus-resumable, upload-length, upload-metadata, upload-offset, "
    "upload-checksum, upload-defer-length"
)


async def test_request_headers_of_tracing_and_of_ones_own(start: Start) -> None:
    """Decision 210: what is not allowed is left out of the answer, so that the browser names it."""
    ask = {"Origin": "https://app.example", "Access-Control-Request-Method": "POST"}
    async with start(cors_origins="https://app.example", cors_headers=" X-Trace , x-own") as gateway:
        cases = {ADDED: [], "X-TRACE, x-own": [], "x-other, traceparent": ["x-other"], "x-other": ["x-other"]}
        for asked, missing in cases.items():
            answer = await gateway.http.options("/graphql", headers=ask | {"Access-Control-Request-Headers": asked})
            assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, ask["Origin"])
            allowed = answer.headers["access-control-allow-headers"].lower().split(", ")
            assert [name for name in asked.lower().split(", ") if name not in allowed] == missing
        plain = await gateway.http.options("/graphql", headers={"Access-Control-Request-Headers": "x-other"})
        assert plain.status_code == 405


async def test_without_origins_there_is_no_cors(gateway: Gateway) -> None:
    answer = await gateway.http.get("/health", headers={"Origin": "https://app.example"})
    assert [name for name in answer.headers if name.startswith("access-control")] == []


async def test_a_database_that_is_away_is_503_on_both_surfaces(start: Start) -> None:
    async with start() as gateway:
        await gateway.runtime.database.close()
        _take_away(Path(str(gateway.runtime.database.url.database)))
        headers = gateway.world.session("admin@one", gateway.world.one)
        rest = await gateway.rest("GET", "/deals", headers)
        assert (rest.status_code, rest.json()["code"], rest.headers["retry-after"]) == (503, "unavailable", "1")
        graphql = await gateway.graphql("{ __typename }", headers)
        assert (graphql.status_code, graphql.headers["retry-after"]) == (503, "1")
        assert graphql.json()["errors"][0]["extensions"]["code"] == "UNAVAILABLE"


def _take_away(file: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        file.with_name(file.name + suffix).unlink(missing_ok=True)
    file.mkdir()


async def test_pages_and_documents(gateway: Gateway) -> None:
    http: httpx.AsyncClient = gateway.http
    schema = await http.get("/graphql/schema.graphql")
    assert schema.headers["content-type"] == "text/plain; charset=utf-8"
    assert "type Query {" in schema.text
    openapi = await http.get("/openapi.json")
    assert openapi.headers["content-type"] == "application/json"
    assert openapi.json()["info"]["version"] == "0.0.1"
    for path in ("/", "/docs"):
        page = await http.get(path)
        assert page.headers["content-type"] == "text/html; charset=utf-8"
    discovery = (await http.get("/.well-known/openid-configuration")).json()
    keys = await http.get(discovery["jwks_uri"])
    assert [key["crv"] for key in keys.json()["keys"]] == ["P-256"]
    assert all("d" not in key for key in keys.json()["keys"])
