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
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect()
        chunk: bytes = message.get("body", b"")
        size += len(chunk)
        if size > most:
            raise BodyTooLarge(most)
        if chunk:
            yield chunk
        more = message.get("more_body", False)


def _check_length(declared: str | None, most: int) -> None:
    if declared and declared.isdecimal() and (len(declared) > _DIGITS_MAX or int(declared) > most):
        raise BodyTooLarge(most)


async def read_body(receive: Receive, declared: str | None, most: int = BODY_MAX_BYTES) -> bytes:
    """The body, of which nothing is read where its Content-Length says too much.

    Raises BodyTooLarge, and ClientDisconnect where the rest will not come.
    """
    chunks = [chunk async for chunk in body_pieces(receive, declared, most)]
    return b"".join(chunks)
