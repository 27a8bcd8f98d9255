"""Plans what is to be written: a note on a record, a deal's next stage. The member decides on it (decision 354)."""

import re
from typing import Any, Final

from contract.chat import ChatApprovalStatus
from providers.embedded.finding import Found, chosen
from providers.embedded.lists import stage_among
from providers.embedded.naming import named_from
from providers.embedded.steps import Asked, Outcome, Plan, Request, Step, one, refused
from providers.embedded.words import Word, longest, phrases

NOTED: Final = ("account", "contact", "deal")
_HEAD_WORDS: Final = 30
_NOTE: Final = phrases(
    "log a note on|log note on|log a note for|log a note to|log a note about|add a note on|add a note to"
    "|add a note for"
    "|add note to|add note on|write a note on|write a note to|write a note about|write a note for|make a note on"
    "|make a note for|make a note about|note on|note for|note to|note about|leave a note on|leave a note for"
    "|put a note on"
    "|take a note on|save a note on|record a note on|record a note for|create a note on|create a note for"
    "|log on|a note on"
    "|new note on|new note for|please log a note on|please add a note to|please log a note for|please add a note on"
    "|please note on|log a new note on|attach a note to|can you log a note on|can you add a note to"
)
_SAYING: Final = phrases("saying that|saying|that says|with the text|which says")
_MOVE: Final = phrases(
    "move|please move|move the deal|move deal|move my deal|shift|put|push|advance|drag|can you move"
    "|please put|transfer"
    "|could you move|i want to move|please shift"
)
_SET: Final = phrases(
    "set the stage of|set stage of|change the stage of|change stage of|update the stage of|update stage of"
    "|please set the stage of|please change the stage of"
)
_MARK: Final = phrases("mark|please mark|close|set|please close")
_INTO: Final = frozenset({"to", "into", "in"})
_ARTICLES: Final = frozenset({"the", "our"})
_DONE: Final = {"won": "won", "lost": "lost"}


def note(asked: Asked) -> Plan | str | None:
    """A note; a text says why it is none, though one is meant."""
    size = longest(asked.words, 0, _NOTE)
    if not size:
        return None
    head = _until_colon(asked, size) or _until_saying(asked, size)
    if head is None:
        return "a note's text stands behind a colon, such as: log a note on Acme: they will sign in May"
    kinds, name = named_from(asked, size, NOTED, head[0])
    text = asked.text[head[1] :].strip()
    if not name:
        return "it does not say on which account, contact or deal"
    return _noted(asked, kinds, name, text) if text else "the note has no text"


def _until_colon(asked: Asked, start: int) -> tuple[int, int] | None:
    """Find the end of the name, and the beginning of the text behind the first colon that is in no quoted name."""
    quoted = [(word.start, word.end) for word in asked.words[start:] if word.kind.name == "QUOTED"]
    for found in re.finditer(":", asked.text):
        at = found.start()
        if any(first < at < last for first, last in quoted[:1]):
            continue
        end = next((place for place, word in enumerate(asked.words) if word.start >= at), len(asked.words))
        return (end, found.end()) if start < end <= _HEAD_WORDS else None
    return None


def _until_saying(asked: Asked, start: int) -> tuple[int, int] | None:
    for place in range(start + 1, min(len(asked.words), _HEAD_WORDS)):
        size = longest(asked.words, place, _SAYING)
        if size:
            return place, asked.words[place + size - 1].end
    return None


def _noted(asked: Asked, kinds: tuple[str, ...], name: str, text: str) -> Plan:
    types = [kind.upper() for kind in kinds]
    outcome = yield from one(Request("search", {"query": name, "types": types, "first": 20}))
    found = chosen(asked, name, kinds, outcome)
    if not isinstance(found, Found):
        return found
    request = Request("log_note", {"kind": found.kind, "id": found.id, "text": text})
    written = yield from one(request, f"I can write this note on {found.mark}; it is yours to approve.")
    return [f"The note is on {found.mark} now."] if written.is_ok else _unwritten(written)


def move(asked: Asked) -> Plan | None:
    """A deal's next stage: move X to Y, set the stage of X to Y, mark X as won."""
    size = longest(asked.words, 0, _SET) or longest(asked.words, 0, _MOVE)
    if size:
        into = [at for at in range(size + 1, len(asked.words) - 1) if asked.words[at].form in _INTO]
        return _to_stage(asked, size, into[-1]) if into else None
    size = longest(asked.words, 0, _MARK)
    last = asked.words[-1] if asked.words else None
    if not size or last is None or last.form not in _DONE or len(asked.words) < size + 3:
        return None
    if asked.words[-2].form not in ("as", "to"):
        return None
    kinds, name = named_from(asked, size, ("deal",), len(asked.words) - 2)
    return _moved(asked, name, "", _DONE[last.form]) if name and kinds else None


def _to_stage(asked: Asked, start: int, into: int) -> Plan | None:
    kinds, name = named_from(asked, start, ("deal",), into)
    words = [*asked.words[into + 1 :]]
    while words and words[0].form in _ARTICLES:
        words.pop(0)
    if len(words) > 1 and words[0].form == "stage":
        words.pop(0)
    elif len(words) > 1 and words[-1].form == "stage":
        words.pop()
    return _moved(asked, name, _spelt(asked.text, words), "") if name and kinds and words else None


def _spelt(text: str, words: list[Word]) -> str:
    return " ".join(text[words[0].start : words[-1].end].strip("\"“”„«»'").split())


def _moved(asked: Asked, name: str, stage: str, of_type: str) -> Plan:
    sought = Request("search", {"query": name, "types": ["DEAL"], "first": 20})
    searched, described = yield Step([sought, Request("describe", {})])
    found = chosen(asked, name, ("deal",), searched)
    if not isinstance(found, Found):
        return found
    if not described.is_ok:
        return refused(described)
    to = _of_type(described.data, of_type) if of_type else stage_among(described.data, stage)
    if not isinstance(to, dict):
        return to
    request = Request("move_deal", {"id": found.id, "stage": str(to["name"])})
    told = f"I can move {found.mark} to {to['name']}; it is yours to approve."
    written = yield from one(request, told)
    return [f"{found.mark} is in {to['name']} now."] if written.is_ok else _unwritten(written)


def _of_type(data: Any, type: str) -> dict[str, Any] | list[str]:  # Any: JSON
    stages = [stage for stage in data.get("pipelineStages") or () if isinstance(stage, dict)]
    meant = [stage for stage in stages if str(stage.get("type")).lower() == type]
    if len(meant) == 1:
        return meant[0]
    known = ", ".join(str(stage.get("name")) for stage in meant or stages)
    return [f"Name the stage that the deal goes to: {known}."] if known else ["There are no stages yet."]


def _unwritten(outcome: Outcome) -> list[str]:
    knows_why = outcome.code == ChatApprovalStatus.REJECTED.value  # who said no
    return ["Nothing was written.", *(refused(outcome) if outcome.why and not knows_why else ())]
