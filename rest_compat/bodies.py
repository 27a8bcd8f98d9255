"""Reads request bodies by their media type, without losing a digit of a number."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from decimal import Decimal, InvalidOperation
from typing import NoReturn
from urllib.parse import parse_qsl, quote

from starlette.types import Receive

from contract.errors import Problem, Problems
from contract.http_errors import TooLarge, UnsupportedMedia
from contract.limits import BODY_MAX_BYTES
from resolvers.shared.sentences import REQUIRED
from rest_compat.schemas import JsonObject
from transport.bodies import read_body

_FORM_TYPE = "application/x-www-form-urlencoded"
_HEADER_MAX = 1_000
_VISIBLE = "!\"#$&'()*+-./:;<=>?@[\\]^_`{|}~"  # but comma and percent, which mean something


async def json_body(
    receive: Receive,
    headers: Mapping[str, str],
    *,
    required: bool = True,
    listed: str | None = None,
    most: int = BODY_MAX_BYTES,
) -> JsonObject:
    """Returns the body as a JSON object. Raises UnsupportedMedia, TooLarge, or Problems at `body`.

    No body is an empty object where none is required. One that is `listed` is an array, and comes under that name.
    Numbers with a fraction or an exponent come as Decimal; of a name given twice the last value counts (decision 27).
    """
    media_type = _media_type(headers)
    is_json = media_type in ("", "application/json") or (
        media_type.startswith("application/") and media_type.endswith("+json")
    )
    if not is_json or headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise UnsupportedMedia("The body must be JSON, and not compressed")
    raw = await read_body(receive, headers.get("content-length"), most)
    if not raw.strip():
        if not required:
            return {}
        raise _bad(REQUIRED, "missing")
    try:
        value = json.loads(
            raw.decode("utf-8-sig"), parse_float=_decimal, parse_int=_integer, parse_constant=_no_constant
        )
    except (ValueError, RecursionError):
        raise _bad("must be valid JSON", "json_invalid") from None
    if listed is not None:
        if not isinstance(value, list):
            raise _bad("must be a JSON array", "list_type")
        return {listed: value}
    if not isinstance(value, dict):
        raise _bad("must be a JSON object", "object_type")
    return value


async def raw_body(receive: Receive, headers: Mapping[str, str], media_type: str, most: int) -> bytes:
    """Returns a body of another type. Raises UnsupportedMedia or TooLarge."""
    if _media_type(headers) != media_type or headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise UnsupportedMedia(f"The body must be {media_type}, and not compressed")
    try:
        return await read_body(receive, headers.get("content-length"), most)
    except TooLarge:
        raise TooLarge(f"The body is larger than {most // 1024 // 1024} MiB") from None


async def form(receive: Receive, headers: Mapping[str, str]) -> dict[str, str] | None:
    """Returns the body as a form; None where it is of another type, which is not read, or empty. Raises TooLarge."""
    if _media_type(headers) != _FORM_TYPE:
        return None
    raw = await read_body(receive, headers.get("content-length"))
    return query(raw) or None


def query(raw: bytes) -> dict[str, str]:
    """Returns the fields of a query string or form; of a name given twice the last value counts."""
    return dict(_pairs(raw))


def query_with_lists(raw: bytes, lists: Collection[str]) -> dict[str, str | list[str]]:
    """Returns the fields of a query string; those of these names have every value, each parted by commas."""
    fields: dict[str, str | list[str]] = {}
    for name, value in _pairs(raw):
        if name in lists:
            before = fields.get(name, [])
            fields[name] = [*before, *value.split(",")]
        else:
            fields[name] = value
    return fields


def _pairs(raw: bytes) -> list[tuple[str, str]]:
    return parse_qsl(raw.decode("latin-1"), keep_blank_values=True) if raw else []


def ignored_header(names: list[str]) -> str:
    """Returns the value of X-Ignored-Fields: percent-encoded but for visible ASCII; cut with `...` (decision 23)."""
    kept: list[str] = []
    room = _HEADER_MAX
    for name in filter(None, names):
        encoded = quote(name[:_HEADER_MAX], safe=_VISIBLE, errors="replace")
        room -= len(encoded) + 2
        if room < 0:
            kept.append("...")
            break
        kept.append(encoded)
    return ", ".join(kept)


def _media_type(headers: Mapping[str, str]) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _decimal(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent beyond what Decimal has
        return Decimal("Infinity")


def _integer(text: str) -> int | Decimal:
    try:
        return int(text)
    except ValueError:  # more digits than Python reads at once
        return Decimal("Infinity")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _bad(message: str, kind: str) -> Problems:
    return Problems([Problem(("body",), message, kind)])
