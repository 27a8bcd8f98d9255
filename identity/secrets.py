"""Credentials as text: `<prefix>_<key_id>.<secret>` (specification 5.2 and 4.10), of which only a hash is stored."""

from __future__ import annotations

import hmac
import re
import secrets
from base64 import urlsafe_b64encode
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, NamedTuple

Prefix = Literal["ak", "pat"]

_FORM = re.compile(r"(ak|pat)_([0-9a-f]{16})\.([A-Za-z0-9_-]{43})")
_HINT = 4
# What is compared with where there is no stored hash: no HMAC is known to be this.
_NOBODY = "0" * 64


@dataclass(frozen=True, slots=True)
class Minted:
    """A new credential. `text` is shown to its owner once; `hint` is the end of the secret, to tell keys apart by."""

    text: str = field(repr=False)
    key_id: str
    secret: str = field(repr=False)
    hint: str


class Parsed(NamedTuple):
    prefix: Prefix
    key_id: str
    secret: str

    def __repr__(self) -> str:
        """Without the secret, which must not reach a log or a traceback."""
        return f"Parsed(prefix={self.prefix!r}, key_id={self.key_id!r})"


def mint(prefix: Prefix) -> Minted:
    """A credential with a 256-bit secret; 64 random bits of key id leave collisions to the table's unique key."""
    key_id = secrets.token_hex(8)
    secret = secrets.token_urlsafe(32)
    return Minted(text=f"{prefix}_{key_id}.{secret}", key_id=key_id, secret=secret, hint=secret[-_HINT:])


def derived(prefix: Prefix, pepper: bytes, purpose: str) -> Minted:
    """The credential for this purpose, the same one wherever the pepper is: nothing has to be kept to show it again."""
    key_id = hmac.digest(pepper, f"key id {purpose}".encode(), "sha256").hex()[:16]
    secret = urlsafe_b64encode(hmac.digest(pepper, f"secret {purpose}".encode(), "sha256")).decode().rstrip("=")
    return Minted(text=f"{prefix}_{key_id}.{secret}", key_id=key_id, secret=secret, hint=secret[-_HINT:])


def parse(text: str) -> Parsed | None:
    """The parts of a credential, or None for everything that `mint` cannot have made."""
    match = _FORM.fullmatch(text)
    return None if match is None else Parsed("ak" if match[1] == "ak" else "pat", match[2], match[3])


class Pepper(bytes):
    """A pepper, and those that it took the place of: they verify what was stored with them, and store nothing."""

    previous: tuple[bytes, ...] = ()

    def before(self, *previous: bytes) -> Pepper:
        """The same pepper after these."""
        result = Pepper(self)
        result.previous = previous
        return result


def peppers(pepper: bytes) -> tuple[bytes, ...]:
    """The pepper, and those before it."""
    return (pepper, *pepper.previous) if isinstance(pepper, Pepper) else (pepper,)


@lru_cache(maxsize=16)
def mark(pepper: bytes) -> str:
    """Makes the beginning of hashes stored with this pepper: 32 bits that say which, and nothing of it."""
    return hmac.digest(pepper, b"crm-gateway pepper", "sha256").hex()[:8] + "$"


def stored(secret: str, pepper: bytes) -> str:
    """Makes the text that is stored of a secret: the pepper's mark and the keyed hash."""
    return mark(bytes(pepper)) + digest(secret, pepper)


def is_current(stored_hash: str | None, pepper: bytes) -> bool:
    """Says whether the hash was made with this pepper, and not with one before it."""
    return stored_hash is not None and stored_hash.startswith(mark(bytes(pepper)))


def digest(secret: str, pepper: bytes) -> str:
    """The HMAC-SHA-256 that is stored, in hexadecimal: a copy of the database alone verifies no guess."""
    return hmac.digest(pepper, secret.encode(), "sha256").hex()


def matches(secret: str, stored_hash: str | None, pepper: bytes) -> bool:
    """Says whether the secret is the stored one; without a stored one the same work is done, and the answer is no."""
    expected = (_NOBODY if stored_hash is None else stored_hash).rpartition("$")[2].encode()
    equal = False
    for one in peppers(pepper):
        equal |= hmac.compare_digest(digest(secret, one).encode(), expected)
    return equal and stored_hash is not None
