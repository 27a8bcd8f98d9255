"""Serves uploads in parts: the tus protocol 1.0.0, as its clients speak it (decision 394)."""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from email.utils import format_datetime
from typing import Final

from starlette.requests import ClientDisconnect

from contract.errors import Conflict, Path, Problem, Problems
from contract.file_errors import TusVersion
from contract.http_errors import TooLarge, UnsupportedMedia
from contract.limits import UPLOAD_METADATA_MAX_BYTES
from resolvers.shared.inputs import parse
from resolvers.shared.sentences import REQUIRED
from resolvers.shared.told_at_once import all_wrong
from resolvers.upload_coming import Part
from resolvers.upload_parts import BrokenOff, append, digest_of
from resolvers.uploads import PATH, Upload, UploadCreate, create_upload, describe_uploads, end_upload, get_upload
from rest_compat.operations import RestOperation, RestRequest, RestResponse
from transport.bodies import body_pieces

VERSION: Final = "1.0.0"
BYTES: Final = "application/offset+octet-stream"
_EXTENSIONS: Final = "creation,creation-with-upload,expiration,checksum,termination"
_ALWAYS: Final = {"Tus-Resumable": VERSION, "Tus-Version": VERSION}
_WHOLE: Final = re.compile(r"[0-9]{1,16}", re.ASCII)
_HUGE: Final = re.compile(r"[0-9]{16,}", re.ASCII)
_SECONDS: Final = 86_400.0  # whoever sends too slowly is told so by the server, whatever the part's length
_TELLS: Final = ("Upload-Offset", "Upload-Expires", "X-File-Id", *_ALWAYS)
_FIELDS: Final = {
    "filename": "name",
    "filetype": "content_type",
    "folder_id": "folder_id",
    "attach_to": "attach_to",
    "sha256": "sha256",
}
_NAMELESS: Final = "file"
_INPUT: Final[Path] = ("input",)
_TWIN: Final = "Mutation.fileUploadCreate"  # whose upload has this address


async def create(call: RestRequest) -> RestResponse:
    """Begins an upload; a body is its first part."""
    _check_version(call)
    if _HUGE.fullmatch(call.headers.get("upload-length", "")):
        raise TooLarge("Upload-Length is more than any file has")
    length = _number(call, "Upload-Length")
    has_part = _media_type(call) == BYTES
    if not has_part and call.headers.get("content-length", "0") != "0":
        raise UnsupportedMedia(f"The body must be {BYTES}")
    details = call.headers.get("upload-metadata", "")
    fields = {**_metadata(details), "bytes": length, "details": details}
    try:
        upload = await create_upload(call.ctx, parse(UploadCreate, fields, at=_INPUT))
    except Problems as error:
        found = await all_wrong(call.ctx, UploadCreate, fields, error.problems, _INPUT)
        raise Problems([_in_metadata(problem) for problem in found]) from None
    except TooLarge as error:
        raise TooLarge(error.message) from None
    if has_part and upload.file_id is None:
        try:
            upload = await _append(call, upload.id, 0)
        except Conflict:  # begun before under this idempotency key: the client learns how it stands (decision 592)
            upload = await get_upload(call.ctx, upload.id)
    location = f"{call.root_path}{PATH}/{upload.id}"
    return RestResponse(None, {"Location": location, **_told(upload)})


def _in_metadata(problem: Problem) -> Problem:
    """Returns the problem of the upload's input where that stands in the request."""
    if problem.path[:1] != _INPUT:
        return problem
    return replace(problem, path=("header", "Upload-Metadata", *problem.path[1:]))


async def ask(call: RestRequest) -> RestResponse:
    """Tells how many bytes have come for good."""
    _check_version(call)
    upload = await get_upload(call.ctx, call.path["upload_id"])
    said = {"Upload-Metadata": upload.details} if upload.details else {}
    return RestResponse(
        None, {**_told(upload), **said, "Upload-Length": str(upload.bytes), "Cache-Control": "no-store"}
    )


async def send(call: RestRequest) -> RestResponse:
    """Adds a part."""
    _check_version(call)
    if _media_type(call) != BYTES:
        raise UnsupportedMedia(f"The body must be {BYTES}")
    return RestResponse(None, _told(await _append(call, call.path["upload_id"], _number(call, "Upload-Offset"))))


async def end(call: RestRequest) -> RestResponse:
    """Gives the upload up."""
    _check_version(call)
    await end_upload(call.ctx, call.path["upload_id"])
    return RestResponse()


async def describe(call: RestRequest) -> RestResponse:
    """Tells what of the protocol is spoken here."""
    most = await describe_uploads(call.ctx)
    return RestResponse(
        None,
        {"Tus-Extension": _EXTENSIONS, "Tus-Max-Size": str(most), "Tus-Checksum-Algorithm": "sha256"},
    )


