"""The keys of an external issuer, over a real HTTP server: rotation, outages, unknown keys, and spoilt answers."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from joserfc import jwt
from joserfc.jwk import ECKey

from identity import jwks
from identity.issuers import ExternalIssuer, Verifier
from identity.jwks import RemoteKeys
from identity.signatures import InvalidToken, PublicKey
from identity.tokens import Claims, EmbeddedIssuer
from tests.support.identity_provider import DISCOVERY, KEYS, Provider, listening, public

NOW = 1_790_000_000


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    provider = Provider()
    provider.gate.set()
    async with listening(provider):
        yield provider


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(trust_env=False) as client:
        yield client


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def token(key: ECKey, issuer: str, kid: str | None = "", **claims: Any) -> str:
    payload = {"iss": issuer, "sub": "user-1", "aud": "crm", "exp": NOW + 60, "iat": NOW, **claims}
    header = {"alg": "ES256", "kid": kid or key.thumbprint(), "typ": "at+jwt"}
    if kid is None:
        del header["kid"]
    return jwt.encode(header, payload, key, default_type=None)


def verifier(keys: RemoteKeys, **options: Any) -> ExternalIssuer:
    return ExternalIssuer(keys, keys.issuer, options.pop("audience", "crm"), now=lambda: NOW, **options)


OLD, NEW, STRANGER = (ECKey.generate_key("P-256") for _ in range(3))


async def test_a_token_of_the_provider_is_believed(provider: Provider, http: httpx.AsyncClient) -> None:
    provider.serve(OLD)
    keys = RemoteKeys(http, issuer=provider.url, jwks_url=provider.url + KEYS)
    issuer = verifier(keys, org_claim="https://example.org/organization", scope_claim="permissions")
    claims: dict[str, Any] = {
        "https://example.org/organization": ["org-1", "org-2"],
        "permissions": ["deals:read"],
        "org_id": 7,
        "name": "Ada",
        "email": "ada@example.org",
        "crm_cred": "0123456789abcdef",
        "crm_kind": 7,
    }
    before = keys.loaded
    assert await issuer.verify(token(OLD, provider.url, **claims)) == Claims(
        subject="user-1",
        organizations=("org-1", "org-2"),
        scopes=frozenset({"deals:read"}),
        name="Ada",
        email="ada@example.org",
        lists_organizations=True,
        issued_at=NOW,
        expires_at=NOW + 60,
        issuer=provider.url,
        credential_id=None,
        kind=None,
    )
    assert (before, keys.loaded) == (False, True)
    assert provider.asked == [KEYS]


def test_both_issuers_are_verifiers(http: httpx.AsyncClient) -> None:
    both: list[Verifier] = [
        EmbeddedIssuer(OLD, "urn:a", "crm"),
        ExternalIssuer(RemoteKeys(http, issuer="urn:b", jwks_url="http://127.0.0.1:1/"), "urn:b", None),
    ]
    assert [each.issuer for each in both] == ["urn:a", "urn:b"]


async def test_keys_are_discovered(provider: Provider, http: httpx.AsyncClient) -> None:
    provider.serve(OLD)
    provider.discoverable()
    keys = RemoteKeys(http, issuer=provider.url, jwks_url=None)
    assert await keys.refresh() is True
    assert provider.asked == [DISCOVERY, KEYS]
    assert await keys.find(OLD.thumbprint(), "ES256") is not None


async def test_an_issuer_with_a_slash_at_its_end(provider: Provider, http: httpx.AsyncClient) -> None:
    provider.serve(OLD)
    provider.discoverable(issuer=provider.url + "/")
    assert await RemoteKeys(http, issuer=provider.url + "/", jwks_url=None).refresh() is True
    assert await RemoteKeys(http, issuer=provider.url, jwks_url=None).refresh() is False
    assert provider.asked == [DISCOVERY, KEYS, DISCOVERY]


@pytest.mark.parametrize(
    "changed",
    [
        {"issuer": "http://elsewhere.example"},
        {"issuer": None},
        {"jwks_uri": None},
        {"jwks_uri": ["http://elsewhere.example"]},
        {"jwks_uri": "file:///etc/passwd"},
        {"jwks_uri": "/keys"},
        {"jwks_uri": "http://[::1"},
    ],
)
async def test_a_discovery_document_that_is_not_the_issuers(
    provider: Provider, http: httpx.AsyncClient, changed: dict[str, Any]
) -> None:
    provider.serve(OLD)
    provider.discoverable(**changed)
    assert await RemoteKeys(http, issuer=provider.url, jwks_url=None).refresh() is False
    assert provider.asked == [DISCOVERY]


async def test_https_is_not_left_for_http() -> None:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(str(request.url))
        return httpx.Response(200, json={"issuer": "https://id.example", "jwks_uri": "http://id.example/keys"})

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as client:
        assert await RemoteKeys(client, issuer="https://id.example", jwks_url=None).refresh() is False
    assert asked == ["https://id.example/.well-known/openid-configuration"]


async def test_rotation(provider: Provider, http: httpx.AsyncClient) -> None:
    provider.serve(OLD)
    keys = RemoteKeys(http, issuer=provider.url, jwks_url=provider.url + KEYS)
    issuer = verifier(keys)
    old, new = token(OLD, provider.url), token(NEW, provider.url)
    await keys.refresh()
    assert (await issuer.verify(old)).subject == "user-1"

    provider.serve(OLD, NEW)
    assert (await issuer.verify(new)).subject == "user-1"
    assert (await issuer.verify(old)).subject == "user-1"
    assert provider.asked == [KEYS, KEYS]

    provider.serve(NEW)
    assert (await issuer.verify(old)).subject == "user-1"
    await keys.refresh()
    with pytest.raises(InvalidToken, match=r"^signed with an unknown key$"):
        await issuer.verify(old)
    assert (await issuer.verify(new)).subject == "user-1"
    assert provider.asked == [KEYS, KEYS, KEYS]


async def test_a_signature_is_verified_once_for_each_set_of_keys(
    provider: Provider, http: httpx.AsyncClient, seen: list[PublicKey]
) -> None:
    """Decision 1041."""
    provider.serve(OLD)
    keys = RemoteKeys(http, issuer=provider.url, jwks_url=provider.url + KEYS)
    issuer, own = verifier(keys), token(OLD, provider.url)
    assert issuer.known(own) is None
    assert await issuer.verify(own) == await issuer.verify(own) == issuer.known(own)
    assert len(seen) == 1
    await keys.refresh()
    assert issuer.known(own) is None
    assert (await issuer.verify(own)).subject == "user-1"
    assert len(seen) == 2
    impostor = ECKey.import_key({**STRANGER.as_dict(private=True), "kid": OLD.thumbprint()})
    provider.serve(impostor)
    await keys.refresh()
    with pytest.raises(InvalidToken):
        await issuer.verify(own)


async def test_a_stranger_with_a_known_name_is_refused(provider: Provider, http: httpx.AsyncClient) -> None:
    provider.serve(OLD)
    keys = RemoteKeys(http, issuer=provider.url, jwks_url=provider.url + KEYS)
    with pytest.raises(InvalidToken, match=r"^the signature is wrong$"):
        await verifier(keys).verify(token(STRANGER, provider.url, kid=OLD.thumbprint()))


@pytest.mark.parametrize(
    ("answer", "headers", "said"),
    [
        ((500, b"{}"), "", "status 500"),
        ((204, b""), "", "status 204"),
        ((302, b""), "location: /elsewhere\r\n", "status 302"),
        ((200, b""), "", "the answer is not JSON"),
        ((200, b"<html>"), "", "the answer is not JSON"),
        ((200, b"\xff\xfe"), "", "the answer is not JSON"),
        ((200, b"[" * 100_000), "", "the answer is not JSON"),
        ((200, b"null"), "", "the answer is no key set"),
        ((200, b"[]"), "", "the answer is no key set"),
        ((200, b"{}"), "", "the answer is no key set"),
        ((200, b'{"keys":{}}'), "", "the answer is no key set"),
        ((200, b'{"keys":[]}'), "", "the key set holds no usable key"),
        ((200, b'{"keys":[null,7,{"kty":"oct","k":"AAAA"}]}'), "", "the key set holds no usable key"),
        ((200, b" " * (256 * 1024 + 1)), "", "the answer is too long"),
        ((200, b"{}"), "transfer-encoding: chunked\r\n", "RemoteProtocolError"),
    ],
)
async def test_no_failure_loses_the_last_good_set(
    provider: Provider,
    http: httpx.AsyncClient,
    caplog: pytest.LogCaptureFixture,
    answer: tuple[int, bytes],
    headers: str,
    said: str,
) -> None:
    provider.serve(OLD)
    keys = RemoteKeys(http, issuer=provider.url, jwks_url=provider.url + KEYS)
    assert await keys.refresh() is True
    provider.answers[KEYS] = answer
    provider.headers = headers
    caplog.clear()
    assert await keys.refresh() is False
    assert [record.getMessage() for record in caplog.records if record.name == "identity.jwks"] == [
        f"the identity provider's keys stay as they are: {said}"
    ]
    assert provider.asked == [KEYS, KEYS]
    assert (await verifier(keys).verify(token(OLD, provider.url))).subject == "user-1"


async def test_a_provider_that_is_down_and_comes_back(http: httpx.AsyncClient) -> None:
    provider, clock = Provider(), Clock()
    provider.gate.set()
    provider.serve(OLD)
    async with listening(provider):
        keys = RemoteKeys(http, issuer=provider.url, jwks_url=provider.url + KEYS, clock=clock)
        await keys.refresh()
    old, new = token(OLD, provider.url), token(NEW, provider.url)
    assert await keys.refresh() is False
    assert (await verifier(keys).verify(old)).subject == "user-1"
    with pytest.raises(InvalidToken):
        await verifier(keys).verify(new)
    provider.serve(NEW)
    async with listening(provider, int(provider.url.rpartition(":")[2])):
        clock.now += 10
        assert (await verifier(keys).verify(new)).subject == "user-1"


async def test_an_answer_is_not_decompressed(provider: Provider, http: httpx.AsyncClient) -> None:
    provider.serve(OLD)
    keys = RemoteKeys(http, issuer=provider.url, jwks_url=provider.url + KEYS)
    await keys.refresh()
    assert b"\r\naccept-encoding: identity\r\n" in provider.requests[0].lower()


async def test_usable_keys_count_among_others(provider: Provider, http: httpx.AsyncClient) -> None:
    members = [None, {"kty": "EC"}, {"kty": "AKP", "alg": "ML-DSA-44", "pub": "AA"}, public(OLD)]
    provider.answers[KEYS] = (200, json.dumps({"keys": members}).encode())
    keys = RemoteKeys(http, issuer=provider.url, jwks_url=provider.url + KEYS)
    assert await keys.refresh() is True
    assert await keys.find(OLD.thumbprint(), "ES256") is not None
    assert await keys.find(OLD.thumbprint(), "ES384") is None


async def test_a_token_that_names_no_key_needs_a_set_of_one(provider: Provider, http: httpx.AsyncClient) -> None:
    provider.serve(OLD)
    keys = RemoteKeys(http, issuer=provider.url, jwks_url=provider.url + KEYS)
    nameless = token(OLD, provider.url, kid=None)
    assert (await verifier(keys).verify(nameless)).subject == "user-1"
    provider.serve(OLD, NEW)
    await keys.refresh()
    with pytest.raises(InvalidToken, match=r"^signed with an unknown key$"):
        await verifier(keys).verify(nameless)


async def test_a_thousand_unknown_keys_cost_one_fetch_in_ten_seconds(
    provider: Provider, http: httpx.AsyncClient
) -> None:
    clock = Clock()
    provider.serve(OLD)
    keys = RemoteKeys(http, issuer=provider.url, jwks_url=provider.url + KEYS, clock=clock)
    await keys.refresh()
    for fetches in (2, 3):
        found = await asyncio.gather(*(keys.find(f"random-{number}", "ES256") for number in range(500)))
        for number in range(500):
            clock.now += 0.0199
            found.append(await keys.find(f"later-{number}", "ES256"))
        assert found == [None] * 1000
        assert provider.asked == [KEYS] * fetches
        clock.now += 0.05


async def test_a_fetch_under_way_is_joined(provider: Provider, http: httpx.AsyncClient) -> None:
    provider.serve(OLD)
    provider.gate.clear()
    keys = RemoteKeys(http, issuer=provider.url, jwks_url=provider.url + KEYS)
    asking = [asyncio.ensure_future(keys.refresh()) for _ in range(20)]
    finding = [asyncio.ensure_future(keys.find(OLD.thumbprint(), "ES256")) for _ in range(20)]
    await provider.was_asked(1)
    provider.gate.set()
    assert await asyncio.gather(*asking) == [True] * 20
    assert None not in await asyncio.gather(*finding)
    assert provider.asked == [KEYS]


async def test_whoever_gives_up_waiting_does_not_end_the_fetch(provider: Provider, http: httpx.AsyncClient) -> None:
    provider.serve(OLD)
    provider.gate.clear()
    keys = RemoteKeys(http, issuer=provider.url, jwks_url=provider.url + KEYS)
    impatient = [asyncio.ensure_future(keys.find("x", "ES256")), asyncio.ensure_future(keys.refresh())]
    await provider.was_asked(1)
    for each in impatient:
        each.cancel()
    await asyncio.gather(*impatient, return_exceptions=True)
    provider.gate.set()
    assert await keys.refresh() is True
    assert provider.asked == [KEYS]


async def test_a_slow_provider_is_not_waited_for(
    provider: Provider, http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    assert (jwks.UNKNOWN_EVERY, jwks.UNKNOWN_WAIT, jwks.FETCH_DEADLINE) == (10.0, 2.0, 5.0)
    monkeypatch.setattr(jwks, "UNKNOWN_WAIT", 0.02)
    monkeypatch.setattr(jwks, "FETCH_DEADLINE", 0.1)
    provider.gate.clear()
    keys = RemoteKeys(http, issuer=provider.url, jwks_url=provider.url + KEYS)
    assert await keys.find("x", "ES256") is None
    assert caplog.messages == []
    assert await keys.refresh() is False
    assert caplog.messages == ["the identity provider's keys stay as they are: TimeoutError"]
    assert provider.asked == [KEYS]


async def test_keys_are_refreshed_in_the_background(provider: Provider, http: httpx.AsyncClient) -> None:
    assert (jwks.REFRESH_EVERY, jwks.RETRY_EVERY) == (600.0, 60.0)
    provider.serve(OLD)
    keys = RemoteKeys(http, issuer=provider.url, jwks_url=provider.url + KEYS, refresh_every=0.01)
    keys.start()
    keys.start()
    await provider.was_asked(3)
    provider.answers[KEYS] = (500, b"")
    await provider.was_asked(len(provider.asked) + 3)
    provider.serve(NEW)
    await provider.was_asked(len(provider.asked) + 2)
    assert await keys.find(NEW.thumbprint(), "ES256") is not None
    await keys.stop()
    asked = len(provider.asked)
    await asyncio.sleep(0.05)
    assert len(provider.asked) == asked
    await keys.stop()


async def test_stopping_ends_a_fetch_under_way(provider: Provider, http: httpx.AsyncClient) -> None:
    provider.gate.clear()
    keys = RemoteKeys(http, issuer=provider.url, jwks_url=provider.url + KEYS)
    keys.start()
    await provider.was_asked(1)
    async with asyncio.timeout(30):
        await keys.stop()
    assert [task for task in asyncio.all_tasks() if "RemoteKeys" in repr(task.get_coro())] == []


async def test_a_closed_client_is_one_more_failure(provider: Provider, caplog: pytest.LogCaptureFixture) -> None:
    client = httpx.AsyncClient()
    await client.aclose()
    keys = RemoteKeys(client, issuer=provider.url, jwks_url=provider.url + KEYS)
    assert await keys.refresh() is False
    assert caplog.messages == ["the identity provider's keys stay as they are: RuntimeError"]


async def test_logs_hold_no_address(http: httpx.AsyncClient, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "identity.jwks")
    keys = RemoteKeys(http, issuer="urn:x", jwks_url="http://user:password@127.0.0.1:1/keys?token=secret")
    assert await keys.refresh() is False
    assert [record.getMessage() for record in caplog.records if record.name == "identity.jwks"] == [
        "the identity provider's keys stay as they are: ConnectError"
    ]


@pytest.mark.parametrize(
    "claims", [{"exp": NOW - 30}, {"iss": "http://elsewhere.example"}, {"aud": "other"}, {"sub": ""}]
)
async def test_a_token_that_is_refused_anyway_asks_for_no_key(
    provider: Provider, http: httpx.AsyncClient, claims: dict[str, Any]
) -> None:
    provider.serve(OLD)
    keys = RemoteKeys(http, issuer=provider.url, jwks_url=provider.url + KEYS)
    with pytest.raises(InvalidToken):
        await verifier(keys).verify(token(STRANGER, provider.url, **claims))
    assert provider.asked == []


async def test_the_audience_counts_where_one_is_set(provider: Provider, http: httpx.AsyncClient) -> None:
    provider.serve(OLD)
    keys = RemoteKeys(http, issuer=provider.url, jwks_url=provider.url + KEYS)
    for audience in ("anything", ["anything"], None, 7):
        text = token(OLD, provider.url, aud=audience)
        assert (await verifier(keys, audience=None).verify(text)).subject == "user-1"
        with pytest.raises(InvalidToken):
            await verifier(keys).verify(text)


@pytest.mark.parametrize("kind", ["JWT", "jwt", "application/jwt", "at+jwt", None])
async def test_types_of_access_tokens(provider: Provider, http: httpx.AsyncClient, kind: str | None) -> None:
    provider.serve(OLD)
    keys = RemoteKeys(http, issuer=provider.url, jwks_url=provider.url + KEYS)
    header = {"alg": "ES256", "kid": OLD.thumbprint()} | ({} if kind is None else {"typ": kind})
    payload = {"iss": provider.url, "sub": "user-1", "aud": "crm", "exp": NOW + 60}
    text = jwt.encode(header, payload, OLD, default_type=None)
    assert (await verifier(keys).verify(text)).subject == "user-1"


@pytest.mark.parametrize("kind", ["logout+jwt", "secevent+jwt", "dpop+jwt", ""])
async def test_types_of_other_tokens(provider: Provider, http: httpx.AsyncClient, kind: str) -> None:
    provider.serve(OLD)
    keys = RemoteKeys(http, issuer=provider.url, jwks_url=provider.url + KEYS)
    header = {"alg": "ES256", "kid": OLD.thumbprint(), "typ": kind}
    payload = {"iss": provider.url, "sub": "user-1", "aud": "crm", "exp": NOW + 60}
    with pytest.raises(InvalidToken, match=r"^not a token of the expected type$"):
        await verifier(keys).verify(jwt.encode(header, payload, OLD, default_type=None))
