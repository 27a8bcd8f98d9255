"""Reads a form with a file in it as it comes (RFC 7578): fields are texts, the file is never in memory whole."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Literal

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from contract.errors import Problem, Problems
from contract.http_errors import TooLarge, UnsupportedMedia
from contract.limits import ONE_REQUEST_FIELDS_MAX_BYTES

_BOUNDARY_MAX = 70  # RFC 2046, part 5.1.1
_Event = tuple[Literal["begin", "data", "end"], bytes]


@dataclass(frozen=True, slots=True)
class Part:
    """The head of a part: the field's name, and those of a file and its type, where the client gives some."""

    name: str
    file_name: str | None
    content_type: str | None


def boundary_of(content_type: str | None) -> bytes:
    """Returns what stands between the parts. Raises UnsupportedMedia where the body is no such form."""
    kind, options = parse_options_header(content_type)
    boundary = options.get(b"boundary", b"")
    if kind != b"multipart/form-data" or not 1 <= len(boundary) <= _BOUNDARY_MAX:
        raise UnsupportedMedia("The body must be multipart/form-data, with its boundary")
    return boundary


class MultipartForm:
    """The parts of a body, one after the other; whoever asks for the next one has read the one before."""

    def __init__(self, pieces: AsyncIterator[bytes], boundary: bytes) -> None:
        self._pieces = pieces
        self._events: deque[_Event] = deque()
        self._heads: deque[Part] = deque()
        self._header: dict[str, str] = {}
        self._field = self._value = b""
        self._beside = 0
        """The bytes of everything but the content of files."""
        self._is_whole = False
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._header.clear,
                "on_header_field": self._on_field,
                "on_header_value": self._on_value,
                "on_header_end": self._on_header_end,
                "on_headers_finished": self._on_head,
                "on_part_data": lambda data, start, end: self._events.append(("data", data[start:end])),
                "on_part_end": lambda: self._events.append(("end", b"")),
                "on_end": self._on_end,
            },
        )

    async def next(self) -> Part | None:
        """Returns the head of the next part; None after the last. Raises Problems for what is no form."""
        while (event := await self._event()) is not None:
            if event[0] == "begin":
                return self._heads.popleft()
        return None

    async def content(self) -> AsyncIterator[bytes]:
        """Yields the content of the part."""
        while (event := await self._event()) is not None and event[0] != "end":
            yield event[1]

    async def text(self) -> str:
        """Returns the content of the part as text. Raises TooLarge where the texts are too long together."""
        found: list[bytes] = []
        async for piece in self.content():
            self._count(len(piece))
            found.append(piece)
        return b"".join(found).decode("utf-8", "replace")

    async def _event(self) -> _Event | None:
        while not self._events:
            try:
                piece = await anext(self._pieces)
            except StopAsyncIteration:
                if self._is_whole:
                    return None
                raise _no_form() from None
            try:
                self._parser.write(piece)
            except FormParserError:
                raise _no_form() from None
        return self._events.popleft()

    def _count(self, size: int) -> None:
        self._beside += size
        if self._beside > ONE_REQUEST_FIELDS_MAX_BYTES:
            raise TooLarge(f"What comes with the file is larger than {ONE_REQUEST_FIELDS_MAX_BYTES} bytes")

    def _on_field(self, data: bytes, start: int, end: int) -> None:
        self._count(end - start)
        self._field += data[start:end]

    def _on_value(self, data: bytes, start: int, end: int) -> None:
        self._count(end - start)
        self._value += data[start:end]

    def _on_header_end(self) -> None:
        self._header[self._field.decode("latin-1").lower()] = self._value.decode("utf-8", "replace")
        self._field = self._value = b""

    def _on_head(self) -> None:
        self._heads.append(_part(self._header))
        self._events.append(("begin", b""))

    def _on_end(self) -> None:
        self._is_whole = True


def _part(header: Mapping[str, str]) -> Part:
    _, options = parse_options_header(header.get("content-disposition", "").encode())
    file_name = options.get(b"filename")
    return Part(
        options.get(b"name", b"").decode("utf-8", "replace"),
        None if file_name is None else file_name.decode("utf-8", "replace"),
        header.get("content-type"),
    )


def _no_form() -> Problems:
    return Problems([Problem((), "must be a multipart form, complete", "multipart_invalid")])
