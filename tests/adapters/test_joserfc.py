"""What is relied on of joserfc below its documented surface (identity/adapters/joserfc.py)."""

from __future__ import annotations

import binascii

import pytest

from identity.adapters.joserfc import urlsafe_b64decode


def test_base64_of_a_key_is_read_strictly() -> None:
    assert urlsafe_b64decode(b"AQAB") == b"\x01\x00\x01"
    assert urlsafe_b64decode(b"_-8") == b"\xff\xef"
    for text in (b"AQAB====", b"A", b"+/8", b"_-9"):
        with pytest.raises(binascii.Error):
            urlsafe_b64decode(text)
