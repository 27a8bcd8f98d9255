"""Has questions asked by many callers, each of whom reads for a while before asking again: by a process of its own.

What callers take of a processor is not the service's. A client library that makes itself ready for encryption at every
question takes more for it than the service does for the answer, and where the machine is one, others feel it: so these
are bare sockets on one event loop (decision 1150).
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

_PATIENCE: Final = 60
_ENDS: Final = (b"event: run_finished", b'"status":"succeeded"')
"""An answer that came to its end."""
BEHIND: Final = 19
"""How far they step back for the caller who measures: where cores are few, both share one (decision 1150)."""


@contextmanager
def asking(port: int, requests: Sequence[bytes], reading: float) -> Iterator[None]:
    """Have each request, which has to close its connection, sent again and again meanwhile.

    Raises RuntimeError where an answer did not come to its end, and where nobody had one.
    """
    encoded = [base64.b64encode(request).decode() for request in requests]
    asked = json.dumps({"port": port, "requests": encoded, "reading": reading})
    command = [sys.executable, "-I", __file__, asked]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        try:
            yield
        finally:
            told, wrong = process.communicate(timeout=_PATIENCE)
    if process.returncode or not int(told):
        raise RuntimeError(f"askers: {wrong[-1_000:].decode() or 'no answer in this time'}")


async def _answer(port: int, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(request)
        async with asyncio.timeout(_PATIENCE):
            return await reader.read()
    finally:
        writer.close()


async def _ask_again(port: int, request: bytes, pause: float, reading: float, ended: asyncio.Event) -> int:
    """Ask until it is ended, and count the answers; the first time after a pause of its own."""
    number = 0
    while True:
        try:
            async with asyncio.timeout(pause):
                await ended.wait()
        except TimeoutError:
            pause = reading
        else:
            return number
        answer = await _answer(port, request)
        if not all(each in answer for each in _ENDS):
            raise RuntimeError(f"no answer: {answer[-1_000:]!r}")
        number += 1


async def _all(port: int, requests: Sequence[bytes], reading: float) -> int:
    """Have all ask, the first times one after the other, until standard input ends."""
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(sys.stdin.fileno(), ended.set)
    pauses = [reading * place / len(requests) for place in range(len(requests))]
    works = [_ask_again(port, one, pause, reading, ended) for one, pause in zip(requests, pauses, strict=True)]
    return sum(await asyncio.gather(*works))


def main() -> None:
    """Do what the argument says, and print the number of answers."""
    os.nice(BEHIND)
    asked = json.loads(sys.argv[1])
    requests = [base64.b64decode(request) for request in asked["requests"]]
    print(asyncio.run(_all(asked["port"], requests, asked["reading"])))


if __name__ == "__main__":
    main()
