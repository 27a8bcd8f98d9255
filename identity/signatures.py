"""JWTs up to their signature: which keys are usable, for which one algorithm each, and what a token must look like.

A key has exactly one algorithm, which follows from the key and never from the token. So neither `none`, nor an HMAC
made with a public key, nor a weaker variant of the right algorithm is ever tried.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field

import orjson
from joserfc import jws
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, Key, OKPKey, RSAKey

from identity.adapters.joserfc import urlsafe_b64decode

TOKEN_MAX = 16 * 1024

# The algorithm of a key that names none; RSA keys alone have a choice, and RS256 is what OpenID providers default to.
_IMPLIED = {("EC", "P-256"): "ES256", ("EC", "P-384"): "ES384", ("OKP", "Ed25519"): "Ed25519", ("RSA", None): "RS256"}
_NAMED = {**_IMPLIED, ("RSA", None): "PS256"}
# RFC 9864 gave EdDSA with Ed25519 a name of its own: one algorithm, two names.
_SYNONYMS = {"EdDSA": "Ed25519"}
ALGORITHMS = frozenset({*_IMPLIED.values(), *_NAMED.values()})

# Of RSA keys: shorter ones are broken, longer ones make the verification itself an attack.
_RSA_BITS = range(2048, 8193)
# An exponent of 64 bits in base64url.
_EXPONENT_MAX = 11
_KEY_ID_MAX = 512

# What joserfc and the JSON parser raise on bytes that are not what they should be.
_MALFORMED = (JoseError, ValueError, TypeError, KeyError, AttributeError, RecursionError)


class InvalidToken(Exception):
    """The token is refused. The text says why in fixed words, so it can be logged; it holds nothing of the token."""


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A key that verifies signatures of one algorithm; `kid` is None where its set names it by none."""

    kid: str | None
    algorithm: str
    key: Key = field(repr=False)


class _Registry(jws.JWSRegistry):
    """joserfc's rules, with room for certificates in headers and long RSA keys; TOKEN_MAX is the limit that counts."""

    max_header_length = TOKEN_MAX
    max_signature_length = 2048


_REGISTRIES = {name: _Registry(algorithms=[name]) for name in ALGORITHMS}
_ANY = _Registry(algorithms=list(ALGORITHMS))


@dataclass(frozen=True, slots=True)
class Unverified:
    """A well-formed token before its signature is verified: good for choosing a key and for refusing, nothing else."""

    kid: str | None
    algorithm: str
    type: str | None
    payload: dict[str, object] = field(repr=False)
    signed: jws.CompactSignature = field(repr=False)

    def verify(self, key: PublicKey) -> None:
        """Return where the key made the signature; InvalidToken otherwise."""
        if key.algorithm != self.algorithm:
            raise InvalidToken("the algorithm is not the key's")
        valid = False
        with contextlib.suppress(*_MALFORMED):
            valid = jws.validate_compact(self.signed, key.key, registry=_REGISTRIES[key.algorithm])
        if not valid:
            raise InvalidToken("the signature is wrong")


def parse(token: str) -> Unverified:
    """The token's header and payload, or InvalidToken, whatever the text is."""
    if len(token) > TOKEN_MAX:
        raise InvalidToken("longer than 16 KiB")
    if (parts := _taken_apart(token)) is None:
        raise InvalidToken("not a signed token")
    signed, header, payload = parts
    # Every extension that a header can declare critical is one that is not understood here.
    if "crit" in header:
        raise InvalidToken("critical header parameters are not understood")
    algorithm, kid, kind = header.get("alg"), header.get("kid"), header.get("typ")
    if not isinstance(algorithm, str) or _SYNONYMS.get(algorithm, algorithm) not in ALGORITHMS:
        raise InvalidToken("the algorithm is not allowed")
    if not (kid is None or (isinstance(kid, str) and len(kid) <= _KEY_ID_MAX)):
        raise InvalidToken("the key id is malformed")
    if not (kind is None or isinstance(kind, str)):
        raise InvalidToken("the type is malformed")
    algorithm = _SYNONYMS.get(algorithm, algorithm)
    # What is signed are the segments. The rest of the header has no say in how that is verified: not the addresses and
    # keys that it may bring along, and not the members that providers add.
    signed.protected = {"alg": algorithm}
    return Unverified(
        kid=kid,
        algorithm=algorithm,
        type=None if kind is None else kind.lower().removeprefix("application/"),
        payload=payload,
        signed=signed,
    )


def _taken_apart(token: str) -> tuple[jws.CompactSignature, dict[str, object], dict[str, object]] | None:
    """Not an exception, whose cause would be the parser's and hold what was parsed."""
    with contextlib.suppress(*_MALFORMED):
        signed = jws.extract_compact(token.encode("ascii"), registry=_ANY)
        header: object = signed.protected
        payload: object = orjson.loads(signed.payload)
        if isinstance(header, dict) and isinstance(payload, dict):
            return signed, header, payload
    return None


def public_key(jwk: object) -> PublicKey | None:
    """The key of one member of a key set, or None where it is not one to verify tokens with."""
    if not isinstance(jwk, Mapping) or jwk.get("use", "sig") != "sig":
        return None
    operations = jwk.get("key_ops", ["verify"])
    if not isinstance(operations, list) or "verify" not in operations:
        return None
    kid, algorithm = jwk.get("kid"), _algorithm(jwk)
    if algorithm is None or not (kid is None or (isinstance(kid, str) and len(kid) <= _KEY_ID_MAX)):
        return None
    try:
        return PublicKey(kid=kid, algorithm=algorithm, key=_imported(jwk))
    except _MALFORMED:
        return None


def _algorithm(jwk: Mapping[str, object]) -> str | None:
    kind, curve, named = jwk.get("kty"), jwk.get("crv"), jwk.get("alg")
    if not isinstance(kind, str) or not (curve is None or isinstance(curve, str)):
        return None
    implied = _IMPLIED.get((kind, curve))
    if implied is None or named is None:
        return implied
    if not isinstance(named, str):
        return None
    named = _SYNONYMS.get(named, named)
    return named if named in (implied, _NAMED[(kind, curve)]) else None


def _imported(jwk: Mapping[str, object]) -> Key:
    """The public part alone, with nothing that could widen or narrow what was decided above."""
    members = {name: str(jwk[name]) for name in ("kty", "crv", "x", "y", "n", "e") if isinstance(jwk.get(name), str)}
    match members["kty"]:
        case "EC":
            return ECKey.import_key(dict(members))
        case "OKP":
            return OKPKey.import_key(dict(members))
        case _:
            # Before the import, which prints a warning about a short key and takes it.
            bits = int.from_bytes(urlsafe_b64decode(members["n"].encode("ascii")), "big").bit_length()
            if bits not in _RSA_BITS or len(members["e"]) > _EXPONENT_MAX:
                raise ValueError("not an RSA key of a usable size")
            return RSAKey.import_key(dict(members))
