from __future__ import annotations

import pytest
from cryptography.exceptions import InvalidTag

from identity.encryption import seal, unseal

PEPPER = bytes(range(32))


@pytest.mark.parametrize("data", [b"", b"null", bytes(range(256)) * 1_000], ids=len)
def test_what_was_sealed_is_opened(data: bytes) -> None:
    sealed = seal(PEPPER, "name", data)
    assert unseal(PEPPER, "name", sealed) == data
    assert seal(PEPPER, "name", data) != sealed


def test_nobody_else_opens_it() -> None:
    sealed = seal(PEPPER, "name", b"ak_key.secret")
    assert b"secret" not in sealed
    flipped = sealed[:-1] + bytes([sealed[-1] ^ 1])
    for pepper, name, text in ((bytes(32), "name", sealed), (PEPPER, "other", sealed), (PEPPER, "name", flipped)):
        with pytest.raises(InvalidTag):
            unseal(pepper, name, text)
