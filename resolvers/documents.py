"""JSON objects as input: whatever a client sends becomes what both databases keep and give back alike."""

import math
from decimal import Decimal
from typing import Annotated, Any

from pydantic import BeforeValidator

from resolvers.inputs import storable

DEPTH_MAX = 32
_WHOLE_MAX = 2**53


def plain(value: Any, depth: int = DEPTH_MAX) -> Any:
    """The JSON value with numbers that every reader of JSON keeps. Raises ValueError."""
    if depth == 0:
        raise ValueError(f"must not nest deeper than {DEPTH_MAX} levels")
    if isinstance(value, dict):
        return {storable(str(name)): plain(part, depth - 1) for name, part in value.items()}
    if isinstance(value, list):
        return [plain(part, depth - 1) for part in value]
    if isinstance(value, str):
        return storable(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) <= _WHOLE_MAX:
        return value
    number = _finite(value)
    return int(number) if isinstance(value, Decimal) and number == value == int(number) else number


def _finite(value: Any) -> float:
    try:
        number = float(value)
    except (OverflowError, TypeError, ValueError):
        number = math.inf
    if not math.isfinite(number):
        raise ValueError("must have finite numbers only")
    return number


def _document(value: Any) -> Any:
    if value is not None and not isinstance(value, dict):
        raise ValueError("must be an object")
    return plain(value)


JsonObject = Annotated[dict[str, Any], BeforeValidator(_document)]
"""An object; its inner structure is another's business."""
