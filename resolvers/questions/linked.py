"""Reads what records have or lack, which value a dimension has, and names of the organization's own."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from contract.analytics_queries import Operator
from resolvers.analytics_inputs import AnalyticsCondition
from resolvers.questions.lexicon import Sense, Slot, phrases_of
from resolvers.questions.periods import Stretch, length_at, stretch_at
from resolvers.questions.slots import DATE_WORDS, Slots
from resolvers.questions.tokens import TokenKind, starts

if TYPE_CHECKING:
    from resolvers.questions.grammar import Reader

_ARTICLES: Final = frozenset({"a", "an", "the", "any", "our"})
_LACKING: Final = (
    *(("that", "do", "not", "have"), ("do", "not", "have"), ("doe", "not", "have"), ("does", "not", "have")),
    *(("did", "not", "have"), ("have", "not", "had"), ("has", "not", "had"), ("not", "linked", "to")),
    *(("not", "connected", "to"), ("not", "attached", "to"), ("not", "assigned", "to"), ("not", "associated", "with")),
    *(("not", "tied", "to"), ("not", "related", "to"), ("not", "belonging", "to"), ("not", "belong", "to")),
    *(("with", "no"), ("have", "no"), ("has", "no"), ("had", "no"), ("have", "never", "had"), ("without",), ("no",)),
    *(("lacking",), ("lack",), ("missing",), ("not", "having"), ("not", "with"), ("on", "no"), ("not", "on")),
    *(("having", "no"), ("unrelated", "to"), ("linked", "to", "no"), ("attached", "to", "no"), ("tied", "to", "no")),
    *(("belong", "to", "no"), ("belonging", "to", "no"), ("related", "to", "no"), ("connected", "to", "no")),
)
_ZERO: Final = (("with", "zero"), ("have", "zero"), ("has", "zero"), ("had", "zero"))
"""Zero deals are none; a value of zero is one."""
_HAVING: Final = (("that", "have"), ("linked", "to"), ("with",), ("having",), ("have",), ("has",), ("had",))
_TIED: Final = frozenset({"linked", "attached", "associated", "connected", "related", "recorded", "assigned"})
_BEHIND: Final = (("at", "all"), ("on", "file"), ("on", "record"))
"""What may be said behind something that is lacking, and adds nothing."""
_LONGER: Final = (("over",), ("more", "than"), ("at", "least"))
_NOT_MET: Final = (
    *(("not", "been", "met", "with"), ("not", "been", "met"), ("not", "met", "with"), ("not", "met"), ("never", "met")),
    *(("not", "we", "met", "with"), ("not", "we", "met"), ("not", "we", "seen")),
    *(("not", "visited"), ("not", "been", "visited"), ("not", "meet"), ("never", "been", "met"), ("not", "seen")),
    *(("not", "had", "a", "meeting", "with"),),
)
_WHOSE: Final = (("owned", "by"), ("assigned", "to"), ("belonging", "to"), ("by",), ("of",), ("from",), ("for",))
_MET: Final = (("met", "with"), ("meet", "with"), ("met",), ("meet",))
_COMMON: Final = frozenset({"other", "new", "all", "none", "no", "unknown", "any"})
_PREPOSITIONS: Final = (
    *(("owned", "by"), ("assigned", "to"), ("belonging", "to"), ("named",), ("called",), ("in",), ("at", "stage")),
    *(("at",), ("from",), ("of",), ("for",), ("with",), ("by",), ("on",), ("tagged",), ("only",)),
)


def _size(reader: "Reader", choices: Sequence[Sequence[str]], place: int) -> int:
    return next((len(words) for words in choices if starts(reader.tokens, place, words)), 0)


def without(reader: "Reader") -> int:
    """Without an account, with no open deals, not linked to a deal, not met for 60 days; how many words that is."""
    met = _size(reader, _NOT_MET, reader.place)
    if met and "meetings" in reader.entity.links and not _is_somebodys(reader):
        at = reader.place + met
        return met + _link(reader, Sense(Slot.LINK, "meetings", "meetings"), at, [], is_there=False, is_met=True)
    if reader.form() == "unassigned" and "owner" in reader.entity.dimensions:
        reader.slots.add("owner", Operator.IS_NULL)
        return 1
    if blank := _blank(reader):
        return blank
    size = _size(reader, _LACKING, reader.place)
    zero = 0 if size else _size(reader, _ZERO, reader.place)
    if zero and _noun(reader, reader.place + zero)[1] is not None:
        size = zero
    found = _had(reader, size, is_there=False) if size else 0
    behind = reader.place + found
    if found and behind < len(reader.tokens):
        found += 1 if reader.tokens[behind].form in _TIED else _size(reader, _BEHIND, behind)
    return found


def _is_somebodys(reader: "Reader") -> bool:
    """Says whether a person is said to have met the records, which are not only those that the person owns."""
    for place in range(max(0, reader.place - 3), reader.place):
        is_owner = _is_owner(reader, place) and not reader.tokens[place].text.endswith(("'s", "’s"))
        if reader.tokens[place].form == "i" or is_owner or (reader.dimension(place) or ("", 0))[0] == "owner":
            return True
    return False


def _blank(reader: "Reader") -> int:
    """A dimension that is empty: whose email is missing, with account missing."""
    if reader.form() not in ("with", "whose", "where"):
        return 0
    at = reader.behind_articles(reader.place + 1)
    named = reader.dimension(at)
    if named is None:
        return 0
    behind = at + named[1]
    behind += 1 if behind < len(reader.tokens) and reader.tokens[behind].form in ("is", "are") else 0
    if behind >= len(reader.tokens) or reader.tokens[behind].form not in ("missing", "empty", "blank"):
        return 0
    if behind + 1 < len(reader.tokens) and reader.behind_articles(behind + 1) != behind + 1:
        return 0
    reader.slots.add(named[0], Operator.IS_NULL)
    return behind + 1 - reader.place


def having(reader: "Reader") -> int:
    """With an account, that have open deals; how many words that is."""
    met = _size(reader, _MET, reader.place)
    if met and "meetings" in reader.entity.links and not _is_somebodys(reader):
        at = reader.place + met
        return met + _link(reader, Sense(Slot.LINK, "meetings", "meetings"), at, [], is_there=True, is_met=True)
    size = _size(reader, _HAVING, reader.place)
    return _had(reader, size, is_there=True) if size else 0


def _had(reader: "Reader", size: int, *, is_there: bool) -> int:
    at = reader.place + size
    while at < len(reader.tokens) and (
        reader.tokens[at].form in _ARTICLES
        or (not is_there and (reader.tokens[at].form == "single" or reader.tokens[at].form in _TIED))
    ):
        at += 1
    states, noun = _noun(reader, at)
    named = reader.dimension(at)
    if named is not None and (noun is None or noun[1] == at) and not _time(reader, at + named[1], "")[1]:
        if named[0] == "last_meeting_at" or _goes_on(reader, at + named[1]):
            return 0
        reader.slots.add(named[0], Operator.IS_NOT_NULL if is_there else Operator.IS_NULL)
        return at + named[1] - reader.place
    if noun is None:
        return 0
    sense, _, length = noun
    size = at - reader.place
    behind = noun[1] + length
    return behind - reader.place + _link(reader, sense, behind, states, is_there=is_there)


def _goes_on(reader: "Reader", place: int) -> bool:
    """Says whether a value follows, which is then what is meant."""
    following = reader.tokens[place].form if place < len(reader.tokens) else ""
    is_value = next(reader.phrases.at(reader.tokens, place, Slot.STATE), None) is not None
    return following in ("over", "above", "below", "under", "between", "is", "of", "more", "less", "at") or is_value


def _noun(reader: "Reader", place: int) -> tuple[list[Sense], tuple[Sense, int, int] | None]:
    """The linked entity's noun behind at most three states of it: its sense, its place, and how many words it has."""
    for target in dict.fromkeys(reader.entity.links.values()):
        known = reader.known.get(target)
        if known is None:
            continue
        states, at = list[Sense](), place
        for _ in range(4):
            found = next((f for f in reader.phrases.at(reader.tokens, at, Slot.LINK) if f[0].value == target), None)
            if found is not None:
                return states, (found[0], at, found[1])
            state = next(phrases_of(known).at(reader.tokens, at, Slot.STATE), None)
            if state is None:
                break
            states.append(state[0])
            at += state[1]
    return [], None


