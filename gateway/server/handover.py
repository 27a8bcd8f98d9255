"""Has a supervisor take this process's place, with what it needs (decision 1192).

To bring data up to date, and to read settings, takes several times the memory of supervising. A process gives that
back when another program takes its place.
"""

import os
import pickle
import signal
import sys
import tempfile
from dataclasses import dataclass
from typing import Final, NoReturn

from gateway.observability.log_settings import LogSettings
from gateway.server import program

ENDS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that wait while one program takes the place of the other, and come to the one that can answer them."""
_SUPERVISOR: Final = "gateway.server.supervising"


@dataclass(frozen=True, slots=True)
class Handover:
    """Holds what a supervisor has of the process whose place it takes.

    `authority` is where the service listens, as an address has it, and `words` are printed once it answers there.
    `settings` are pickled: each process of the service opens them, and the supervisor does not.
    """

    sockets: tuple[int, ...]
    authority: str
    words: str
    workers: int
    demo: bool
    logs: LogSettings
    settings: bytes


def become_supervisor(handover: Handover) -> NoReturn:
    """Run the supervisor in this process, with its number and its sockets, instead of what runs now.

    Signals that end it wait until it says that it can answer them.
    """
    number = _unnamed_file()
    with os.fdopen(os.dup(number), "wb") as file:
        pickle.dump(handover, file)
    os.lseek(number, 0, os.SEEK_SET)
    for inherited in (number, *handover.sockets):
        os.set_inheritable(inherited, True)
    sys.stdout.flush()
    sys.stderr.flush()
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDS)
    words = program.command(_SUPERVISOR, str(number))
    os.execve(words[0], words, program.environment())  # noqa: S606  # there is no shell in it, and none is wanted


def taken(number: int) -> Handover:
    """Take what the process handed over that was in this one's place, and close the file of this number."""
    with os.fdopen(number, "rb") as file:
        handover: Handover = pickle.load(file)  # noqa: S301  # of this process, and no other user can open it
    return handover


def _unnamed_file() -> int:
    """Open a file that no other user can open, in memory where the system has that, and give its number."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("handover")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
