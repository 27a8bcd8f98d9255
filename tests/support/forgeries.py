"""Forty session tokens that nobody who may sign them has signed, or that are not for us."""

from __future__ import annotations

import hmac
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass
from typing import Any

from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from joserfc import jws
from joserfc.jwk import ECKey, Key, OKPKey, RSAKey

STRANGER = ECKey.generate_key("P-256")
_RSA = RSAKey.generate_key(2048)
_P384 = ECKey.generate_key("P-384")
_ED25519 = OKPKey.generate_key("Ed25519")


@dataclass(frozen=True)
class Genuine:
    """What the true issuer signs with, and the header and claims that it would sign."""

    key: ECKey
    header: dict[str, Any]
    claims: dict[str, Any]

    def token(self, header: dict[str, Any] | None = None, claims: dict[str, Any] | None = None) -> str:
        """Signed with the true key, with members changed; those that are `...` are left out."""
        return _signed(self.key, "ES256", self._header(header), _present({**self.claims, **(claims or {})}))

    def _header(self, changed: dict[str, Any] | None) -> dict[str, Any]:
        return _present({**self.header, **(changed or {})})


def _present(members: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not ...}


def _segment(value: bytes) -> str:
    return urlsafe_b64encode(value).decode().rstrip("=")


def _start(header: dict[str, Any], claims: dict[str, Any]) -> str:
    return f"{_segment(json.dumps(header).encode())}.{_segment(json.dumps(claims).encode())}"


def _signed(key: Key, algorithm: str, header: dict[str, Any], claims: dict[str, Any]) -> str:
    start = _start(header, claims)
    return f"{start}.{_segment(jws.JWSRegistry.algorithms[algorithm].sign(start.encode(), key))}"


def forgeries(true: Genuine, elsewhere: str) -> dict[str, str]:
    """By what is wrong with each; `elsewhere` is an address that nobody may be led to ask for a key."""
    good = true.token()
    start, _, signature = good.rpartition(".")
    protected, payload = start.split(".")
    raw = urlsafe_b64decode(signature + "==")
    now = int(true.claims["iat"])
    public = true.key.as_dict(private=False)

    def by(key: Key, algorithm: str, **header: Any) -> str:
        return _signed(key, algorithm, true._header({"alg": algorithm, **header}), true.claims)

    def mac(secret: bytes, algorithm: str = "HS256", **header: Any) -> str:
        made = _start(true._header({"alg": algorithm, **header}), true.claims)
        return f"{made}.{_segment(hmac.digest(secret, made.encode(), f'sha{algorithm[2:]}'))}"

    def unsigned(algorithm: Any) -> str:
        return _start(true._header({"alg": algorithm}), true.claims) + "."

    der = encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
    other = _segment(json.dumps({**true.claims, "sub": "admin@two"}).encode())
    stranger = STRANGER.as_dict(private=False)
    return {
        "no algorithm": unsigned("none"),
        "no algorithm, in other letters": unsigned("nOnE"),
        "an algorithm that is null": unsigned(None),
        "the genuine signature under no algorithm": unsigned("none") + signature,
        "an HMAC with the public key in PEM": mac(true.key.as_pem(private=False)),
        "an HMAC with the public key in DER": mac(true.key.as_der(private=False)),
        "an HMAC with the public key as JSON": mac(json.dumps(public).encode()),
        "an HMAC with the key's name": mac(str(true.header["kid"]).encode()),
        "an HMAC of 512 bits": mac(true.key.as_pem(private=False), "HS512"),
        "an HMAC with an empty file": mac(b"", kid="../../../../dev/null"),
        "another key under our name": by(STRANGER, "ES256"),
        "another key under its own name": by(STRANGER, "ES256", kid=STRANGER.thumbprint()),
        "another key under no name": by(STRANGER, "ES256", kid=...),
        "another key, brought along": by(STRANGER, "ES256", jwk=stranger),
        "another key, brought along under our name": by(STRANGER, "ES256", jwk={**stranger, "kid": true.header["kid"]}),
        "another key, to be had elsewhere": by(STRANGER, "ES256", jku=f"{elsewhere}/keys"),
        "a certificate to be had elsewhere": by(STRANGER, "ES256", x5u=f"{elsewhere}/certificate"),
        "a certificate brought along": by(STRANGER, "ES256", x5c=["MIIB"]),
        "a name with a query in it": by(STRANGER, "ES256", kid="x' UNION SELECT 'key' --"),
        "an RSA key under our name": by(_RSA, "RS256"),
        "an RSA key with PSS under our name": by(_RSA, "PS256"),
        "another curve": by(_P384, "ES384"),
        "an Edwards curve": by(_ED25519, "EdDSA"),
        "another issuer": true.token(claims={"iss": f"{true.claims['iss']}.example"}),
        "another audience": true.token(claims={"aud": "somebody-else"}),
        "expired": true.token(claims={"exp": now - 3600}),
        "not valid yet": true.token(claims={"nbf": now + 3600}),
        "issued in the future": true.token(claims={"iat": now + 3600}),
        "without an end": true.token(claims={"exp": ...}),
        "an end that is no number": true.token(claims={"exp": "9999999999"}),
        "a token of another type": true.token({"typ": "logout+jwt"}),
        "a critical extension": true.token({"crit": ["admin"], "admin": True}),
        "an unencoded payload": true.token({"crit": ["b64"], "b64": False}),
        "other claims under a genuine signature": f"{protected}.{other}.{signature}",
        "a signature of zeros": f"{start}.{_segment(bytes(64))}",
        "the signature in DER": f"{start}.{_segment(der)}",
        "a signature that is cut": f"{start}.{signature[:-4]}",
        "without its signature's part": start,
        "a letter that only looks the same": good.replace("e", "\u0435", 1),
        "of a megabyte": f"{protected}.{payload}{'A' * 1_000_000}.{signature}",
    }
