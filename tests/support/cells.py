"""Cells of roll-ups with nothing in them: rows whose texts are a mark."""

from __future__ import annotations

from decimal import Decimal

from storage.tables import DealCell, MeetingCell


def blank_cells(mark: str) -> tuple[DealCell, MeetingCell]:
    """A cell of each kind."""
    none = {"deals": 0, "valued": 0, "low": 0, "timed": 0, "micros": 0}
    return (
        DealCell(cell=mark, owner_id=mark, status="open", currency="EUR", high=Decimal(0), seconds=Decimal(0), **none),
        MeetingCell(cell=mark, owner_id=mark, source="manual", is_completed=False, meetings=0, minutes=0, timed=0),
    )
