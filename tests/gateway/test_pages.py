from __future__ import annotations

import gzip
import re
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from gateway.pages import docs_page, first_page, graphiql_page, static_mount

STATIC = Path(__file__).parents[2] / "gateway" / "static"
POLICY = (
    "default-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self' data:; worker-src 'self'; "
    "connect-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
WITHOUT_SCRIPT = (
    "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
PAGES = {"/": lambda: first_page("http://gateway/"), "/graphql": graphiql_page, "/docs": docs_page}


def _serve(path: str) -> Route:
    async def page(request: Request) -> Response:
        return PAGES[path]()

    return Route(path, page)


@pytest.fixture
async def browser() -> AsyncIterator[httpx.AsyncClient]:
    app = Starlette(routes=[*(_serve(path) for path in PAGES), static_mount()])
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://gateway") as client:
        yield client


def _built() -> list[str]:
    """Every file of the two builds but their pages, as named under /static."""
    return sorted(
        path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*") if path.is_file() and path.suffix != ".html"
    )


@pytest.mark.parametrize(("path", "vary"), [("/", None), ("/graphql", "Accept, Sec-Fetch-Site"), ("/docs", None)])
async def test_a_page_is_html_under_the_policy(browser: httpx.AsyncClient, path: str, vary: str | None) -> None:
    response = await browser.get(path)
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert response.headers["content-security-policy"] == (WITHOUT_SCRIPT if path == "/" else POLICY)
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["referrer-policy"] == "no-referrer"
    assert response.headers["cache-control"] == "no-cache"
    assert response.headers.get("vary") == vary


@pytest.mark.parametrize(
    ("hosts", "sources"),
    [
        ([], ""),
        (["crm.example"], " ws://crm.example wss://crm.example"),
        (["crm.example", "127.0.0.1:80"], " ws://crm.example wss://crm.example ws://127.0.0.1:80 wss://127.0.0.1:80"),
        (["crm.example", "crm.example"], " ws://crm.example wss://crm.example"),
        (["a; script-src *", "*", "[::1]:8000", ""], ""),
    ],
)
def test_graphiql_opens_sockets_to_the_hosts_that_it_is_reached_under(hosts: list[str], sources: str) -> None:
    policy = graphiql_page(hosts).headers["content-security-policy"]
    assert policy == POLICY.replace("connect-src 'self'", f"connect-src 'self'{sources}")


@pytest.mark.parametrize("site", ["none", "same-origin", "same-site", "cross-site"])
def test_graphiql_is_told_who_led_there(site: str) -> None:
    assert f'<meta name="led-by" content="{site}" />'.encode() in graphiql_page(led_by=site).body


@pytest.mark.parametrize("site", ["", "elsewhere", '"><script>', "NONE"])
def test_graphiql_is_told_nothing_that_no_browser_says(site: str) -> None:
    assert b'<meta name="led-by" content="" />' in graphiql_page(led_by=site).body


@pytest.mark.parametrize("path", ["/graphql", "/docs", "/"])
async def test_what_a_page_names_is_served_beside_it(browser: httpx.AsyncClient, path: str) -> None:
    named = re.findall(r'(?:src|href)="(static/[^"]+)"', (await browser.get(path)).text)
    assert named != []
    assert {name: (await browser.get(f"/{name}")).status_code for name in named} == dict.fromkeys(named, 200)


@pytest.mark.parametrize("path", ["/graphql", "/docs", "/"])
async def test_a_page_has_no_inline_script_and_names_no_other_host(browser: httpx.AsyncClient, path: str) -> None:
    html = (await browser.get(path)).text
    assert re.findall(r"<script(?![^>]*\ssrc=)[^>]*>", html) == []
    assert re.findall(r"""["'(](?:https?:)?//[^"')]*""", html.replace("http://gateway/graphql", "")) == []
    assert re.findall(r'(?:src|href)="/', html) == []  # a path prefix would not survive


async def test_the_first_page_leads_to_every_surface(browser: httpx.AsyncClient) -> None:
    links = re.findall(r'<a href="([^"]+)"', (await browser.get("/")).text)
    assert links == [
        "graphql",
        "docs",
        "graphql/schema.graphql",
        "openapi.json",
        "llms.txt",
        "health",
        "ready",
        "metrics",
    ]


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("https://crm.example.com/prefix/", "https://crm.example.com/prefix/graphql"),
        ("http://[::1]:8000/", "http://[::1]:8000/graphql"),
        ("http://a;reboot/", "http://127.0.0.1:8000/graphql"),
        ("http://<script>/", "http://127.0.0.1:8000/graphql"),
        ("http://a$(reboot)/", "http://127.0.0.1:8000/graphql"),
    ],
)
def test_the_first_page_s_command_asks_the_address_if_a_shell_can_take_it(address: str, shown: str) -> None:
    assert f"curl -s {shown} " in bytes(first_page(address).body).decode()


