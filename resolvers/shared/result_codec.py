"""Turns what operations take and give into JSON text and back: so that a result can be kept, and arguments compared.

What is no plain JSON is a list whose first item says what it is. A record comes back as its draft: a named tuple with
every column, which is all that either surface reads of it.
"""

import json
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from functools import cache, lru_cache
from typing import Any

import orjson

from resolvers.shared.inputs import Input
from storage.base import JsonDict
from storage.new_rows import model_named, model_of, new_row, row_kind, table_of
from storage.statements import row_of

_PLAIN = (bool, int, float, str, type(None))


def dumps(value: object) -> bytes:
    """The text of a result. Raises TypeError for what is no data."""
    return orjson.dumps(_packed(value))


def loads(text: bytes) -> Any:  # Any: what `dumps` was given
    """The result. Raises LookupError or TypeError where it was kept by another version that knew other kinds."""
    return _unpacked(orjson.loads(text))


def canonical(value: object) -> bytes:
    """A text that is the same for equal arguments, in whatever order a client wrote the names in them."""
    packed = _packed(value)
    try:
        return orjson.dumps(packed, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # half a surrogate pair, as an identifier that will be found to be none
        return json.dumps(packed, sort_keys=True).encode()


def _packed(value: Any) -> Any:  # Any: data of every kind, and JSON of it
    kind = type(value)
    if kind in _PLAIN:
        return value if kind is not int or abs(value) < 2**63 else ["int", str(value)]
    if isinstance(value, Mapping):
        return {str(name): _packed(part) for name, part in value.items()}
    if isinstance(value, Enum):
        return ["enum", _name(kind), value.value]
    if is_dataclass(value):  # before what it may have of a record that it holds
        return ["class", _name(kind), {f.name: _packed(getattr(value, f.name)) for f in fields(value)}]
    if (table := table_of(value)) is not None:
        return ["record", table, {name: _packed(getattr(value, name)) for name in row_kind(model_of(value))._fields}]
    if hasattr(value, "_fields"):
        return ["row", list(value._fields), [*map(_packed, value)]]
    if isinstance(value, list | tuple):
        return ["list" if kind is list else "tuple", *map(_packed, value)]
    if isinstance(value, set | frozenset):
        return ["list", *sorted(map(_packed, value))]
    if isinstance(value, Input):
        return ["input", {n: _packed(v) for n, v in value.given().items() if not _goes_without_saying(value, n, v)}]
    if isinstance(value, Decimal):
        return ["decimal", str(value)]
    if isinstance(value, bytes):
        return ["bytes", b64encode(value).decode()]
    if isinstance(value, datetime | date):
        return [kind.__name__, value.isoformat()]
    if isinstance(value, orjson.Fragment):
        return ["json", orjson.dumps(value).decode()]
    raise TypeError(kind.__name__)


def _goes_without_saying(value: Input, name: str, said: object) -> bool:
    """Says whether a field has the value that it has when left out; null is said, since it clears what was there."""
    return said is not None and said == type(value).model_fields[name].default


def _unpacked(value: Any) -> Any:  # Any: the way back
    if isinstance(value, dict):
        return {name: _unpacked(part) for name, part in value.items()}
    if isinstance(value, list):
        kind, *parts = value
        return _READ[kind](*parts)
    return value


def _record(table: str, values: JsonDict) -> object:
    return new_row(model_named(table), **_unpacked(values))


def _row(names: list[str], values: list[object]) -> object:
    return _row_kind(tuple(names))(*map(_unpacked, values))


_row_kind = lru_cache(maxsize=500)(row_of)


def _instance(name: str, values: JsonDict) -> object:
    return _class(name)(**_unpacked(values))


@cache
def _class(name: str) -> Callable[..., object]:
    module, _, path = name.partition(":")
    found: Callable[..., object] = vars(sys.modules[module])[path]
    return found


def _name(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


_READ: Mapping[str, Callable[..., object]] = {
    "int": int,
    "enum": lambda name, value: _class(name)(value),
    "list": lambda *parts: [*map(_unpacked, parts)],
    "tuple": lambda *parts: tuple(map(_unpacked, parts)),
    "row": _row,
    "record": _record,
    "class": _instance,
    "bytes": b64decode,
    "decimal": Decimal,
    "datetime": datetime.fromisoformat,
    "date": date.fromisoformat,
    "json": lambda text: orjson.Fragment(text.encode()),
}
