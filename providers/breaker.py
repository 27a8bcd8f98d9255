"""A breaker: a provider that fails again and again is left alone for a while, so that nobody waits for it in vain."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from providers.calls import Calls

_log = logging.getLogger(__name__)

FAILURES = 5
"""The failures in a row before the provider is left alone."""
FIRST_PAUSE = 1.0
"""Seconds; doubled with each trial that fails."""
LONGEST_PAUSE = 30.0
TRIAL_SECONDS = 15.0
"""The seconds after which there is another trial, where one has not said what came of it."""


class Breaker:
    """Guards the calls to one provider in one process (decision 117).

    Closed, every call goes through. Open, none does until the pause is over; then one does, as a trial, while the
    others are held back until that has ended. Its success closes the breaker.
    """

    def __init__(
        self, name: str, clock: Callable[[], float] = time.monotonic, *, calls: Calls | None = None, label: str = ""
    ) -> None:
        """`label` is what its calls are counted under; the name in small letters unless given."""
        self._name = name
        self._calls = calls or Calls()
        self._label = label or name.lower()
        self._clock = clock
        self._failures = 0
        self._pause = FIRST_PAUSE
        self._open_until: float | None = None
        self._is_trial = False

    @property
    def is_open(self) -> bool:
        """Says whether the provider is left alone, but for a trial now and then."""
        return self._open_until is not None

    @contextmanager
    def call(self, refusal: Exception, answers: tuple[type[Exception], ...] = ()) -> Iterator[None]:
        """One call, or the refusal while the provider is left alone. Exceptions among `answers` are answers of it."""
        if not self.lets_through():
            raise refusal
        try:
            yield
        except answers:
            self.succeeded()
            raise
        except BaseException:  # the caller may have given up waiting
            self.failed()
            raise
        self.succeeded()

    def lets_through(self) -> bool:
        """Says whether a call may be made now; its caller reports what came of it."""
        if self._open_until is None:
            return True
        now = self._clock()
        if now < self._open_until:
            return False
        self._open_until, self._is_trial = now + TRIAL_SECONDS, True
        return True

    def succeeded(self) -> None:
        """Notes that the provider answered, whatever it said."""
        if self._open_until is not None:
            _log.info("provider %s answers again", self._name)
            self._calls.turned(self._label, is_open=False)
        self._failures, self._pause, self._open_until, self._is_trial = 0, FIRST_PAUSE, None, False

    def failed(self) -> None:
        """Notes that there was no answer, or none that can be understood."""
        self._failures += 1
        if self._open_until is None:
            if self._failures < FAILURES:
                return
            _log.warning("provider %s is left alone after %s failures in a row", self._name, self._failures)
            self._calls.turned(self._label, is_open=True)
        elif self._is_trial:
            self._pause = min(2 * self._pause, LONGEST_PAUSE)
        else:  # a call from before it opened
            return
        self._is_trial = False
        self._open_until = self._clock() + self._pause
