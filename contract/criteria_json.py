"""Writes a condition as JSON and reads it back, for work that outlives the request that stated it."""

from datetime import date, datetime
from decimal import Decimal

from contract.canonical_json import Json
from contract.criteria import All, Any_, Compare, Condition, Not, Op, Related


def to_json(condition: Condition) -> Json:
    """Write a condition on records. Raises TypeError for one that lists of records do not have."""
    match condition:
        case All(parts):
            return {"all": [to_json(part) for part in parts]}
        case Any_(parts):
            return {"any": [to_json(part) for part in parts]}
        case Not(part):
            return {"not": to_json(part)}
        case Related(link, inner):
            return {"link": link, "meets": to_json(inner)}
        case Compare(field, op, value, is_folded):
            return {"field": field, "op": op.value, "value": _written(value), "folded": is_folded}
        case _:
            raise TypeError(type(condition).__name__)


def from_json(document: Json) -> Condition:
    """Read what `to_json` wrote."""
    match document:
        case {"all": parts}:
            return All(tuple(from_json(part) for part in parts))
        case {"any": parts}:
            return Any_(tuple(from_json(part) for part in parts))
        case {"not": part}:
            return Not(from_json(part))
        case {"link": link, "meets": inner}:
            return Related(link, from_json(inner))
        case {"field": field, "op": op, "value": value, "folded": is_folded}:
            return Compare(field, Op(op), _read(value), is_folded)
        case _:
            raise ValueError("no condition")


def _written(value: object) -> Json:
    if isinstance(value, tuple | list):
        return [_written(item) for item in value]
    if isinstance(value, Decimal):
        return {"number": str(value)}
    if isinstance(value, datetime):  # which is a date as well
        return {"moment": value.isoformat()}
    if isinstance(value, date):
        return {"day": value.isoformat()}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(type(value).__name__)


def _read(value: Json) -> object:
    match value:
        case list():
            return tuple(_read(item) for item in value)
        case {"number": text}:
            return Decimal(text)
        case {"moment": text}:
            return datetime.fromisoformat(text)
        case {"day": text}:
            return date.fromisoformat(text)
        case _:
            return value
