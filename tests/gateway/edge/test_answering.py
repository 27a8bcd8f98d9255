"""An answer's head goes to the system with the first piece of its body, and is never kept for long (decision 106)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gateway.answering import Answering
from tests.support.live import Live
from tests.support.raw import exchange


class Told:
    """A transport that keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def write(self, data: bytes) -> None:
        self.told.append(data)

    def close(self) -> None:
        self.told.append("closed")

    def linger(self) -> None:
        self.told.append("lingers")


@pytest.fixture
def told() -> Told:
    return Told()


def answering(told: Told) -> Answering:
    return Answering(asyncio.get_running_loop(), told, told.linger)  # type: ignore[arg-type]  # all that is used of one


async def test_head_and_body_are_one(told: Told) -> None:
    answer = answering(told)
    for piece in (b"head ", b"body ", b"more"):
        answer.write(piece)
    await asyncio.sleep(0)
    assert told.told == [b"head body ", b"more"]


async def test_a_head_alone_goes_at_the_end_of_the_turn(told: Told) -> None:
    answer = answering(told)
    answer.write(b"head")
    assert told.told == []
    await asyncio.sleep(0)
    assert told.told == [b"head"]
    answer.write(b"event")
    assert told.told == [b"head", b"event"]


async def test_a_large_body_is_not_copied(told: Told) -> None:
    answer, body = answering(told), bytes(100_000)
    answer.write(b"head")
    answer.write(body)
    assert told.told[0] == b"head"
    assert told.told[1] is body


@pytest.mark.parametrize(("patient", "end"), [(True, "lingers"), (False, "closed")])
async def test_nothing_is_lost_at_the_end(told: Told, patient: bool, end: str) -> None:
    answer = answering(told)
    answer.is_patient = patient
    answer.write(b"head")
    answer.close()
    await asyncio.sleep(0)
    assert told.told == [b"head", end]


@pytest.mark.asyncio(loop_scope="module")
async def test_an_answer_without_a_body_is_told(live: Live) -> None:
    """Of several at once, too: the heads are all that there is of them."""
    asked = b"HEAD /health HTTP/1.1\r\nHost: a\r\n"
    heard = await exchange(live.service.address, (asked + b"\r\n") * 2 + asked + b"Connection: close\r\n\r\n")
    assert heard.raw.count(b"HTTP/1.1 200 OK\r\n") == 3
    assert heard.closed
