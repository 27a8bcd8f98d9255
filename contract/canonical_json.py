"""Writes JSON in its canonical form (RFC 8785), so that equal values have one text and one hash."""

import json
from decimal import Decimal
from hashlib import sha256
from typing import Any

Json = Any
"""Any: JSON."""
JsonObject = dict[str, Json]
"""An object of JSON; what is in it is looked at where it is used."""
_WHOLE_BELOW = 1e21
"""From here on ECMAScript writes numbers with an exponent; below a millionth it does, too."""
_SMALLEST = 1e-6


def canonical_json(value: Json) -> str:
    """The text: names in the order of their UTF-16 code units, numbers as ECMAScript writes them, no blanks."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
        return f"{{{','.join(f'{_text(name)}:{canonical_json(value[name])}' for name in names)}}}"
    if isinstance(value, list | tuple):
        return f"[{','.join(map(canonical_json, value))}]"
    if isinstance(value, str):
        return _text(value)
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return _number(float(value))


def sha256_of(value: Json) -> str:
    """The SHA-256 of the canonical text, in hex."""
    return sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _number(number: float) -> str:
    if number == 0:
        return "0"
    if number.is_integer() and abs(number) < _WHOLE_BELOW:
        return str(int(number)) if abs(number) < 2**53 else _digits_of(number)
    if _SMALLEST <= abs(number) < _WHOLE_BELOW:
        return _digits_of(number)
    mantissa, _, exponent = f"{number!r}".partition("e")
    return f"{mantissa.removesuffix('.0')}e{'+' if int(exponent) > 0 else ''}{int(exponent)}"


def _digits_of(number: float) -> str:
    """The shortest digits that are this number, without an exponent."""
    return f"{Decimal(repr(number)):f}".removesuffix(".0")
