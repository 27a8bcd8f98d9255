"""When the text of an answer is told: at once, then as often as the database takes, and to the end (decision 332)."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from contract.chat import CHAT_DELTA_CHARACTERS
from resolvers.chat_log import RunLog, RunLost
from resolvers.chat_text import AnswerText

pytestmark = pytest.mark.asyncio(loop_scope="session")


class Log:
    """Takes what is told, as slowly as a test wants."""

    def __init__(self) -> None:
        self.run = SimpleNamespace(answer_id="1")
        self.told: list[str] = []
        self.going = asyncio.Event()
        self.going.set()
        self.asked = 0
        self.raises: Exception | None = None

    async def tell(self, *events: Any) -> None:
        self.asked += 1
        await self.going.wait()
        if self.raises is not None:
            raise self.raises
        self.told += [data["text"] for _, data in events]

    @property
    def text(self) -> AnswerText:
        text = AnswerText(cast(RunLog, self), {}, "", [])
        text.begin()
        return text


def failed(error: Exception) -> None:
    raise AssertionError(error)


async def until(what: Any) -> None:
    async with asyncio.timeout(30):
        while not what():  # noqa: ASYNC110 # it tells nobody
            await asyncio.sleep(0.005)


async def test_what_comes_while_something_is_told_is_told_though_nothing_follows() -> None:
    log = Log()
    text = log.text
    text.feed("first ")
    await text.come(failed)
    assert log.told == ["first "]
    log.going.clear()
    text.feed("second ")
    await text.come(failed)
    await until(lambda: log.asked == 2)
    text.feed("third ")
    await text.come(failed)
    log.going.set()
    await until(lambda: "".join(log.told) == "first second third ")
    await text.quiet()


async def test_much_text_waits_for_what_is_being_told_and_keeps_its_order() -> None:
    log = Log()
    text = log.text
    for word in ("a ", "b "):
        text.feed(word)
        await text.come(failed)
    await until(lambda: log.told == ["a ", "b "])
    log.going.clear()
    text.feed("c ")
    await text.come(failed)
    await until(lambda: log.asked == 3)
    text.feed("d" * CHAT_DELTA_CHARACTERS + " ")
    coming = asyncio.create_task(text.come(failed))
    await asyncio.sleep(0.02)
    assert not coming.done()  # the model is read no faster than its words are stored
    log.going.set()
    await coming
    await text.quiet()
    text.end()
    rest = "".join(data["text"] for _, data in text.taken())
    assert "".join(log.told) + rest == f"a b c {'d' * CHAT_DELTA_CHARACTERS} "


async def test_a_run_that_is_lost_beside_is_said_and_nothing_is_told_once_it_is_quiet() -> None:
    log, found = Log(), list[Exception]()
    text = log.text
    text.feed("a ")
    await text.come(found.append)
    log.raises = RunLost()
    text.feed("b ")
    await text.come(found.append)
    await until(lambda: found)
    assert [type(error) for error in found] == [RunLost]
    text.feed("c ")
    await text.quiet()
    asked = log.asked
    await asyncio.sleep(0.1)
    assert log.asked == asked
