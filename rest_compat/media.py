"""Serves GET /media/{key}: a public file, whole or in part (decision 60)."""

from __future__ import annotations

from typing import Final

from contract.vocabulary import MediaType
from resolvers.media import public_file
from rest_compat.file_answers import REQUEST_HEADERS, RESPONSE_HEADERS, answer
from rest_compat.operations import RestOperation, RestRequest, RestResponse

MEDIA_TYPES = tuple(kind.value for kind in MediaType)
# Whoever has the key may show the file anywhere, in a frame too (decision 170). A browser's own viewer is an embedded
# object with inline styles.
_SHOWN_ANYWHERE = {
    "Cross-Origin-Resource-Policy": "cross-origin",
    "Content-Security-Policy": "default-src 'none'; object-src 'self'; style-src 'unsafe-inline'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors *",
}
_FOR_GOOD = "public, max-age=31536000, immutable"  # the bytes of a key never change


async def read(call: RestRequest) -> RestResponse:
    """Answers with the file or the requested part of it; 304 where the caller's copy is current.

    Raises NotFound for a key of nothing public, RangeNotSatisfiable.
    """
    file = await public_file(call.ctx, call.path["key"])
    headers = {"Cache-Control": _FOR_GOOD, **_SHOWN_ANYWHERE}
    return answer(call, file, headers, inline=file.content_type == MediaType.PDF)


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
        request_headers=REQUEST_HEADERS,
        response_headers=(*RESPONSE_HEADERS, "Cross-Origin-Resource-Policy"),
        errors=(304, 404, 416, 503),
    ),
)
