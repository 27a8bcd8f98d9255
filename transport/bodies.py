"""The body of a request, read up to the limit, whichever surface it is for."""

from starlette.requests import ClientDisconnect
from starlette.types import Receive

from contract.errors import TooLarge
from contract.limits import BODY_MAX_BYTES

_DIGITS_MAX = 18


async def read_body(receive: Receive, declared: str | None, most: int = BODY_MAX_BYTES) -> bytes:
    """The body, of which nothing is read where its Content-Length says too much.

    Raises TooLarge, and ClientDisconnect where the rest will not come.
    """
    if declared and declared.isdecimal() and (len(declared) > _DIGITS_MAX or int(declared) > most):
        raise TooLarge()
    chunks: list[bytes] = []
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect()
        chunk: bytes = message.get("body", b"")
        size += len(chunk)
        if size > most:
            raise TooLarge()
        chunks.append(chunk)
        more = message.get("more_body", False)
    return b"".join(chunks)
