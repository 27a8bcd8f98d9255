"""Makes what pydantic says of a model fit to be read in the description."""

from __future__ import annotations

from typing import Any


def cleaned(schema: Any) -> Any:  # Any: a JSON value, and the same again
    """Removes the titles that pydantic makes of names, and nulls as defaults."""
    if isinstance(schema, list):
        return [cleaned(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: cleaned(value)
        for name, value in schema.items()
        if not (name == "title" and isinstance(value, str)) and not (name == "default" and value is None)
    }
