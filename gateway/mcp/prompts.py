"""The prompts of the MCP door: what a member asks for often, as words for a model that has the tools."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt: what it is for, its arguments with what each is, and its text with their names in braces."""

    name: str
    about: str
    text: str
    arguments: Mapping[str, str] = field(default_factory=dict)


_EVERY: Final = (
    Prompt(
        "account_brief",
        "What there is to know about an account before talking to it",
        "Brief me on the account «{account}». Find it with search, read it with get_record, its score with "
        "account_health, its open deals and latest meetings with list_records. Tell in under 200 words who it is, "
        "where its deals stand, what happened last, and what is at risk. Name the records; say what is missing.",
        {"account": "The account's name or id"},
    ),
    Prompt(
        "meeting_preparation",
        "What to know and to ask in a meeting",
        "Prepare me for the meeting «{meeting}». Find it with search or list_records, read it with get_record, and "
        "read its account, its deal and its contacts. List who comes, what was agreed before, where the deal stands, "
        "three questions to ask, and what is still open. Use what the records say; do not guess.",
        {"meeting": "The meeting's subject or id"},
    ),
    Prompt(
        "pipeline_review",
        "Where the pipeline stands and what needs a look",
        "Review the pipeline. Take the totals of deal_board, the open deals whose close date has passed and those that "
        "close this month with list_records, and what changed in the last seven days with changes. Tell the totals for "
        "each currency apart, what moved, what is late, and the five deals that need a look most, each with why.",
    ),
)
PROMPTS: Final = {prompt.name: prompt for prompt in _EVERY}
"""By name."""
