"""JSON objects as input: whatever a client sends becomes what both databases keep and give back alike."""

import math
from decimal import Decimal
from typing import Annotated

from pydantic import BeforeValidator

from resolvers.shared.inputs import storable
from storage.base import JsonDict

DEPTH_MAX = 32
_WHOLE_MAX = 2**53


def plain(value: object, depth: int = DEPTH_MAX) -> object:
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


def _finite(value: object) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]  # what is no number is caught below
    except (OverflowError, TypeError, ValueError):
        number = math.inf
    if not math.isfinite(number):
        raise ValueError("must have finite numbers only")
    return number


def _document(value: object) -> object:
    if value is not None and not isinstance(value, dict):
        raise ValueError("must be an object")
    return plain(value)


JsonObject = Annotated[JsonDict, BeforeValidator(_document)]
"""An object; its inner structure is another's business."""
