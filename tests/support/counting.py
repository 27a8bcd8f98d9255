"""How much Python was run, which is the same on every machine, however busy."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any


@dataclass
class Calls:
    """How many functions this thread called, in Python or in C; a generator that goes on counts as well."""

    number: int = 0


@contextmanager
def counted() -> Iterator[Calls]:
    """Count the calls in the block, of everything that the thread does meanwhile."""
    calls = Calls()

    def note(_frame: FrameType, event: str, _argument: Any) -> None:
        if event in ("call", "c_call"):
            calls.number += 1

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield calls
    finally:
        sys.setprofile(before)