async def _append(call: RestRequest, upload_id: str, offset: int) -> Upload:
    declared = call.headers.get("content-length", "")
    length = int(declared) if _WHOLE.fullmatch(declared) else None
    part = Part(offset, length, digest_of(call.headers.get("upload-checksum")))
    try:
        return await append(call.ctx, upload_id, part, _pieces(call))
    except BrokenOff:
        raise ClientDisconnect() from None


async def _pieces(call: RestRequest) -> AsyncIterator[bytes]:
    """Yields the body as it comes, whose length is the resolver's business."""
    try:
        async for piece in body_pieces(call.receive, None, 2**63):
            yield piece
    except ClientDisconnect:
        raise BrokenOff() from None


def _check_version(call: RestRequest) -> None:
    if call.headers.get("tus-resumable") != VERSION:
        raise TusVersion()


def _media_type(call: RestRequest) -> str:
    return call.headers.get("content-type", "").partition(";")[0].strip().lower()


def _number(call: RestRequest, header: str) -> int:
    found = call.headers.get(header.lower())
    if found is None:
        raise Problems([Problem(("header", header), REQUIRED, "missing")])
    if not _WHOLE.fullmatch(found):
        raise Problems([Problem(("header", header), "must be a whole number, not negative", "int_parsing")])
    return int(found)


def _metadata(header: str) -> Mapping[str, object]:
    """Returns what the metadata say of the file, by the names of the input; what else they say is left alone."""
    if len(header) > UPLOAD_METADATA_MAX_BYTES:
        raise _wrong("is too long")
    fields: dict[str, object] = {"name": _NAMELESS}
    for pair in filter(None, map(str.strip, header.split(","))):
        key, _, encoded = pair.partition(" ")
        try:
            text = b64decode(encoded.strip(), validate=True).decode()
        except (Error, UnicodeDecodeError):
            raise _wrong(f"has no text in base64 for {key[:100]}") from None
        name = _FIELDS.get(key)
        if name is not None and text.strip():
            fields[name] = [part.strip() for part in text.split(",")] if key == "attach_to" else text
    return fields


def _wrong(words: str) -> Problems:
    return Problems([Problem(("header", "Upload-Metadata"), words, "value_error")])


def _told(upload: Upload) -> dict[str, str]:
    said = {"Upload-Offset": str(upload.offset), "Upload-Expires": format_datetime(upload.expires_at, usegmt=True)}
    return said if upload.file_id is None else {**said, "X-File-Id": upload.file_id}


OPERATIONS: Final = (
    RestOperation(
        "OPTIONS",
        PATH,
        describe,
        "Describe uploads in parts",
        resolver=describe_uploads,
        status=204,
        always=_ALWAYS,
        graphql_field=_TWIN,
        description="What of the tus protocol is spoken here, and how large a file may be.",
        response_headers=("Tus-Extension", "Tus-Max-Size", "Tus-Checksum-Algorithm", *_ALWAYS),
    ),
    RestOperation(
        "POST",
        PATH,
        create,
        "Begin an upload in parts",
        resolver=create_upload,
        status=201,
        reads=(BYTES,),
        always=_ALWAYS,
        graphql_field=_TWIN,
        seconds=_SECONDS,
        description="By the tus protocol 1.0.0. `Upload-Metadata` may have filename, filetype, folder_id, attach_to "
        "(identifiers, by commas) and sha256. A body is the first part.",
        request_headers=("Tus-Resumable", "Upload-Length", "Upload-Metadata", "Upload-Checksum"),
        response_headers=("Location", *_TELLS),
        errors=(412, 413, 415, 460),
    ),
    RestOperation(
        "HEAD",
        f"{PATH}/{{upload_id}}",
        ask,
        "Ask how much of an upload has come",
        resolver=get_upload,
        always=_ALWAYS,
        graphql_field=_TWIN,
        request_headers=("Tus-Resumable",),
        response_headers=("Upload-Length", "Upload-Metadata", "Cache-Control", *_TELLS),
        errors=(404, 410, 412),
    ),
    RestOperation(
        "PATCH",
        f"{PATH}/{{upload_id}}",
        send,
        "Send a part of an upload",
        resolver=append,
        status=204,
        reads=(BYTES,),
        always=_ALWAYS,
        graphql_field=_TWIN,
        seconds=_SECONDS,
        description="What the answer, or HEAD, tells is kept for good. The part that makes the file whole answers "
        "`X-File-Id`.",
        request_headers=("Tus-Resumable", "Upload-Offset", "Upload-Checksum"),
        response_headers=_TELLS,
        errors=(404, 409, 410, 412, 413, 415, 423, 460),
    ),
    RestOperation(
        "DELETE",
        f"{PATH}/{{upload_id}}",
        end,
        "Give an upload up",
        resolver=end_upload,
        status=204,
        always=_ALWAYS,
        graphql_field=_TWIN,
        request_headers=("Tus-Resumable",),
        response_headers=tuple(_ALWAYS),
        errors=(404, 410, 412),
    ),
)
