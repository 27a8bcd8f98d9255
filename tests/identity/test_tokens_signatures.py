"""Which keys of a set are usable, and that each verifies one algorithm."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from hypothesis import given, settings
from hypothesis import strategies as st
from joserfc.jwk import ECKey, Key, OctKey, OKPKey, RSAKey
from joserfc.jws import JWSRegistry

from identity.signatures import ALGORITHMS, InvalidToken, PublicKey, parse, public_key

RSA = RSAKey.generate_key(2048)
P256 = ECKey.generate_key("P-256")
P384 = ECKey.generate_key("P-384")
ED25519 = OKPKey.generate_key("Ed25519")


def jwk(key: Key, **members: Any) -> dict[str, Any]:
    return {**key.as_dict(private=False), "kid": "k", **members}


def usable(document: dict[str, Any]) -> PublicKey:
    key = public_key(document)
    assert key is not None
    return key


def segment(value: bytes) -> str:
    return urlsafe_b64encode(value).decode().rstrip("=")


def signed(key: Key, named: str, made_with: str | None = None) -> str:
    """A token whose header names one algorithm, and whose signature is made with that one or with another."""
    start = f"{segment(json.dumps({'alg': named, 'kid': 'k'}).encode())}.{segment(b'{}')}"
    signature = JWSRegistry.algorithms[made_with or named].sign(start.encode(), key)
    return f"{start}.{segment(signature)}"


@pytest.mark.parametrize(
    ("key", "named", "algorithm"),
    [
        (P256, None, "ES256"),
        (P256, "ES256", "ES256"),
        (P384, None, "ES384"),
        (P384, "ES384", "ES384"),
        (ED25519, None, "Ed25519"),
        (ED25519, "EdDSA", "Ed25519"),
        (ED25519, "Ed25519", "Ed25519"),
        (RSA, None, "RS256"),
        (RSA, "RS256", "RS256"),
        (RSA, "PS256", "PS256"),
    ],
)
def test_a_key_verifies_its_one_algorithm(key: Key, named: str | None, algorithm: str) -> None:
    found = usable(jwk(key) if named is None else jwk(key, alg=named))
    assert (found.kid, found.algorithm) == ("k", algorithm)
    parse(signed(key, algorithm)).verify(found)
    for other in ALGORITHMS - {algorithm}:
        with pytest.raises(InvalidToken, match=r"^the algorithm is not the key's$"):
            parse(f"{segment(json.dumps({'alg': other}).encode())}.{segment(b'{}')}.").verify(found)


def test_there_are_five_algorithms() -> None:
    assert {"ES256", "ES384", "Ed25519", "RS256", "PS256"} == ALGORITHMS


def test_both_names_of_eddsa_are_one_algorithm() -> None:
    for document in (jwk(ED25519), jwk(ED25519, alg="EdDSA"), jwk(ED25519, alg="Ed25519")):
        parse(signed(ED25519, "Ed25519")).verify(usable(document))
        parse(signed(ED25519, "EdDSA", "Ed25519")).verify(usable(document))


def test_the_signature_has_to_be_of_the_algorithm_that_is_named() -> None:
    with pytest.raises(InvalidToken, match=r"^the signature is wrong$"):
        parse(signed(RSA, "RS256", "PS256")).verify(usable(jwk(RSA)))
    with pytest.raises(InvalidToken, match=r"^the signature is wrong$"):
        parse(signed(RSA, "PS256", "RS256")).verify(usable(jwk(RSA, alg="PS256")))
    with pytest.raises(InvalidToken, match=r"^the signature is wrong$"):
        parse(signed(RSA, "RS256", "RS512")).verify(usable(jwk(RSA)))


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(None, id="null"),
        pytest.param([], id="array"),
        pytest.param({}, id="empty"),
        pytest.param(jwk(P256, use="enc"), id="for encryption"),
        pytest.param(jwk(P256, use=None), id="use null"),
        pytest.param(jwk(P256, key_ops=["sign"]), id="operations without verify"),
        pytest.param(jwk(P256, key_ops="verify"), id="operations malformed"),
        pytest.param(jwk(P256, alg="ES384"), id="algorithm of another curve"),
        pytest.param(jwk(P256, alg="HS256"), id="HMAC with a public key"),
        pytest.param(jwk(P256, alg="none"), id="none"),
        pytest.param(jwk(P256, alg=["ES256"]), id="algorithm malformed"),
        pytest.param(jwk(RSA, alg="RS512"), id="algorithm not allowed"),
        pytest.param(jwk(RSA, alg="RSA-OAEP"), id="algorithm for encryption"),
        pytest.param(jwk(P256, kid=7), id="kid malformed"),
        pytest.param(jwk(P256, kid="k" * 513), id="kid too long"),
        pytest.param(jwk(P256, kty="RSA"), id="kty and crv differ"),
        pytest.param(jwk(P256, kty=["EC"]), id="kty malformed"),
        pytest.param(jwk(P256, crv="P-384"), id="crv wrong"),
        pytest.param(jwk(P256, crv={}), id="crv malformed"),
        pytest.param(jwk(P256, y=jwk(P256)["x"]), id="not on the curve"),
        pytest.param(jwk(P256, x=""), id="x empty"),
        pytest.param(jwk(P256, x=7), id="x malformed"),
        pytest.param(jwk(P256, x="é"), id="x not ASCII"),
        pytest.param(jwk(ED25519, x="AAAA"), id="x too short"),
        pytest.param(jwk(ECKey.generate_key("P-521")), id="P-521"),
        pytest.param(jwk(ECKey.generate_key("secp256k1")), id="secp256k1"),
        pytest.param(jwk(OKPKey.generate_key("X25519")), id="X25519"),
        pytest.param(jwk(OKPKey.generate_key("Ed448")), id="Ed448"),
        pytest.param({**OctKey.generate_key(256).as_dict(private=True), "kid": "k"}, id="symmetric"),
        pytest.param(jwk(RSA, e="AQ" * 6), id="huge exponent"),
        pytest.param(jwk(RSA, e=""), id="no exponent"),
        pytest.param(jwk(RSA, n=segment(b"\xff" * 1025)), id="8200 bits"),
        pytest.param(jwk(RSA, n=segment(b"\xff" * 255)), id="2040 bits"),
        pytest.param(jwk(RSA, n="A" * 200_000), id="zero, at length"),
    ],
)
def test_what_no_token_is_verified_with(document: object) -> None:
    assert public_key(document) is None


def test_short_rsa_keys_are_not_even_warned_about() -> None:
    short = rsa.generate_private_key(public_exponent=65537, key_size=1024).public_key().public_numbers()
    modulus = segment(short.n.to_bytes(128, "big"))
    assert public_key({"kty": "RSA", "n": modulus, "e": "AQAB", "kid": "k"}) is None


def test_a_private_key_in_a_set_is_used_without_its_private_part() -> None:
    for key in (P256, ED25519, RSA):
        found = usable({**key.as_dict(private=True), "kid": "k"})
        assert not found.key.is_private


def test_a_key_may_have_no_name() -> None:
    document = jwk(P256)
    del document["kid"]
    assert usable(document).kid is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
MEMBERS = st.sampled_from(["kty", "crv", "x", "y", "n", "e", "d", "use", "alg", "kid", "key_ops", "x5c"])


@given(st.sampled_from([P256, P384, ED25519, RSA]), st.dictionaries(MEMBERS, JSON, max_size=3))
@settings(max_examples=300)
def test_any_member_of_any_type_is_taken_or_left(key: Key, members: dict[str, Any]) -> None:
    found = public_key(jwk(key, **members))
    assert found is None or found.algorithm in ALGORITHMS


@given(JSON)
def test_any_document_is_taken_or_left(document: object) -> None:
    assert public_key(document) is None
