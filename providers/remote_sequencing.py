"""Holds the common parts of the adapters to sequencing providers of others."""

from collections.abc import Collection
from datetime import timedelta
from typing import Final

from providers.sequencing import Lead, Outline

ASKS_AGAIN: Final = timedelta(minutes=5)
PAGE: Final = 100
PAGES_MAX: Final = 1_000


def mark(key: str) -> str:
    """The end of a campaign's name at the provider, by which it is found again."""
    return f" · {key}"


def title_of(sequence: Outline) -> str:
    """The campaign's name at the provider."""
    return f"{sequence.name}{mark(sequence.key)}"


def html_of(body: str) -> str:
    """A message's body as providers take it."""
    return body.replace("\n", "<br/>")


def lead_body(lead: Lead, fields: Collection[str], custom_name: str) -> dict[str, object]:
    """A recipient: variables that the provider has a field for go there, the others are custom ones."""
    own = {name: str(value) for name, value in lead.variables.items() if name in fields and value is not None}
    custom = {name: value for name, value in lead.variables.items() if name not in fields}
    return {"email": lead.email, **own, **({custom_name: custom} if custom else {})}


def is_of(lead: dict[str, object], email: str) -> bool:
    """Says whether the provider's record of a recipient has this address."""
    return str(lead.get("email", "")).casefold() == email.casefold()
