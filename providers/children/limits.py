"""Defines what one kind of work may take of the machine."""

from dataclasses import dataclass

MEBIBYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a process and, but for the memory, of each run in it; equal ones share a pool.

    Work that waits for its turn is not timed. `memory_bytes` holds for the whole process, the interpreter and the
    libraries included, which take some 30 to 70 MiB.
    """

    name: str
    """The pool's name in the log."""
    processes: int
    """The number that run at once at most."""
    memory_bytes: int
    processor_seconds: int
    seconds: float
    result_bytes: int = 16 * MEBIBYTE
    """The bytes that the function's result may have, pickled."""
    is_heavy: bool = False
    """Whether it may take so much that the idle children of other pools end first."""
