"""Reads times, amounts and owners that records are narrowed to: last month, over 10,000 EUR, mine, overdue."""

from typing import TYPE_CHECKING, Final

from contract.analytics_queries import Operator
from contract.catalog import ColumnKind
from resolvers.questions.periods import GRAINS, MONTHS, Stretch, stretch_at
from resolvers.questions.tokens import starts

if TYPE_CHECKING:
    from resolvers.questions.grammar import Reader

_BEFORE_TIMES: Final = frozenset({"in", "during", "on", "for", "over", "within", "of", "throughout", "at"})
_OVER: Final = {
    **dict.fromkeys((("over",), ("above",), ("more", "than"), ("greater", "than"), ("larger", "than")), Operator.GT),
    **dict.fromkeys((("bigger", "than"), ("higher", "than"), ("exceeding",)), Operator.GT),
    **dict.fromkeys((("at", "least"), ("not", "less", "than")), Operator.GTE),
    **dict.fromkeys((("under",), ("below",), ("less", "than"), ("smaller", "than"), ("lower", "than")), Operator.LT),
    **dict.fromkeys((("at", "most"), ("up", "to"), ("no", "more", "than")), Operator.LTE),
}
_MY: Final = (
    *(("owned", "by", "me"), ("assigned", "to", "me"), ("do", "i", "own"), ("i", "own"), ("do", "i", "have")),
    *(("did", "i", "have"), ("have", "i"), ("did", "i"), ("i", "have"), ("by", "me"), ("am", "i")),
)
_OVERDUE: Final = (
    *(("overdue",), ("past", "due"), ("late",), ("past", "their", "closing", "date")),
    *(("past", "their", "close", "date"), ("past", "their", "closing", "day")),
)


_INTRODUCING: Final = frozenset({"with", "whose", "having", "have", "has", "where"})
_BEING: Final = frozenset({"is", "are", "was", "of", "in", "on", "within", "during", "fall"})
_GONE: Final = (
    *(("passed",), ("has", "passed"), ("have", "passed"), ("has", "already", "passed"), ("already", "passed")),
    *(("in", "the", "past"), ("is", "in", "the", "past"), ("are", "in", "the", "past")),
)


def versus(reader: "Reader") -> int:
    """Two periods that are compared: compare … with …, versus."""
    if reader.form() == "how" and reader.form(1) in ("do", "doe", "does", "did"):
        return 2 if any(token.form == "compare" for token in reader.tokens[reader.place :]) else 0
    if reader.form() == "compare":
        reader.slots.is_compared = True
        return 1
    sizes = ((2, ("compared", "to")), (2, ("compared", "with")), (1, ("versus",)), (1, ("vs",)), (1, ("against",)))
    for size, words in sizes:
        if starts(reader.tokens, reader.place, words):
            reader.slots.is_compared = True
            return size if reader.slots.stretches else 0
    joins = reader.slots.is_compared and reader.slots.stretches and reader.form() in ("with", "to", "and")
    return 1 if joins and stretch_at(reader.tokens[reader.place + 1 :], reader.today) else 0


def dated(reader: "Reader") -> int:
    """A date with its time: with a closing date next month, whose close date has passed."""
    size = 1 if reader.form() in _INTRODUCING else 0
    at = reader.behind_articles(reader.place + size)
    named = reader.dimension(at) if size else None
    if named is None or not reader.is_date(named[0]) or reader.slots.date not in (None, named[0]):
        return 0
    behind = at + named[1]
    gone = next((len(words) for words in _GONE if starts(reader.tokens, behind, words)), 0)
    if gone and (behind + gone == len(reader.tokens) or reader.tokens[behind + gone].form not in GRAINS):
        found: tuple[Stretch, int] | None = Stretch("in the past", end=reader.today), gone
    else:
        while behind < len(reader.tokens) and reader.tokens[behind].form in _BEING:
            behind += 1
        found = stretch_at(reader.tokens[behind : behind + 12], reader.today)
    if found is None:
        return 0
    reader.slots.date, reader.slots.date_text = named[0], reader.tokens[at].text
    reader.slots.stretches.append(found[0])
    reader.mark_period()
    return behind - reader.place + found[1]


