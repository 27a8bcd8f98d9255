"""A Redis server of the tests' own, on a port that was free."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from types import TracebackType

import pytest


class RedisServer:
    """Runs in the block; can be stopped, held and started again within it."""

    def __init__(self, folder: Path) -> None:
        self._program = _program()
        self._folder = folder
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self._port}/0"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start, empty; returns when it answers."""
        arguments = ["--port", str(self._port), "--bind", "127.0.0.1", "--save", "", "--dir", str(self._folder)]
        self._process = subprocess.Popen([self._program, *arguments], stdout=subprocess.DEVNULL)
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                with socket.create_connection(("127.0.0.1", self._port), 1) as connection:
                    connection.sendall(b"PING\r\n")
                    if connection.recv(7) == b"+PONG\r\n":
                        return
            except OSError:
                time.sleep(0.02)
        raise AssertionError("redis-server does not answer")

    def stop(self) -> None:
        """End it at once."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def hold(self) -> None:
        """Keep it from answering, its socket open."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def __enter__(self) -> RedisServer:
        self.start()
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _value: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.stop()


def _program() -> str:
    program = shutil.which("redis-server") or shutil.which("valkey-server")
    if program is None:
        assert "CI" not in os.environ, "redis-server is missing"
        pytest.skip("redis-server is not installed here (apt-get install redis-server)")
    return program
