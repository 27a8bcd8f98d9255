"""The words of questions about lists: what they say of a list, and what says nothing."""

from typing import Final

from providers.embedded.words import each, phrases

IDLE: Final = each(
    "show list give display please what which are is there do have has got the all a an our any can could you we"
    " want to see find get of us let currently now every that still would like need tell on right been were was"
    " did who out in with for at where"
)
ALONE: Final = each("of on in with for at to been tell out")
"""Of the idle ones those that lead to something: they are read only together with it."""
WISHES: Final = frozenset({"want", "need", "like"})
"""Those that ask for a list before its noun, and say which behind it."""
BEING: Final = frozenset({"is", "are", "was", "were"})
SHOWN: Final = phrases(
    "show me|give me|tell me|get me|list me|find me|let me see|i want to see|i would like to see|i need"
    "|can i see|could i see|can i have"
)
MINE: Final = phrases(
    "my|mine|i own|do i own|assigned to me|owned by me|of mine|belonging to me|that are mine|do i have|i have"
    "|have i|am i in"
)
WITH: Final = frozenset({"with", "at", "for", "of", "from", "about", "on"})
IN: Final = frozenset({"in", "at"})
ARTICLES: Final = frozenset({"the", "a", "an", "our", "my"})


def _amounts(text: str) -> tuple[tuple[str, ...], ...]:
    """Phrases before an amount, alone and behind what says that it is one."""
    before = ("", "of ", "worth ", "valued at ", "with a value ", "with a value of ")
    return phrases("|".join(f"{head}{one}" for head in before for one in text.split("|")))


OVER: Final = (
    ("gte", _amounts("at least|no less than")),
    ("lte", _amounts("at most|up to|no more than")),
    ("gt", _amounts("over|above|more than|bigger than|larger than|greater than|exceeding")),
    ("lt", _amounts("under|below|less than|smaller than")),
)
CLOSING: Final = phrases(
    "closing|close|due to close|due|expected to close|set to close|to close|with a close date|with close date"
)
CREATED: Final = phrases("created|added|opened|captured|entered|that came in|came in|made")
UPDATED: Final = phrases("updated|changed|modified|edited|touched")
LATE: Final = phrases(
    "overdue|past their close date|past close date|past their closing day|past due|that are late|late"
)
RANKED: Final = {
    **dict.fromkeys(("top", "biggest", "largest"), ("VALUE", "DESC")),
    "smallest": ("VALUE", "ASC"),
    **dict.fromkeys(("newest", "latest"), ("CREATED_AT", "DESC")),
    "oldest": ("CREATED_AT", "ASC"),
}
SORTED: Final = phrases("sorted by|ordered by|sort by|order by")
ORDERS: Final = (
    ("VALUE", "DESC", phrases("value|amount|size|deal value")),
    ("CLOSE_DATE", "ASC", phrases("close date|closing date|closing day")),
    ("CREATED_AT", "DESC", phrases("creation date|creation|created")),
    ("UPDATED_AT", "DESC", phrases("last update|update|updated")),
    ("NAME", "ASC", phrases("name")),
)
CODES: Final = {"eur": "EUR", "usd": "USD", "gbp": "GBP", "chf": "CHF", "euro": "EUR", "dollar": "USD", "pound": "GBP"}
FIRST_MAX: Final = 50
NAME_MAX: Final = 8
TO_A_DATE: Final = frozenset({"in", "on", "within", "during", "for", "over", "of", "from"})
PIPELINE_OF_MINE: Final = phrases(
    "my pipeline|show my pipeline|show me my pipeline|what is in my pipeline|my sales pipeline"
)
NOW: Final = phrases("now|right now|currently|at the moment")
WHAT_DEALS: Final = phrases(
    "what closes|what is closing|what is due to close|what did we win|what did we lose|what have we won"
    "|what have we lost"
)
"""Questions that mean deals and do not say so."""
WE_DID: Final = {"won": phrases("did we win|did i win"), "lost": phrases("did we lose|did i lose")}
"""How deals are asked for by what became of them; `can we win` asks for something else."""
PEOPLE_AT: Final = phrases(
    "who works at|who works for|who do we know at|people we know at|show me who works at|whom do we know at"
)
STARTERS: Final = (
    *CLOSING,
    *CREATED,
    *UPDATED,
    *SORTED,
    *MINE[1:],
    *LATE,
    *(one for _, known in OVER for one in known),
)
"""Phrases that begin another part of a question, where a name is read."""
