"""Says what a link of a web page leads to, by its address and its words (decision 176).

For the child process that reads the page.
"""

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

PAGES = {
    "contact": r"contact|kontakt|contacto|contatt[io]|contato",
    "help": r"help|support|hilfe|aide|ayuda|soporte|assistenza|ajuda|customer-?(?:service|care)|kundenservice",
    "faq": r"faqs?|questions|haeufige-fragen|preguntas-frecuentes|domande-frequenti",
    "about": r"about|ueber-uns|über uns|a-propos|quienes-somos|chi-siamo|sobre|company|unternehmen",
    "privacy": r"privacy|datenschutz|confidentialit[eé]|privacidad",
    "terms": r"terms|legal|imprint|impressum|agb|mentions-legales|aviso-legal",
}
"""The pages that are looked for behind the home page, in this order, by words in their address or their link."""
_OTHERS = {
    "login": r"log-?in|sign-?in|my-?account|customer-?portal|anmelden|mi-cuenta|connexion",
    "guides": r"docs|documentation|guides?|knowledge-?base|tutorials?|manuals?|academy",
}
_PATTERNS = {kind: re.compile(rf"\b(?:{words})", re.IGNORECASE) for kind, words in (PAGES | _OTHERS).items()}
_SCHEMES = {"mailto": "e-mail", "tel": "phone"}
_SOCIAL = (
    "facebook.com",
    "instagram.com",
    "linkedin.com",
    "m.me",
    "t.me",
    "tiktok.com",
    "twitter.com",
    "wa.me",
    "whatsapp.com",
    "x.com",
    "youtube.com",
)
ADDRESS_MAX = 4_000
"""No longer one is called (providers/outbound.py, which a process that reads pages does not load)."""
_SEARCHED_MAX = 500
"""Characters of an address that are looked through: every position may begin a word."""


@dataclass(frozen=True, slots=True)
class Link:
    """A link with its absolute address, in the page's words.

    `leads_to` is found out where the page is read, since on a hostile one it may take a while: the kinds of page that
    it may be, and `e-mail`, `phone` or `social`.
    """

    url: str
    text: str
    leads_to: frozenset[str]


def read_link(url: str, text: str) -> Link:
    """The link, and where it leads."""
    parts = urlsplit(url)
    path = parts.path[:_SEARCHED_MAX]
    kinds = {kind for kind, pattern in _PATTERNS.items() if pattern.search(path) or pattern.search(text)}
    if parts.scheme in _SCHEMES:
        kinds.add(_SCHEMES[parts.scheme])
    if _is_social(parts.hostname or ""):
        kinds.add("social")
    return Link(url, text, frozenset(kinds))


def _is_social(host: str) -> bool:
    return any(host == name or host.endswith(f".{name}") for name in _SOCIAL)
