"""The states of a lead and what may follow what (decision 37): one table, read by every operation that moves one.

NEW may become anything but NEW; WORKING and QUALIFIED may become each other; CONVERTED is for good; a DISQUALIFIED lead
is reopened as WORKING, and nothing else becomes of it.
"""

from enum import StrEnum
from typing import Final

from contract.vocabulary import LeadStatus


class LeadMove(StrEnum):
    """The operation by which a lead changes its state."""

    UPDATE = "leadUpdate"
    DISQUALIFY = "leadDisqualify"
    REOPEN = "leadReopen"
    CONVERT = "leadConvert"


_S = LeadStatus
_OPEN = (_S.NEW, _S.WORKING, _S.QUALIFIED)

TRANSITIONS: Final[dict[tuple[LeadStatus, LeadStatus], LeadMove]] = {
    (_S.NEW, _S.WORKING): LeadMove.UPDATE,
    (_S.NEW, _S.QUALIFIED): LeadMove.UPDATE,
    (_S.WORKING, _S.QUALIFIED): LeadMove.UPDATE,
    (_S.QUALIFIED, _S.WORKING): LeadMove.UPDATE,
    **{(state, _S.DISQUALIFIED): LeadMove.DISQUALIFY for state in _OPEN},
    **{(state, _S.CONVERTED): LeadMove.CONVERT for state in _OPEN},
    (_S.DISQUALIFIED, _S.WORKING): LeadMove.REOPEN,
}
"""Every change of state, with the only operation that makes it."""


def refusal(move: LeadMove, before: LeadStatus, after: LeadStatus) -> str | None:
    """Says why the operation cannot take a lead from one state to the other; None where it can."""
    by = TRANSITIONS.get((before, after))
    if by is move:
        return None
    words = f"A lead cannot go from {before.name} to {after.name}"
    return words if by is None else f"{words} by {move.value}: that is done by {by.value}"
