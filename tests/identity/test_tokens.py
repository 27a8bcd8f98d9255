"""The embedded issuer: what it signs, what it takes, and that nothing else than InvalidToken ever comes out."""

from __future__ import annotations

import asyncio
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joserfc import jws, jwt
from joserfc.jwk import ECKey, OctKey

from identity import scope_sets, verified
from identity.signatures import PublicKey
from identity.tokens import DEFAULT_ISSUER, Claims, EmbeddedIssuer, InvalidToken

NOW = 1_790_000_000
KEY = ECKey.generate_key("P-256")
KID = KEY.thumbprint()
AUDIENCE = "crm"
CLAIMS: dict[str, Any] = {
    "iss": DEFAULT_ISSUER,
    "sub": "user-1",
    "aud": AUDIENCE,
    "iat": NOW,
    "exp": NOW + 60,
    "org_id": "org-1",
    "scope": "deals:read deals:manage",
}
ABSENT = object()


def issuer(now: float = NOW, key: ECKey = KEY, name: str = DEFAULT_ISSUER, audience: str = AUDIENCE) -> EmbeddedIssuer:
    return EmbeddedIssuer(key, name, audience, now=lambda: now)


def signed(claims: dict[str, Any] | None = None, key: ECKey = KEY, **header: Any) -> str:
    """A token with our key that the issuer itself would never make."""
    members = {"alg": "ES256", "kid": KID, "typ": "at+jwt", **header}
    registry = jws.JWSRegistry(algorithms=["ES256"], strict_check_header=False)
    present = {name: value for name, value in (CLAIMS if claims is None else claims).items() if value is not ABSENT}
    return jwt.encode({n: v for n, v in members.items() if v is not ABSENT}, present, key, registry=registry)


def changed(**claims: Any) -> str:
    return signed({**CLAIMS, **claims})


def segment(value: bytes) -> str:
    return urlsafe_b64encode(value).decode().rstrip("=")


def unsigned(header: bytes, payload: bytes) -> str:
    return f"{segment(header)}.{segment(payload)}."


