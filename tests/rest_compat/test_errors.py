"""Refusals as responses, the router's own and the masked ones too."""

from __future__ import annotations

import logging

import httpx
import orjson
import pytest
from starlette.exceptions import HTTPException

from contract.errors import Conflict, InvalidState, Problem, Problems
from resolvers import deals
from tests.rest_compat.conftest import REQUEST_ID
from tests.support.world import World
from transport.errors import error_response


async def test_an_unknown_path(client: httpx.AsyncClient) -> None:
    for path in ("/", "/deal", "/deals//", "/deals/x/contact", "/organization-pats/x/y", "/HEALTH"):
        response = await client.get(path)
        assert response.status_code == 404
        assert response.json() == {"detail": "Not found", "code": "not_found", "request_id": REQUEST_ID}


async def test_a_wrong_method_names_the_right_ones(client: httpx.AsyncClient) -> None:
    allowed = {
        ("PUT", "/deals"): "GET, HEAD, POST",
        ("OPTIONS", "/deals"): "GET, HEAD, POST",
        ("DELETE", "/deals/x"): "GET, HEAD, PATCH",
        ("GET", "/deals/x/contacts/y"): "DELETE, PUT",
        ("HEAD", "/pat/exchange"): "POST",
        ("POST", "/activities/meetings"): "GET, HEAD",
        ("GET", "/user-pats/x"): "DELETE, PATCH",
        ("POST", "/health"): "GET, HEAD",
    }
    for (method, path), names in allowed.items():
        response = await client.request(method, path)
        assert (response.status_code, response.headers["allow"]) == (405, names)
        if method != "HEAD":
            assert response.json() == {
                "detail": "Method not allowed",
                "code": "method_not_allowed",
                "request_id": REQUEST_ID,
            }


async def test_anything_unforeseen_is_masked(
    world: World, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: object, **__: object) -> None:
        raise RuntimeError("SELECT 'a customer's name'")

    monkeypatch.setattr(deals, "page_of", broken)
    response = await client.get("/deals", headers=world.session("viewer@one", world.one))
    assert response.status_code == 500
    assert response.json() == {"detail": "Internal error", "code": "internal", "request_id": REQUEST_ID}
    [record] = [r for r in caplog.records if r.levelno >= logging.WARNING]
    assert record.exc_info is None
    message = record.getMessage()
    assert message.startswith(f"internal error request_id={REQUEST_ID} type=RuntimeError at=tests/rest_compat/")
    assert "\n" not in message
    assert "customer" not in caplog.text


@pytest.mark.parametrize(
    ("error", "status", "body", "headers"),
    [
        (InvalidState("is archived"), 409, {"detail": "is archived", "code": "invalid_state"}, {}),
        (Conflict("in the way"), 409, {"detail": "in the way", "code": "conflict"}, {}),
        (HTTPException(404), 404, {"detail": "Not found", "code": "not_found"}, {}),
        (HTTPException(404, "of the file"), 404, {"detail": "Not found", "code": "not_found"}, {}),
        (HTTPException(429, headers={"Retry-After": "3"}), 429, {"detail": "Too many requests"}, {"retry-after": "3"}),
        (HTTPException(406, "nothing fits"), 406, {"detail": "nothing fits", "code": "not_acceptable"}, {}),
        (HTTPException(499, "odd"), 499, {"detail": "odd", "code": "http_499"}, {}),
        (ValueError("secret"), 500, {"detail": "Internal error", "code": "internal"}, {}),
    ],
)
def test_error_response(error: Exception, status: int, body: dict[str, str], headers: dict[str, str]) -> None:
    response = error_response(error, "r1")
    found = orjson.loads(response.body)
    assert response.status_code == status
    assert found == {"code": "too_many_requests"} | body | {"request_id": "r1"}
    assert {name: response.headers[name] for name in headers} == headers
    assert response.headers["content-type"] == "application/json"


def test_problems_are_a_list_and_nothing_else() -> None:
    response = error_response(Problems([Problem(("body", "a", 1), "bad", "kind")]), "r1")
    assert response.status_code == 422
    assert orjson.loads(response.body) == {"detail": [{"loc": ["body", "a", 1], "msg": "bad", "type": "kind"}]}
