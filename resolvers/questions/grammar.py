"""Fills the slots of a question about one entity, word by word: each word belongs to a slot, is idle, or is unread."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Final

from contract.analytics_queries import Operator
from contract.catalog import ColumnKind, Entity
from contract.limits import ANALYTICS_ROWS_MAX
from resolvers.questions import conditions, groupings, linked
from resolvers.questions.groupings import RANKING
from resolvers.questions.lexicon import ASSUMED_NOUNS, Phrases, Sense, Slot, phrases_of
from resolvers.questions.names import Names
from resolvers.questions.slots import Slots
from resolvers.questions.tokens import Token, TokenKind, starts

ARTICLES: Final = frozenset({"a", "an", "the", "any", "our", "their", "its", "all", "some", "single"})
_IDLE: Final = frozenset(
    {
        *("show", "me", "give", "please", "the", "a", "an", "of", "do", "we", "our", "us", "have", "has", "had", "is"),
        *("are", "was", "were", "did", "doe", "does", "be", "been", "there", "all", "what", "that", "who", "currently"),
        *(
            "now",
            "breakdown",
            "overview",
            "report",
            "tell",
            "i",
            "see",
            "display",
            "find",
            "overall",
            "present",
            "exist",
        ),
        *("whole", "entire", "know", "got", "their", "they", "it", "its", "actually", "bring", "just", "altogether"),
        *("distribution", "split", "came", "yet", "already"),
    }
)
"""Words that change nothing about what is asked."""
_POLITE: Final = (
    *(("can", "you"), ("could", "you"), ("i", "want"), ("we", "want"), ("i", "need"), ("we", "need"), ("right", "now")),
    *(("i", "would", "like"), ("would", "like"), ("to", "see"), ("to", "know"), ("to", "get"), ("to", "show")),
    *(("at", "all"), ("break", "down"), ("over", "time")),
)
_LISTS: Final = frozenset({"which", "list", "what", "who", "name", "show", "find", "display"})
_VERBS: Final = frozenset(
    {
        *("close", "create", "add", "make", "win", "lose", "convert", "capture", "get", "complete"),
        *("disqualify", "bounce"),
    }
)
_ASKING: Final = frozenset({"please", "you", "me", "us", "to", "and", "let"})
"""Behind these, or as the first word, a verb says what is to be done, which no question does."""
_BEGINNING: Final = frozenset({"do", "not", "never", "just", "now", "can", "could", "would", "please", "you"})
"""So it does behind nothing but these."""
_BETWEEN: Final = frozenset({"yet", "been", "be", "already"})
"""May stand between «not» and what is not."""
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
_NEGATIONS: Final = frozenset({"not", "never"})


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
        while self.place < len(self.tokens):
            size = next((found for rule in _RULES if (found := rule(self))), 0)
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

    def mark_period(self) -> None:
        if self.slots.period_place is None:
            self.slots.period_place = self.place

    def measured(self, place: int) -> tuple[str, int] | None:
        found = next(self.phrases.at(self.tokens, place, Slot.MEASURE), None)
        return None if found is None else (found[0].name, found[1])

    def is_date(self, name: str) -> bool:
        known = self.entity.dimensions.get(name)
        return known is not None and known.is_date

    def figure(self, ahead: int) -> Decimal | None:
        at = self.place + ahead
        token = self.tokens[at] if at < len(self.tokens) else None
        if token is None or token.kind is not TokenKind.NUMBER:
            return None if token is None else _NUMBERS.get(token.form)
        return token.number

    def is_number(self, name: str) -> bool:
        return self.entity.dimensions[name].kind in (ColumnKind.DECIMAL, ColumnKind.INTEGER, ColumnKind.FLOAT)

    def is_noun(self, place: int) -> bool:
        return next(self.phrases.at(self.tokens, place, Slot.ENTITY), None) is not None

    def whole(self, ahead: int) -> int | None:
        figure = self.figure(ahead)
        is_whole = figure is not None and figure == figure.to_integral_value() and 0 < figure <= ANALYTICS_ROWS_MAX
        return int(figure) if is_whole and figure is not None else None

    def phrase(self) -> int:
        """The longest phrase about the entity: its noun, a measure, a state, or which date is meant."""
        is_order = self._is_order()
        for sense, size in self.phrases.at(self.tokens, self.place):
            if not (is_order and size == 1) and self._takes(sense, size):
                return size
        return 0

    def _is_order(self) -> bool:
        """Says whether a verb tells to do something; «wins» is none."""
        token = self.tokens[self.place]
        if token.form not in _VERBS or token.form != token.text.casefold():
            return False
        before = [one.form for one in self.tokens[: self.place]]
        return not before or before[-1] in _ASKING or _BEGINNING.issuperset(before)

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
                if sense.name == "stage_days" and size == 1 and slots.is_counted and not slots.is_how_long:
                    return True  # how many deals sit in each stage
                slots.is_each |= self.tokens[self.place + size - 1].text.casefold() == "rates"
                self.measure(sense.name)
                words = " ".join(token.text for token in self.tokens[self.place : self.place + size])
                slots.said[slots.measures[-1]] = words
            case Slot.STATE:
                if self.negated and (isinstance(sense.value, list) or self._is_by_somebody(size)):
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
                    slots.is_closing |= sense.name == "close_date"
            case _:
                return False
        return True

    def _is_by_somebody(self, size: int) -> bool:
        """Says whether a person follows: «not won by Ada» is what she did not win or what others won (decision 831)."""
        if self.form(size) != "by":
            return False
        at = self.place + size + 1
        found = self.names.at(self.tokens, at, self.entity)
        found = found or self.names.at(self.tokens, self.behind_articles(at), self.entity)
        return self.form(size + 1) == "me" or (found is not None and any(name == "owner" for name, _ in found[0]))

    @staticmethod
    def state(slots: Slots, sense: Sense, *, negated: bool = False) -> None:
        """Have the records be in a state; two of them of one dimension are either of both."""
        slots.assume(sense.words)
        is_dated = sense.date is not None or sense.name not in ("status", "health_trend")
        slots.is_undated |= (slots.entity != "deals" and not is_dated) or (negated and sense.date is not None)
        slots.weak_date = slots.weak_date or (None if negated else sense.date)
        slots.add(sense.name, Operator.NEQ if negated else sense.op, sense.value)

    def measure(self, name: str) -> None:
        if name == "value_sum" and self.slots.is_average:
            name = "value_average"
        if name == "weighted_sum" and self.slots.is_much and not self.slots.said:
            self.slots.measures.clear()
        if name not in self.slots.measures:
            self.slots.measures.append(name)

    def length(self) -> int:
        """«Time» and «days» of a length: how many days, average time; «10» of the ten that are asked for."""
        before = self.tokens[self.place - 1].form if self.place else ""
        if self.form() in ("time", "day") and before in ("average", "many", "of", ""):
            self.slots.is_how_long = True
            return 1
        number = self.whole(0)
        if number is None or not any(token.form in RANKING for token in self.tokens):
            return 0
        at = self.place + 1
        state = next(self.phrases.at(self.tokens, at, Slot.STATE), None)
        if not self.is_noun(at + (state[1] if state is not None else 0)) or self.slots.first is not None:
            return 0
        self.slots.first = number
        return 1

    def word(self) -> int:
        """A word that says what kind of answer is wanted, or one that says nothing."""
        slots, form = self.slots, self.form()
        if form == "how" and self.form(1) in ("many", "long", "much"):
            slots.is_counted |= self.form(1) == "many"
            slots.is_how_long |= self.form(1) == "long" or self.form(2) == "time"
            slots.is_much |= self.form(1) == "much" and self.form(2) != "time"
            if self.form(1) == "much" and self.entity.name == "deals" and self.form(2) not in ("time", "of"):
                self.measure("value_sum")
            elif self.form(1) == "much" and self.form(2) != "time":
                return 0
            return 3 if self.form(2) == "time" else 2
        if form == "number" and self.place and self.is_noun(self.place - 1):
            slots.is_counted = True
            return 1
        if form == "own" and slots.condition("owner") is not None:
            return 1
        if form in ("sit", "stand") and slots.is_counted:
            return 1
        if form in ("number", "count", "total") and (form == "count" or self.form(1) in ("number", "count", "of")):
            slots.is_counted = form != "total" or self.form(1) != "of"
            slots.is_total |= form == "total"
            return 1
        if slots.is_how_long and form in ("last", "take"):
            return 1
        if form in ("average", "typical", "averaged") or (form == "on" and self.form(1) == "average"):
            slots.is_average = True
            slots.measures = ["value_average" if name == "value_sum" else name for name in slots.measures]
            return 2 if form == "on" else 1
        if form == "size" and slots.is_average and self.entity.name == "deals":
            self.measure("value_sum")
            return 1
        if form in ("total", "sum", "combined", "summed"):
            slots.is_total = True
            slots.is_sum |= form in ("sum", "summed")
            return 1
        if form in _NEGATIONS and not self.negated:
            behind = self.place + 1
            while behind < len(self.tokens) and self.tokens[behind].form in _BETWEEN:
                behind += 1
            if any(True for _ in self.phrases.at(self.tokens, behind, Slot.STATE)):
                self.negated = True
                return behind - self.place
        if form in _LISTS and (form != "who" or not self.place):
            slots.is_listed = True
            return 1
        polite = next((len(words) for words in _POLITE if starts(self.tokens, self.place, words)), 0)
        if polite:
            return polite
        return 1 if form in _IDLE else 0


_RULES: Final[Sequence[Callable[[Reader], int]]] = (
    *(groupings.chart, conditions.versus, conditions.dated, conditions.timed, groupings.ordered, groupings.titled),
    *(
        groupings.grouped,
        conditions.numbered,
        groupings.asked,
        groupings.sourced,
        groupings.top,
        linked.without,
        linked.having,
    ),
    *(conditions.overdue, conditions.mine),
    *(linked.valued, linked.named, conditions.in_currency, groupings.spread, Reader.phrase, Reader.length, Reader.word),
)
"""The rules that are tried at each word, in this order; each says how many words it has read."""
