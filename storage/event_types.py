"""The types of the events in the change log: what happened to what (decision 67)."""

from collections.abc import Iterator, Mapping
from enum import StrEnum

from sqlmodel import SQLModel

from storage.adapters.sqlmodel import mappers


def _declared(model: type[SQLModel]) -> Mapping[str, str]:
    """Reads a table's `__events__`: by the name of what it happens to, what happens, each in the past tense."""
    declared: Mapping[str, str] = getattr(model, "__events__", {})
    return declared


def _types() -> Iterator[str]:
    for mapper in mappers():
        for name, past in _declared(mapper.class_).items():
            yield from (f"{name}_{each}" for each in past.split())


EVENT_TYPES = frozenset(_types())
"""Every type that there is, and that a webhook may ask for."""
EventType = StrEnum("EventType", {name.upper(): name for name in sorted(EVENT_TYPES)})  # type: ignore[misc]  # derived
"""The types as a vocabulary."""


def event_name(model: type[SQLModel]) -> str:
    """Says what the change log calls a record of this table: the first name in its `__events__`."""
    return next(iter(_declared(model)))
