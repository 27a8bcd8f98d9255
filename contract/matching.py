"""Says when two texts name the same company, person or telephone: pure, and the same for both databases."""

import re
import unicodedata

from contract.normal_form import normal_form

_WORD = re.compile(r"\w+")
_FORMS = (
    "ab ag aps as asa bv co corp corporation company cv eg ev gbr gesmbh gmbh inc incorporated kft kg kgaa kk limited"
    " llc llp lp ltd ltda mbh nv ohg oy oyj plc pte pty sa sab sarl sas sasu se sl spa sprl srl ug"
)
_LEGAL_FORMS = frozenset(_FORMS.split())
_FILLERS = frozenset(["and", "et", "of", "the", "und", "y"])
COMMON = _LEGAL_FORMS | _FILLERS
"""The words that tell no company from another."""

_KEPT = 200
"""Characters of a name that are compared: an index holds no more of a text of any script."""
_LEAST_DIGITS, _MOST_DIGITS = 7, 40
_TRUNK = re.compile(r"\(0\)")


def without_marks(text: str) -> str:
    """Without letter case, marks and width: what `Müller` and `MULLER` share."""
    if text.isascii():
        return text.lower()
    plain = normal_form("NFKD", text.casefold())
    return normal_form("NFC", "".join(c for c in plain if not unicodedata.combining(c)).casefold())


def words_of_name(text: str) -> list[str]:
    """The words, folded so."""
    return _WORD.findall(without_marks(text))


def company_key(name: str | None) -> tuple[str, ...]:
    """The words that tell a company from others, without legal form and fillers; empty for no name.

    Dots are left out first, so that `S.A.` is a legal form too.
    """
    words = words_of_name((name or "").replace(".", ""))
    telling = [word for word in words if word not in _FILLERS]
    while len(telling) > 1 and telling[-1] in _LEGAL_FORMS:
        telling.pop()
    return tuple(telling or words)


def person_key(name: str | None) -> tuple[str, ...]:
    """The words of a person's name, in no particular order: `Park, Ada` is `Ada Park`."""
    return tuple(sorted(words_of_name(name or "")))


def company_match(name: str) -> str:
    """The name of a company as duplicates are found by it; empty where it has no word."""
    return " ".join(company_key(name))[:_KEPT]


def name_match(name: str) -> str:
    """A part of a person's name as duplicates are found by it; empty where it has no word."""
    return " ".join(words_of_name(name))[:_KEPT]


def phone_match(phone: str) -> str:
    """The digits of a telephone number from its country on; empty where they are too few to tell numbers apart."""
    digits = "".join(str(unicodedata.decimal(c)) for c in _TRUNK.sub("", phone) if c.isdecimal())
    digits = digits.removeprefix("00")
    return digits[:_MOST_DIGITS] if len(digits) >= _LEAST_DIGITS else ""
