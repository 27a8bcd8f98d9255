"""Many who ask at a time are a process of their own, and it tells when an answer is none (decision 1150)."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import BaseRequestHandler, ThreadingTCPServer

import pytest

from benchmarks.askers import asking

ANSWER = b'event: run_started\n\nevent: run_finished\ndata: {"status":"succeeded"}\n\n'
CALLERS = [b"one", b"two", b"three"]


@contextmanager
def _answering(answer: bytes) -> Iterator[tuple[int, list[bytes], threading.Event]]:
    """A server that notes what it is asked and answers so; with its port, and what tells that each has asked twice."""
    asked: list[bytes] = []
    all_twice = threading.Event()

    class Handler(BaseRequestHandler):
        def handle(self) -> None:
            asked.append(self.request.recv(100))
            if all(asked.count(each) > 1 for each in CALLERS):
                all_twice.set()
            with contextlib.suppress(OSError):
                self.request.sendall(answer)

    with ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            yield server.server_address[1], asked, all_twice
        finally:
            server.shutdown()


def test_each_caller_asks_again_until_the_end() -> None:
    with _answering(ANSWER) as (port, asked, all_twice):
        with asking(port, CALLERS, 0.01):
            assert all_twice.wait(30)
        number = len(asked)
    assert set(asked) == set(CALLERS)
    assert len(asked) == number, "nobody asks once it has ended"


@pytest.mark.parametrize(
    "answer", [b"", b"event: run_started\n\n", ANSWER.replace(b"succeeded", b"failed")], ids=["none", "cut", "failed"]
)
def test_what_is_no_answer_is_told(answer: bytes) -> None:
    """A caller that ends in silence would leave the others alone, and the figure would be a better one."""
    no_answer = pytest.raises(RuntimeError, match="no answer")
    with _answering(answer) as (port, _, all_twice), no_answer, asking(port, CALLERS, 0.01):
        all_twice.wait(1)


def test_nobody_who_had_an_answer_is_told() -> None:
    with pytest.raises(RuntimeError, match="no answer in this time"), asking(1, [], 0.01):
        pass
