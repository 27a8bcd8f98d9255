"""The states of a lead, by hand (decision 37)."""

from __future__ import annotations

from itertools import product

from contract.lead_states import LeadMove, refusal
from contract.vocabulary import LeadStatus

BY_HAND = {
    "leadUpdate": {"NEW>WORKING", "NEW>QUALIFIED", "WORKING>QUALIFIED", "QUALIFIED>WORKING"},
    "leadDisqualify": {"NEW>DISQUALIFIED", "WORKING>DISQUALIFIED", "QUALIFIED>DISQUALIFIED"},
    "leadReopen": {"DISQUALIFIED>WORKING"},
    "leadConvert": {"NEW>CONVERTED", "WORKING>CONVERTED", "QUALIFIED>CONVERTED"},
}


def test_who_may_do_what() -> None:
    allowed: dict[str, set[str]] = {}
    for move, before, after in product(LeadMove, LeadStatus, LeadStatus):
        if refusal(move, before, after) is None:
            allowed.setdefault(move.value, set()).add(f"{before.name}>{after.name}")
    assert allowed == BY_HAND


def test_a_refusal_names_both_states_and_the_way_where_there_is_one() -> None:
    new, converted = LeadStatus.NEW, LeadStatus.CONVERTED
    assert refusal(LeadMove.UPDATE, converted, new) == "A lead cannot go from CONVERTED to NEW"
    assert refusal(LeadMove.UPDATE, new, converted) == (
        "A lead cannot go from NEW to CONVERTED by leadUpdate: that is done by leadConvert"
    )