def opened(part: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(urlsafe_b64decode(part + "=="))
    return document


async def refusal(token: str, now: float = NOW) -> str:
    with pytest.raises(InvalidToken) as refused:
        await issuer(now).verify(token)
    # Nothing that a log could print along: a parser's exception holds what was parsed.
    assert (refused.value.__cause__, refused.value.__context__) == (None, None)
    return str(refused.value)


async def test_what_is_minted_is_verified() -> None:
    token = issuer().mint(
        "user-1",
        organization="org-1",
        scopes=["deals:read", "api:read", "deals:read"],
        ttl=300,
        name="Ada Ñandú",
        email="ada@example.org",
        credential_id="0123456789abcdef",
        kind="ak",
    )
    assert await issuer().verify(token) == Claims(
        subject="user-1",
        organizations=("org-1",),
        scopes=frozenset({"api:read", "deals:read"}),
        name="Ada Ñandú",
        email="ada@example.org",
        issued_at=NOW,
        expires_at=NOW + 300,
        issuer="urn:crm-gateway",
        credential_id="0123456789abcdef",
        kind="ak",
    )


async def test_what_is_not_given_is_not_claimed() -> None:
    token = issuer().mint("user-1", organization=None, scopes=[], ttl=1)
    header, payload, _ = token.split(".")
    claims = opened(payload)
    assert opened(header) == {"alg": "ES256", "kid": KID, "typ": "at+jwt"}
    assert len(claims.pop("jti")) == 22
    assert claims == {
        "iss": "urn:crm-gateway",
        "sub": "user-1",
        "aud": "crm",
        "client_id": "urn:crm-gateway",
        "iat": NOW,
        "nbf": NOW,
        "exp": NOW + 1,
        "scope": "",
    }
    verified = await issuer().verify(token)
    assert (verified.organizations, verified.scopes, verified.name, verified.email) == ((), frozenset(), None, None)
    assert (verified.credential_id, verified.kind) == (None, None)


def test_every_token_is_another_one() -> None:
    tokens = [issuer().mint("user-1", organization=None, scopes=[], ttl=1) for _ in range(50)]
    assert len({opened(token.split(".")[1])["jti"] for token in tokens}) == 50


@pytest.mark.parametrize("ttl", [0, -1])
def test_a_token_lives_for_a_second_at_least(ttl: int) -> None:
    with pytest.raises(ValueError, match="ttl: at least one second"):
        issuer().mint("user-1", organization=None, scopes=[], ttl=ttl)


async def test_a_restart_changes_nothing() -> None:
    restarted = EmbeddedIssuer(ECKey.import_key(KEY.as_pem(private=True)), DEFAULT_ISSUER, AUDIENCE, now=lambda: NOW)
    token = issuer().mint("user-1", organization=None, scopes=[], ttl=60)
    assert (await restarted.verify(token)).subject == "user-1"
    assert restarted.jwks() == issuer().jwks()


@pytest.mark.parametrize(
    ("claim", "value", "field", "expected"),
    [
        ("org_id", ABSENT, "organizations", ()),
        ("org_id", None, "organizations", ()),
        ("org_id", [], "organizations", ()),
        ("org_id", ["b", "a", "b"], "organizations", ("b", "a")),
        ("scope", ABSENT, "scopes", frozenset()),
        ("scope", None, "scopes", frozenset()),
        ("scope", "", "scopes", frozenset()),
        ("scope", " a  b ", "scopes", frozenset({"a", "b"})),
        ("scope", ["a", "b", "a"], "scopes", frozenset({"a", "b"})),
        ("aud", ["other", AUDIENCE], "subject", "user-1"),
        ("sub", "ü" * 255, "subject", "ü" * 255),
        ("name", None, "name", None),
        ("name", "", "name", ""),
        ("iat", ABSENT, "issued_at", None),
        ("iat", NOW + 30, "issued_at", NOW + 30),
        ("iat", NOW - 0.5, "issued_at", NOW - 1),
        ("nbf", NOW + 30, "subject", "user-1"),
        ("exp", NOW - 29, "expires_at", NOW - 29),
        ("exp", NOW + 1.9, "expires_at", NOW + 1),
        ("exp", 253_402_300_799, "expires_at", 253_402_300_799),
    ],
)
async def test_claims_at_the_edge_of_what_is_taken(claim: str, value: Any, field: str, expected: Any) -> None:
    assert getattr(await issuer().verify(changed(**{claim: value})), field) == expected


@pytest.mark.parametrize(
    ("claim", "value", "reason"),
    [
        ("iss", ABSENT, "another issuer's token"),
        ("iss", "urn:crm-gateway/", "another issuer's token"),
        ("iss", ["urn:crm-gateway"], "another issuer's token"),
        ("aud", ABSENT, "a token for another audience"),
        ("aud", "CRM", "a token for another audience"),
        ("aud", [], "a token for another audience"),
        ("aud", ["other"], "a token for another audience"),
        ("aud", {"crm": 1}, "aud is malformed"),
        ("aud", ["crm", 1], "aud is malformed"),
        ("sub", ABSENT, "sub is malformed"),
        ("sub", None, "sub is malformed"),
        ("sub", 7, "sub is malformed"),
        ("sub", "", "sub is empty"),
        ("sub", "a\0b", "sub is malformed"),
        ("sub", "a" * 256, "sub is malformed"),
        ("exp", ABSENT, "exp is missing"),
        ("exp", None, "exp is missing"),
        ("exp", str(NOW + 60), "exp is not a time"),
        ("exp", True, "exp is not a time"),
        ("exp", [NOW + 60], "exp is not a time"),
        ("exp", 1e300, "exp is out of range"),
        ("exp", 253_402_300_800, "exp is out of range"),
        ("exp", -1, "exp is out of range"),
        ("exp", NOW - 30, "expired"),
        ("exp", 0, "expired"),
        ("nbf", NOW + 31, "not valid yet"),
        ("nbf", "now", "nbf is not a time"),
        ("iat", NOW + 31, "issued in the future"),
        ("iat", False, "iat is not a time"),
        ("org_id", 7, "org_id is malformed"),
        ("org_id", "", "org_id is empty"),
        ("org_id", ["a", ""], "org_id is empty"),
        ("org_id", ["a", ["b"]], "org_id is malformed"),
        ("org_id", {"a": {}}, "org_id is malformed"),
        ("org_id", "a\0", "org_id is malformed"),
        ("scope", 7, "scope is malformed"),
        ("scope", ["a", None], "scope is malformed"),
        ("scope", "a" * 256, "scope is malformed"),
        ("name", 7, "name is malformed"),
        ("name", "a" * 1001, "name is malformed"),
        ("email", ["a@example.org"], "email is malformed"),
        ("crm_cred", 7, "crm_cred is malformed"),
        ("crm_kind", "", "crm_kind is empty"),
    ],
)
async def test_claims_that_are_refused(claim: str, value: Any, reason: str) -> None:
    assert await refusal(changed(**{claim: value})) == reason


async def test_the_clock_decides() -> None:
    token = issuer().mint("user-1", organization=None, scopes=[], ttl=60)
    assert (await issuer(NOW + 89.9).verify(token)).subject == "user-1"
    assert await refusal(token, NOW + 90) == "expired"
    assert (await issuer(NOW - 30).verify(token)).subject == "user-1"
    assert await refusal(token, NOW - 31) == "not valid yet"


async def test_a_signature_is_verified_once_and_the_time_always(
    monkeypatch: pytest.MonkeyPatch, seen: list[PublicKey]
) -> None:
    """Decision 1041."""
    monkeypatch.setattr(verified, "VERIFIED_TOKENS_MAX", 3)
    present = NOW
    own = EmbeddedIssuer(KEY, DEFAULT_ISSUER, AUDIENCE, now=lambda: present)
    token, later = changed(), changed(sub="user-2")
    claims = await own.verify(token)
    assert claims == await own.verify(token) == await issuer().verify(token)
    assert len(seen) == 2
    assert (await own.verify(later)).subject == "user-2"
    for present in (NOW - 31, NOW + 90):  # noqa: B007  # the clock
        with pytest.raises(InvalidToken):
            await own.verify(token)
    present = NOW
    forged = f"{token.rpartition('.')[0]}.{later.rpartition('.')[2]}"
    with pytest.raises(InvalidToken):
        await own.verify(forged)
    for number in range(6):
        await own.verify(changed(sub=f"user-{number}"))
    assert len(own._verified._signed) == 3


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ({"typ": ABSENT}, "not a token of the expected type"),
        ({"typ": "JWT"}, "not a token of the expected type"),
        ({"typ": "logout+jwt"}, "not a token of the expected type"),
        ({"kid": ABSENT}, "signed with an unknown key"),
        ({"kid": "another"}, "signed with an unknown key"),
        ({"kid": "k" * 513}, "the key id is malformed"),
        ({"crit": ["exp"], "exp": 1}, "critical header parameters are not understood"),
        ({"crit": ["b64"], "b64": True}, "critical header parameters are not understood"),
    ],
)
async def test_headers_that_are_refused(header: dict[str, Any], reason: str) -> None:
    # Such a header is written by hand where joserfc would not sign it.
    members = {"alg": "ES256", "kid": KID, "typ": "at+jwt", **header}
    protected = segment(json.dumps({n: v for n, v in members.items() if v is not ABSENT}).encode())
    start = f"{protected}.{segment(json.dumps(CLAIMS).encode())}"
    signature = jws.JWSRegistry.algorithms["ES256"].sign(start.encode(), KEY)
    assert await refusal(f"{start}.{segment(signature)}") == reason


