"""Two things measured in short turns, each beside its neighbour: what else the machine does meanwhile is in both."""

from collections.abc import Callable
from typing import TypeVar

Taken = TypeVar("Taken")


def in_turns(rounds: int, own: Callable[[], Taken], other: Callable[[], Taken]) -> list[tuple[Taken, Taken]]:
    """Take what each of both says in each round, after one that settles them. Neither always comes first."""
    own(), other()
    taken = []
    for number in range(rounds):
        if number % 2:
            first = own()
            taken.append((first, other()))
        else:
            second = other()
            taken.append((own(), second))
    return taken
