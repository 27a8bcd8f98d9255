"""One slash at the end of a path is ignored, by every method and without a redirect (decision 208)."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest
from starlette.types import Scope

from gateway.middleware.paths import had_slash, ignore_slash
from rest_compat.routes import OPERATIONS
from tests.support.gateway import Gateway

pytestmark = pytest.mark.asyncio(loop_scope="module")

STATIC = re.compile(r'(?:src|href)="(static/[^"]+)"')
PATHS = sorted({re.sub(r"\{[^}]+\}", "00000000-0000-7000-8000-000000000000", one.path) for one in OPERATIONS})


@pytest.mark.parametrize("path", [path for path in PATHS if not path.startswith(("/media/", "/files/signed/"))])
async def test_every_documented_path_answers_as_without_it(gateway: Gateway, path: str) -> None:
    for method in ("GET", "POST", "PATCH", "DELETE", "PUT"):
        with_slash, without = [await gateway.http.request(method, at) for at in (f"{path}/", path)]
        assert with_slash.status_code == without.status_code != 404, method
        assert with_slash.headers.get("allow") == without.headers.get("allow")
        assert "location" not in with_slash.headers


@pytest.mark.parametrize(
    ("asked", "taken"),
    [
        ("/deals/", "/deals"),
        ("/graphql/", "/graphql"),
        ("/deals//", "/deals/"),
        ("/", "/"),
        ("//", "/"),
        ("/deals/%2F", "/deals//"),
        ("/media/key/", "/media/key/"),
        ("/files/signed/token/", "/files/signed/token/"),
        ("/media/", "/media/"),
        ("/mediator/", "/mediator"),
    ],
)
async def test_which_paths_lose_it(asked: str, taken: str) -> None:
    path = asked.replace("%2F", "/")
    for scope in ({"path": path, "raw_path": asked.encode()}, {"path": path} if "%" not in asked else None):
        if scope is not None:
            whole: Scope = {**scope, "state": {}}
            ignore_slash(whole)
            assert (whole["path"], had_slash(whole)) == (taken, taken != path)
    below: Scope = {"path": f"/crm{path}", "root_path": "/crm", "state": {}}
    if "%" not in asked:
        ignore_slash(below)
        assert below["path"] == f"/crm{taken}"


@pytest.mark.parametrize("path", ["/graphql/", "/docs/"])
async def test_a_page_finds_what_it_names(gateway: Gateway, path: str) -> None:
    page = await gateway.http.get(path, headers={"Accept": "text/html"})
    assert page.status_code == 200
    assert '<head><base href="../">' in page.text
    assert "base-uri 'self'" in page.headers["content-security-policy"]
    base = httpx.URL(f"http://gateway{path}").join("../")
    names = STATIC.findall(page.text)
    assert names
    for name in names:
        assert (await gateway.http.get(base.join(name).path)).status_code == 200
    plain = await gateway.http.get(path.rstrip("/"), headers={"Accept": "text/html"})
    assert "<base" not in plain.text
    assert "base-uri 'none'" in plain.headers["content-security-policy"]


async def test_no_page_speaks_of_the_base_itself() -> None:
    pages = Path(__file__).parents[2].joinpath("gateway", "static").rglob("*.html")
    assert [page for page in pages if "<base" in page.read_text() or page.read_text().count("<head>") != 1] == []
