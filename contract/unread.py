"""Marks a value that its scalar could not read, on its way to the input that says so with everything else."""

from typing import Final


class Unread:
    """A date, time or number of an input that is none (decision 987).

    The input refuses it where it stands, among whatever else is wrong, in these words.
    """

    __slots__ = ("words",)

    def __init__(self, words: str) -> None:
        self.words: Final = words


def heard(value: object) -> object:
    """Return the value. Raises ValueError for one that was not read."""
    if isinstance(value, Unread):
        raise ValueError(value.words)
    return value
