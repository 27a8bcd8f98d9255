"""Documents that clients name in place of sending them (decisions 77 and 78)."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets import Subprotocol
from websockets.asyncio.client import connect

from gateway.graphql import persisted_documents
from gateway.graphql.endpoint import GRAPHQL
from gateway.graphql.persisted_documents import Automatic, digest, read_manifest
from tests.support.costs import cost, uncosted
from tests.support.gateway import Gateway
from tests.support.service import Outcome, Service

Start = Callable[..., AbstractAsyncContextManager[Gateway]]
Command = Callable[..., Outcome]
ASK = "query Ask { __typename }"
OTHER = "query Other { other: __typename }"
MUTATION = 'mutation M { dealCreate(input: {name: "x"}) { deal { id } } }'
LISTED = "query Listed($first: Int) { meetings(first: $first) { totalCount } }"


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def apq(sha256: Any, version: Any = 1) -> dict[str, Any]:
    return {"persistedQuery": {"version": version, "sha256Hash": sha256}}


async def post(gateway: Gateway, headers: dict[str, str] | None = None, **fields: Any) -> httpx.Response:
    return await gateway.http.post("/graphql", json=fields, headers=headers or {})


def refused(answer: httpx.Response, status: int, code: str, message: str | None = None) -> None:
    assert answer.status_code == status
    body = uncosted(answer.json())
    assert body.keys() == {"errors"}
    [error] = body["errors"]
    assert error["extensions"]["code"] == code
    if message is not None:
        assert error["message"] == message


async def get(gateway: Gateway, **parameters: Any) -> httpx.Response:
    texts = {name: v if isinstance(v, str) else json.dumps(v) for name, v in parameters.items()}
    return await gateway.http.get("/graphql", params=texts)


@pytest.mark.parametrize("ask", [post, get])
async def test_a_document_is_sent_once_and_then_named(start: Start, ask: Callable[..., Any]) -> None:
    async with start() as gateway:
        unknown = await ask(gateway, extensions=apq(sha(ASK)))
        refused(unknown, 200, "PERSISTED_QUERY_NOT_FOUND", "PersistedQueryNotFound")
        assert unknown.headers["cache-control"] == "no-store"
        sent = await ask(gateway, query=ASK, extensions=apq(sha(ASK)))
        named = await ask(gateway, extensions=apq(sha(ASK)))
        assert sent.json() == named.json() == {"data": {"__typename": "Query"}, "extensions": cost(0, 0)}
        assert named.headers["cache-control"] == "no-store"
        by_identifier = await ask(gateway, documentId=f"sha256:{sha(ASK)}")
        assert by_identifier.json() == named.json()


async def test_in_the_newer_type_an_unknown_hash_is_400(start: Start) -> None:
    async with start() as gateway:
        for fields in ({"extensions": apq(sha(ASK))}, {"documentId": "none"}):
            answer = await post(gateway, {"Accept": GRAPHQL}, **fields)
            assert (answer.status_code, answer.headers["content-type"]) == (400, f"{GRAPHQL}; charset=utf-8")


async def test_a_hash_never_gives_the_document_of_another(start: Start) -> None:
    async with start() as gateway:
        answer = await post(gateway, query=OTHER, extensions=apq(sha(ASK)))
        refused(answer, 400, "BAD_REQUEST", "extensions.persistedQuery.sha256Hash is not the SHA-256 of query")
        refused(await post(gateway, query=ASK, extensions=apq(sha(ASK).upper())), 400, "BAD_REQUEST")
        for text in (ASK, OTHER):
            refused(await post(gateway, extensions=apq(sha(text))), 200, "PERSISTED_QUERY_NOT_FOUND")


@pytest.mark.parametrize("text", ["{", "{ none }", "query A { __typename } query A { __typename }", "{ meetings }"])
async def test_only_documents_that_can_run_are_kept(start: Start, text: str) -> None:
    async with start() as gateway:
        sent = await post(gateway, query=text, extensions=apq(sha(text)))
        code = sent.json()["errors"][0]["extensions"]["code"]
        assert code.startswith("GRAPHQL_") or code == "UNAUTHENTICATED"  # which is told first
        refused(await post(gateway, extensions=apq(sha(text))), 200, "PERSISTED_QUERY_NOT_FOUND")


async def test_a_named_mutation_does_not_go_by_get(start: Start) -> None:
    async with start() as gateway:
        headers = gateway.world.session("admin@one", gateway.world.one)
        before = await gateway.world.dump()
        for parameters in ({"query": MUTATION}, {}):
            both = {**parameters, "extensions": json.dumps(apq(sha(MUTATION)))}
            answer = await gateway.http.get("/graphql", params=both, headers=headers)
            refused(answer, 405, "METHOD_NOT_ALLOWED")
        assert await gateway.world.dump() == before
        made = await post(gateway, headers, extensions=apq(sha(MUTATION)))
        assert made.json()["data"]["dealCreate"]["deal"]["id"]


async def test_a_name_gives_no_more_than_the_document_would(start: Start) -> None:
    async with start() as gateway:
        member = gateway.world.session("admin@one", gateway.world.one)
        kept = await post(gateway, member, query=LISTED, extensions=apq(sha(LISTED)))
        assert kept.json()["data"]["meetings"]["totalCount"] >= 0
        assert (await post(gateway, extensions=apq(sha(LISTED)))).status_code == 401


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"extensions": {"persistedQuery": 1}}, "extensions.persistedQuery must be an object"),
        ({"extensions": apq(sha(ASK), 2)}, "extensions.persistedQuery.version must be 1"),
        ({"extensions": apq(sha(ASK), True)}, "extensions.persistedQuery.version must be 1"),
        ({"extensions": apq(None)}, "extensions.persistedQuery.sha256Hash must be a text that is not empty"),
        ({"extensions": apq("")}, "extensions.persistedQuery.sha256Hash must be a text that is not empty"),
        ({"documentId": 1}, "documentId must be a text that is not empty"),
        ({"documentId": ""}, "documentId must be a text that is not empty"),
        ({"documentId": "a", "query": ASK}, "query and documentId exclude each other"),
        (
            {"documentId": "a", "extensions": apq(sha(ASK))},
            "documentId and extensions.persistedQuery exclude each other",
        ),
        ({"documentId": None, "query": None}, "query must be a text that is not empty, unless documentId names one"),
    ],
)
async def test_fields_that_are_not_as_they_must_be(start: Start, fields: dict[str, Any], message: str) -> None:
    async with start() as gateway:
        refused(await post(gateway, **fields), 400, "BAD_REQUEST", message)


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(persisted_documents, "ENTRIES_MAX", 2)
    monkeypatch.setattr(persisted_documents, "BYTES_MAX", 800)
    kept = Automatic(lambda _: True)
    for name in "abc":
        kept.keep(name, name)
        assert kept.get("a") == "a"  # which makes it the last used
    assert [kept.get(name) for name in "abc"] == ["a", None, "c"]
    kept.keep("long", "x" * 26)  # more than an eighth
    assert kept.get("long") is None
    monkeypatch.setattr(persisted_documents, "ENTRIES_MAX", 1_000)
    kept = Automatic(lambda _: True)
    for number in range(100):
        kept.keep(str(number), "x" * 25)
    assert [number for number in range(100) if kept.get(str(number))] == list(range(92, 100))


REGISTERED = {"listed": LISTED, "x-app:ask.1": ASK}
"""As relay-compiler writes it: identifier to text."""
APOLLO = {
    "format": "apollo-persisted-query-manifest",
    "version": 1,
    "operations": [
        {"id": sha(LISTED), "name": "Listed", "type": "query", "body": LISTED},
        {"id": "listed", "name": "Listed", "type": "query", "body": LISTED},
        {"id": "x-app:ask.1", "name": "Ask", "type": "query", "body": ASK},
    ],
}


@pytest.mark.parametrize("manifest", [REGISTERED, APOLLO], ids=["relay-compiler", "Apollo"])
async def test_registered_documents_are_named(start: Start, tmp_path: Path, manifest: dict[str, Any]) -> None:
    (tmp_path / "documents.json").write_text(json.dumps(manifest))
    async with start(persisted_documents=tmp_path / "documents.json") as gateway:
        headers = gateway.world.session("admin@one", gateway.world.one)
        for named in (
            {"documentId": "listed"},
            {"documentId": f"sha256:{sha(LISTED)}"},
            {"extensions": apq(sha(LISTED))},
        ):
            answer = await post(gateway, headers, **named, variables={"first": 1}, operationName="Listed")
            assert answer.json()["data"]["meetings"]["totalCount"] >= 0
        answer = {"data": {"__typename": "Query"}, "extensions": cost(0, 0)}
        assert (await get(gateway, documentId="x-app:ask.1")).json() == answer
        # And others still may be sent.
        assert (await post(gateway, query=OTHER)).json() == {"data": {"other": "Query"}, "extensions": cost(0, 0)}
        refused(await post(gateway, documentId="Listed"), 200, "DOCUMENT_NOT_FOUND")


async def test_only_registered_documents_are_run(start: Start, tmp_path: Path) -> None:
    (tmp_path / "documents.json").write_text(json.dumps(REGISTERED))
    async with start(persisted_documents=tmp_path / "documents.json", persisted_only=True) as gateway:
        introspection = "{ __schema { queryType { name } } }"
        for text in (OTHER, ASK, introspection, "{"):
            for fields in ({"query": text}, {"query": text, "extensions": apq(sha(text))}):
                message = "Only registered documents are run here: send documentId in place of query"
                refused(await post(gateway, **fields), 200, "PERSISTED_QUERY_ID_REQUIRED", message)
                refused(await post(gateway, {"Accept": GRAPHQL}, **fields), 400, "PERSISTED_QUERY_ID_REQUIRED")
                refused(await get(gateway, **fields), 200, "PERSISTED_QUERY_ID_REQUIRED")
        refused(await post(gateway, extensions=apq(sha(OTHER))), 200, "DOCUMENT_NOT_FOUND")
        for named in ({"documentId": "x-app:ask.1"}, {"extensions": apq(sha(ASK))}):
            assert (await post(gateway, **named)).json() == {"data": {"__typename": "Query"}, "extensions": cost(0, 0)}


BAD = {
    "no JSON": (b"{", "is no JSON in UTF-8"),
    "no UTF-8": (b'{"a": "\xff"}', "is no JSON in UTF-8"),
    "a list": (b"[]", "must be an object of identifiers and documents"),
    "no text": (b'{"a": 1}', "has no document under 'a'"),
    "a blank": (b'{"a": " "}', "has no document under 'a'"),
    "no identifier": (b'{"a b": "{ a }"}', "has an identifier that is none: 'a b'"),
    "a reserved prefix": (b'{"md5:a": "{ a }"}', "has an identifier that is none: 'md5:a'"),
    "another's hash": (
        json.dumps({sha(ASK): OTHER}).encode(),
        f"has a document under '{sha(ASK)}', which is the SHA-256 of another",
    ),
    "another version": (
        b'{"format": "apollo-persisted-query-manifest", "version": 2, "operations": []}',
        "must be of version 1, with a list of operations",
    ),
    "a bad operation": (
        b'{"format": "apollo-persisted-query-manifest", "version": 1, "operations": [1]}',
        "must have an object for each of its operations",
    ),
    "an operation twice": (
        json.dumps(APOLLO | {"operations": [{"id": "a", "body": ASK}, {"id": "a", "body": OTHER}]}).encode(),
        "has two documents under 'a'",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_manifest_is_78_and_says_why(command: Command, tmp_path: Path, name: str) -> None:
    content, words = BAD[name]
    file = tmp_path / "documents.json"
    file.write_bytes(content)
    for arguments in (["serve", "--port", "0"], ["config", "show"]):
        outcome = command(*arguments, CRM_PERSISTED_DOCUMENTS=str(file))
        assert (outcome.code, outcome.out, outcome.err) == (78, "", f"CRM_PERSISTED_DOCUMENTS: {words}\n")


def test_the_settings_of_registered_documents(command: Command, tmp_path: Path) -> None:
    missing = command("config", "show", CRM_PERSISTED_DOCUMENTS=str(tmp_path / "none"), CRM_PERSISTED_ONLY="1")
    words = "CRM_PERSISTED_DOCUMENTS: cannot be read: No such file or directory\n"
    assert (missing.code, missing.err) == (78, words)
    alone = command("config", "show", CRM_PERSISTED_ONLY="1")
    assert (alone.code, alone.err) == (78, "CRM_PERSISTED_ONLY: needs CRM_PERSISTED_DOCUMENTS\n")
    file = tmp_path / "documents.json"
    file.write_text(json.dumps(REGISTERED))
    shown = json.loads(command("config", "show", "--json", CRM_PERSISTED_DOCUMENTS=str(file)).out)
    assert (shown["CRM_PERSISTED_DOCUMENTS"], shown["CRM_PERSISTED_ONLY"]) == (str(file), "False")


def test_a_manifest_may_be_empty_and_hashes_are_known(tmp_path: Path) -> None:
    file = tmp_path / "documents.json"
    file.write_text("{}")
    assert read_manifest(file) == {}
    file.write_text(json.dumps({f"sha256:{sha('{ é }')}": "{ é }"}))
    assert read_manifest(file) == {f"sha256:{sha('{ é }')}": "{ é }"}
    assert digest("\ud800") == hashlib.sha256(b"\xed\xa0\x80").hexdigest()


async def test_the_same_holds_on_a_websocket(tmp_path: Path) -> None:
    (tmp_path / "documents.json").write_text(json.dumps({"ask": ASK}))
    named = {"documentId": "ask", "operationName": "Ask"}
    with Service(tmp_path, "--no-worker", CRM_PERSISTED_DOCUMENTS="documents.json", CRM_PERSISTED_ONLY="1") as service:
        url = service.address.replace("http://", "ws://") + "/graphql"
        async with connect(url, subprotocols=[Subprotocol("graphql-transport-ws")]) as socket, asyncio.timeout(60):
            await socket.send('{"type": "connection_init"}')
            assert json.loads(await socket.recv()) == {"type": "connection_ack"}
            await socket.send(json.dumps({"id": "1", "type": "subscribe", "payload": named}))
            answer = {"id": "1", "type": "next", "payload": {"data": {"__typename": "Query"}, "extensions": cost(0, 0)}}
            assert json.loads(await socket.recv()) == answer
            assert json.loads(await socket.recv()) == {"id": "1", "type": "complete"}
            await socket.send(json.dumps({"id": "2", "type": "subscribe", "payload": {"query": ASK}}))
            refusal = json.loads(await socket.recv())
            assert (refusal["id"], refusal["type"]) == ("2", "error")
            assert refusal["payload"][0]["extensions"]["code"] == "PERSISTED_QUERY_ID_REQUIRED"
