"""Says what may be done to a campaign in which state, and where it leads; one cell per state and action (decision 49).

A campaign in any state may be deleted; one that is ACTIVE is stopped first.
"""

from typing import Final

from contract.outreach_vocabulary import CampaignAction as Do
from contract.outreach_vocabulary import CampaignStatus as Is

Cell = Is | str
"""The state that the action leads to (the same one: nothing happens), or why it is refused."""

TRANSITIONS: Final[dict[Is, dict[Do, Cell]]] = {
    Is.DRAFT: {
        Do.LAUNCH: Is.ACTIVE,
        Do.PAUSE: "A draft has not been launched, so there is nothing to pause",
        Do.RESUME: "A draft is launched, not resumed",
        Do.ARCHIVE: Is.ARCHIVED,
    },
    Is.ACTIVE: {
        Do.LAUNCH: Is.ACTIVE,
        Do.PAUSE: Is.PAUSED,
        Do.RESUME: Is.ACTIVE,
        Do.ARCHIVE: "An active campaign is paused before it is archived",
    },
    Is.PAUSED: {
        Do.LAUNCH: "A paused campaign is resumed, not launched again",
        Do.PAUSE: Is.PAUSED,
        Do.RESUME: Is.ACTIVE,
        Do.ARCHIVE: Is.ARCHIVED,
    },
    Is.BLOCKED: {
        Do.LAUNCH: "The provider blocks the campaign; it is resumed when the block is gone",
        Do.PAUSE: Is.PAUSED,
        Do.RESUME: Is.ACTIVE,
        Do.ARCHIVE: Is.ARCHIVED,
    },
    Is.COMPLETED: {
        Do.LAUNCH: "The campaign is completed",
        Do.PAUSE: "The campaign is completed",
        Do.RESUME: "The campaign is completed",
        Do.ARCHIVE: Is.ARCHIVED,
    },
    Is.ARCHIVED: {
        Do.LAUNCH: "The campaign is archived",
        Do.PAUSE: "The campaign is archived",
        Do.RESUME: "The campaign is archived",
        Do.ARCHIVE: Is.ARCHIVED,
    },
}

CHANGEABLE: Final = frozenset({Is.DRAFT, Is.ACTIVE, Is.PAUSED, Is.BLOCKED})
"""States in which a campaign's content changes and contacts are enrolled."""

RUNS: Final = frozenset({Is.ACTIVE})
"""States in which the provider is to send; in every other one it is to be silent."""
