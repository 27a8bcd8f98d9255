"""Describes the headers that requests and answers may have, by their names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from contract.limits import UPLOAD_METADATA_MAX_BYTES
from rest_compat.schemas import JsonObject

REQUEST_HEADERS: Final = {
    "If-Match": "The ETags of the versions that may be changed, or `*`; another version is a 412.",
    "Range": "A part of the file: `bytes=0-99`, `bytes=100-`, `bytes=-100`.",
    "Accept": "`text/csv` for CSV; where there are events, `application/json` for an answer without them.",
    "If-Range": "The ETag of the version that the caller has a part of; of another one the whole is the answer.",
    "Last-Event-ID": "The id of the last event that the client has; only later ones are sent.",
    "If-None-Match": "The ETags of the versions that the caller has, or `*`; for these the answer is a 304.",
    "Tus-Resumable": "1.0.0; without it the answer is a 412.",
    "Upload-Length": "The size of the file.",
    "Upload-Metadata": "What is said of the file: names, each with its value in base64, by commas.",
    "Upload-Offset": "Where the part begins: at what has come for good, else the answer is a 409.",
    "Upload-Checksum": "sha256 and the hash of the part in base64; of another part nothing is kept (460).",
}
REQUIRED: Final[Mapping[str, object]] = {"Tus-Resumable": "1.0.0", "Upload-Length": 6, "Upload-Offset": 0}
"""Those of requests without which there is a refusal, with an example of each."""
_BYTES: Final = {"type": "integer", "minimum": 0, "maximum": 10**16 - 1}
SCHEMAS: Final[Mapping[str, Mapping[str, object]]] = {
    "Tus-Resumable": {"type": "string", "const": "1.0.0"},
    "Upload-Length": _BYTES,
    "Upload-Offset": _BYTES,
    "Upload-Metadata": {"type": "string", "maxLength": UPLOAD_METADATA_MAX_BYTES},
    "Upload-Checksum": {"type": "string", "pattern": "^[Ss][Hh][Aa]256 [A-Za-z0-9+/]{43}=$"},
}
"""The schemas of headers of requests that do not take just any text."""
HEADERS: Final = {
    "X-Request-Id": "The id of the request: the caller's own where it sent a sane one.",
    "X-Ignored-Fields": "The fields of the body that were not kept, separated by commas; absent where there are none.",
    "Idempotency-Replayed": "true where nothing was done, and the answer is that of an earlier request.",
    "X-Position": "How far the organization's change log goes with this write: reads may ask for it by X-Read-After.",
    "ETag": "The version of the record, or of the file its SHA-256.",
    "Accept-Ranges": "bytes",
    "X-Chat-Run": "The id of the run that the message began.",
    "X-Export-Bound": "The moment up to which records are included.",
    "X-Truncated": "true where there were more rows, or more bytes, than are told; absent where not.",
    "X-Result-Digest": "The SHA-256 of the statement.",
    "Content-Range": "Which part of how many bytes it is.",
    "Content-Disposition": "The name to save the file under.",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "cross-origin: any page may show the file.",
    "Content-Security-Policy": "frame-ancestors *: in a frame too; the file itself loads and runs nothing.",
    "Location": "The path of the new record.",
    "Tus-Resumable": "1.0.0",
    "Tus-Version": "1.0.0",
    "Tus-Extension": "creation, creation-with-upload, expiration, checksum and termination.",
    "Tus-Max-Size": "The bytes that one file may have.",
    "Tus-Checksum-Algorithm": "sha256",
    "Upload-Offset": "How many bytes have come for good.",
    "Upload-Length": "How many there will be.",
    "Upload-Expires": "When the upload is given up, unless a part comes before.",
    "Upload-Metadata": "What was said of the file.",
    "X-File-Id": "The file, once it is whole.",
    "Link": 'Where there is more, the path of the next page, with `rel="next"`.',
    "Cache-Control": "no-store; of a public file, for good.",
    "WWW-Authenticate": "Bearer",
    "Retry-After": "Seconds.",
    "RateLimit-Limit": "The points that the budget of this credential in this organization holds.",
    "RateLimit-Remaining": "The points that are in it.",
    "RateLimit-Reset": "The seconds until it is full again.",
    "X-Request-Cost": "The points that this request cost.",
}


def header_refs(*names: str) -> JsonObject:
    """Refers to the descriptions of headers by their names."""
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}
