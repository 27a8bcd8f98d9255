"""Reads what answers say, however they spell it, and finds where two of them differ."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

_WRAPPERS = (
    {"data"},
    {"nodes"},
    *({field} for field in ("meetings", "deals", "deal", "dealBoard", "columns", "search", "dealCreate", "dealUpdate")),
)
"""Objects that hold an answer and say nothing of it."""
_WORDS = {"type", "source", "status", "trend", "key"}
"""Keys of closed vocabularies, which GraphQL writes in upper case where they are enums."""
_AMOUNTS = {"value", "amount"}


def plain(value: Any, dropped: frozenset[str], key: str = "") -> Any:
    """Times as moments, amounts as numbers, words in lower case, pages as lists; without keys that are to be dropped.

    What a request cost goes, and so do `userErrors` where there are none.
    """
    if isinstance(value, list):
        return [plain(item, dropped) for item in value]
    if isinstance(value, dict):
        said = {k: v for k, v in value.items() if k != "extensions" and (k != "userErrors" or v)}
        if set(said) in _WRAPPERS:
            return plain(next(iter(said.values())), dropped)
        return {k: plain(v, dropped, k) for k, v in said.items() if k not in dropped}
    if isinstance(value, str):
        if key.endswith(("At", "_at")):
            moment = datetime.fromisoformat(value)
            return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
        if key in _AMOUNTS:
            return Decimal(value)
        return value.lower() if key in _WORDS else value
    return value


def difference(ours: Any, theirs: Any, us: str, them: str, at: str = "") -> str:
    """Tells where the first difference lies."""
    if isinstance(ours, dict) and isinstance(theirs, dict) and set(ours) == set(theirs):
        key = next(key for key in ours if ours[key] != theirs[key])
        return difference(ours[key], theirs[key], us, them, f"{at}.{key}")
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        index = next(i for i, pair in enumerate(zip(ours, theirs, strict=True)) if pair[0] != pair[1])
        return difference(ours[index], theirs[index], us, them, f"{at}[{index}]")
    return f"at {at or 'the top'} {us} says {ours!r:.500}, {them} {theirs!r:.500}"