async def test_tokens_with_the_same_scopes_have_them_in_common() -> None:
    """Thousands of verified tokens are remembered, each with the words of its scopes otherwise (decision 1171)."""
    us, scope = issuer(), "deals:read own:word deals:manage"
    tokens = [changed(sub=subject, scope=scope) for subject in ("a", "b")]
    for token in tokens:
        await us.verify(token)
    one, other = [await us.verify(token) for token in tokens]
    assert one.scopes is other.scopes
    assert one.scopes == {"deals:read", "deals:manage", "own:word"}


async def test_a_token_that_nobody_signed_leaves_no_scopes_behind() -> None:
    """They are shared once the signature holds: else any caller would fill the cache."""
    before = scope_sets._same.cache_info().currsize
    scopes = " ".join(f"made:up{number}" for number in range(100))
    assert (
        await refusal(signed({**CLAIMS, "scope": scopes}, key=ECKey.generate_key("P-256"))) == "the signature is wrong"
    )
    assert scope_sets._same.cache_info().currsize == before


async def test_headers_that_are_taken() -> None:
    assert (await issuer().verify(signed(typ="application/AT+JWT"))).subject == "user-1"
    assert (await issuer().verify(signed(cat="a provider's own"))).subject == "user-1"
    # What a token says about where its key is to be had is not even looked at.
    other = ECKey.generate_key("P-256")
    assert (await issuer().verify(signed(jwk=other.as_dict(private=False)))).subject == "user-1"
    assert await refusal(signed(key=other, jwk=other.as_dict(private=False))) == "the signature is wrong"


