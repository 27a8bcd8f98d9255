"""Secrets that were given to the service or made by it, and every form in which one could be found in some bytes."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, field
from urllib.parse import quote

from tests.isolation.canaries import layers


@dataclass
class Planted:
    """Secrets by what they are."""

    secrets: dict[str, bytes] = field(default_factory=dict)

    def plant(self, name: str, secret: str | bytes) -> str:
        """Look for this one too; the secret as text."""
        raw = secret.encode() if isinstance(secret, str) else secret
        assert len(raw) >= 16, "too short to be told from chance"
        self.secrets[name] = raw
        return raw.decode("latin-1")

    def found(self, content: bytes) -> set[str]:
        """The names of those that the bytes hold, as they are, encoded, or hashed without the pepper."""
        text = b"\n".join(layers(content))
        return {name for name, secret in self.secrets.items() if any(form in text for form in forms(secret))}


def forms(secret: bytes) -> set[bytes]:
    """The secret itself, percent-encoded, in hexadecimal, in base64 at any place of a longer text, and its hashes."""
    found = {secret, quote(secret).encode(), secret.hex().encode(), secret.hex().upper().encode()}
    for shift in range(3):
        whole = base64.b64encode(bytes(shift) + secret)
        inner = whole[4 if shift else 0 : -4]  # what does not depend on the neighbours
        found |= {inner, inner.translate(bytes.maketrans(b"+/", b"-_"))}
    for name in ("md5", "sha1", "sha256", "sha512"):
        hashed = hashlib.new(name, secret).digest()
        found |= {hashed, hashed.hex().encode(), base64.b64encode(hashed)}
    return found
