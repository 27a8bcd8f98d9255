"""Suggests questions that can be asked instead of one that was not read: the nearest of the examples."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Final

from resolvers.questions.tokens import Token, forms_of

EXAMPLES: Final[Mapping[str, Sequence[str]]] = {
    "deals": (
        "How many open deals do we have?",
        "Pipeline value by stage",
        "Top 10 open deals by value",
        "Deals won per month this year",
        "Win rate by owner",
        "Which open deals are overdue?",
        "Deals without an account",
        "My deals by stage",
        "Average deal size by source",
        "Weighted pipeline by month",
        "Sales cycle by owner",
        "Won amount by industry this year",
        "Deals created per week",
        "Deals closing next month",
        "How long do deals stay in each stage?",
        "Compare this quarter's won amount with last quarter's",
        "Lost deals by source",
        "Deals by industry",
    ),
    "meetings": (
        "How many meetings did each person have last month?",
        "Meetings per month",
        "Meetings not linked to a deal",
        "Meetings by source",
        "Average meeting length by owner",
        "Completed meetings this week",
    ),
    "accounts": (
        "Which accounts have no open deal?",
        "Accounts we have not met for 60 days",
        "Accounts with the worst health",
        "Which accounts are declining?",
        "Accounts by industry",
        "New accounts per month",
        "Accounts without contacts",
        "Average health by industry",
    ),
    "contacts": ("Contacts without an e-mail address", "Contacts by account", "How many contacts have no deals?"),
    "leads": (
        "How many leads by status?",
        "New leads per month",
        "Conversion rate by lead source",
        "Disqualified leads by reason",
        "Leads by owner",
    ),
    "campaigns": ("Campaigns by status", "Reply rate by campaign", "Bounce rate by campaign"),
    "enrollments": ("Recipients by status", "Enrollments by campaign"),
    "research_results": ("Research results by status", "Average research score"),
}
"""Questions that are read as they stand here, by entity."""
_IDLE: Final = frozenset(
    {"by", "the", "an", "a", "do", "we", "have", "per", "with", "to", "did", "in", "of", "are", "is"}
)


@lru_cache(maxsize=1)
def _words() -> list[tuple[str, str, frozenset[str]]]:
    return [
        (entity, question, frozenset(forms_of(question)) - _IDLE)
        for entity, questions in EXAMPLES.items()
        for question in questions
    ]


def nearest(tokens: Sequence[Token], entities: Iterable[str], is_read: Callable[[str], bool]) -> tuple[str, ...]:
    """The three questions about these entities that are read, and have most words in common with the question."""
    known, words = set(entities), {token.form for token in tokens} - _IDLE
    scored = [
        (-len(words & of_example) / len(words | of_example or {""}), place, question)
        for place, (entity, question, of_example) in enumerate(_words())
        if entity in known
    ]
    return tuple(islice((question for _, _, question in sorted(scored) if is_read(question)), 3))