@pytest.mark.parametrize("algorithm", ["none", "HS256", "ES384", "RS256", "EdDSA", "es256", "", None, 7, ["ES256"]])
async def test_no_other_algorithm_is_tried(algorithm: Any) -> None:
    known = algorithm in ("ES384", "RS256", "EdDSA")
    header = segment(json.dumps({"alg": algorithm, "kid": KID, "typ": "at+jwt"}).encode())
    reason = "the algorithm is not the key's" if known else "the algorithm is not allowed"
    for signature in ("", segment(bytes(64))):
        assert await refusal(f"{header}.{segment(json.dumps(CLAIMS).encode())}.{signature}") == reason


async def test_the_public_key_is_no_hmac_secret() -> None:
    header = {"alg": "HS256", "kid": KID, "typ": "at+jwt"}
    secret = KEY.as_pem()
    start = f"{segment(json.dumps(header).encode())}.{segment(json.dumps(CLAIMS).encode())}"
    forged = jws.JWSRegistry.algorithms["HS256"].sign(start.encode(), OctKey(secret, secret))
    assert await refusal(f"{start}.{segment(forged)}") == "the algorithm is not allowed"


async def test_another_key_issuer_or_audience_is_refused() -> None:
    token = issuer().mint("user-1", organization=None, scopes=[], ttl=60)
    for other, reason in [
        (issuer(key=ECKey.generate_key("P-256")), "signed with an unknown key"),
        (issuer(name="https://crm.example.org"), "another issuer's token"),
        (issuer(audience="other"), "a token for another audience"),
    ]:
        with pytest.raises(InvalidToken, match=f"^{reason}$"):
            await other.verify(token)


async def test_every_changed_character_is_noticed() -> None:
    token = signed()
    for place in range(0, len(token), 7):
        other = "A" if token[place] != "A" else "B"
        await refusal(token[:place] + other + token[place + 1 :])


@pytest.mark.parametrize(
    "token",
    [
        "",
        ".",
        "..",
        "...",
        "a.b.c",
        "é.é.é",
        "\ud800.a.a",
        " " + signed(),
        signed() + ".",
        signed().replace(".", "..", 1),
        unsigned(b"[]", b"{}"),
        unsigned(b"null", b"{}"),
        unsigned(b"7", b"{}"),
        unsigned(b'["alg"]', b"{}"),
        unsigned(b'"alg b64"', b"{}"),
        unsigned(b'{"alg":"ES256"}', b""),
        unsigned(b'{"alg":"ES256"}', b"[]"),
        unsigned(b'{"alg":"ES256"}', b"null"),
        unsigned(b'{"alg":"ES256"}', b'{"exp":NaN}'),
        unsigned(b'{"alg":"ES256"}', b'{"sub":"\\ud800"}'),
        unsigned(b'{"alg":"ES256"}', b'{"sub":"\xff"}'),
        unsigned(b'{"alg":"ES256"}', b"[" * 12_000),
        unsigned(b"[" * 12_000, b"{}"),
        unsigned(b'{"alg":' + b"[" * 9_000, b"{}"),
        unsigned(b'{"alg":' + b"9" * 9_000 + b"}", b"{}"),
    ],
)
async def test_what_is_no_token_is_refused(token: str) -> None:
    assert await refusal(token) == "not a signed token"


