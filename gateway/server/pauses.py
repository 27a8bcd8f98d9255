"""How long it takes until another process has the place of one that died."""

_FIRST_SECONDS, _LONGEST_SECONDS = 1.0, 30.0


class Pauses:
    """The pauses between processes in one place, which double: one that cannot begin is no busy loop (1202)."""

    def __init__(self, long_seconds: float) -> None:
        """A process that lives for longer than that could begin: what ended it is no reason to wait longer."""
        self._long_seconds = long_seconds
        self._next = _FIRST_SECONDS

    def after(self, lived: float) -> float:
        """The seconds until another may begin, after one that lived for so many."""
        pause = _FIRST_SECONDS if lived > self._long_seconds else self._next
        self._next = min(2 * pause, _LONGEST_SECONDS)
        return pause
