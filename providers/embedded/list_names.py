"""Names in a question about a list: whose deals, in which stage, of which industry."""

from __future__ import annotations

from typing import TYPE_CHECKING

from providers.embedded.list_words import (
    ARTICLES,
    IDLE,
    IN,
    NAME_MAX,
    NOW,
    STARTERS,
    TO_A_DATE,
    WITH,
)
from providers.embedded.listing import NAMED_BY, NOUNS, STATES
from providers.embedded.naming import NO_NAMES
from providers.embedded.periods import period_at
from providers.embedded.words import Word, WordKind, between, longest

if TYPE_CHECKING:
    from providers.embedded.list_reading import ListReader


def staged(reader: ListReader) -> int:
    """In the stage Negotiation, in Negotiation, in the negotiation stage; of accounts their industry."""
    listing, at = reader.listing, reader.place
    if listing.kind not in ("deal", "account") or reader.form() not in IN | {"stage"}:
        return 0
    at += reader.form() in IN
    at = _behind_articles(reader, at)
    word = "stage" if listing.kind == "deal" else "industry"
    is_said = at < len(reader.words) and reader.words[at].form == word
    if reader.form() == "at" and not is_said and not _ends_with(reader, at, word):
        return 0  # at a customer
    end = _end_of_name(reader, at + is_said)
    if not is_said:  # in the negotiation stage with Acme
        end = next((behind for behind in range(at + 2, end) if reader.words[behind - 1].form == word), end)
    name = _name(reader, at + is_said, end)
    if not name or (listing.kind == "deal" and listing.stage) or (listing.kind == "account" and listing.industry):
        return 0
    last = reader.words[end - 1].form
    if last in ("stage", "industry", "sector") and end - at - is_said > 1:
        name = between(reader.text, reader.words[at + is_said], reader.words[end - 2])
    if listing.kind == "deal":
        listing.stage = name
    else:
        listing.industry = name
    return end - reader.place


def _ends_with(reader: ListReader, place: int, word: str) -> bool:
    end = _end_of_name(reader, place)
    return end > place and reader.words[end - 1].form == word


def named(reader: ListReader) -> int:
    """With Acme, at the company Acme, for «Open Systems»."""
    if reader.form() not in WITH or (reader.listing.kind == "lead" and reader.form() not in ("from", "at", "of")):
        return 0
    if not any(word.form in NOUNS for word in reader.words[: reader.place]):
        return 0
    at = _behind_articles(reader, reader.place + 1)
    kind = NOUNS.get(reader.words[at].form) if at < len(reader.words) else None
    kinds = NAMED_BY.get(reader.listing.kind, ("account",))
    if kind is not None and at + 1 < len(reader.words):
        kinds, at = ((kind,) if kind in kinds else ()), at + 1
    elif reader.form() in ("about", "on"):
        kinds = tuple(one for one in kinds if one == "deal")
    else:
        kinds = tuple(one for one in kinds if one != "deal")
    end = _end_of_name(reader, at)
    name = _name(reader, at, end)
    if not name or not kinds or reader.listing.name is not None:
        return 0
    reader.listing.name, reader.listing.named_kinds = name, kinds
    return end - reader.place


def owned(reader: ListReader) -> int:
    """Acme's deals, the name before."""
    if reader.listing.name is not None or reader.listing.kind not in NAMED_BY:
        return 0
    end = reader.place
    while end < min(len(reader.words), reader.place + NAME_MAX) and not reader.words[end].is_owning:
        end += 1
    if end == len(reader.words) or end == reader.place + NAME_MAX:
        return _before_noun(reader)
    name = _name(reader, reader.place, end + 1)
    is_somebodys = reader.place > 0 and reader.words[reader.place - 1].form in ("my", "our")  # my team's
    if not name or is_somebodys or reader.words[reader.place].form in IDLE or NOUNS.get(reader.words[end].form):
        return 0
    reader.listing.name, reader.listing.named_kinds = name, ("account",)
    return end + 1 - reader.place


def _before_noun(reader: ListReader) -> int:
    """Acme deals, where it is written as a name is; the first word of a question is in any case."""
    end = reader.place
    while end < len(reader.words) and _is_name(reader.words[end]):
        end += 1
    at = end + (end < len(reader.words) and reader.words[end].form in STATES[reader.listing.kind])
    name = _name(reader, reader.place, end) if reader.place else ""
    if not name or at >= len(reader.words) or NOUNS.get(reader.words[at].form) != reader.listing.kind:
        return 0
    reader.listing.name, reader.listing.named_kinds = name, ("account",)
    return end - reader.place


def _is_name(word: Word) -> bool:
    return word.kind is WordKind.QUOTED or (word.text[0].isupper() and word.form not in IDLE and word.form not in NOUNS)


def _behind_articles(reader: ListReader, place: int) -> int:
    while place < len(reader.words) and reader.words[place].form in ARTICLES:
        place += 1
    return place


def _name(reader: ListReader, start: int, end: int) -> str:
    if end <= start or end - start > NAME_MAX:
        return ""
    if any(word.form in NO_NAMES for word in reader.words[start:end] if word.kind is not WordKind.QUOTED):
        return ""
    if any(_is_kind(word) for word in reader.words[start:end]):
        return ""
    if reader.words[start].kind is not WordKind.QUOTED and period_at(reader.words, start, reader.today) is not None:
        return ""
    return between(reader.text, reader.words[start], reader.words[end - 1])


def _is_kind(word: Word) -> bool:
    """Says whether it means records of a kind: «my accounts» is no account's name."""
    return word.kind is WordKind.WORD and word.form in NOUNS and word.text != word.form and word.text.islower()


def _end_of_name(reader: ListReader, start: int) -> int:
    """Find the place at which something else begins; a quoted name ends with itself."""
    if start < len(reader.words) and reader.words[start].kind is WordKind.QUOTED:
        return start + 1
    for at in range(start, len(reader.words)):
        if at > start and _begins(reader, at):
            return at
    return len(reader.words)


def _begins(reader: ListReader, place: int) -> bool:
    """Says whether a part of the question begins there that is no name."""
    before = 1 if reader.words[place].form in TO_A_DATE and place + 1 < len(reader.words) else 0
    if period_at(reader.words, place + before, reader.today) is not None:
        return True
    form = reader.words[place].form
    is_lower = reader.words[place].text.islower()  # else it may be of a name
    if is_lower and place + longest(reader.words, place, NOW) == len(reader.words):
        return True
    if form in ("in", "between") or longest(reader.words, place, STARTERS):
        return True
    return reader.words[place].kind is WordKind.WORD and form in ("that", "which", "who", "and", "but", "or", "not")