def _link(
    reader: "Reader", sense: Sense, place: int, states: Sequence[Sense], *, is_there: bool, is_met: bool = False
) -> int:
    """A condition on linked records, with the time that is said behind their noun; how many words that is."""
    target = str(sense.value)
    there = Slots(target)
    behind, read = _states(reader, target, place)
    for state in (*states, *behind):
        reader.state(there, state)
    date, size = _date(reader, target, place + read)
    size += read
    stretch, length = _time(reader, place + size, target, is_lacking=not is_there)
    is_either = date is not None and next(reader.phrases.at(reader.tokens, place + read, Slot.DATE), None) is not None
    weak = None if is_either else date or there.weak_date or ("due_at" if target == "meetings" else None)
    if stretch is not None:
        if weak is None:
            reader.slots.unread += reader.tokens[place : place + size + length]
            return size + length
        if weak == "close_date" and date is not None and stretch.is_ahead(reader.today) and not there.conditions:
            there.add("status", value="open")
            reader.slots.assume("deals that are closing are open")
        end = reader.today if stretch.is_back and target == "meetings" else stretch.end
        for op, day in ((Operator.GTE, stretch.start), (Operator.LT, end)):
            if day is not None:
                there.add(weak, op, day.isoformat())
        reader.slots.assume(
            f"{stretch.words} is {span(stretch.start, end)}, by {DATE_WORDS.get(weak, weak)} of {target}"
        )
    elif is_met:
        there.add("due_at", Operator.LT, reader.today.isoformat())
    for words in there.assumptions:
        reader.slots.assume(words)
    op = Operator.EXISTS if is_there else Operator.MISSING
    reader.slots.conditions.append(AnalyticsCondition(field=sense.name, op=op, where=there.conditions or None))
    read = size + length if stretch is not None else read
    somebody = _somebody(reader, place + read, is_met=is_met and stretch is None)
    reader.slots.unread += reader.tokens[place + read : place + read + somebody]
    return read + somebody


