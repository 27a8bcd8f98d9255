"""Measures how long the database worked: for one request (decision 141), and for each of its statements.

The wait for a turn is in neither, nor is that for another process's lock on a file.
"""

from collections.abc import Callable
from contextvars import ContextVar
from time import monotonic
from typing import Generic, TypeVar

StatementT = TypeVar("StatementT")


def clock() -> float:
    """The seconds by which all of it is measured."""
    return monotonic()


class DatabaseTime:
    """The time of statements, added up, whoever of a request's tasks sent them; those under way count up to now."""

    __slots__ = ("_done", "_under_way")

    def __init__(self) -> None:
        self._done = 0.0
        self._under_way = 0

    @property
    def seconds(self) -> float:
        """The time so far."""
        return self._done + self._under_way * monotonic()

    def begin(self) -> None:
        """A statement is sent."""
        self._under_way += 1
        self._done -= monotonic()

    def end(self, *_: object) -> None:
        """Its answer is there, or it was given up."""
        self._under_way -= 1
        self._done += monotonic()

    def leave_out(self, seconds: float) -> None:
        """So much of it was a wait."""
        self._done -= seconds

    def __enter__(self) -> "DatabaseTime":
        """Begin, and give what takes a wait out."""
        self.begin()
        return self

    __exit__ = end


_current: ContextVar[DatabaseTime | None] = ContextVar("database_time", default=None)
current = _current.get
"""Returns the time that the statements of this task, and of the tasks that it starts, are counted in, if they are."""


class measured:  # reads as a function where it is used, and costs less than a generator
    """Measures the time of all statements that are sent within."""

    __slots__ = ("_token",)

    def __enter__(self) -> DatabaseTime:
        """Begin to measure."""
        time = DatabaseTime()
        self._token = _current.set(time)
        return time

    def __exit__(self, *_: object) -> None:
        """Measure no more."""
        _current.reset(self._token)


Told = Callable[[StatementT, float, type[BaseException] | None], None]


class Timed(Generic[StatementT]):
    """Times one statement, within what its request is measured by, and tells of it when it has ended."""

    __slots__ = ("_began", "_statement", "_tell", "_within")

    def __init__(self, within: DatabaseTime | None, tell: Told[StatementT], statement: StatementT) -> None:
        """`tell` is called with the statement, its seconds, and with what it raised, if it did."""
        self._within = within
        self._tell = tell
        self._statement = statement
        self._began = 0.0

    def leave_out(self, seconds: float) -> None:
        """So much of it was a wait."""
        self._began += seconds
        if self._within is not None:
            self._within.leave_out(seconds)

    def __enter__(self) -> "Timed[StatementT]":
        """The statement is sent."""
        if self._within is not None:
            self._within.begin()
        self._began = monotonic()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Its answer is there, or it was given up."""
        seconds = monotonic() - self._began
        if self._within is not None:
            self._within.end()
        self._tell(self._statement, seconds, kind)
