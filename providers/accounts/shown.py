"""Reads what interfaces of calendars and mail show: texts, numbers, and people, each address once."""

from datetime import UTC, datetime

from contract.integrations import PARTICIPANTS_MAX, ParticipantResponse
from contract.normal_form import ordered
from providers.accounts.calls import Json
from providers.accounts.ical_events import ADDRESS_MAX, YEARS
from providers.accounts.ports import Guest

ID_MAX = 1_100
"""The characters of an identifier: 1,024, and the start of an occurrence behind it."""
_NAME_MAX = 200


def objects(value: object) -> list[Json]:
    """The objects of a list; none of anything else."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def within(value: object, name: str) -> object:
    """Gives what the object has under this name; None of anything that is no object."""
    return value.get(name) if isinstance(value, dict) else None


def identifier_of(value: object) -> str | None:
    """The identifier; None for what is none, is too long to be found again by, or cannot be stored as it is."""
    return value if isinstance(value, str) and 0 < len(value) <= ID_MAX and value.isprintable() else None


def text_of(value: object, longest: int) -> str | None:
    """The text, trimmed and cut; None where there is none."""
    if not isinstance(value, str):
        return None
    # PostgreSQL stores neither half a pair nor the character zero.
    return ordered("".join(c for c in value.strip()[:longest] if c != "\0" and not "\ud800" <= c <= "\udfff")) or None


def is_address(email: str) -> bool:
    """Says whether the text is an address, as far as one can be kept."""
    return "@" in email and len(email) <= ADDRESS_MAX and email.isprintable() and not any(c.isspace() for c in email)


def changed(value: object) -> datetime | None:
    """The moment, where the text is one of a year that calendars have."""
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return found.astimezone(UTC) if found is not None and found.tzinfo and found.year in YEARS else None


class People:
    """Says who takes part, each address once, in the order in which they are added."""

    def __init__(self) -> None:
        self._found: dict[str, Guest] = {}

    def add(self, address: object, name: object, response: ParticipantResponse, *, is_organizer: bool) -> None:
        """Add somebody, unless the address is none; of one who is there already the latest response counts."""
        email = str(address or "").strip()
        if not is_address(email):
            return
        key, called = email.lower(), text_of(name, _NAME_MAX)
        there = self._found.get(key)
        if there is None and len(self._found) >= PARTICIPANTS_MAX:
            return
        is_organizer = is_organizer or (there is not None and there.is_organizer)
        named = called if called and called.lower() != key else None
        self._found[key] = Guest(email, named or (there.name if there else None), response, is_organizer)

    @property
    def guests(self) -> tuple[Guest, ...]:
        return tuple(self._found.values())
