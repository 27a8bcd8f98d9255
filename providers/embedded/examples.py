"""Suggests questions that are read as they stand, and the nearest of them to one that was not."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Final

from providers.embedded.words import Word, forms_of

_DEALS: Final = "list_records deal"
_MEETINGS: Final = "list_records meeting"
EXAMPLES: Final[Mapping[str, Sequence[str]]] = {
    "My open deals": (_DEALS,),
    "Open deals over 50k": (_DEALS,),
    "Open deals with Acme": ("search", _DEALS),
    "Deals in the stage Negotiation": ("describe", _DEALS),
    "Deals closing this month": (_DEALS,),
    "Deals won last month": (_DEALS,),
    "Deals created since Monday": (_DEALS,),
    "Overdue deals": (_DEALS,),
    "Top 5 open deals by value": (_DEALS,),
    "My meetings today": (_MEETINGS,),
    "Meetings tomorrow": (_MEETINGS,),
    "Meetings this week with Acme": ("search", _MEETINGS),
    "Overdue meetings": (_MEETINGS,),
    "My next meeting": (_MEETINGS,),
    "Show Acme": ("search", "get_record account"),
    "Who is Jo Ito?": ("search", "get_record contact"),
    "Contacts at Acme": ("search", "list_records contact"),
    "Qualified leads": ("list_records lead",),
    "New leads this week": ("list_records lead",),
    "Accounts in software": ("list_records account",),
    "Active campaigns": ("list_records campaign",),
    "Health of Acme": ("search", "account_health"),
    "Show the pipeline": ("deal_board",),
    "Leads by status": ("ask_data",),
    "How many open deals do we have?": ("ask_data",),
    "What changed since Monday?": ("changes",),
    "What changed on Acme?": ("search", "changes"),
    "Log a note on Acme: they will sign in May": ("search", "log_note account"),
    "Move Acme renewal to Negotiation": ("search", "describe", "move_deal"),
    "Mark Acme renewal as won": ("search", "describe", "move_deal"),
}
"""Each is read as it stands, with the tools that it takes, and of which kind."""
_IDLE: Final = frozenset(
    {"by", "the", "an", "a", "do", "we", "have", "to", "in", "of", "are", "is", "on", "my", "me", "at"}
)
CAN: Final = (
    "I can list deals, meetings, accounts, contacts, leads and campaigns by whose they are, state, account,"
    " stage, amount and "
    "time; show a record; tell an account's health, the pipeline, figures, and what changed; and propose a"
    " note on a record "
    "or a deal's next stage, which is written once you approve it."
)


@lru_cache(maxsize=1)
def _words() -> list[tuple[str, frozenset[str]]]:
    return [(question, frozenset(forms_of(question)) - _IDLE) for question in EXAMPLES]


def nearest(words: Sequence[Word], may: Callable[[str, str], bool]) -> list[str]:
    """The three questions that have most words in common with these, of which tool and kind may be asked."""
    asked = {word.form for word in words} - _IDLE
    scored = [
        (-len(asked & of_example) / len(asked | of_example or {""}), place, question)
        for place, (question, of_example) in enumerate(_words())
    ]
    return [*islice((question for _, _, question in sorted(scored) if _may(question, may)), 3)]


def _may(question: str, may: Callable[[str, str], bool]) -> bool:
    parts = [needed.partition(" ") for needed in EXAMPLES[question]]
    return all(may(tool, kind) for tool, _, kind in parts)