@pytest.mark.parametrize("end", ["\n", "=", " ", "+", "A"])
async def test_the_signature_has_one_spelling(end: str) -> None:
    assert await refusal(signed() + end) == "the signature is wrong"


async def test_a_token_has_at_most_16_kib() -> None:
    fitting = signed({**CLAIMS, "padding": "x" * 11_900})
    assert 16_000 < len(fitting) <= 16_384
    assert (await issuer().verify(fitting)).subject == "user-1"
    assert await refusal(signed({**CLAIMS, "padding": "x" * 12_300})) == "longer than 16 KiB"
    assert await refusal("a" * 50_000_000) == "longer than 16 KiB"


def test_the_documents_hold_what_exists() -> None:
    public = KEY.as_dict(private=False)
    assert issuer().jwks() == {
        "keys": [
            {
                "kty": "EC",
                "crv": "P-256",
                "x": public["x"],
                "y": public["y"],
                "kid": KID,
                "use": "sig",
                "alg": "ES256",
            }
        ]
    }
    assert issuer(name="https://crm.example.org").discovery("https://crm.example.org/") == {
        "issuer": "https://crm.example.org",
        "jwks_uri": "https://crm.example.org/.well-known/jwks.json",
        "authorization_endpoint": "https://crm.example.org/oauth/authorize",
        "token_endpoint": "https://crm.example.org/oauth/token",
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint": "https://crm.example.org/oauth/revoke",
        "revocation_endpoint_auth_methods_supported": ["none"],
        "end_session_endpoint": "https://crm.example.org/oauth/logout",
        "grant_types_supported": [
            "authorization_code",
            "refresh_token",
            "urn:ietf:params:oauth:grant-type:token-exchange",
        ],
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "code_challenge_methods_supported": ["S256"],
        "prompt_values_supported": ["none", "login"],
        "authorization_response_iss_parameter_supported": True,
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
        "claims_supported": ["iss", "sub", "aud", "exp", "iat", "org_id", "scope", "name", "email"],
    }


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
CLAIM_NAMES = st.sampled_from([*CLAIMS, "nbf", "name", "email", "crm_cred", "crm_kind", "jti"])


def outcome(token: str) -> Claims | InvalidToken:
    """Claims or InvalidToken; anything else fails the test by itself."""
    try:
        return asyncio.run(issuer().verify(token))
    except InvalidToken as refused:
        return refused


@given(st.text() | st.binary().map(lambda value: value.decode("latin-1")))
def test_any_text_is_refused(text: str) -> None:
    assert isinstance(outcome(text), InvalidToken)


@given(st.dictionaries(CLAIM_NAMES, JSON, min_size=1, max_size=3))
@settings(max_examples=300)
def test_any_value_of_any_claim_is_taken_or_refused(claims: dict[str, Any]) -> None:
    result = outcome(changed(**claims))
    if isinstance(result, Claims):
        assert 0 < len(result.subject) <= 255
        assert all(isinstance(each, str) for each in (*result.organizations, *result.scopes))
        assert (type(result.expires_at), type(result.issued_at)) in [(int, int), (int, type(None))]


@given(
    JSON | st.dictionaries(st.sampled_from(["alg", "kid", "typ", "crit", "b64", "jwk", "x5u"]), JSON), JSON, st.binary()
)
@settings(max_examples=300)
def test_any_header_payload_and_signature_is_refused(header: Any, payload: Any, signature: bytes) -> None:
    parts = (json.dumps(header).encode(), json.dumps(payload).encode(), signature)
    assert isinstance(outcome(".".join(map(segment, parts))), InvalidToken)


@given(st.binary(max_size=200))
def test_any_signature_is_refused(signature: bytes) -> None:
    assert str(outcome(f"{signed().rpartition('.')[0]}.{segment(signature)}")) == "the signature is wrong"
