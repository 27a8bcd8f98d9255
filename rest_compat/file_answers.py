"""Answers with a file, whole or in part (RFC 9110, part 14; decision 60)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from typing import Final, Protocol
from urllib.parse import quote

from contract.http_errors import RangeNotSatisfiable
from contract.normal_form import normal_form
from providers.artifacts import Pieces
from rest_compat.etags import has_seen, tags
from rest_compat.operations import RestRequest, RestResponse

_RANGE = re.compile(r"bytes\s*=\s*(\d{0,19})-(\d{0,19})", re.IGNORECASE | re.ASCII)
_UNSAFE = re.compile(r'[^\x20-\x7e]|["\\%;/]')
_AS_UTF_8 = "; charset=utf-8"  # which it was found to be
REQUEST_HEADERS: Final = ("If-None-Match", "Range", "If-Range")
RESPONSE_HEADERS: Final = (
    *("ETag", "Cache-Control", "Accept-Ranges", "Content-Disposition", "X-Content-Type-Options"),
    "Content-Security-Policy",
)


class AnyFile(Protocol):
    """A file that may be read."""

    @property
    def file_name(self) -> str: ...

    @property
    def content_type(self) -> str: ...

    @property
    def size(self) -> int: ...

    @property
    def sha256(self) -> str: ...

    async def read(self, start: int, length: int) -> Pieces:
        """Returns the bytes from there on, which the caller closes."""


def answer(call: RestRequest, file: AnyFile, headers: Mapping[str, str], *, inline: bool) -> RestResponse:
    """Answers with the file or the requested part of it, under these headers; 304 where the caller's copy is current.

    Raises RangeNotSatisfiable.
    """
    said = {"ETag": f'"{file.sha256}"', **headers}
    if has_seen(call.headers.get("if-none-match"), file.sha256):
        return RestResponse(None, said, 304)
    said |= {
        "Accept-Ranges": "bytes",
        "X-Content-Type-Options": "nosniff",
        "Content-Disposition": disposition(file.file_name, inline=inline),
        "Content-Type": f"{file.content_type}{_AS_UTF_8 if file.content_type.startswith('text/') else ''}",
    }
    part = _asked_for(file, call.headers.get("range"), call.headers.get("if-range"))
    if part is None:
        said["Content-Length"] = str(file.size)
        # Of an empty file there is nothing to be read.
        return RestResponse(None, said, stream=partial(file.read, 0, file.size) if file.size else None)
    start, end = part
    said |= {"Content-Length": str(end - start), "Content-Range": f"bytes {start}-{end - 1}/{file.size}"}
    return RestResponse(None, said, 206, stream=partial(file.read, start, end - start))


def _asked_for(file: AnyFile, header: str | None, if_range: str | None) -> tuple[int, int] | None:
    """Returns the start and the end of the requested part; None for the whole.

    The whole is also the answer to several ranges, to one in other units or of no sense, and where If-Range names
    another version, or a date: there is none to compare it with.
    """
    found = None if header is None else _RANGE.fullmatch(header.strip())
    if found is None or (if_range is not None and file.sha256 not in tags(if_range, weak=False)):
        return None
    first, last = found[1], found[2]
    if not first and not last:
        return None
    if not first:
        start, end = max(0, file.size - int(last)), file.size
    else:
        start, end = int(first), file.size if not last else min(int(last) + 1, file.size)
        if last and int(last) < start:
            return None
    if start >= end:
        raise RangeNotSatisfiable(file.size)
    return start, end


def disposition(name: str, *, inline: bool) -> str:
    """Returns the header Content-Disposition with a name that every client can read (RFC 6266)."""
    plain = normal_form("NFKD", name).encode("ascii", "ignore").decode()
    plain = re.sub(r"\s+", " ", _UNSAFE.sub("", plain)).strip(" .-") or "file"
    kind = "inline" if inline else "attachment"
    return f"{kind}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
