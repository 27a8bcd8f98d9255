"""Serves the paths of files: in one request, what is known of them, their content, links, trash and records."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Annotated, Final

from pydantic import Field

from contract.criteria import Condition
from contract.errors import NotFound, Path, Problem, Problems
from contract.http_errors import BodyTooLarge, TooLarge
from contract.limits import (
    ATTACHED_TOGETHER_MAX,
    BODY_BYTES_PER_SECOND,
    ONE_REQUEST_FIELDS_MAX_BYTES,
    ONE_REQUEST_FILE_MAX_BYTES,
    REQUEST_SECONDS,
)
from resolvers.file_contents import Content, LinkAsked, create_link, read_file, signed_file
from resolvers.files import (
    FileCreate,
    attach_file,
    create_file,
    delete_file,
    detach_file,
    get_file,
    list_files,
    purge_file,
    restore_file,
    update_file,
    wanted,
)
from resolvers.receiving import Received, give_up, receive_file
from resolvers.shared.inputs import Input, parse
from resolvers.shared.sentences import REQUIRED
from resolvers.shared.told_at_once import all_wrong
from rest_compat import bodies
from rest_compat.documents import Document
from rest_compat.file_answers import REQUEST_HEADERS, RESPONSE_HEADERS, answer
from rest_compat.multipart import MultipartForm, Part, boundary_of
from rest_compat.operations import RestOperation, RestRequest, RestResponse
from rest_compat.parameters import Exactly, ListParameters
from rest_compat.resources import Resource
from storage import tables as t
from transport.bodies import body_pieces

MULTIPART: Final = "multipart/form-data"
_MOST: Final = ONE_REQUEST_FILE_MAX_BYTES + 2 * ONE_REQUEST_FIELDS_MAX_BYTES
_SECONDS: Final = REQUEST_SECONDS + _MOST / BODY_BYTES_PER_SECOND
_TOO_LARGE: Final = f"A file of one request has at most {ONE_REQUEST_FILE_MAX_BYTES} bytes; send it to /files/uploads"
_KINDS: Final = ("*/*",)
# Whatever the bytes are, a browser that shows them runs nothing and knows nothing of this origin.
_HARMLESS: Final = {"Content-Security-Policy": "sandbox; default-src 'none'", "Cache-Control": "private, no-cache"}

FILE: Final = Document(
    "File",
    t.File,
    "A file, whose bytes never change.",
    (
        *("id", "name", "content_type", "bytes", "sha256", "folder_id", "uploaded_by", "trashed_at", "created_at"),
        *("updated_at", "version"),
    ),
)
_FILES: Final = Resource("/files/{file_id}", FILE)


class FileQuery(ListParameters):
    """Has the query parameters of GET /files."""

    folder_id: Exactly = Field(default=None, description="Only files in this folder.")
    attached_to: str | None = Field(default=None, description="Only files that are attached to this record.")
    trashed: bool = Field(default=False, description="When true, only files in the trash; else only others.")

    def condition(self) -> Condition:
        """Returns which files are meant."""
        return wanted(super().condition(), is_trashed=self.trashed, attached_to=self.attached_to)


class FileForm(Input):
    """The parts of a form with a file; `attach_to` may be there several times."""

    file: Annotated[bytes, Field(json_schema_extra={"format": "binary"})]
    folder_id: str | None = None
    attach_to: Annotated[list[str], Field(max_length=ATTACHED_TOGETHER_MAX)] | None = None
    sha256: str | None = None


class InlineQuery(Input):
    """Has the query parameter of a file's content."""

    inline: bool = Field(
        default=False, description="When true, a PDF, a plain text or a picture is shown in place of being saved."
    )


async def create(call: RestRequest) -> RestResponse:
    """Stores the file as it comes, and makes a record of it once all of the form is there."""
    boundary = boundary_of(call.headers.get("content-type"))
    try:
        pieces = body_pieces(call.receive, call.headers.get("content-length"), _MOST)
        received, fields, ignored = await _read(call, MultipartForm(pieces, boundary))
    except BodyTooLarge:
        raise TooLarge(_TOO_LARGE) from None
    try:
        found = {"bytes": received.bytes, "content_type": received.content_type, "found_sha256": received.sha256}
        file = await create_file(call.ctx, parse(FileCreate, {**fields, **found}), received)
    except BaseException as error:
        with suppress(Exception):  # within a day it is removed anyway
            await give_up(call.ctx, received.storage_name)
        if isinstance(error, Problems):
            problems = await all_wrong(call.ctx, FileCreate, fields, error.problems, ())
            raise Problems([replace(p, path=_of_form(p.path)) for p in problems]) from None
        raise
    named = bodies.ignored_header(ignored)
    return RestResponse(
        FILE.of(file),
        {
            "Location": f"{call.root_path}/files/{file.id}",
            "ETag": f'"{file.version}"',
            **({"X-Ignored-Fields": named} if named else {}),
        },
    )


def _of_form(path: Path) -> Path:
    """The name of a file comes with the part that it is."""
    return ("file", *path[1:]) if path[:1] == ("name",) else path


async def _read(call: RestRequest, form: MultipartForm) -> tuple[Received, Mapping[str, object], list[str]]:
    """Returns the file that was stored, the other fields, and the names of those that nobody knows."""
    received: Received | None = None
    fields: dict[str, object] = {}
    ignored: list[str] = []
    try:
        while (part := await form.next()) is not None:
            if part.name == "file":
                if received is not None:
                    raise _wrong("must be there once", "too_long")
                received, fields["name"] = await _stored(call, form, part)
            elif part.name not in FileForm.model_fields:
                ignored.append(part.name)
                await form.text()
            elif text := (await form.text()).strip():  # what is blank is not given
                _add(fields, part.name, text)
        if received is None:
            raise _wrong(REQUIRED, "missing")
    except BaseException:
        if received is not None:
            with suppress(Exception):  # the same
                await give_up(call.ctx, received.storage_name)
        raise
    return received, fields, ignored