@pytest.mark.parametrize("name", _built())
async def test_every_built_file_is_served_as_it_is(browser: httpx.AsyncClient, name: str) -> None:
    response = await browser.get(f"/static/{name}", headers={"Accept-Encoding": "identity"})
    assert response.status_code == 200
    assert response.content == (STATIC / name).read_bytes()
    assert "content-encoding" not in response.headers
    assert response.headers["x-content-type-options"] == "nosniff"
    assert response.headers["content-security-policy"] == POLICY
    hashed = re.search(r"/assets/.+-[\w-]{8}\.\w+$", f"/{name}") is not None
    assert response.headers["cache-control"] == ("public, max-age=31536000, immutable" if hashed else "no-cache")
    assert response.headers["content-type"] == {
        ".css": "text/css; charset=utf-8",
        ".js": "text/javascript; charset=utf-8",
        ".svg": "image/svg+xml",
        ".ttf": "font/ttf",
        ".woff": "font/woff",
        ".woff2": "font/woff2",
    }.get(Path(name).suffix, "text/plain; charset=utf-8")


@pytest.mark.parametrize(
    ("offer", "encoding"),
    [
        ("gzip, deflate, br, zstd", "gzip"),
        ("br, GZIP;q=0.5", "gzip"),
        ("gzip;q=0", None),
        ("gzip; q=0.000", None),
        ("br", None),
        ("", None),
    ],
)
async def test_a_large_file_is_compressed_where_that_is_taken(
    browser: httpx.AsyncClient, offer: str, encoding: str | None
) -> None:
    [name] = [name for name in _built() if name.startswith("swagger/assets/swagger-ui-bundle-")]
    async with browser.stream("GET", f"/static/{name}", headers={"Accept-Encoding": offer}) as response:
        raw = b"".join([chunk async for chunk in response.aiter_raw()])
    assert response.headers.get("content-encoding") == encoding
    assert response.headers["vary"] == "Accept-Encoding"
    assert response.headers["content-length"] == str(len(raw))
    assert (gzip.decompress(raw) if encoding else raw) == (STATIC / name).read_bytes()


@pytest.mark.parametrize(
    "path",
    [
        "/static/",
        "/static/first.html",
        "/static/graphiql/index.html",
        "/static/swagger/index.html",
        "/static/graphiql/assets",
        "/static/graphiql/assets/none.js",
        "/static/../pages.py",
        "/static/%2e%2e/pages.py",
        "/static/graphiql/%2e%2e/%2e%2e/pages.py",
    ],
)
async def test_what_is_not_a_built_file_is_not_found(browser: httpx.AsyncClient, path: str) -> None:
    assert (await browser.get(path)).status_code == 404


async def test_files_are_only_read(browser: httpx.AsyncClient) -> None:
    name = _built()[0]
    assert (await browser.head(f"/static/{name}")).status_code == 200
    assert (await browser.post(f"/static/{name}")).status_code == 405
