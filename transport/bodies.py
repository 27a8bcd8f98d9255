"""The body of a request, read up to the limit, whichever surface it is for."""

from collections.abc import AsyncIterator

from starlette.requests import ClientDisconnect
from starlette.types import Receive

from contract.http_errors import BodyTooLarge
from contract.limits import BODY_MAX_BYTES, UPSERT_BODY_MAX_BYTES, UPSERT_PATHS

_DIGITS_MAX = 18


def body_limit(path: str) -> int:
    """The most bytes that a body may have which is sent to this path."""
    return UPSERT_BODY_MAX_BYTES if path.rstrip("/").endswith(UPSERT_PATHS) else BODY_MAX_BYTES


async def body_pieces(receive: Receive, declared: str | None, most: int) -> AsyncIterator[bytes]:
    """The body as it comes, of which nothing is read where its Content-Length says too much.

    Raises BodyTooLarge, and ClientDisconnect where the rest will not come.
    """
    _check_length(declared, most)
    size, more = 0, True
    while more:
        chunk, more = await _piece(receive, size, most)
        size += len(chunk)
        if chunk:
            yield chunk


async def _piece(receive: Receive, before: int, most: int) -> tuple[bytes, bool]:
    """Receive what comes next of a body, behind so many bytes of it, and whether there is more."""
    message = await receive()
    if message["type"] == "http.disconnect":
        raise ClientDisconnect()
    chunk: bytes = message.get("body", b"")
    if before + len(chunk) > most:
        raise BodyTooLarge(most)
    return chunk, message.get("more_body", False)


def _check_length(declared: str | None, most: int) -> None:
    if declared and declared.isdecimal() and (len(declared) > _DIGITS_MAX or int(declared) > most):
        raise BodyTooLarge(most)


async def read_body(receive: Receive, declared: str | None, most: int = BODY_MAX_BYTES) -> bytes:
    """The body, of which nothing is read where its Content-Length says too much.

    Raises BodyTooLarge, and ClientDisconnect where the rest will not come.
    """
    _check_length(declared, most)
    body, more = await _piece(receive, 0, most)
    if not more:  # a generator of pieces would take as long as the rest of the reading
        return body
    pieces = [body]
    size = len(body)
    while more:
        body, more = await _piece(receive, size, most)
        pieces.append(body)
        size += len(body)
    return b"".join(pieces)
