"""The pools that names and texts are drawn from, made once per organization: drawing is cheap, making is not."""

import re
import unicodedata
from dataclasses import dataclass
from hashlib import blake2b

INDUSTRIES = ("Software", "Logistics", "Healthcare", "Energy", "Retail", "Manufacturing", "Finance", "Education")
TITLES = (
    "Chief Executive Officer",
    "Chief Financial Officer",
    "Head of Operations",
    "Head of Procurement",
    "IT Director",
    "Product Manager",
    "Sales Director",
    "Customer Success Lead",
)
TOPICS = (
    "Discovery call",
    "Demo",
    "Quarterly review",
    "Negotiation",
    "Kick-off",
    "Check-in",
    "Workshop",
    "Renewal talk",
)
OFFERS = ("Platform licence", "Support plan", "Pilot", "Rollout", "Renewal", "Training package")
NOTES = (
    "Wants to see figures of comparable customers.",
    "Budget is released in the next quarter.",
    "Security review is under way; the questionnaire is with us.",
    "Prefers to go with a small team first, then the whole company.",
    "Décision attendue après la réunion du comité.",
    "Entscheidung fällt nach der Messe – «Zürich» ist gesetzt.",
)
PLACES = ("Head office", "Video call", "Customer site", "Trade fair", "Phone")
DEAL_SOURCES = ("Referral", "Trade fair", "Website", "Outbound", "Partner")
CATALOGUE = (
    ("Northwind", ("Northwind Traders",), ("northwind.example",)),
    ("Contoso", ("Contoso Ltd",), ("contoso.example",)),
    ("Initech", (), ("initech.example",)),
    ("Globex", ("Globex Corporation",), ()),
)
"""The competitors with their aliases and domains."""
COMPETITORS = tuple(name for name, _, _ in CATALOGUE)
LINK_ROLES = ("Decision maker", "Influencer", "Procurement", "Technical evaluator")

_LOCALES = ("en", "de", "fr", "es")
_NAMES = 60
_COMPANIES = 600


@dataclass(frozen=True, slots=True)
class Pools:
    """Names of people and companies."""

    first_names: list[str]
    last_names: list[str]
    companies: list[str]


def pools(key: str) -> Pools:
    """The pools of this key: the same for the same key and version of the library."""
    # A quarter of a second to import, which a start that only looks whether the demo is there must not pay.
    from mimesis import Finance, Person
    from mimesis.locales import Locale

    number = int.from_bytes(blake2b(key.encode(), digest_size=4).digest())
    people = [Person(Locale(locale), seed=number) for locale in _LOCALES]
    finance = Finance(Locale.EN, seed=number)
    return Pools(
        first_names=[person.first_name() for _ in range(_NAMES) for person in people],
        last_names=[person.last_name() for _ in range(_NAMES) for person in people],
        companies=list(dict.fromkeys(finance.company() for _ in range(_COMPANIES))),
    )


def slug(text: str) -> str:
    """Lower-case ASCII letters, digits and hyphens, for a domain or an address."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-") or "x"
