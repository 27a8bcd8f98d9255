"""JSON merge patch (RFC 7396)."""

from typing import Any


def merged(target: object, patch: object) -> Any:  # any JSON; of two objects, an object
    """The document after the patch: objects merge by key, null removes, anything else replaces. Neither is changed."""
    if not isinstance(patch, dict):
        return patch
    result: dict[object, object] = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result
