"""The end of a process: noticing its signal, and that it does not last (decision 138).

From the signal on: connections that are idle for a second are closed. What runs has until LAST_WORK_SECONDS. What does
not end then is cancelled GRACEFUL_SECONDS after that second. END_SECONDS is the end in any case; ten are the promise.
"""

import asyncio
import gc
import logging
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_log = logging.getLogger(__name__)

LAST_WORK_SECONDS = 2.5
"""The seconds for which operations and jobs may go on; a job that is not done is given back."""
GRACEFUL_SECONDS = 5
"""The seconds for which the server waits for connections to be done, after the moment for idle ones."""
END_SECONDS = 8.5
_KILLED_AFTER = 0.5


@contextmanager
def noticing(stopping: asyncio.Event) -> Iterator[None]:
    """Set the event when SIGTERM or SIGINT comes, and leave the rest to the handler that was there.

    The server waits for streams, which do not end by themselves, and notifies the application only after that.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def notice(number: int, frame: FrameType | None) -> None:
        end_by_force()
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


def end_by_force(seconds: float = END_SECONDS) -> None:
    """End the process after so many seconds if it has not ended by then, whatever it is at.

    What was acknowledged is in the database. Jobs that were not given back are taken over when their leases have run
    out. The system's own alarm follows, for a process whose threads get no turn. Python's last collection would look at
    all that there is, for seconds on a busy machine; what is there now is spared it, since its memory goes with the
    process.
    """
    gc.freeze()
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_REAL, seconds + _KILLED_AFTER)
    timer = threading.Timer(seconds, _exit)
    timer.daemon = True
    timer.start()


def _exit() -> None:
    _log.warning("what still runs is given up, so that the process ends in time")
    logging.shutdown()
    os._exit(0)
