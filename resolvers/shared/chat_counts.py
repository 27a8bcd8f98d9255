"""Tells whoever counts what becomes of chats: words and numbers, and nothing of whose they are (decision 518)."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ChatCounts:
    """The functions that are called as chats go on. Providers and outcomes are words of the service."""

    ended: Callable[[str, str, int, int], None] = lambda _provider, _outcome, _read, _written: None
    """Called with the provider, the outcome and the tokens, read and written, of a run that has ended."""
    first_text: Callable[[str, float], None] = lambda _provider, _seconds: None
    """Called with the provider and the seconds from a message to the first text of its answer."""
    following: Callable[[], AbstractContextManager[object]] = nullcontext
    """Entered while somebody follows a run."""
