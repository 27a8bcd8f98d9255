"""Credentials as text, and the hash that is stored of them."""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import urlsafe_b64decode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity import secrets
from identity.secrets import Prefix, digest, matches, mint, parse

PEPPER = bytes(range(32))
KEY_ID = "0123456789abcdef"
SECRET = "A-_" + "z" * 40


@pytest.mark.parametrize("prefix", ["ak", "pat"])
def test_a_new_credential_has_the_documented_form(prefix: Prefix) -> None:
    minted = mint(prefix)
    assert re.fullmatch(rf"{prefix}_[0-9a-f]{{16}}\.[A-Za-z0-9_-]{{43}}", minted.text)
    assert minted.text == f"{prefix}_{minted.key_id}.{minted.secret}"
    assert len(urlsafe_b64decode(minted.secret + "=")) == 32
    assert minted.hint == minted.secret[-4:]
    assert parse(minted.text) == (prefix, minted.key_id, minted.secret)


def test_no_two_credentials_are_alike() -> None:
    minted = [mint("ak") for _ in range(1000)]
    assert len({each.key_id for each in minted}) == 1000
    assert len({each.secret for each in minted}) == 1000


def test_secrets_do_not_show_in_tracebacks_and_logs() -> None:
    minted = mint("pat")
    assert repr(minted) == f"Minted(key_id={minted.key_id!r}, hint={minted.hint!r})"
    assert repr(parse(minted.text)) == f"Parsed(prefix='pat', key_id={minted.key_id!r})"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ak_",
        "ak_.",
        f"ak_{KEY_ID}",
        f"ak_{KEY_ID}.",
        f"ak_.{SECRET}",
        f"{KEY_ID}.{SECRET}",
        f"AK_{KEY_ID}.{SECRET}",
        f"sk_{KEY_ID}.{SECRET}",
        f"pat{KEY_ID}.{SECRET}",
        f"ak_{KEY_ID.upper()}.{SECRET}",
        f"ak_{KEY_ID[1:]}.{SECRET}",
        f"ak_{KEY_ID}0.{SECRET}",
        f"ak_{KEY_ID}.{SECRET[1:]}",
        f"ak_{KEY_ID}.{SECRET}z",
        f"ak_{KEY_ID}.{SECRET}=",
        f"ak_{KEY_ID}.{SECRET}\n",
        f" ak_{KEY_ID}.{SECRET}",
        f"ak_{KEY_ID}.{SECRET[:-1]}+",
        f"ak_{KEY_ID}.{SECRET[:-1]}é",
        f"ak_{KEY_ID[:-1]}٣.{SECRET}",
        f"ak_{KEY_ID}\0.{SECRET}",
        f"ak_{KEY_ID}.{SECRET}.{SECRET}",
        "ak_" + "0" * 1_000_000,
    ],
)
def test_nothing_else_is_a_credential(text: str) -> None:
    assert parse(text) is None


@given(st.text())
def test_any_text_is_parsed_without_an_exception(text: str) -> None:
    assert parse(text) is None
    assert parse(f"ak_{KEY_ID}.{text}") is None or re.fullmatch(r"[A-Za-z0-9_-]{43}", text)


def test_the_digest_is_an_hmac_with_the_pepper() -> None:
    assert digest(SECRET, PEPPER) == hmac.digest(PEPPER, SECRET.encode(), "sha256").hex()
    assert digest(SECRET, PEPPER) != digest(SECRET, bytes(32))
    assert digest(SECRET, PEPPER) != hashlib.sha256(SECRET.encode()).hexdigest()


def test_only_the_secret_itself_matches() -> None:
    stored = digest(SECRET, PEPPER)
    assert matches(SECRET, stored, PEPPER) is True
    assert matches(SECRET[:-1] + "y", stored, PEPPER) is False
    assert matches("", stored, PEPPER) is False
    assert matches(SECRET, stored, bytes(32)) is False
    assert matches(SECRET, stored.upper(), PEPPER) is False
    assert matches(SECRET, stored[:-1], PEPPER) is False
    assert matches(SECRET, "", PEPPER) is False
    assert matches(SECRET, "é", PEPPER) is False


def test_without_a_stored_hash_the_same_work_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    compare = hmac.compare_digest

    def counted_digest(secret: str, pepper: bytes) -> str:
        done.append("digest")
        return digest(secret, pepper)

    def counted_compare(one: bytes, other: bytes) -> bool:
        done.append(f"compare {len(one)} {len(other)}")
        return compare(one, other)

    monkeypatch.setattr(secrets, "digest", counted_digest)
    monkeypatch.setattr(hmac, "compare_digest", counted_compare)
    assert secrets.matches(SECRET, None, PEPPER) is False
    unknown, done[:] = list(done), []
    assert secrets.matches(SECRET, digest(SECRET, PEPPER), PEPPER) is True
    assert unknown == done == ["digest", "compare 64 64"]


def test_no_secret_matches_the_stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "digest", lambda _secret, _pepper: "0" * 64)
    assert secrets.matches(SECRET, None, PEPPER) is False