def timed(reader: "Reader") -> int:
    """A time: last month, in October, since March."""
    size = 1 if reader.form() in _BEFORE_TIMES else 0
    size += 1 if size and reader.form(size) == "the" and reader.form(size + 1) in ("month", "quarter", "year") else 0
    found = stretch_at(reader.tokens[reader.place + size : reader.place + size + 12], reader.today)
    if found is None or _is_amount(reader, size, size + found[1]):
        return 0
    reader.slots.stretches.append(found[0])
    reader.mark_period()
    return size + found[1]


def _is_amount(reader: "Reader", start: int, end: int) -> bool:
    """Says whether what may be a year is an amount: over 2000, 2000 EUR."""
    at = reader.place + end
    is_money = at < len(reader.tokens) and reader.names.currency(reader.tokens[at]) is not None
    last = reader.figure(end - 1) is not None
    return last and (is_money or (reader.form() == "over" and reader.figure(start) is not None))


def numbered(reader: "Reader") -> int:
    """A comparison with a number: over 10,000 EUR, a health score below 50, between 5k and 10k."""
    size, name = 0, None if reader.slots.measures else _numeric(reader)
    behind = reader.behind_articles(reader.place + (reader.form() in ("with", "whose", "having", "have")))
    named = reader.dimension(behind)
    if named is not None and reader.is_number(named[0]):
        name, size = named[0], behind - reader.place + named[1]
    size += 1 if reader.form(size) in ("of", "is", "worth", "are") else 0
    if name is None:
        return 0
    if (
        reader.form(size) == "between"
        and (first := reader.figure(size + 1)) is not None
        and reader.form(size + 2) == "and"
    ):
        second = reader.figure(size + 3)
        is_time = stretch_at(reader.tokens[reader.place + size :], reader.today) is not None
        is_time &= not named and not _is_amount(reader, size + 1, size + 4)
        if second is None or is_time or reader.form(size + 4) in MONTHS:
            return 0
        reader.slots.add(name, Operator.GTE, str(first))
        reader.slots.add(name, Operator.LTE, str(second))
        return size + 4 + _unit(reader, name, size + 4)
    for words, op in _OVER.items():
        if starts(reader.tokens, reader.place + size, words):
            at = size + len(words)
            figure = reader.figure(at)
            if figure is None or reader.form(at + 1) in GRAINS or reader.form(at + 1) in MONTHS:
                return 0
            reader.slots.add(name, op, str(figure))
            return at + 1 + _unit(reader, name, at + 1)
    return 0


def _unit(reader: "Reader", name: str, ahead: int) -> int:
    """The currency behind an amount; without one amounts of every currency are compared, which is told."""
    if reader.entity.dimensions[name].kind is not ColumnKind.DECIMAL:
        return 0
    at = reader.place + ahead
    code = None if at >= len(reader.tokens) else reader.names.currency(reader.tokens[at])
    if code is None:
        reader.slots.assume("amounts of every currency are compared as numbers")
        return 0
    reader.slots.add("currency", value=code)
    return 1


def _numeric(reader: "Reader") -> str | None:
    return next((n for n in ("value", "score") if n in reader.entity.dimensions and reader.is_number(n)), None)


def overdue(reader: "Reader") -> int:
    """Open deals whose closing day has passed."""
    if reader.entity.name != "deals":
        return 0
    size = next((len(words) for words in _OVERDUE if starts(reader.tokens, reader.place, words)), 0)
    if size:
        reader.slots.add("status", value="open")
        reader.slots.add("close_date", Operator.LT, reader.today.isoformat())
        reader.slots.assume(f"overdue deals are open, and their closing day was before {reader.today}")
    return size


def mine(reader: "Reader") -> int:
    """Read that only the caller's own records are asked for: my, mine."""
    if "owner" not in reader.entity.dimensions:
        return 0
    size = next((len(words) for words in _MY if starts(reader.tokens, reader.place, words)), 0)
    size = size or (1 if reader.form() in ("my", "mine") else 0)
    if size:
        reader.slots.add("owner", value=reader.me)
        reader.slots.assume("«my» is what you own")
    return size


def in_currency(reader: "Reader") -> int:
    """Amounts in one currency: in EUR, only USD."""
    size = 1 if reader.form() in ("in", "only") else 0
    at = reader.place + size
    code = None if at >= len(reader.tokens) else reader.names.currency(reader.tokens[at])
    if code is None or "currency" not in reader.entity.dimensions:
        return 0
    reader.slots.add("currency", value=code)
    return size + 1