def _somebody(reader: "Reader", place: int, *, is_met: bool) -> int:
    """How many words say there whose the linked records are, which no condition can say (decision 1017)."""
    size = _size(reader, _WHOSE, place)
    at = reader.behind_articles(place + size)
    if not size or at >= len(reader.tokens):
        return 0
    if reader.tokens[at].form in ("me", "mine", "my") or _is_owner(reader, place + size) or _is_owner(reader, at):
        return at + 1 - place
    at += 1 if reader.tokens[at].form in ("each", "every") else 0
    dimension = reader.dimension(at) if is_met else None
    return at + 1 - place if dimension is not None and dimension[0] == "owner" else 0


def _is_owner(reader: "Reader", place: int) -> bool:
    """Says whether a person is named there."""
    found = reader.names.at(reader.tokens, place, reader.entity)
    return found is not None and any(name == "owner" for name, _ in found[0])


def _states(reader: "Reader", target: str, place: int) -> tuple[list[Sense], int]:
    """States of the linked records that are said behind their noun, and how many words they have."""
    known = reader.known.get(target)
    found = None if known is None else next(phrases_of(known).at(reader.tokens, place, Slot.STATE), None)
    return ([], 0) if found is None else ([found[0]], found[1])


def span(start: object, end: object) -> str:
    """Days in words; the end is the day before which it is."""
    words = [f"from {start} on" if start is not None else "", f"before {end}" if end is not None else ""]
    return ", ".join(word for word in words if word)


def _date(reader: "Reader", target: str, place: int) -> tuple[str | None, int]:
    known = reader.known.get(target)
    found = None if known is None else next(phrases_of(known).at(reader.tokens, place, Slot.DATE), None)
    return (None, 0) if found is None else (found[0].name, found[1])


def _time(reader: "Reader", place: int, target: str, *, is_lacking: bool = False) -> tuple[Stretch | None, int]:
    """The time that is said there, and how many words it has. None in over 60 days is none in 60 days."""
    tokens = reader.tokens[place : place + 12]
    size = 1 if tokens and tokens[0].form in ("in", "during", "for", "within", "on", "over") else 0
    if size and is_lacking and tokens[0].form in ("in", "for"):
        longer = _size(reader, _LONGER, place + 1)
        size += longer if longer and length_at(tokens[1 + longer :], reader.today) is not None else 0
    back = length_at(tokens[size:], reader.today) if size and tokens[0].form == "for" else None
    since = tokens and tokens[0].form == "in" and target
    if back is None and since:
        back = length_at(tokens[size:], reader.today)
    found = back or stretch_at(tokens[size:], reader.today)
    return (None, 0) if found is None else (found[0], size + found[1])


def valued(reader: "Reader") -> int:
    """A dimension with its value: status won, whose trend is declining."""
    size = 1 if reader.form() in ("with", "whose", "where", "from", "via", "through") else 0
    size += 1 if reader.form(size) in ("a", "the") and size else 0
    if reader.form() in ("from", "via", "through"):
        for sense, length in reader.phrases.at(reader.tokens, reader.place + size, Slot.STATE):
            if sense.name == "source":
                reader.state(reader.slots, sense)
                return size + length
        return 0
    named = reader.dimension(reader.place + size)
    if named is None:
        for sense, length in reader.phrases.at(reader.tokens, reader.place + size, Slot.STATE):
            behind = reader.dimension(reader.place + size + length)
            if behind is not None and _is_about(sense, behind[0]):
                reader.state(reader.slots, sense)
                return size + length + behind[1]
        return 0
    size += named[1]
    size += 1 if reader.form(size) in ("is", "are") else 0
    for sense, length in reader.phrases.at(reader.tokens, reader.place + size, Slot.STATE):
        if _is_about(sense, named[0]):
            reader.state(reader.slots, sense)
            return size + length
    return 0


