"""Reads by what a question groups and orders: by owner and month, top 10, which stage has the most, as a table."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from contract.analytics_results import ChartKind
from contract.catalog import ColumnKind, DateGrain
from resolvers.questions.lexicon import Slot
from resolvers.questions.periods import GRAINS
from resolvers.questions.tokens import Token, starts

if TYPE_CHECKING:
    from resolvers.questions.grammar import Reader

_BY: Final = (
    *(("broken", "down", "by"), ("break", "down", "by"), ("grouped", "by"), ("group", "by"), ("split", "by")),
    *(("split", "up", "by"), ("for", "each"), ("for", "every"), ("in", "each"), ("in", "every"), ("in", "a")),
    *(("at", "each"), ("from", "each"), ("of", "each"), ("by", "each"), ("to", "each"), ("on", "each"), ("per",)),
    *(
        ("distributed", "by"),
        ("distributed", "across"),
        ("distributed", "over"),
        ("spread", "across"),
        ("spread", "over"),
    ),
    *(("in", "which"), ("by",), ("each",), ("every",), ("across",), ("separated", "by"), ("divided", "by")),
)
_SORTED: Final = (("sorted", "by"), ("ordered", "by"), ("order", "by"), ("sort", "by"), ("ranked", "by"))
_PERIODIC: Final = {
    **{"daily": DateGrain.DAY, "weekly": DateGrain.WEEK, "monthly": DateGrain.MONTH},
    **{"quarterly": DateGrain.QUARTER, "yearly": DateGrain.YEAR, "annual": DateGrain.YEAR, "annually": DateGrain.YEAR},
}
TOPS: Final = {
    **dict.fromkeys(("top", "largest", "biggest", "highest", "most", "best", "greatest"), True),
    **dict.fromkeys(("smallest", "lowest", "fewest", "worst", "poorest", "least", "bottom"), False),
}
AGES: Final = {"newest": True, "latest": True, "recent": True, "oldest": False, "earliest": False}
RANKING: Final = frozenset({*TOPS, *AGES, "healthiest", "unhealthiest"})
"""Words of which each says that the first are asked for."""
_CHARTS: Final = {"table": ChartKind.TABLE, "bar": ChartKind.BAR, "line": ChartKind.LINE}
_HEALTHY: Final = {
    **{("least", "healthy"): False, ("most", "healthy"): True, ("unhealthiest",): False, ("healthiest",): True},
}
_WORTH: Final = {("worth", "the", "most"): True, ("worth", "most"): True, ("worth", "the", "least"): False}
_OF_VALUE: Final = {"most": "highest", "least": "lowest"}
_WITHIN: Final = frozenset({("in", "each"), ("in", "every"), ("at", "each")})
_BREAKDOWN: Final = frozenset({"breakdown", "split", "distribution", "mix"})
_STATES_OF: Final = frozenset({"status", "state", "stage", "source", "industry", "health_trend"})
"""What records are in or come from: «status of campaigns» asks how many are in each."""
_SPREAD: Final = frozenset({"distributed", "spread", "divided", "split", "broken"})


def chart(reader: "Reader") -> int:
    """Says how the answer is to be drawn: as a table, as a bar chart."""
    size = 1 if reader.form() in ("as", "in") else 0
    if not size:
        return 0
    size += 1 if reader.form(size) in ("a", "an") else 0
    kind = _CHARTS.get(reader.form(size))
    if kind is None or (reader.form() == "in" and kind is not ChartKind.TABLE):
        return 0
    reader.slots.chart = kind
    return size + 1 + (reader.form(size + 1) in ("chart", "graph"))


def ordered(reader: "Reader") -> int:
    """An order in words: sorted by value descending."""
    for words in _SORTED:
        if starts(reader.tokens, reader.place, words):
            at = reader.place + len(words)
            found = reader.dimension(at) or reader.measured(at)
            if found is None:
                return 0
            size = len(words) + found[1]
            word = reader.form(size)
            is_falling = bool(reader.slots.ranks) and word not in ("ascending", "asc")
            reader.slots.order = found[0], is_falling or word in ("descending", "desc")
            return size + (word in ("descending", "desc", "ascending", "asc"))
    return 0


def grouped(reader: "Reader") -> int:
    """The dimensions that are grouped by: by owner and month, per week, monthly."""
    if reader.form() in _PERIODIC:
        return _period(reader, _PERIODIC[reader.form()], 1)
    if reader.form(1) == "by" and reader.form() == reader.form(2) and (found := _grouping(reader, 2)):
        return 2 + found  # stage by stage
    for words in _BY:
        if starts(reader.tokens, reader.place, words):
            size = len(words)
            is_period = words == ("in", "which") and reader.form(size) in GRAINS
            found = 0 if is_period else _grouping(reader, size)
            reader.slots.is_within |= bool(found) and words in _WITHIN
            while found:
                size += found
                ahead = 1 if reader.form(size) == "and" else 0
                ahead += 1 if ahead and reader.form(size + 1) in ("by", "per") else 0
                found = _grouping(reader, size + ahead) if ahead else 0
                size += ahead if found else 0
            if size > len(words):
                return size
            return len(words) if _ranks_by(reader, len(words)) else 0
    return 0


def _ranks_by(reader: "Reader", size: int) -> bool:
    """Says whether a figure follows that the first are found by: by number of open deals, by won amount."""
    if reader.slots.ranks is None or not reader.slots.by:
        return False
    at = reader.behind_articles(reader.place + size)
    return starts(reader.tokens, at, ("number", "of")) or _is_figure(reader, at)


def _is_figure(reader: "Reader", at: int) -> bool:
    """Says whether a figure follows, behind states: «won amount»."""
    for _ in range(3):
        if reader.measured(at) is not None:
            return True
        state = next(reader.phrases.at(reader.tokens, at, Slot.STATE), None)
        if state is None:
            return False
        at += state[1]
    return False


def _period(reader: "Reader", grain: DateGrain, size: int, date_name: str | None = None) -> int:
    if reader.slots.grain is not None:
        return 0
    reader.slots.grain = grain
    reader.slots.date = date_name or reader.slots.date
    reader.mark_period()
    return size


def _grouping(reader: "Reader", size: int) -> int:
    """One dimension behind «by», or a period; the number of its words."""
    at = reader.place + size
    behind = reader.behind_articles(at)
    skipped = behind - at
    if reader.form(size + skipped) == "calendar" or (
        reader.form(size + skipped) == "current" and reader.form(size + skipped + 1) not in GRAINS
    ):
        skipped, behind = skipped + 1, behind + 1
    form = reader.form(size + skipped)
    if form in GRAINS:
        number = skipped + 1
        number += 1 if reader.form(size + number) in ("of", "it", "they") else 0
        dated = next(reader.phrases.at(reader.tokens, at + number, Slot.DATE, Slot.DIMENSION), None)
        if dated is not None and reader.is_date(dated[0].name):
            return _period(reader, GRAINS[form], number + dated[1], dated[0].name)
        return _period(reader, GRAINS[form], skipped + 1)
    for sense, length in reader.phrases.at(reader.tokens, behind, Slot.DIMENSION, Slot.DATE):
        if reader.is_date(sense.name):
            grain = GRAINS.get(reader.form(size + skipped + length))
            return _period(reader, grain or DateGrain.MONTH, skipped + length + (grain is not None), sense.name)
        if sense.slot is Slot.DIMENSION and _groups_by(reader, sense.name):
            return skipped + length
    measured = reader.measured(behind)
    if measured is not None and reader.slots.ranks is not None and reader.slots.order is None:
        reader.measure(measured[0])
        reader.slots.order = measured[0], reader.slots.ranks
        return skipped + measured[1]
    if measured is not None and reader.entity.name == "campaigns" and not (reader.slots.by or reader.slots.measures):
        reader.measure(measured[0])
        reader.slots.is_each = True
        return skipped + measured[1]
    return 0


def _groups_by(reader: "Reader", name: str) -> bool:
    is_amount = reader.entity.dimensions[name].kind is ColumnKind.DECIMAL
    if is_amount or (reader.is_number(name) and reader.slots.ranks is not None):
        if reader.slots.ranks is None or reader.slots.order is not None or reader.slots.by:
            return False
        reader.slots.order = name, reader.slots.ranks
        return True
    if name not in reader.slots.by:
        reader.slots.by.append(name)
    return True


def asked(reader: "Reader") -> int:
    """Says which owner, who: groups of which the first are asked for, where something is said of the most."""
    if reader.place or not any(token.form in TOPS for token in reader.tokens):
        return 0
    acts = reader.form(1) in ("has", "have", "had") or any(
        sense.slot is Slot.STATE for sense, _ in reader.phrases.at(reader.tokens, reader.place + 1)
    )
    if reader.form() == "who" and acts and "owner" in reader.entity.dimensions:
        reader.slots.by.append("owner")
        reader.slots.is_one = True
        return 1
    size = 1 if reader.form() in ("which", "what") else 0
    named = reader.dimension(size)
    if named is None or reader.is_noun(size) or reader.is_date(named[0]) or reader.is_number(named[0]):
        return 0
    behind = size + named[1]
    if not size and not (starts(reader.tokens, behind, ("with", "the")) and reader.form(behind + 2) in TOPS):
        return 0
    last = reader.tokens[behind - 1]
    reader.slots.by.append(named[0])
    reader.slots.is_one = last.form == last.text.casefold()
    return behind


def titled(reader: "Reader") -> int:
    """Groups that are named before what is asked: stage breakdown, status of campaigns, reps by win rate."""
    named = reader.dimension(reader.place)
    if named is None or reader.is_date(named[0]) or reader.is_number(named[0]) or reader.is_noun(reader.place):
        return 0
    size = named[1]
    is_plural = reader.tokens[reader.place + size - 1].form != reader.tokens[reader.place + size - 1].text.casefold()
    at = reader.behind_articles(reader.place + size + 1)
    if reader.form(size) in _BREAKDOWN:
        size += 1
    elif reader.form(size) == "of" and named[0] in _STATES_OF:
        at += 1 if at < len(reader.tokens) and reader.tokens[at].form == "my" else 0
        size = size if _leads_to_noun(reader, at, is_plural=True) else 0
    elif (
        is_plural and reader.form(size) == "by" and all(one.form in ("rank", "list", "show") for one in _before(reader))
    ):
        size = size + 1 if _is_figure(reader, reader.place + size + 1) else 0
    else:
        size = 0
    if size:
        _groups_by(reader, named[0])
    return size


def _before(reader: "Reader") -> Sequence[Token]:
    return reader.tokens[: reader.place]


def sourced(reader: "Reader") -> int:
    """Groups that records come from: which sources do we lose deals from."""
    if len(reader.tokens) < 3 or reader.tokens[-1].form != "from" or reader.tokens[0].form not in ("which", "what"):
        return 0
    if reader.place == len(reader.tokens) - 1:
        return 1 if reader.slots.by else 0
    named = reader.dimension(1) if not reader.place else None
    if named is None or reader.is_noun(1) or reader.is_date(named[0]) or reader.is_number(named[0]):
        return 0
    reader.slots.by.append(named[0])
    return 1 + named[1]


def _ranked(reader: "Reader") -> int:
    """What is ranked by one thing that the words name together: the 5 healthiest, worth the most."""
    size = 1 if reader.form() in ("the", "top") else 0
    number = reader.whole(size)
    size += 1 if number else 0
    for ranks, name in ((_HEALTHY, "health_score"), (_WORTH, "value")):
        words = next((one for one in ranks if starts(reader.tokens, reader.place + size, one)), None)
        if words is not None and name in reader.entity.dimensions and reader.slots.ranks is None:
            reader.slots.ranks, reader.slots.first = ranks[words], number or reader.slots.first
            reader.slots.order = name, reader.slots.ranks
            return size + len(words)
    return 0


def _leads_to_noun(reader: "Reader", place: int, *, is_plural: bool = False) -> bool:
    """Says whether the noun follows, in the plural where it has to, behind states: «open deals»."""
    while (state := next(reader.phrases.at(reader.tokens, place, Slot.STATE), None)) is not None:
        place += state[1]
    noun = next(reader.phrases.at(reader.tokens, place, Slot.ENTITY), None)
    last = None if noun is None else reader.tokens[place + noun[1] - 1]
    return last is not None and not (is_plural and last.form == last.text.casefold())


def top(reader: "Reader") -> int:
    """Top 10, the 5 largest, the newest; with the dimension that it is about, as in «worst health»."""
    if ranked := _ranked(reader):
        return ranked
    is_in = reader.form() == "in" and reader.form(2) in TOPS and reader.form(3) == "health"
    size = 1 if reader.form() in ("the", "with") or is_in else 0
    size += 1 if size and reader.form(size) == "the" else 0
    number = reader.whole(size)
    size += 1 if number else 0
    word = reader.form(size)
    if word == "most" and reader.form(size + 1) == "recent":
        size, word = size + 1, "recent"
    if word in _OF_VALUE and reader.form(size + 1) == "valuable" and "value" in reader.entity.dimensions:
        size, word = size + 1, _OF_VALUE[word]
    if word == "first" and (number := reader.whole(size + 1)):
        reader.slots.first = number
        return size + 2
    if reader.slots.ranks is not None or (word not in TOPS and word not in AGES):
        return 0
    size += 1
    if number is None and (number := reader.whole(size)):
        size += 1
    reader.slots.first = number or reader.slots.first
    if word in AGES:
        is_made = "created_at" in reader.entity.dimensions and reader.entity.name != "meetings"
        name = "created_at" if is_made else None
        reader.slots.ranks = AGES[word]
        reader.slots.order = None if name is None else (name, AGES[word])
        return size if name else 0
    reader.slots.ranks, reader.slots.rank_word = TOPS[word], word
    named = reader.dimension(reader.place + size)
    is_had = reader.place > 0 and reader.tokens[reader.place - 1].form in ("have", "has") and not reader.slots.by
    is_of_records = reader.form() == "with" or is_had or not reader.measured(reader.place + size)
    is_of_records |= named is not None and _leads_to_noun(reader, reader.place + size + named[1])
    if named is not None and reader.is_number(named[0]) and is_of_records:
        reader.slots.order = named[0], reader.slots.ranks
        return size + named[1]
    is_group = named is not None and not reader.is_noun(reader.place + size) and not reader.is_date(named[0])
    if named is not None and is_group and not reader.is_number(named[0]):
        _groups_by(reader, named[0])
        return size + named[1]
    return size


def spread(reader: "Reader") -> int:
    """Read that a distribution is asked for: where they come from, how they are spread."""
    forms = [token.form for token in reader.tokens]
    if reader.form() == "where" and "come" in forms and "source" in reader.entity.dimensions:
        reader.slots.by.append("source")
        return 1
    if reader.form() == "come" and reader.form(1) == "from" and "where" in forms[: reader.place]:
        return 2
    if reader.form() == "come" and forms[reader.place + 1 :] == ["from"] and forms[0] in ("which", "what"):
        return 1
    return 1 if reader.form() == "how" and reader.form(1) in ("are", "is") and _SPREAD.intersection(forms) else 0
