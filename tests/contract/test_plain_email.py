"""Whatever the short look takes for an e-mail address, the library that judges all others takes for one, too."""

from __future__ import annotations

import pytest
from email_validator import EmailNotValidError, validate_email
from hypothesis import given, settings
from hypothesis import strategies as st

from contract.plain_email import is_plain_email

PARTS = st.text("aZ09_+-.xn", min_size=1, max_size=70)
DOMAINS = st.text("az09-.", min_size=1, max_size=70) | st.sampled_from(("mail.", "a-b.", "", "xn--a."))
ENDS = st.sampled_from(
    ("com", "example", "test", "local", "onion", "arpa", "localhost", "invalid", "c1", "a" * 64, "de")
)


@given(PARTS, DOMAINS, ENDS)
@settings(max_examples=3_000, deadline=None)
def test_it_takes_no_other(local: str, domain: str, end: str) -> None:
    address = f"{local}@{domain}{end}"
    if is_plain_email(address):
        validate_email(address, check_deliverability=False)


@pytest.mark.parametrize(
    ("address", "is_plain"),
    [
        ("ada.park+x@mail.a-b.example", True),
        ("p7@people.example", True),
        (f"{'a' * 64}@example.com", True),
        (f"{'a' * 65}@example.com", False),
        (f"a@{'b' * 63}.com", True),
        (f"a@{'b' * 64}.com", False),
        (f"{'a' * 60}@{'b' * 60}.{'c' * 60}.{'d' * 60}.{'e' * 15}.com", False),
        ("a@example.test", False),
        ("a@local", False),
        ("a@xn--a.com", False),
        ("a..b@example.com", False),
        ("a@example.com\n", False),
        ("ä@example.com", False),
        ("a@Example.com", False),
    ],
)
def test_what_it_knows(address: str, *, is_plain: bool) -> None:
    assert is_plain_email(address) is is_plain
    if is_plain:
        validate_email(address, check_deliverability=False)


@given(st.text(max_size=30))
def test_of_any_text_it_takes_no_other(text: str) -> None:
    try:
        validate_email(text, check_deliverability=False)
    except EmailNotValidError:
        assert not is_plain_email(text)