def _is_about(sense: Sense, dimension: str) -> bool:
    return sense.name == dimension or (sense.name, dimension) == ("health_trend", "health_score")


def named(reader: "Reader") -> int:
    """A name of the organization's: in Proposal, at Acme, from Website, owned by Ada; how many words that is."""
    place = reader.place
    preposition = _size(reader, _PREPOSITIONS, place)
    for size in dict.fromkeys((preposition, 0)):
        first = at = place + size
        if size and reader.tokens[at : at + 1] and reader.tokens[at].form in ("the", "a"):
            at += 1
        dimension = reader.dimension(at)
        behind = at + (dimension[1] if dimension is not None else 0)
        for start, said in ((behind, dimension), (at, None), (first, None)):
            found = reader.names.at(reader.tokens, start, reader.entity)
            if found is None or (said is None and _is_state(reader, start, found[1])):
                continue
            options, length = found
            is_free = size or said is not None or _stands_alone(reader, start, length)
            if not is_free and not _goes_before_noun(reader, start, options, length):
                continue
            end = start + length
            trailing = reader.dimension(end)
            if said is None and trailing is not None and any(name == trailing[0] for name, _ in options):
                said, end = trailing, end + trailing[1]
            if said is not None:
                options = tuple(one for one in options if one[0] == said[0])
            elif size and reader.form() == "by" and _is_made(reader):  # whoever made a record need not own it
                options = ()
            elif size and reader.form() in ("by", "owned", "assigned"):
                options = tuple(one for one in options if one[0] == "owner")
            elif size and reader.form() == "with":  # a meeting with somebody is hardly that person's own
                options = tuple(one for one in options if one[0] != "owner")
            if options and not reader.negated:
                _take(reader, start, options)
                return end - place
        quoted = reader.tokens[behind] if behind < len(reader.tokens) else None
        is_literal = dimension is not None and quoted is not None and quoted.kind is TokenKind.QUOTED
        if is_literal and reader.names.is_complete and dimension is not None and quoted is not None:
            known = reader.entity.dimensions[dimension[0]]
            if not known.is_date and known.values is None and known.kind.value == "text":
                reader.slots.add(dimension[0], value=quoted.text[1:-1])
                return behind + 1 - place
    return 0


def _is_made(reader: "Reader") -> bool:
    """Says whether the word before says that records were made."""
    date = next(reader.phrases.at(reader.tokens, reader.place - 1, Slot.DATE), None) if reader.place else None
    return date is not None and date[0].name == "created_at"


def _is_state(reader: "Reader", place: int, length: int) -> bool:
    """Says whether the name is a state as well, and not said to be a name: «of won deals», and not «in Won»."""
    state = next(reader.phrases.at(reader.tokens, place, Slot.STATE), None)
    return state is not None and state[1] >= length and reader.form() not in ("in", "at")


def _goes_before_noun(reader: "Reader", place: int, options: Sequence[tuple[str, str]], length: int) -> bool:
    """Says whether a word of the organization's is what records are called by: retail accounts, website deals."""
    is_kind = all(name in ("industry", "source") for name, _ in options)
    return is_kind and reader.tokens[place].form not in _COMMON and reader.is_noun(place + length)


def _stands_alone(reader: "Reader", place: int, length: int) -> bool:
    """Says whether a name is one without «of» or «at» before it: a single word may be any word, such as «Will»."""
    token = reader.tokens[place]
    if length > 1 or token.kind is TokenKind.QUOTED or token.text.endswith(("'s", "’s")):
        return True
    return place > 0 and token.text[:1].isupper()


def _take(reader: "Reader", place: int, options: tuple[tuple[str, str], ...]) -> None:
    if len(options) == 1:
        name, value = options[0]
        earlier = reader.slots.condition(name)
        if earlier is None or earlier.value == value:
            reader.slots.add(name, value=value)
            if name == "owner" and reader.names.person(value):
                reader.slots.assume(f"«{reader.tokens[place].text}» is {reader.names.person(value)}")
            return
        reader.slots.unread.append(reader.tokens[place])
        return
    reader.slots.readings.append((reader.tokens[place], options))
