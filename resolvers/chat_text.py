"""The text of an answer, from what the model says to the events that tell it (decision 332)."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import asdict
from time import monotonic

from contract.chat import (
    CHAT_ANSWER_BYTES,
    CHAT_DELTA_CHARACTERS,
    CHAT_DELTA_SECONDS,
    CHAT_DELTA_SECONDS_MAX,
    ChatEventType,
)
from providers.shown_text import Citation, Shown, ShownText, ShownWarning
from resolvers.chat_log import RunLog
from storage.base import JsonDict
from storage.queries.chat_runs import Said

BETWEEN = "\n\n"
"""The text between those of two steps."""
_WORDS = {
    ShownWarning.LINK_REMOVED: "A link, an image or HTML was left out of the text",
    ShownWarning.UNCITED: "A record was named that no tool of this thread gave; its name was left out",
}


class AnswerText:
    """The text of an answer so far. `text` and `citations` are all of it, those of earlier steps too."""

    def __init__(self, log: RunLog, seen: Mapping[tuple[str, str], str], text: str, citations: list[JsonDict]) -> None:
        self.text, self.citations = text, citations
        self._log = log
        self._seen = seen
        self._warned: set[ShownWarning] = set()
        self._filter: ShownText | None = None
        self._began = 0
        self._untold: list[Said] = []
        self._pending = ""
        self._last, self._took = 0.0, 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._telling: asyncio.Task[None] | None = None
        self._is_quiet = True
        self.is_full = len(text.encode()) >= CHAT_ANSWER_BYTES

    @property
    def of_step(self) -> tuple[str, list[JsonDict]]:
        """The text that this step has shown, and its citations, which count from the beginning of the answer."""
        return self.text[self._began :], [each for each in self.citations if each["start"] >= self._began]

    def begin(self) -> None:
        """A step of the model begins."""
        self._filter = None
        self._began = len(self.text)

    def feed(self, text: str) -> None:
        """Some more of what the model says in this step."""
        if self._filter is None:
            start = len(self.text) + (len(BETWEEN) if self.text else 0)
            self._filter = ShownText(self._seen, start=start, warned=self._warned)
        self._take(self._filter.feed(text))

    def end(self) -> None:
        """The step is over: what was held back comes."""
        if self._filter is not None:
            self._take(self._filter.end())

    def _take(self, shown: Shown) -> None:
        text = shown.text
        if text and self.text and len(self.text) == self._began:
            text = BETWEEN + text
        room = CHAT_ANSWER_BYTES - len(self.text.encode())
        if len(text.encode()) > room:
            text = text.encode()[: max(0, room)].decode(errors="ignore")
            if not self.is_full:
                self.is_full = True
                self._untold.append(warning("truncated", "The answer is cut here: it has become too long"))
        self.text += text
        self._pending += text
        for citation in shown.citations:
            if citation.end <= len(self.text):
                self._cite(citation)
        self._untold += [warning(each.value, _WORDS[each]) for each in shown.warnings]

    def _cite(self, citation: Citation) -> None:
        cited = asdict(citation)
        self.citations.append(cited)
        self._untold.append((ChatEventType.CITATION, {"message_id": self._log.run.answer_id, **cited}))

    def due(self) -> float | None:
        """The seconds until what is not told is to be told; None where there is nothing."""
        if not self._pending and not self._untold:
            return None
        if len(self._pending) >= CHAT_DELTA_CHARACTERS:
            return 0.0
        pause = min(max(CHAT_DELTA_SECONDS, 2 * self._took), CHAT_DELTA_SECONDS_MAX)
        return max(0.0, self._last + pause - monotonic())

    def taken(self) -> list[Said]:
        """The events of what is not told yet, which the caller tells now."""
        events: list[Said] = []
        for at in range(0, len(self._pending), CHAT_DELTA_CHARACTERS):
            piece = self._pending[at : at + CHAT_DELTA_CHARACTERS]
            events.append((ChatEventType.TEXT_DELTA, {"message_id": self._log.run.answer_id, "text": piece}))
        events += self._untold
        self._pending, self._untold = "", []
        return events

    async def come(self, failed: Callable[[Exception], None]) -> None:
        """Tell what is not told yet, if it is due; else have it told in time, beside what goes on.

        `failed` is called with what keeps that from being told. Raises RunLost.
        """
        is_much = len(self._pending) >= CHAT_DELTA_CHARACTERS
        if is_much or (self._telling is None and self.due() == 0.0):
            await self.quiet()
            await self._flush()
        self._is_quiet = False
        self._plan(failed)

    async def quiet(self) -> None:
        """Tell nothing more beside; what is being told is waited for."""
        self._is_quiet = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._telling is not None:
            await asyncio.wait({self._telling})

    def _plan(self, failed: Callable[[Exception], None]) -> None:
        """Have what is not told yet told once it is due, if nothing is being told: then that plans the next."""
        due = self.due()
        if due is not None and self._timer is None and self._telling is None and not self._is_quiet:
            self._timer = asyncio.get_running_loop().call_later(due, self._tell, failed)

    def _tell(self, failed: Callable[[Exception], None]) -> None:
        def told(task: asyncio.Task[None]) -> None:
            self._telling = None
            if not task.cancelled() and isinstance(error := task.exception(), Exception):
                failed(error)
            else:
                self._plan(failed)

        self._timer = None
        self._telling = asyncio.create_task(self._flush())
        self._telling.add_done_callback(told)

    async def _flush(self) -> None:
        """Tell what is not told yet. Raises RunLost."""
        if events := self.taken():
            began = monotonic()
            await self._log.tell(*events)
            self._last = monotonic()
            self._took = self._last - began


def warning(code: str, words: str) -> Said:
    """An event that stops nothing."""
    return ChatEventType.WARNING, {"code": code, "message": words}
