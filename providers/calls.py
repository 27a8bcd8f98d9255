"""Watches calls to the outside: how they ended, how long they took, and which providers are left alone."""

import asyncio
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

OK = "ok"
_WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])")


@dataclass(frozen=True, slots=True)
class Last:
    """The end of a call: how it ended, and when by the monotonic clock."""

    outcome: str
    at: float


@dataclass(slots=True)
class Call:
    """A call that is under way; what it raises is its outcome, unless another word is noted."""

    outcome: str = OK


@dataclass(frozen=True, slots=True)
class Calls:
    """The calls of one process. Providers and outcomes are words of the service, few enough to count by."""

    count: Callable[[str, str, float], None] = lambda _provider, _outcome, _seconds: None
    """Called with the provider, the outcome and the seconds of every call."""
    note_breaker: Callable[[str, bool], None] = lambda _provider, _is_open: None
    """Called with the provider, and whether it is left alone from now on."""
    last: dict[str, Last] = field(default_factory=dict)
    """The latest call to each provider."""
    left_alone: set[str] = field(default_factory=set)

    @contextmanager
    def one(self, provider: str) -> Iterator[Call]:
        """Watch a call."""
        call, began = Call(), time.monotonic()
        try:
            yield call
        except asyncio.CancelledError:
            call.outcome = "cancelled"
            raise
        except Exception as error:
            call.outcome = _WORDS.sub("_", type(error).__name__).lower().lstrip("_")
            raise
        finally:
            ended = time.monotonic()
            self.last[provider] = Last(call.outcome, ended)
            self.count(provider, call.outcome, ended - began)

    def turned(self, provider: str, *, is_open: bool) -> None:
        """Note that a breaker has opened or closed."""
        (self.left_alone.add if is_open else self.left_alone.discard)(provider)
        self.note_breaker(provider, is_open)
