"""Cells of roll-ups with nothing in them: rows whose texts are a mark."""

from __future__ import annotations

from typing import Any

from storage.tables import DealCell, MeetingCell


def blank_cells(mark: str) -> tuple[DealCell, MeetingCell]:
    """A cell of each kind."""
    names = ("deals", "valued", "high", "low", "timed", "seconds", "micros")
    none: dict[str, Any] = dict.fromkeys(names, 0)  # Any: exact decimals are whole numbers on SQLite
    return (
        DealCell(cell=mark, owner_id=mark, status="open", currency="EUR", **none),
        MeetingCell(cell=mark, owner_id=mark, source="manual", is_completed=False, meetings=0, minutes=0, timed=0),
    )
