"""What may be done to a campaign in which state, copied from the table that was agreed on and from nothing of ours.

A state that an action leads to, or None where it is refused with INVALID_STATE.
"""

from __future__ import annotations

ACTIONS = ("launch", "pause", "resume", "archive")
CELLS: dict[str, tuple[str | None, str | None, str | None, str | None]] = {
    "draft": ("active", None, None, "archived"),
    "active": ("active", "paused", "active", None),
    "paused": (None, "paused", "active", "archived"),
    "blocked": (None, "paused", "active", "archived"),
    "completed": (None, None, None, "archived"),
    "archived": (None, None, None, "archived"),
}
TABLE = [
    (state, action, leads_to) for state, cells in CELLS.items() for action, leads_to in zip(ACTIONS, cells, strict=True)
]
