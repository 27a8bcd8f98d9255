"""Fills the slots of a question about one entity, word by word: each word belongs to a slot, is idle, or is unread."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Final

from contract.analytics_queries import Operator
from contract.analytics_results import ChartKind
from contract.catalog import ColumnKind, DateGrain, Entity
from contract.limits import ANALYTICS_ROWS_MAX
from resolvers.questions import linked
from resolvers.questions.lexicon import ASSUMED_NOUNS, Phrases, Sense, Slot, phrases_of
from resolvers.questions.names import Names
from resolvers.questions.periods import stretch_at
from resolvers.questions.slots import Slots
from resolvers.questions.tokens import Token, TokenKind

ARTICLES: Final = frozenset({"a", "an", "the", "any", "our", "their", "its", "all", "some", "single"})
_IDLE: Final = frozenset(
    {
        *("show", "me", "give", "please", "the", "a", "an", "of", "do", "we", "our", "us", "have", "has", "had", "is"),
        *(
            "are",
            "was",
            "were",
            "did",
            "doe",
            "does",
            "be",
            "been",
            "there",
            "all",
            "what",
            "that",
            "who",
            "currently",
            "now",
        ),
        *(
            "breakdown",
            "overview",
            "report",
            "can",
            "could",
            "you",
            "tell",
            "i",
            "see",
            "want",
            "need",
            "get",
            "display",
        ),
        *("find", "overall", "present", "exist", "whole", "entire", "right", "would", "like", "know", "got", "been"),
        *("their", "they", "it", "its", "actually", "just", "altogether", "distribution", "split"),
    }
)
"""Words that change nothing about what is asked."""
_LISTS: Final = frozenset({"which", "list", "what", "who", "name", "show", "find", "display"})
_BEFORE_TIMES: Final = frozenset({"in", "during", "on", "for", "over", "within", "of", "throughout", "at"})
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
    *(("by",), ("each",), ("every",), ("across",), ("separated", "by"), ("divided", "by")),
)
_SORTED: Final = (("sorted", "by"), ("ordered", "by"), ("order", "by"), ("sort", "by"), ("ranked", "by"))
_PERIODIC: Final = {
    **{"daily": DateGrain.DAY, "weekly": DateGrain.WEEK, "monthly": DateGrain.MONTH},
    **{"quarterly": DateGrain.QUARTER, "yearly": DateGrain.YEAR, "annual": DateGrain.YEAR, "annually": DateGrain.YEAR},
}
_GRAINS: Final = {one.value: one for one in DateGrain}
_OVER: Final = {
    **dict.fromkeys((("over",), ("above",), ("more", "than"), ("greater", "than"), ("larger", "than")), Operator.GT),
    **dict.fromkeys((("bigger", "than"), ("higher", "than"), ("exceeding",)), Operator.GT),
    **dict.fromkeys((("at", "least"), ("from",)), Operator.GTE),
    **dict.fromkeys((("under",), ("below",), ("less", "than"), ("smaller", "than"), ("lower", "than")), Operator.LT),
    **dict.fromkeys((("at", "most"), ("up", "to"), ("no", "more", "than")), Operator.LTE),
}
_TOPS: Final = {
    **dict.fromkeys(("top", "largest", "biggest", "highest", "most", "best", "greatest"), True),
    **dict.fromkeys(("smallest", "lowest", "fewest", "worst", "least", "bottom"), False),
}
_AGES: Final = {"newest": True, "latest": True, "recent": True, "oldest": False, "earliest": False}
_CHARTS: Final = {"table": ChartKind.TABLE, "bar": ChartKind.BAR, "line": ChartKind.LINE}
_VERBS: Final = frozenset(
    {"close", "create", "add", "make", "win", "lose", "convert", "capture", "get", "open", "complete"}
)
_ASKING: Final = frozenset({"please", "you", "me", "us", "to", "and", "let"})
"""Behind these, or as the first word, a verb says what is to be done, which no question does."""
_NUMBERS: Final = {
    word: Decimal(n)
    for n, word in enumerate(("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"), 1)
} | {
    "twelve": Decimal(12),
    "fifteen": Decimal(15),
    "twenty": Decimal(20),
    "fifty": Decimal(50),
    "hundred": Decimal(100),
}
_HEALTHY: Final = {
    **{("least", "healthy"): False, ("most", "healthy"): True, ("unhealthiest",): False, ("healthiest",): True},
}
_MY: Final = (
    *(("owned", "by", "me"), ("assigned", "to", "me"), ("do", "i", "own"), ("i", "own"), ("do", "i", "have")),
    *(("did", "i", "have"), ("have", "i"), ("did", "i"), ("i", "have"), ("by", "me"), ("am", "i")),
)
_OVERDUE: Final = (
    *(("overdue",), ("past", "due"), ("late",), ("past", "their", "closing", "date")),
    *(("past", "their", "close", "date"), ("past", "their", "closing", "day")),
)
_SPREAD: Final = frozenset({"distributed", "spread", "divided", "split", "broken"})
_NEGATIONS: Final = frozenset({"not", "never"})


def starts(tokens: Sequence[Token], place: int, words: Sequence[str]) -> bool:
    """Whether these forms stand there."""
    return tuple(token.form for token in tokens[place : place + len(words)]) == tuple(words)


@dataclass(slots=True)
class Reader:
    """Reads the words as a question about the entity. `known` are the caller's entities, by name."""

    tokens: Sequence[Token]
    entity: Entity
    known: dict[str, Entity]
    names: Names
    today: date
    me: str
    slots: Slots = field(init=False)
    phrases: Phrases = field(init=False)
    place: int = 0
    negated: bool = False

    def __post_init__(self) -> None:
        self.slots = Slots(self.entity.name)
        self.phrases = phrases_of(self.entity)

    def read(self) -> Slots:
        """The slots, filled; whatever was not read is among their `unread`."""
        rules: Sequence[Callable[[], int]] = (
            self._chart,
            self._compared,
            self._time,
            self._sorted,
            self._by,
            self._number,
            self._asked,
            self._top,
            lambda: linked.without(self),
            lambda: linked.having(self),
            self._overdue,
            self._mine,
            lambda: linked.valued(self),
            lambda: linked.named(self),
            self._currency,
            self._where,
            self._phrase,
            self._length,
            self._word,
        )
        while self.place < len(self.tokens):
            size = next((found for rule in rules if (found := rule())), 0)
            if not size:
                self.slots.unread.append(self.tokens[self.place])
            self.place += size or 1
        if self.negated:
            self.slots.unread.append(Token("not", "not"))
        return self.slots

    def form(self, ahead: int = 0) -> str:
        """The form of the word so many places ahead; empty behind the last one."""
        at = self.place + ahead
        return self.tokens[at].form if 0 <= at < len(self.tokens) else ""

    def dimension(self, place: int) -> tuple[str, int] | None:
        """The dimension that is named there, and the number of words."""
        found = next(self.phrases.at(self.tokens, place, Slot.DIMENSION), None)
        return None if found is None else (found[0].name, found[1])

    def behind_articles(self, place: int) -> int:
        """The first place that has no article."""
        while place < len(self.tokens) and self.tokens[place].form in ARTICLES:
            place += 1
        return place

    def _chart(self) -> int:
        size = 1 if self.form() in ("as", "in") else 0
        if not size:
            return 0
        size += 1 if self.form(size) in ("a", "an") else 0
        kind = _CHARTS.get(self.form(size))
        if kind is None or (self.form() == "in" and kind is not ChartKind.TABLE):
            return 0
        self.slots.chart = kind
        return size + 1 + (self.form(size + 1) in ("chart", "graph"))

    def _compared(self) -> int:
        if self.form() == "compare":
            self.slots.is_compared = True
            return 1
        sizes = ((2, ("compared", "to")), (2, ("compared", "with")), (1, ("versus",)), (1, ("vs",)), (1, ("against",)))
        for size, words in sizes:
            if starts(self.tokens, self.place, words):
                self.slots.is_compared = True
                return size if self.slots.stretches else 0
        joins = self.slots.is_compared and self.slots.stretches and self.form() in ("with", "to", "and")
        return 1 if joins and stretch_at(self.tokens[self.place + 1 :], self.today) else 0

    def _time(self) -> int:
        size = 1 if self.form() in _BEFORE_TIMES else 0
        size += 1 if size and self.form(size) == "the" and self.form(size + 1) in ("month", "quarter", "year") else 0
        found = stretch_at(self.tokens[self.place + size : self.place + size + 12], self.today)
        if found is None:
            return 0
        self.slots.stretches.append(found[0])
        self._mark_period()
        return size + found[1]

    def _mark_period(self) -> None:
        if self.slots.period_place is None:
            self.slots.period_place = self.place

    def _sorted(self) -> int:
        for words in _SORTED:
            if starts(self.tokens, self.place, words):
                at = self.place + len(words)
                found = self.dimension(at) or self._measured(at)
                if found is None:
                    return 0
                size = len(words) + found[1]
                word = self.form(size)
                self.slots.order = found[0], word in ("descending", "desc")
                self.slots.is_sorted = True
                return size + (word in ("descending", "desc", "ascending", "asc"))
        return 0

    def _measured(self, place: int) -> tuple[str, int] | None:
        found = next(self.phrases.at(self.tokens, place, Slot.MEASURE), None)
        return None if found is None else (found[0].name, found[1])

    def _by(self) -> int:
        if self.form() in _PERIODIC:
            return self._period(_PERIODIC[self.form()], 1)
        for words in _BY:
            if starts(self.tokens, self.place, words):
                size = len(words)
                found = self._grouping(size)
                while found:
                    size += found
                    ahead = 1 if self.form(size) == "and" else 0
                    ahead += 1 if ahead and self.form(size + 1) in ("by", "per") else 0
                    found = self._grouping(size + ahead) if ahead else 0
                    size += ahead if found else 0
                if size > len(words):
                    return size
                return len(words) if self._ranks_by(len(words)) else 0
        return 0

    def _ranks_by(self, size: int) -> bool:
        """Whether a figure follows that the first are found by: by number of open deals, by won amount."""
        if self.slots.ranks is None or not self.slots.by:
            return False
        at = self.behind_articles(self.place + size)
        if starts(self.tokens, at, ("number", "of")):
            return True
        for _ in range(3):
            if self._measured(at) is not None:
                return True
            state = next(self.phrases.at(self.tokens, at, Slot.STATE), None)
            if state is None:
                return False
            at += state[1]
        return False

    def _period(self, grain: DateGrain, size: int, date_name: str | None = None) -> int:
        if self.slots.grain is not None:
            return 0
        self.slots.grain = grain
        self.slots.date = date_name or self.slots.date
        self._mark_period()
        return size

    def _grouping(self, size: int) -> int:
        """One dimension behind «by», or a period; the number of its words."""
        at = self.place + size
        behind = self.behind_articles(at)
        skipped = behind - at
        form = self.form(size + skipped)
        if form in _GRAINS:
            number = skipped + 1
            number += 1 if self.form(size + number) in ("of", "it", "they") else 0
            dated = next(self.phrases.at(self.tokens, at + number, Slot.DATE, Slot.DIMENSION), None)
            if dated is not None and self._is_date(dated[0].name):
                return self._period(_GRAINS[form], number + dated[1], dated[0].name)
            return self._period(_GRAINS[form], skipped + 1)
        for sense, length in self.phrases.at(self.tokens, behind, Slot.DIMENSION, Slot.DATE):
            if self._is_date(sense.name):
                grain = _GRAINS.get(self.form(size + skipped + length))
                return self._period(grain or DateGrain.MONTH, skipped + length + (grain is not None), sense.name)
            if sense.slot is Slot.DIMENSION and self._groups_by(sense.name):
                return skipped + length
        measured = self._measured(behind)
        if measured is not None and self.slots.ranks is not None and self.slots.order is None:
            self._measure(measured[0])
            self.slots.order = measured[0], self.slots.ranks
            return skipped + measured[1]
        return 0

    def _is_date(self, name: str) -> bool:
        known = self.entity.dimensions.get(name)
        return known is not None and known.is_date

    def _groups_by(self, name: str) -> bool:
        if self.entity.dimensions[name].kind is ColumnKind.DECIMAL:
            if self.slots.ranks is None or self.slots.order is not None or self.slots.by:
                return False
            self.slots.order = name, self.slots.ranks
            return True
        if name not in self.slots.by:
            self.slots.by.append(name)
        return True

    def _number(self) -> int:
        """A comparison with a number: over 10,000 EUR, a health score below 50, between 5k and 10k."""
        size, name = 0, self._numeric()
        behind = self.behind_articles(self.place + (self.form() in ("with", "whose", "having", "have")))
        named = self.dimension(behind)
        if named is not None and self._is_number(named[0]):
            name, size = named[0], behind - self.place + named[1]
        size += 1 if self.form(size) in ("of", "is", "worth", "are") else 0
        if name is None:
            return 0
        if (
            self.form(size) == "between"
            and (first := self._figure(size + 1)) is not None
            and self.form(size + 2) == "and"
        ):
            second = self._figure(size + 3)
            if second is None or stretch_at(self.tokens[self.place + size :], self.today):
                return 0
            self.slots.add(name, Operator.GTE, str(first))
            self.slots.add(name, Operator.LTE, str(second))
            return size + 4 + self._unit(name, size + 4)
        for words, op in _OVER.items():
            if starts(self.tokens, self.place + size, words):
                at = size + len(words)
                figure = self._figure(at)
                if figure is None or self.form(at + 1) in _GRAINS:
                    return 0
                self.slots.add(name, op, str(figure))
                return at + 1 + self._unit(name, at + 1)
        return 0

    def _figure(self, ahead: int) -> Decimal | None:
        at = self.place + ahead
        token = self.tokens[at] if at < len(self.tokens) else None
        if token is None or token.kind is not TokenKind.NUMBER:
            return None if token is None else _NUMBERS.get(token.form)
        return token.number

    def _unit(self, name: str, ahead: int) -> int:
        """The currency behind an amount; without one amounts of every currency are compared, which is told."""
        if self.entity.dimensions[name].kind is not ColumnKind.DECIMAL:
            return 0
        at = self.place + ahead
        code = None if at >= len(self.tokens) else self.names.currency(self.tokens[at])
        if code is None:
            self.slots.assume("amounts of every currency are compared as numbers")
            return 0
        self.slots.add("currency", value=code)
        return 1

    def _numeric(self) -> str | None:
        return next((n for n in ("value", "score") if n in self.entity.dimensions and self._is_number(n)), None)

    def _is_number(self, name: str) -> bool:
        return self.entity.dimensions[name].kind in (ColumnKind.DECIMAL, ColumnKind.INTEGER, ColumnKind.FLOAT)

    def _top(self) -> int:
        """Top 10, the 5 largest, the newest; with the dimension that it is about, as in «worst health»."""
        healthy = next((words for words in _HEALTHY if starts(self.tokens, self.place, words)), None)
        if healthy is not None and "health_score" in self.entity.dimensions and self.slots.ranks is None:
            self.slots.ranks = _HEALTHY[healthy]
            self.slots.order = "health_score", self.slots.ranks
            return len(healthy)
        size = 1 if self.form() in ("the", "with") else 0
        size += 1 if size and self.form(size) == "the" else 0
        number = self._whole(size)
        size += 1 if number else 0
        word = self.form(size)
        if word == "most" and self.form(size + 1) == "recent":
            size, word = size + 1, "recent"
        if word == "first" and (number := self._whole(size + 1)):
            self.slots.first = number
            return size + 2
        if self.slots.ranks is not None or (word not in _TOPS and word not in _AGES):
            return 0
        size += 1
        if number is None and (number := self._whole(size)):
            size += 1
        self.slots.first = number or self.slots.first
        if word in _AGES:
            name = "created_at" if "created_at" in self.entity.dimensions else None
            self.slots.ranks = _AGES[word]
            self.slots.order = None if name is None else (name, _AGES[word])
            return size if name else 0
        self.slots.ranks, self.slots.rank_word = _TOPS[word], word
        named = self.dimension(self.place + size)
        is_of_records = self.form() == "with" or not self._measured(self.place + size)
        if named is not None and self._is_number(named[0]) and is_of_records:
            self.slots.order = named[0], self.slots.ranks
            return size + named[1]
        is_group = named is not None and not self._is_noun(self.place + size) and not self._is_date(named[0])
        if named is not None and is_group and not self._is_number(named[0]):
            self._groups_by(named[0])
            return size + named[1]
        return size

    def _is_noun(self, place: int) -> bool:
        return next(self.phrases.at(self.tokens, place, Slot.ENTITY), None) is not None

    def _whole(self, ahead: int) -> int | None:
        figure = self._figure(ahead)
        is_whole = figure is not None and figure == figure.to_integral_value() and 0 < figure <= ANALYTICS_ROWS_MAX
        return int(figure) if is_whole and figure is not None else None

    def _overdue(self) -> int:
        if self.entity.name != "deals":
            return 0
        size = next((len(words) for words in _OVERDUE if starts(self.tokens, self.place, words)), 0)
        if size:
            self.slots.add("status", value="open")
            self.slots.add("close_date", Operator.LT, self.today.isoformat())
            self.slots.assume(f"overdue deals are open, and their closing day was before {self.today}")
        return size

    def _mine(self) -> int:
        if "owner" not in self.entity.dimensions:
            return 0
        size = next((len(words) for words in _MY if starts(self.tokens, self.place, words)), 0)
        size = size or (1 if self.form() in ("my", "mine") else 0)
        if size:
            self.slots.add("owner", value=self.me)
            self.slots.assume("«my» is what you own")
        return size

    def _asked(self) -> int:
        """Which owner, who: groups of which the first are asked for, where something is said of the most."""
        if self.place or not any(token.form in _TOPS for token in self.tokens):
            return 0
        acts = self.form(1) in ("has", "have", "had") or any(
            sense.slot is Slot.STATE for sense, _ in self.phrases.at(self.tokens, self.place + 1)
        )
        if self.form() == "who" and acts and "owner" in self.entity.dimensions:
            self.slots.by.append("owner")
            self.slots.is_one = True
            return 1
        named = self.dimension(self.place + 1) if self.form() in ("which", "what") else None
        if named is None or self._is_noun(self.place + 1) or self._is_date(named[0]) or self._is_number(named[0]):
            return 0
        last = self.tokens[self.place + named[1]]
        self.slots.by.append(named[0])
        self.slots.is_one = last.form == last.text.casefold()
        return 1 + named[1]

    def _currency(self) -> int:
        size = 1 if self.form() in ("in", "only") else 0
        at = self.place + size
        code = None if at >= len(self.tokens) else self.names.currency(self.tokens[at])
        if code is None or "currency" not in self.entity.dimensions:
            return 0
        self.slots.add("currency", value=code)
        return size + 1

    def _phrase(self) -> int:
        """The longest phrase about the entity: its noun, a measure, a state, or which date is meant."""
        before = self.tokens[self.place - 1].form if self.place else "to"
        is_order = self.form() in _VERBS and self.form() != "open" and before in _ASKING
        for sense, size in self.phrases.at(self.tokens, self.place):
            if not (is_order and size == 1) and self._takes(sense, size):
                return size
        return 0

    def _takes(self, sense: Sense, size: int) -> bool:
        slots = self.slots
        match sense.slot:
            case Slot.ENTITY:
                token = self.tokens[self.place + size - 1]
                slots.has_noun = True
                slots.is_one |= not slots.by and token.form == token.text.casefold()
                slots.has_pipeline |= token.form == "pipeline"
                word = self.form()
                if word in ASSUMED_NOUNS:
                    slots.assume(f"«{token.text}» is read as {sense.name}")
            case Slot.MEASURE:
                slots.is_each |= self.tokens[self.place + size - 1].text.casefold() == "rates"
                self._measure(sense.name)
            case Slot.STATE:
                if self.negated and isinstance(sense.value, list):
                    return False
                self.state(slots, sense, negated=self.negated)
                self.negated = False
            case Slot.DATE:
                if self.form() == "new":
                    slots.has_new = True
                elif slots.date is not None and slots.date != sense.name:
                    return False
                else:
                    slots.date, slots.date_text = sense.name, self.tokens[self.place].text
            case _:
                return False
        return True

    @staticmethod
    def state(slots: Slots, sense: Sense, *, negated: bool = False) -> None:
        """Have the records be in a state; two of them of one dimension are either of both."""
        slots.assume(sense.words)
        slots.weak_date = slots.weak_date or sense.date
        slots.add(sense.name, Operator.NEQ if negated else sense.op, sense.value)

    def _measure(self, name: str) -> None:
        if name == "value_sum" and self.slots.is_average:
            name = "value_average"
        if name not in self.slots.measures:
            self.slots.measures.append(name)

    def _where(self) -> int:
        """Where they come from; how they are distributed."""
        forms = [token.form for token in self.tokens]
        if self.form() == "where" and "come" in forms and "source" in self.entity.dimensions:
            self.slots.by.append("source")
            return 1
        if self.form() == "come" and self.form(1) == "from" and "where" in forms[: self.place]:
            return 2
        return 1 if self.form() == "how" and self.form(1) in ("are", "is") and _SPREAD.intersection(forms) else 0

    def _length(self) -> int:
        """«Time» and «days» of a length: how many days, average time; «10» of the ten that are asked for."""
        before = self.tokens[self.place - 1].form if self.place else ""
        if self.form() in ("time", "day") and before in ("average", "many", "of", "mean"):
            self.slots.is_how_long = True
            return 1
        number = self._whole(0)
        if number is None or not any(token.form in _TOPS or token.form in _AGES for token in self.tokens):
            return 0
        at = self.place + 1
        state = next(self.phrases.at(self.tokens, at, Slot.STATE), None)
        if not self._is_noun(at + (state[1] if state is not None else 0)) or self.slots.first is not None:
            return 0
        self.slots.first = number
        return 1

    def _word(self) -> int:
        """A word that says what kind of answer is wanted, or one that says nothing."""
        slots, form = self.slots, self.form()
        if form == "how" and self.form(1) in ("many", "long", "much"):
            slots.is_counted |= self.form(1) == "many"
            slots.is_how_long |= self.form(1) == "long" or self.form(2) == "time"
            if self.form(1) == "much" and self.entity.name == "deals" and self.form(2) != "time":
                self._measure("value_sum")
            elif self.form(1) == "much" and self.form(2) != "time":
                return 0
            return 3 if self.form(2) == "time" else 2
        if form in ("number", "count", "total") and (form == "count" or self.form(1) in ("number", "count", "of")):
            slots.is_counted = form != "total" or self.form(1) != "of"
            slots.is_total |= form == "total"
            return 1
        if form in ("average", "mean", "avg", "typical", "averaged") or (form == "on" and self.form(1) == "average"):
            slots.is_average = True
            slots.measures = ["value_average" if name == "value_sum" else name for name in slots.measures]
            return 2 if form == "on" else 1
        if form in ("total", "sum", "combined", "summed"):
            slots.is_total = True
            return 1
        if (
            form in _NEGATIONS
            and not self.negated
            and any(True for _ in self.phrases.at(self.tokens, self.place + 1, Slot.STATE))
        ):
            self.negated = True
            return 1
        if form in _LISTS:
            slots.is_listed = True
            return 1
        if form == "to" and self.form(1) in ("see", "know", "get", "have", "show"):
            return 1
        return 1 if form in _IDLE else 0
