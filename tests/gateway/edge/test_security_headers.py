"""Security headers (decision 108): on every answer, of every route and every refusal."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from starlette.routing import Mount, Route

from gateway.middleware.security_headers import SecurityHeaders
from tests.support.gateway import Gateway

pytestmark = pytest.mark.asyncio(loop_scope="module")
Start = Callable[..., AbstractAsyncContextManager[Gateway]]

ALWAYS = {"x-content-type-options": "nosniff", "x-frame-options": "DENY", "referrer-policy": "no-referrer"}
API = ALWAYS | {
    "content-security-policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
}
PAGE = {"cross-origin-opener-policy", "permissions-policy"}


async def test_every_route_and_method_has_them(gateway: Gateway) -> None:
    routes = [route for route in gateway.app.routes if isinstance(route, Route)]  # type: ignore[attr-defined]
    assert len(routes) > 30
    member = gateway.world.session("admin@one", gateway.world.one)
    statuses = set()
    for path in [*(route.path for route in routes), "/graphql", "/nothing", "/static/none"]:
        for method in ("GET", "POST", "PUT", "PATCH", "OPTIONS"):
            for headers in ({}, member):
                answer = await gateway.http.request(method, path, headers=headers)
                statuses.add(answer.status_code)
                given = answer.headers
                is_form = path in _FORMS and given["content-type"].startswith("text/html")  # decision 894
                wanted = ALWAYS | ({"referrer-policy": "same-origin"} if is_form else {})
                assert {name: given.get(name) for name in ALWAYS} == wanted, (method, path)
                assert "frame-ancestors 'none'" in given["content-security-policy"]
                assert given["cross-origin-resource-policy"] == "same-origin"
                page = answer.headers.get("content-type", "").startswith("text/html")
                assert PAGE & given.keys() == (PAGE if page else set())
                if answer.status_code >= 400 or path not in _KEPT:
                    assert given["cache-control"] == "no-store", (method, path)
                for name, value in given.multi_items():
                    assert given.get_list(name) == [value], (method, path, name)
    assert {200, 400, 401, 404, 405, 415, 422} <= statuses


_FORMS = {"/oauth/authorize", "/oauth/logout", "/login", "/login/link"}
_KEPT = {"/", "/docs", "/openapi.json", "/llms.txt", "/graphql/schema.graphql"} | {
    "/.well-known/openid-configuration",
    "/.well-known/jwks.json",
    "/.well-known/oauth-protected-resource/mcp",
    "/.well-known/oauth-protected-resource/mcp/read",
}


async def test_api_answers_have_exactly_these(gateway: Gateway) -> None:
    member = gateway.world.session("admin@one", gateway.world.one)
    for answer in (
        await gateway.rest("GET", "/deals", member),
        await gateway.graphql("{ __typename }", member),
        await gateway.graphql("{ __typename", {}),
        await gateway.rest("DELETE", "/deals", member),
        await gateway.http.post("/deals", content=b"x" * 2_000_000, headers=member),
        await gateway.graphql("{ __typename }", member | {"Accept": "text/event-stream"}),
    ):
        assert {name: answer.headers.get(name) for name in API} == API, answer.status_code
        assert "strict-transport-security" not in answer.headers


async def test_files_keep_what_they_say_themselves(gateway: Gateway) -> None:
    [static] = [route for route in gateway.app.routes if isinstance(route, Mount)]  # type: ignore[attr-defined]
    assert static.path == "/static"
    answer = await gateway.http.get("/static/first.css")
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.headers.get_list("x-content-type-options") == ["nosniff"]
    assert "style-src 'self'" in answer.headers["content-security-policy"]


async def test_a_public_file_may_be_shown_anywhere_by_all_of_its_headers(gateway: Gateway) -> None:
    key = await gateway.world.publish(gateway.world.one, b"%PDF-1.7", name="r.pdf")
    whole = await gateway.http.get(f"/media/{key}")
    asked = {"If-None-Match": whole.headers["etag"]}, {"Range": "bytes=0-1"}, {}
    for answer in [await gateway.http.get(f"/media/{key}", headers=headers) for headers in asked]:
        assert answer.status_code in (200, 206, 304)
        assert answer.headers["cross-origin-resource-policy"] == "cross-origin"
        assert "frame-ancestors *" in answer.headers["content-security-policy"]
        assert "x-frame-options" not in answer.headers
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
    for path, headers in ((f"/media/{key}", {"Range": "bytes=99-"}), (f"/media/{key}0", {}), ("/media/", {})):
        refused = await gateway.http.get(path, headers=headers)
        assert refused.status_code in (404, 416)
        assert {name: refused.headers.get(name) for name in API} == API


async def test_what_breaks_has_them_too(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    async with start() as gateway:

        async def broken(*_: Any) -> Any:
            raise ValueError

        monkeypatch.setattr(gateway.runtime.services.identity, "authenticate", broken)
        for path in ("/deals", "/graphql"):
            answer = await gateway.http.get(path, headers={"Authorization": "Bearer x"})
            assert answer.status_code == 500
            assert {name: answer.headers.get(name) for name in API} == API


async def test_https_is_kept_to_where_the_public_address_says_so(start: Start) -> None:
    async with start(public_url="https://crm.example") as gateway:
        for path in ("/health", "/nothing", "/docs"):
            answer = await gateway.http.get(path)
            assert answer.headers["strict-transport-security"] == "max-age=31536000"


@pytest.mark.parametrize("public_url", [None, "http://crm.example"])
async def test_and_only_there(public_url: str | None) -> None:
    assert b"strict-transport-security" not in dict(SecurityHeaders(public_url).around(()))
