"""When two texts name the same company, person or site (decision 39)."""

from __future__ import annotations

import re
from functools import partial
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract.domains import domain_of, kept_domain
from contract.matching import company_key, person_key
from resolvers.lead_matching import parted, patterns


@pytest.mark.parametrize(
    "group",
    [
        ("Acme", "ACME", "Acme Inc.", "acme, Inc", "The Acme Company", "Acme Co. Ltd."),
        ("Müller GmbH", "MULLER", "Mu\u0308ller Gmbh & Co. KG", "müller"),
        ("Société d'Énergie S.A.", "societe d energie"),
        ("Straße AG", "STRASSE"),
        ("Газпром", "ГАЗПРОМ"),
        ("Йод Ёлка", "ЙОД ЕЛКА"),
        ("한국", "한국"),
        ("Weiß AG", "WEISS", "weiss"),
        ("Booking.com B.V.", "booking.com"),
        ("Smith & Sons", "Smith and Sons"),
    ],
)
def test_names_of_one_company(group: tuple[str, ...]) -> None:
    assert len({company_key(name) for name in group}) == 1
    # What the statement looks for in one name is found in the others, lowered as the database lowers them.
    for name in group:
        for other in map(partial(normalize, "NFC"), group):
            lowered = "".join(c.lower() if c.isascii() else c for c in other)
            assert all(any(re.search(p, lowered) for p in word) for word in patterns(name, is_company=True)), other


def test_names_of_different_companies() -> None:
    names = ["Acme", "Acme Holding", "Acme Labs", "Ltd", "AG", "&", "東京", "東京海上"]
    assert len({company_key(name) for name in names}) == len(names)
    assert company_key(None) == company_key(" - ") == ()


def test_names_of_one_person() -> None:
    assert len({person_key(name) for name in ("Ada Park", "PARK, Ada", " park  ada", "Áda Párk")}) == 1
    assert person_key("Ada Park") != person_key("Ada Parker")


@pytest.mark.parametrize(
    ("text", "domain"),
    [
        ("acme.com", "acme.com"),
        (" HTTPS://www.Acme.com:8080/about?x#y ", "acme.com"),
        ("ada@mail.acme.co.uk", "mail.acme.co.uk"),
        ("www.müller.de.", "müller.de"),
        ("http://user:secret@acme.com/", "acme.com"),
        ("acme", None),
        ("not a domain.", None),
        ("", None),
        (None, None),
    ],
)
def test_domains(text: str | None, domain: str | None) -> None:
    assert domain_of(text) == domain
    assert domain is None or kept_domain(str(text)) == domain


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("WWW.www.Acme.com/", "acme.com"),
        ("www.com", "www.com"),
        ("https://Intranet:8080/start", "intranet"),
        (" Intranet ", "intranet"),
        ("N/A", "n/a"),
        ("https://", "https://"),
        ("Not a domain.", "not a domain."),
        ("  ", ""),
    ],
)
def test_domains_as_they_are_kept(text: str, kept: str) -> None:
    """Decision 215."""
    assert kept_domain(text) == kept


@given(
    st.text() | st.text("aW.w:/@# İß-", max_size=12) | st.from_regex(r"(https?://)?(www\.)*[a-z.]*/?", fullmatch=True)
)
def test_a_kept_domain_stays_as_it_is(text: str) -> None:
    assert kept_domain(kept_domain(text)) == kept_domain(text)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("Ada Park", ("Ada", "Park")),
        ("Ada Lovelace Park", ("Ada Lovelace", "Park")),
        ("Park, Ada B.", ("Ada B.", "Park")),
        ("Madonna", (None, "Madonna")),
        (", Ada", (",", "Ada")),
        ("東京", (None, "東京")),
    ],
)
def test_given_and_family_name(name: str, parts: tuple[str | None, str]) -> None:
    assert parted(name) == parts
