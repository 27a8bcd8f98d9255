"""Serves GET /media/{key}: a public file, whole or in part (RFC 9110, part 14; decision 60)."""

from __future__ import annotations

import re
from functools import partial
from typing import Final
from urllib.parse import quote

from contract.errors import RangeNotSatisfiable
from contract.normal_form import normal_form
from contract.vocabulary import MediaType
from resolvers.media import PublicFile, public_file
from rest_compat.etags import has_seen, tags
from rest_compat.operations import RestOperation, RestRequest, RestResponse

_RANGE = re.compile(r"bytes\s*=\s*(\d{0,19})-(\d{0,19})", re.IGNORECASE | re.ASCII)
MEDIA_TYPES = tuple(kind.value for kind in MediaType)
# Whoever has the key may show the file anywhere, in a frame too (decision 170). A browser's own viewer is an embedded
# object with inline styles.
_SHOWN_ANYWHERE = {
    "Cross-Origin-Resource-Policy": "cross-origin",
    "Content-Security-Policy": "default-src 'none'; object-src 'self'; style-src 'unsafe-inline'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors *",
}
_UNSAFE = re.compile(r'[^\x20-\x7e]|["\\%;/]')


async def read(call: RestRequest) -> RestResponse:
    """Answers with the file or the requested part of it; 304 where the caller's copy is current.

    Raises NotFound for a key of nothing public, RangeNotSatisfiable.
    """
    file = await public_file(call.ctx, call.path["key"])
    headers = {
        "ETag": f'"{file.sha256}"',
        "Cache-Control": "public, max-age=31536000, immutable",  # the bytes of a key never change
        **_SHOWN_ANYWHERE,
    }
    if has_seen(call.headers.get("if-none-match"), file.sha256):
        return RestResponse(None, headers, 304)
    headers |= {
        "Accept-Ranges": "bytes",
        "X-Content-Type-Options": "nosniff",
        "Content-Disposition": disposition(file.file_name, inline=file.content_type == MediaType.PDF),
        "Content-Type": file.content_type,
    }
    part = _asked_for(file, call.headers.get("range"), call.headers.get("if-range"))
    if part is None:
        headers["Content-Length"] = str(file.size)
        return RestResponse(None, headers, stream=partial(file.read, 0, file.size))
    start, end = part
    headers |= {"Content-Length": str(end - start), "Content-Range": f"bytes {start}-{end - 1}/{file.size}"}
    return RestResponse(None, headers, 206, stream=partial(file.read, start, end - start))


def _asked_for(file: PublicFile, header: str | None, if_range: str | None) -> tuple[int, int] | None:
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


OPERATIONS: Final = (
    RestOperation(
        "GET",
        "/media/{key}",
        read,
        "Read a public file",
        files=MEDIA_TYPES,
        description="A file of a rendered report: its address is an artifact's url. Whoever knows the key may read it; "
        "the bytes of a key never change. Any page may show it, in a frame too, and no script of another origin may "
        "read it. Several ranges in one request are answered with the whole.",
        request_headers=("If-None-Match", "Range", "If-Range"),
        response_headers=(
            *("ETag", "Cache-Control", "Accept-Ranges", "Content-Disposition", "X-Content-Type-Options"),
            *("Cross-Origin-Resource-Policy", "Content-Security-Policy"),
        ),
        errors=(304, 404, 416, 503),
    ),
)