def _add(fields: dict[str, object], name: str, text: str) -> None:
    if name != "attach_to":
        fields[name] = text
        return
    before = fields.get(name)
    fields[name] = [*(before if isinstance(before, list) else ()), text]


async def _stored(call: RestRequest, form: MultipartForm, part: Part) -> tuple[Received, str]:
    if not part.file_name:
        raise _wrong("must have a file name", "missing")
    return await receive_file(call.ctx, form.content(), part.content_type), part.file_name


def _wrong(words: str, kind: str) -> Problems:
    return Problems([Problem(("file",), words, kind)])


async def content(call: RestRequest) -> RestResponse:
    """Answers with the content of a file, or the requested part of it."""
    return _content(call, await read_file(call.ctx, call.path["file_id"]), inline=call.query.inline)


async def signed(call: RestRequest) -> RestResponse:
    """The same for whoever has a link that somebody signed."""
    file, inline = await signed_file(call.ctx, call.path["token"])
    return _content(call, file, inline=inline)


def _content(call: RestRequest, file: Content, *, inline: bool) -> RestResponse:
    return answer(call, file, _HARMLESS, inline=inline and file.may_be_shown)


async def link(call: RestRequest) -> RestResponse:
    """Makes a link to the content."""
    body: LinkAsked = call.body
    made = await create_link(call.ctx, call.path["file_id"], body)
    return RestResponse({"url": made.url, "expires_at": made.expires_at})


async def purge(call: RestRequest) -> RestResponse:
    """Deletes a file of the trash for good."""
    await purge_file(call.ctx, call.path["file_id"])
    return RestResponse()


async def attach(call: RestRequest) -> RestResponse:
    """Attaches the file to the record."""
    await attach_file(call.ctx, call.path["file_id"], call.path["record_id"])
    return RestResponse()


async def detach(call: RestRequest) -> RestResponse:
    """Takes the file off the record; 204 whatever the identifiers (decision 397)."""
    with suppress(NotFound):
        await detach_file(call.ctx, call.path["file_id"], call.path["record_id"])
    return RestResponse()


OPERATIONS: Final = (
    _FILES.listing(list_files, FileQuery),
    RestOperation(
        "POST",
        "/files",
        create,
        "Upload a file in one request",
        resolver=create_file,
        status=201,
        reads=(MULTIPART,),
        seconds=_SECONDS,
        answer=FILE,
        graphql_field="Mutation.fileUploadCreate",
        description="One part `file` with a file name, and, where wanted, `folder_id`, `attach_to` (several times) and "
        "`sha256`, which is compared. A larger file goes to `/files/uploads`, in parts.",
        response_headers=("Location", "ETag", "X-Ignored-Fields"),
        errors=(413, 415),
    ),
    RestOperation(
        "GET",
        "/files/signed/{token}",
        signed,
        "Read a file by a signed link",
        files=_KINDS,
        description="Without a credential, until the link ends: by its time, or once the file is in the trash. "
        "Otherwise as the content.",
        request_headers=REQUEST_HEADERS,
        response_headers=RESPONSE_HEADERS,
        errors=(304, 404, 410, 416, 503),
    ),
    _FILES.detail(get_file),
    replace(
        _FILES.change(update_file, description="Renames or moves; a null for the folder is the top."),
        errors=(404, 409, 412),
    ),
    replace(
        _FILES.delete(delete_file, description="Into the trash for 30 days; its links stop at once."), errors=(404, 409)
    ),
    RestOperation(
        "GET",
        "/files/{file_id}/content",
        content,
        "Read the content of a file",
        resolver=read_file,
        query=InlineQuery,
        files=_KINDS,
        graphql_field="Query.file",
        description="As the kind that the bytes are found to be. Several ranges in one request are answered with the "
        "whole.",
        request_headers=REQUEST_HEADERS,
        response_headers=RESPONSE_HEADERS,
        errors=(304, 404, 416),
    ),
    RestOperation(
        "POST",
        "/files/{file_id}/links",
        link,
        "Make a link to a file",
        resolver=create_link,
        status=201,
        body=LinkAsked,
        body_required=False,
        example={"ttl_seconds": 3600, "inline": True},
        answer="FileLink",
        graphql_field="Mutation.fileLinkCreate",
        description="It works without a credential until it ends, the file is in the trash, or the pepper is changed.",
        errors=(404, 409),
    ),
    _FILES.action("restore", restore_file, description="Out of the trash, to the top where its folder is gone."),
    RestOperation(
        "DELETE",
        "/files/{file_id}/trash",
        purge,
        "Purge a file",
        resolver=purge_file,
        status=204,
        graphql_field="Mutation.filePurge",
        description="Out of the trash for good: bytes and place.",
        errors=(404, 409),
    ),
    RestOperation(
        "PUT",
        "/records/{record_id}/files/{file_id}",
        attach,
        "Attach a file to a record",
        resolver=attach_file,
        status=204,
        graphql_field="Mutation.fileAttach",
        description="An account, contact, deal, lead or activity; at most 200 files on one. Done twice it is done.",
        errors=(404, 409),
    ),
    RestOperation(
        "DELETE",
        "/records/{record_id}/files/{file_id}",
        detach,
        "Take a file off a record",
        resolver=detach_file,
        status=204,
        graphql_field="Mutation.fileDetach",
        description="204 whatever the identifiers.",
    ),
)
