from __future__ import annotations

from contract.campaign_states import TRANSITIONS
from contract.outreach_vocabulary import CampaignAction, CampaignStatus
from tests.support.campaign_table import TABLE


def test_the_table_is_the_one_that_was_agreed_on() -> None:
    assert len(TABLE) == len(CampaignStatus) * len(CampaignAction)
    for state, action, leads_to in TABLE:
        cell = TRANSITIONS[CampaignStatus(state)][CampaignAction(action)]
        assert (cell.value if isinstance(cell, CampaignStatus) else None) == leads_to, (state, action)
        assert isinstance(cell, CampaignStatus) or len(cell) > 10  # a refusal says why
