"""Commits that wake nobody of this process: whoever writes tells those whom it concerns himself (decision 1205)."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

IS_QUIET: ContextVar[bool] = ContextVar("is quiet", default=False)
"""Whether what this context commits is told to other servers' processes alone."""


@contextmanager
def quietly() -> Iterator[None]:
    """Have commits meanwhile wake nobody of this process."""
    before = IS_QUIET.set(True)
    try:
        yield
    finally:
        IS_QUIET.reset(before)
