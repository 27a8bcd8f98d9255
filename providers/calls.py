"""Calls to the outside, for whoever counts them: how they ended, and how long they took."""

import asyncio
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

Observer = Callable[[str, str, float], None]

observers: set[Observer] = set()
"""Called with the provider, the outcome and the seconds of every call: words of the service, few enough to count by."""

breakers: set[Callable[[str, bool], None]] = set()
"""Called with the provider, and whether it is left alone from now on."""

left_alone: set[str] = set()
"""The providers that are."""

last: dict[str, "Last"] = {}
"""The latest call to each provider."""

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


@contextmanager
def calling(provider: str) -> Iterator[Call]:
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
        last[provider] = Last(call.outcome, ended)
        for observe in observers:
            observe(provider, call.outcome, ended - began)


def turned(provider: str, *, is_open: bool) -> None:
    """A breaker has opened or closed."""
    (left_alone.add if is_open else left_alone.discard)(provider)
    for told in breakers:
        told(provider, is_open)
