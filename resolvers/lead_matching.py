"""When two texts name the same company, person or site: pure, and the same for both databases (decision 39)."""

import re
import unicodedata
from collections.abc import Sequence

_WORD = re.compile(r"\w+")
_RUN = re.compile(r"[a-z0-9]+")
_SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*://")
_FORMS = (
    "ab ag aps as asa bv co corp corporation company cv eg ev gbr gesmbh gmbh inc incorporated kft kg kgaa kk limited"
    " llc llp lp ltd ltda mbh nv ohg oy oyj plc pte pty sa sab sarl sas sasu se sl spa sprl srl ug"
)
_LEGAL_FORMS = frozenset(_FORMS.split())
_FILLERS = frozenset(["and", "et", "of", "the", "und", "y"])


def _folded(text: str) -> str:
    """Without letter case, marks and width: what `Müller` and `MULLER` share."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in plain if not unicodedata.combining(c)).casefold()


def _words(text: str) -> list[str]:
    return _WORD.findall(_folded(text))


def company_key(name: str | None) -> tuple[str, ...]:
    """The words that tell a company from others, without legal form and fillers; empty for no name.

    Dots are left out first, so that `S.A.` is a legal form too.
    """
    words = _words((name or "").replace(".", ""))
    telling = [word for word in words if word not in _FILLERS]
    while len(telling) > 1 and telling[-1] in _LEGAL_FORMS:
        telling.pop()
    return tuple(telling or words)


def person_key(name: str | None) -> tuple[str, ...]:
    """The words of a person's name, in no particular order: `Park, Ada` is `Ada Park`."""
    return tuple(sorted(_words(name or "")))


def domain_of(text: str | None) -> str | None:
    """The bare domain of a site or an e-mail address, without `www.`; None where there is none."""
    if text is None:
        return None
    address = _SCHEME.sub("", text.strip().lower())
    host = re.split(r"[/?#]", address, maxsplit=1)[0].rpartition("@")[2]
    host = host.partition(":")[0].strip(".").removeprefix("www.")
    return host if "." in host and re.fullmatch(r"[\w.-]+", host) else None


def spellings(text: str, *, is_company: bool = False) -> list[list[str]]:
    """For each word of a name the pieces of which a text with that word has one, as a database finds them.

    Databases lower ASCII letters only, so the piece is the word's longest run of those; a word without one is looked
    for in the letter cases that are usual.
    """
    words = _WORD.findall(unicodedata.normalize("NFC", text))
    telling = [word for word in words if len(word) > 1 and not (is_company and _is_common(word))]
    return [_pieces(word) for word in telling or words]


def _is_common(word: str) -> bool:
    folded = _folded(word)
    return folded in _FILLERS or folded in _LEGAL_FORMS


def _pieces(word: str) -> list[str]:
    runs: Sequence[str] = _RUN.findall(word.lower())
    longest = max(runs, key=len, default="")
    if len(longest) > 1 or word.isascii():
        return [longest or word.lower()]
    return list(dict.fromkeys((word, word.lower(), word.upper(), word.capitalize())))


def parted(name: str) -> tuple[str | None, str]:
    """Given and family name: the last word is the family's, or what stands before a comma."""
    family, comma, given = (part.strip() for part in name.partition(","))
    if comma and family and given:
        return given, family
    given, _, family = name.strip().rpartition(" ")
    return given.strip() or None, family
