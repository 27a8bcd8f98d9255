"""Judges every statement that a test sends to PostgreSQL by the rules of `tests/support/distribution.py`.

The wall of the tenants reads each text once in a process (`storage/tenancy/guard.py`): that tree is judged, so that
nothing is read twice. What an earlier test of the process has sent is not judged again: that test has failed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from sqlglot import exp

from storage.tenancy import guard
from storage.tenancy.guard import Pins
from tests.support.distribution import KNOWN, Refusal, refusals, written

_found: set[tuple[Refusal, str]] = set()


@contextmanager
def watching() -> Iterator[None]:
    """Judge what is read meanwhile."""
    parse, take_apart = guard._parsed, guard._take_apart
    within: set[tuple[Refusal, str]] = set()
    is_judged = False

    def parsed(statement: str, dialect: str) -> Pins:
        nonlocal is_judged
        within.clear()
        is_judged = dialect == "postgresql"
        pins = parse(statement, dialect)
        if is_judged and not pins.loose:  # else the wall itself refuses it, and it is never sent
            _found.update(within)
        return pins

    def taken_apart(tree: exp.Expr | None) -> None:
        if is_judged and tree is not None:
            within.update((refusal, written(tree)) for refusal in refusals(tree))
        take_apart(tree)

    with patch.object(guard, "_parsed", parsed), patch.object(guard, "_take_apart", taken_apart):
        yield


def complain(*, is_forgiven: bool = False) -> None:
    """Fail whoever has sent what a distributed database would refuse, but for what is known, or forgiven."""
    refused = _found - KNOWN.keys()
    _found.clear()
    words = f"a database that is distributed by organization would refuse this: {sorted(refused)}"
    assert is_forgiven or not refused, words
