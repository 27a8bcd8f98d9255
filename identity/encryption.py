"""Encrypts what only holders of the pepper can read: the database alone, where it is kept, is of no use."""

import hmac
import secrets
import zlib
from collections.abc import Iterable

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_NONCE = 12


def seal(pepper: bytes, name: str, data: bytes) -> bytes:
    """The data, compressed, under AES-256-GCM with a key of its own; it is opened under the same name only."""
    nonce = secrets.token_bytes(_NONCE)
    return nonce + _cipher(pepper, name).encrypt(nonce, zlib.compress(data, 1), None)


def unseal(pepper: bytes, name: str, sealed: bytes) -> bytes:
    """The data. Raises cryptography.exceptions.InvalidTag for what was not sealed under this name and pepper."""
    return zlib.decompress(_cipher(pepper, name).decrypt(sealed[:_NONCE], sealed[_NONCE:], None))


def opened(peppers: Iterable[bytes], name: str, sealed: bytes) -> bytes:
    """The data, sealed under one of these peppers. Raises InvalidTag for what was sealed under none of them."""
    for pepper in peppers:
        try:
            return unseal(pepper, name, sealed)
        except (InvalidTag, ValueError):  # the second where it is too short to be anything sealed
            continue
    raise InvalidTag


def _cipher(pepper: bytes, name: str) -> AESGCM:
    return AESGCM(hmac.digest(pepper, f"sealed:{name}".encode(), "sha256"))
