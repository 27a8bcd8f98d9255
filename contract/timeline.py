"""Declares which records have a history, and which of their fields are told of a change (decision 236)."""

from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from types import MappingProxyType

from contract.limits import CHANGE_TEXT_MAX
from contract.vocabulary import ActivityType, TimelineKind

SUBJECTS: Mapping[str, str] = MappingProxyType(
    {"accounts": "account", "contacts": "contact", "deals": "deal", "leads": "lead", "campaigns": "campaign"}
)
"""The tables whose records have a history, each with the kind that their changes name."""

ACTIVITIES = tuple(TimelineKind(kind.value) for kind in ActivityType)
"""The kinds of items that are activities, by the same names."""

_NEVER = frozenset({"org_id", "id", "created_at", "updated_at", "version"})
_UNTOLD: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "deal": frozenset({"stage_id", "closed_at"}),
        "lead": frozenset({"capture_payload"}),
        "campaign": frozenset({"provider", "provider_campaign_id", "provider_sync", "provider_synced_at", "revision"}),
    }
)
"""Fields that are told elsewhere, follow from others, or are the provider's bookkeeping."""

Fields = dict[str, list[object]]
"""Fields by name, each with the value before and the one after, as JSON has them."""


def told_fields(kind: str, before: Mapping[str, object], after: Mapping[str, object]) -> Fields:
    """The fields of a record of the kind that differ and are told.

    A deal that moves has its stage told by the move, and with it the status that follows (decision 233).
    """
    untold = _NEVER | _UNTOLD.get(kind, frozenset())
    if kind == "deal" and before.get("stage_id") != after.get("stage_id"):
        untold |= {"status"}
    return {
        name: [as_told(before.get(name)), as_told(value)]
        for name, value in after.items()
        if name not in untold and before.get(name) != value
    }


def as_told(value: object) -> object:
    """The value as JSON, with each text in it cut where it is too long for a feed."""
    if isinstance(value, str):
        return value[:CHANGE_TEXT_MAX]
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, list):
        return [as_told(each) for each in value]
    if isinstance(value, dict):
        return {name: as_told(each) for name, each in value.items()}
    return value


def extended(told: Mapping[str, list[object]], more: Mapping[str, list[object]]) -> Fields:
    """The fields of two edits as one: the values before the first and after the last (decision 232).

    A field that came back to its first value is dropped, unless the values were cut: those that begin alike may differ.
    """
    together = {name: list(values) for name, values in told.items()}
    for name, (before, after) in more.items():
        together[name] = [together.get(name, [before])[0], after]
    return {name: values for name, values in together.items() if values[0] != values[1] or _may_be_cut(values[0])}


def _may_be_cut(value: object) -> bool:
    return isinstance(value, str) and len(value) == CHANGE_TEXT_MAX
