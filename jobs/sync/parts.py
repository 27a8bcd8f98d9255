"""Divides what a provider shows into what one transaction takes."""

from collections.abc import Sequence

from providers.accounts.ports import Gone, Mail, Seen

Shown = Seen | Gone | Mail
"""What a page has of one item."""
_OCCURRENCES_MAX = 50
"""The occurrences of one transaction; the one item that has more has one of its own.

A step of a transaction is about all of them, and holds requests up for as long as it takes: 3 ms (decision 1175).
"""


def parts_of(page: Sequence[Shown]) -> Sequence[Sequence[Shown]]:
    """The page in parts, none of which has too many occurrences for a transaction."""
    parts: list[list[Shown]] = []
    number = 0
    for each in page:
        size = len(each.occurrences) if isinstance(each, Seen) else 1
        if not parts or number + size > _OCCURRENCES_MAX:
            parts.append([])
            number = 0
        parts[-1].append(each)
        number += size
    return parts
