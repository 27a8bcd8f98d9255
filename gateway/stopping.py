"""Knowing that the process was told to end while its server still waits for open responses."""

import asyncio
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def noticing(stopping: asyncio.Event) -> Iterator[None]:
    """Set the event when SIGTERM or SIGINT comes, and leave the rest to the handler that was there.

    The server waits for streams, which do not end by themselves, and tells the application only after that.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def notice(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(stopping.set)
        handler = before[signal.Signals(number)]
        if callable(handler):
            handler(number, frame)

    served = {number for number, handler in before.items() if callable(handler)}
    for number in served:
        signal.signal(number, notice)
    try:
        yield
    finally:
        for number in served:
            if signal.getsignal(number) is notice:
                signal.signal(number, before[number])
