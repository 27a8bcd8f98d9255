"""Holds what is known of the things that the service needs: found out by the gateway, shown by REST's GET /ready."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """The state of one thing that the service needs, and how long it took to find out."""

    name: str
    ok: bool
    message: str
    seconds: float = 0.0


Readiness = Callable[[], Awaitable[Sequence[Check]]]
