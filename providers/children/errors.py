"""Defines the reasons for which a run gave no result.

The text continues a sentence whose subject the caller knows ("The rendering ..."), and may be shown to clients.
"""


class ChildError(Exception):
    """A run that gave no result."""

    words = ""

    def __init__(self, words: str = "") -> None:
        super().__init__(words or self.words)


class OutOfMemory(ChildError):
    """It needed more memory than it may have, or its result is larger than it may be."""

    words = "needed more memory than it may have"


class OutOfTime(ChildError):
    """It took longer than it may, of the processor's time or of the clock's."""

    words = "took longer than it may"


class Faulty(ChildError):
    """Its process died, or could not be started."""

    words = "ended with a fault of its process"


class Raised(ChildError):
    """The function raised; `type` and `place` say what and where, for the log."""

    words = "failed"

    def __init__(self, type: str, place: str) -> None:
        super().__init__()
        self.type = type
        self.place = place


class Stopped(ChildError):
    """The service ends."""

    words = "was stopped, as the service ends"
