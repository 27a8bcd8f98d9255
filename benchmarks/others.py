"""Asks for one thing again and again, and writes how long each answer took: in a process of its own.

What others notice of a disturbance is the service's to show. A caller in the process that makes the disturbance would
wait for that process as well: for the turn of a thread, or of an event loop that reads hundreds of streams.
"""

from __future__ import annotations

import base64
import http.client
import json
import subprocess
import sys
import time
from typing import Final

BETWEEN: Final = 0.01
"""Seconds between an answer and the next request."""


def noted(port: int, request: bytes, seconds: float) -> list[float]:
    """The milliseconds of each answer, by another process."""
    asked = json.dumps({"port": port, "request": base64.b64encode(request).decode(), "seconds": seconds})
    command = [sys.executable, "-I", __file__]
    done = subprocess.run(command, input=asked, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"others: {done.stderr[-1_000:]}")
    return [float(each) for each in done.stdout.split()]


def _asked(port: int, request: bytes) -> float:
    before = time.perf_counter()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.connect()
        connection.sock.sendall(request)
        response = http.client.HTTPResponse(connection.sock)
        response.begin()
        body = response.read()
    finally:
        connection.close()
    if response.status != http.HTTPStatus.OK or b'"errors"' in body:
        raise RuntimeError(f"{response.status}: {body[:500]!r}")
    return (time.perf_counter() - before) * 1_000


def main() -> None:
    """Do what standard input says."""
    asked = json.load(sys.stdin)
    port, request = asked["port"], base64.b64decode(asked["request"])
    end = time.perf_counter() + asked["seconds"]
    while time.perf_counter() < end:
        print(_asked(port, request))
        time.sleep(BETWEEN)


if __name__ == "__main__":
    main()
