"""Counts attempts to sign in by way and outcome, for whoever watches for guessing (decision 988)."""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum

from contract.errors import AuthenticationLimited
from gateway.observability.metrics import count_login
from identity.login_grants import GrantRefused


class Way(StrEnum):
    """The ways to sign in, and of an application to get a token."""

    PASSWORD = "password"
    LINK = "link"
    PASSWORD_LINK = "password_link"
    CODE = "code"
    REFRESH = "refresh"


class Attempt:
    """One attempt; it is refused until it is said to have succeeded, or another outcome."""

    def __init__(self) -> None:
        self.outcome = "refused"

    def found(self, signed: object) -> None:
        """Note whether somebody is signed in."""
        self.outcome = "refused" if signed is None else "succeeded"


@contextmanager
def attempt(way: Way) -> Iterator[Attempt]:
    """Count what becomes of the attempt that is made within; one that an error of the service ends is none."""
    made = Attempt()
    try:
        yield made
    except AuthenticationLimited:
        count_login(way, "limited")
        raise
    except GrantRefused:
        count_login(way, "refused")
        raise
    count_login(way, made.outcome)
