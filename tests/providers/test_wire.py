"""A process that calls nobody has nothing ready for it (decision 967)."""

from __future__ import annotations

import ssl
from typing import Any

import httpx
import pytest

from providers import wire
from providers.outbound import Outbound


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the transports were made with."""
    seen: list[dict[str, Any]] = []

    class Counted(httpx.MockTransport):
        def __init__(self, **options: Any) -> None:
            seen.append(options)
            super().__init__(lambda _: httpx.Response(204))

    monkeypatch.setattr(wire, "AsyncHTTPTransport", Counted)
    monkeypatch.setattr(wire, "getproxies", dict)
    return seen


async def test_a_client_gets_ready_with_its_first_call(made: list[dict[str, Any]]) -> None:
    authorities = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    async with (
        wire.AsyncClient() as anybody,
        wire.AsyncClient(verify=authorities, trust_env=False) as known,
        wire.AsyncClient(),
    ):
        assert made == []
        for client in (anybody, known, known):
            assert (await client.get("https://example.com/")).status_code == 204
    assert [(one["verify"], one["trust_env"]) for one in made] == [(True, True), (authorities, False)]


async def test_calls_to_anywhere_get_ready_with_the_first(made: list[dict[str, Any]]) -> None:
    await Outbound().close()
    assert made == []


async def test_a_proxy_of_the_environment_is_still_gone_through(
    made: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "getproxies", lambda: {"all": "http://proxy.example.com:3128"})
    monkeypatch.setenv("ALL_PROXY", "http://proxy.example.com:3128")
    met: list[str] = []

    async def connect(*_: object, host: str, **__: object) -> None:
        met.append(host)
        raise OSError("nobody is called")

    monkeypatch.setattr("anyio.connect_tcp", lambda remote_host, **_: connect(host=remote_host))
    async with wire.AsyncClient() as client:
        with pytest.raises(wire.ConnectError):
            await client.get("http://example.com/")
    assert met == ["proxy.example.com"]
    assert made == []


async def test_cookies_of_an_answer_are_kept_by_no_client() -> None:
    """They would go with the calls for another organization's account."""
    seen: list[str | None] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers.get("cookie"))
        return httpx.Response(200, headers={"Set-Cookie": "session=secret; Path=/"})

    async with wire.AsyncClient(transport=httpx.MockTransport(answer)) as client:
        for _ in range(2):
            await client.get("https://files.example/one")
    assert seen == [None, None]
