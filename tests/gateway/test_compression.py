"""Answers as gzip where the client asks for it (decision 209)."""

from __future__ import annotations

import gzip
from typing import Any

import httpx
import pytest
from graphql import OperationType
from starlette.types import Message, Receive, Scope, Send

import transport.compression
from gateway.middleware.compression import Compression
from schema.execution.documents import shows_secret
from tests.support.gateway import Gateway
from tests.support.schemas import built
from transport.compression import gzipped, takes_gzip

pytestmark = pytest.mark.asyncio(loop_scope="module")

TEXT = b'{"a": "' + b"0123456789" * 102 + b'"}'  # 1,029 bytes


async def _answer(
    body: bytes = TEXT, *, status: int = 200, asks: bytes | None = b"gzip", pieces: int = 1, **headers: str
) -> tuple[dict[str, str], bytes]:
    """What goes out of an answer of the endpoint."""
    named = {"content-type": "application/json", "content-length": str(len(body))} | headers
    raw = [(n.replace("_", "-").encode(), v.encode()) for n, v in named.items()]
    sent: list[Message] = []

    async def endpoint(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": status, "headers": raw})
        for piece in range(pieces):
            await send({"type": "http.response.body", "body": body, "more_body": piece < pieces - 1})

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        raise AssertionError

    scope = {"type": "http", "headers": [] if asks is None else [(b"accept-encoding", asks)]}
    await Compression(endpoint)(scope, receive, send)
    assert [message["type"] for message in sent] == ["http.response.start", *["http.response.body"] * pieces]
    return {n.decode(): v.decode() for n, v in sent[0]["headers"]}, b"".join(m["body"] for m in sent[1:])


async def test_an_answer_is_compressed_and_keeps_its_tag() -> None:
    headers, body = await _answer(etag='"7"', vary="Accept")
    assert gzip.decompress(body) == TEXT
    assert headers == {
        "content-type": "application/json",
        "content-encoding": "gzip",
        "content-length": str(len(body)),
        "etag": '"7"',
        "vary": "Accept, Accept-Encoding",
    }


@pytest.mark.parametrize(
    "how",
    [
        {"asks": None},
        {"asks": b"br"},
        {"asks": b"gzip;q=0"},
        {"body": TEXT[:1023]},
        {"body": b""},
        {"status": 206},
        {"pieces": 2},
        {"content_encoding": "br"},
        {"cache_control": "no-store"},
        *({"content-type": kind} for kind in ("text/event-stream", "application/pdf", "image/png", "font/ttf")),
    ],
)
async def test_what_stays_as_it_is(how: dict[str, Any]) -> None:
    headers, body = await _answer(**how)
    assert body == how.get("body", TEXT) * how.get("pieces", 1)
    assert headers.get("content-encoding") == how.get("content_encoding")
    assert headers["content-length"] == str(len(how.get("body", TEXT)))


async def test_a_refusal_of_1024_bytes_and_a_large_answer() -> None:
    headers, body = await _answer(TEXT[:1024], status=422)
    assert (headers["content-encoding"], gzip.decompress(body)) == ("gzip", TEXT[:1024])
    large = TEXT * 1_000
    assert gzip.decompress((await _answer(large))[1]) == large


@pytest.mark.parametrize(
    ("offer", "taken"),
    [
        *(("gzip", True), ("x-gzip", True), ("GZIP", True), ("deflate, gzip;q=0.5", True), ("br, *", True)),
        *(("*;q=0.1", True), ("gzip;q=1.0, identity;q=0.5", True), ("gzip ; q=0.001", True)),
        *(("", False), ("br", False), ("gzip;q=0", False), ("gzip;q=0.000, *", False), ("*;q=0", False)),
        *(("gzip;q=0.5, identity", False), ("gzip;q=no", False), ("gzip;q=nan", False), ("identity", False)),
    ],
)
async def test_who_takes_it(offer: str, taken: bool) -> None:
    assert takes_gzip(offer) is taken


@pytest.mark.parametrize("library", ["isal.isal_zlib", "zlib"])
async def test_both_ways_make_gzip(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the library, and where no wheel of it fits."""
    monkeypatch.setattr(transport.compression, "_deflated", pytest.importorskip(library).compress)
    assert gzip.decompress(gzipped(TEXT)) == TEXT
    assert gzipped(TEXT) == gzipped(TEXT)


async def test_both_surfaces_and_the_documents(gateway: Gateway) -> None:
    """By the whole application: no endpoint goes past the layer, and there is no difference but the encoding."""
    introspection = {"query": "{ __schema { types { name description } } }"}
    for method, path, body in (
        ("GET", "/openapi.json", None),
        ("GET", "/graphql/schema.graphql", None),
        ("GET", "/llms.txt", None),
        ("GET", "/docs", None),
        ("POST", "/graphql", introspection),
    ):
        plain = await gateway.http.request(method, path, json=body, headers={"Accept-Encoding": "identity"})
        packed = await gateway.http.request(method, path, json=body, headers={"Accept-Encoding": "gzip"})
        assert "content-encoding" not in plain.headers
        assert (packed.status_code, packed.headers["content-encoding"]) == (200, "gzip"), path
        assert "Accept-Encoding" in packed.headers["vary"]
        assert packed.content == plain.content
        assert int(packed.headers["content-length"]) < len(plain.content)


async def test_every_field_that_shows_a_secret_is_known() -> None:
    """A field whose name says that it is the text of a key, a token or a webhook's secret is declared as one."""
    schema = built().graphql
    mutations = schema.mutation_type
    assert mutations is not None
    shown = {
        name
        for name, field in mutations.fields.items()
        if {"patKey", "secret"} & getattr(schema.type_map[str(field.type).strip("!")], "fields", {}).keys()
    }
    assert shown == {"organizationKeyCreate", "userTokenCreate", "webhookCreate"}
    assert {name for name in mutations.fields if shows_secret(schema, OperationType.MUTATION, name)} == shown


async def test_an_answer_that_shows_a_secret_is_not_compressed(gateway: Gateway) -> None:
    session = gateway.world.session("admin@one", gateway.world.one)
    query = """mutation($name: String!) { a: organizationKeyCreate(input: {name: $name}) {
      k: patKey userErrors { message } organizationKey { name a: name b: name c: name d: name e: name f: name
        g: name h: name i: name j: name k: name l: name m: name } } }"""
    body = {"query": query, "variables": {"name": "n" * 120}}
    asked = session | {"Accept-Encoding": "gzip"}
    made: httpx.Response = await gateway.http.post("/graphql", json=body, headers=asked)
    assert made.json()["data"]["a"]["k"].startswith("ak_")
    assert len(made.content) > 1024
    assert made.headers["cache-control"] == "no-store"
    assert "content-encoding" not in made.headers
