"""httpx-sse below its documented surface: its decoders of lines and events, which know no response and no limit.

What it documents reads a response of httpx itself, without a limit for a line, and only of one content type.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from httpx_sse._decoders import SSEDecoder, SSELineDecoder


@dataclass(slots=True)
class EventData:
    """The data of events, of a text that comes piece by piece."""

    _lines: SSELineDecoder = field(default_factory=SSELineDecoder)
    _events: SSEDecoder = field(default_factory=SSEDecoder)

    def feed(self, text: str) -> Iterator[str]:
        """The data of the events that are whole by now."""
        if text:
            yield from self._of(self._lines.decode(text))

    def end(self) -> Iterator[str]:
        """The data of the event that no blank line has ended."""
        yield from self._of([*self._lines.flush(), ""])

    def _of(self, lines: list[str]) -> Iterator[str]:
        for line in lines:
            event = self._events.decode(line)
            if event is not None and event.data:
                yield event.data
