"""Reads a question into a plan, in full or not at all (decision 352)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from providers.chat_models import Answered, Said, Turn
from providers.embedded import lists, looking, writing
from providers.embedded.finding import WHICH
from providers.embedded.steps import Asked, Pick, Plan
from providers.embedded.words import WORDS_MAX, longest, phrases

_HELP: Final = phrases(
    "help|what can you do|what can i ask|what can i ask you|hello|hi|hey|how can you help|how can you help me|help me"
    "|what do you do|who are you|what are you|what can you help me with|what can you help with"
    "|what questions can i ask"
    "|what can i do here|how does this work|what do you know|hi there|hello there|what can you answer"
    "|what can you tell me"
)
_NUMBERS: Final = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5} | {str(n): n for n in range(1, 6)}
_NUMBER: Final = re.compile(r"\s*(?:the |number |no\. ?|#)?(\w+)(?: one)?\s*[.!)]?\s*", re.IGNORECASE)
_LINE: Final = re.compile(r"^([1-5])\. (.{1,300})$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Read:
    """The reading of a question: a plan, a question for help, or neither and why."""

    plan: Plan | None = None
    is_help: bool = False
    why: str = ""


def read(asked: Asked) -> Read:
    """The plan of a question."""
    written = writing.note(asked)
    if isinstance(written, str):
        return Read(why=written)
    if written is not None:
        return Read(written)
    if not asked.words:
        return Read(why="there are no words in it")
    if len(asked.words) > WORDS_MAX:
        return Read(why=f"it has more than {WORDS_MAX} words")
    if longest(asked.words, 0, _HELP) == len(asked.words):
        return Read(is_help=True)
    for intent in (writing.move, looking.changes, looking.health, looking.pipeline):
        if (plan := intent(asked)) is not None:
            return Read(plan)
    listed, why = lists.read(asked)
    if listed is not None:
        return Read(listed)
    plan = looking.figures(asked) or looking.show(asked)
    return Read(plan) if plan is not None else Read(why=why)


def question_of(turns: Sequence[Turn]) -> tuple[str, Pick | None]:
    """Find the last question; where it only says which of several records is meant, the one before it."""
    said = [place for place, turn in enumerate(turns) if isinstance(turn, Said)]
    if not said:
        return "", None
    pick: Pick | None = None
    for place, before in zip(reversed(said), [*reversed(said[:-1]), -1], strict=True):
        text = turns[place].text  # type: ignore[union-attr] # each is what the member said
        told = [turn.text for turn in turns[before + 1 : place] if isinstance(turn, Answered)] if before >= 0 else []
        chosen = _chosen(text, told[-1]) if told and told[-1].rstrip().endswith(WHICH) else None
        if chosen is None:
            return text, pick
        pick = pick or chosen
    return "", None


def _chosen(text: str, told: str) -> Pick | None:
    """The line that is meant, by its number or by its name alone."""
    lines = {int(number): f"{number}. {line}" for number, line in _LINE.findall(told)}
    found = _NUMBER.fullmatch(text) if len(text) < 40 else None
    number = _NUMBERS.get(found[1].lower()) if found is not None else None
    if number is None:
        name = text.strip().rstrip(".!?").casefold()
        named = [at for at, line in lines.items() if line.partition(". ")[2].rpartition(" · ")[0].casefold() == name]
        number = named[0] if len(named) == 1 else None
    return Pick(number, lines[number]) if number in lines and number is not None else None
