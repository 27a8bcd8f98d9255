"""Reads a question about a list word by word: each word belongs to a part of it, is idle, or is unread."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Final

from providers.embedded import list_names
from providers.embedded.list_words import (
    ALONE,
    ARTICLES,
    BEING,
    CLOSING,
    CODES,
    CREATED,
    FIRST_MAX,
    IDLE,
    LATE,
    MINE,
    NOW,
    ORDERS,
    OVER,
    RANKED,
    SHOWN,
    SORTED,
    TO_A_DATE,
    UPDATED,
    WE_DID,
    WHAT_DEALS,
    WISHES,
    WITH,
)
from providers.embedded.listing import NOUNS, STATES, WHOLES, Listing
from providers.embedded.periods import period_at
from providers.embedded.words import Word, longest


@dataclass(slots=True)
class ListReader:
    """Reads the words of a question; whatever was not read is among `unread`."""

    text: str
    words: Sequence[Word]
    today: date
    listing: Listing = field(default_factory=Listing)
    unread: list[Word] = field(default_factory=list)
    place: int = 0

    def read(self) -> Listing | None:
        """The list that is asked for; None where a word has no part in it, or two of them say something different."""
        kinds = {NOUNS[word.form] for word in self._heads() if word.form in NOUNS}
        if not kinds and longest(self.words, 0, WHAT_DEALS):
            kinds = {"deal"}
        if len(kinds) != 1:
            return None
        self.listing.kind = next(iter(kinds))
        while self.place < len(self.words):
            size = next((found for rule in _RULES if (found := rule(self))), 0)
            if not size:
                self.unread.append(self.words[self.place])
            self.place += size or 1
        return self.listing if not self.unread else None

    def _heads(self) -> Sequence[Word]:
        """The words before the first name: a noun behind it belongs to the name."""
        at = next(
            (at for at, word in enumerate(self.words) if word.form in WITH and self._noun_before(at)),
            len(self.words),
        )
        return self.words[:at]

    def _noun_before(self, place: int) -> bool:
        return any(word.form in NOUNS for word in self.words[:place])

    def form(self, ahead: int = 0) -> str:
        """The form of the word so many places ahead; empty behind the last one."""
        at = self.place + ahead
        return self.words[at].form if at < len(self.words) else ""

    def mine(self) -> int:
        size = longest(self.words, self.place, MINE)
        if self.listing.kind == "deal" and self.form() == "i" and self.form(1) in ("won", "lost"):
            size = 1
        self.listing.is_mine |= bool(size)
        return size

    def noun(self) -> int:
        form = self.form()
        if NOUNS.get(form) != self.listing.kind or (form == "schedule" and self._is_verb()):
            return 0
        self.listing.is_one = form not in WHOLES and form == self.words[self.place].text.casefold()
        return 1

    def _is_verb(self) -> bool:
        """Says whether the word asks for something to be done: open a deal, schedule meetings (decision 1121)."""
        ahead = self.form(1)
        return not self._noun_before(self.place) and (
            ahead in ARTICLES or (self.form() == "schedule" and ahead in NOUNS)
        )

    def state(self) -> int:
        """States, with «and» or «or» between them."""
        known = STATES[self.listing.kind]
        form = self.form()
        if self.listing.kind == "deal" and not self.listing.states:
            for word, said in WE_DID.items():  # two
                if size := longest(self.words, self.place, said):
                    self.listing.states, self.listing.state_words = [*known[word]], [word]
                    self.listing.is_mine |= self.form(1) == "i"
                    return size
        if form == "open" and self._is_verb():
            return 0
        if form in ("and", "or") and self.listing.states and self.form(1) in known:
            return 1
        if self.listing.kind == "deal" and form == "closed" and self.listing.states:
            return 0
        if form not in known or (self.listing.states and self.words[self.place - 1].form not in ("and", "or")):
            return 0
        self.listing.states += [state for state in known[form] if state not in self.listing.states]
        self.listing.state_words.append(form)
        return 1

    def late(self) -> int:
        if self.listing.kind != "deal":
            return 0
        size = longest(self.words, self.place, LATE)
        if size:
            self.listing.is_overdue = True
        return size

    def new(self) -> int:
        if self.form() != "new":
            return 0
        self.listing.is_new = True
        return 1

    def amount(self) -> int:
        """Over 50k, at least 1,000 EUR, between 10k and 20k."""
        if self.form() == "in" and self.form(1) in CODES and self.listing.currency is None:
            self.listing.currency = CODES[self.form(1)]
            return 2
        for op, known in OVER:
            size = longest(self.words, self.place, known)
            found = self._figure(self.place + size) if size else None
            if found is not None:
                self.listing.amounts.append((op, found[0]))
                return size + found[1]
        if self.form() != "between" or (low := self._figure(self.place + 1)) is None:
            return 0
        at = self.place + 1 + low[1]
        high = self._figure(at + 1) if at < len(self.words) and self.words[at].form == "and" else None
        if high is None or high[0] < low[0]:
            return 0
        self.listing.amounts += [("gte", low[0]), ("lte", high[0])]
        return at + 1 + high[1] - self.place

    def _figure(self, place: int) -> tuple[Decimal, int] | None:
        """An amount with its currency before it or behind."""
        size, code = 0, None
        if place < len(self.words) and self.words[place].form in CODES:
            code, size = CODES[self.words[place].form], 1
        if place + size >= len(self.words) or (number := self.words[place + size].number) is None:
            return None
        size += 1
        if code is None and place + size < len(self.words) and self.words[place + size].form in CODES:
            code, size = CODES[self.words[place + size].form], size + 1
        if code is not None:
            if self.listing.currency not in (None, code):
                return None
            self.listing.currency = code
        return number, size

    def dated(self) -> int:
        """Closing this week, created since Monday; or a period alone."""
        for name, known in (("closing", CLOSING), ("created", CREATED), ("updated", UPDATED)):
            size = longest(self.words, self.place, known)
            if size and self._period(self.place + size, name):
                return size + self._period(self.place + size, name)
        size = self._period(self.place, "")
        return size

    def _period(self, place: int, dated: str) -> int:
        before = 1 if place < len(self.words) and self.words[place].form in TO_A_DATE else 0
        found = period_at(self.words, place + before, self.today)
        if found is None or (self.listing.period not in (None, found[0])):
            return 0
        if dated and self.listing.dated not in ("", dated):
            return 0
        self.listing.period = found[0]
        self.listing.dated = dated or self.listing.dated
        return before + found[1]

    def ranked(self) -> int:
        """Top 5, the biggest, newest, sorted by value."""
        listing, form = self.listing, self.form()
        size = longest(self.words, self.place, SORTED) or (form == "by" and listing.is_ranked)
        for name, direction, known in ORDERS if size else ():
            more = longest(self.words, self.place + size, known)
            if more and (listing.kind == "deal" or name not in ("VALUE", "CLOSE_DATE")) and self._orders(name):
                listing.order = listing.order or (name, direction)
                return size + more
        counted = self.words[self.place].number is not None and self.form(1) in RANKED
        order = RANKED.get(self.form(1) if counted else form)
        if order is None or listing.order is not None or (order[0] == "VALUE" and listing.kind != "deal"):
            return 0
        if listing.kind in ("meeting", "contact") and order[0] != "CREATED_AT":
            return 0
        if listing.kind == "meeting":
            return 0  # the latest may be those to come
        listing.order, listing.is_ranked = order, True
        at = self.place if counted else self.place + 1
        number = self.words[at].number if at < len(self.words) else None
        if number is None:
            return 1 if form != "top" else 0
        if number != int(number) or not 0 < number <= FIRST_MAX:
            return 0
        listing.first = int(number)
        return 2

    def _orders(self, name: str) -> bool:
        return self.listing.order is None or self.listing.order[0] == name

    def nearest(self) -> int:
        """The next meeting, or the next three; the last one that was held."""
        held = self.form() in ("last", "previous")
        if self.listing.kind != "meeting" or not (held or self.form() == "next") or self.listing.states:
            return 0
        number = self.words[self.place + 1].number if self.place + 1 < len(self.words) else None
        size = 1 if number is None else 2
        if self.form(size) not in ("meeting", "appointment"):
            return 0
        if number is not None and (number != int(number) or not 0 < number <= FIRST_MAX):
            return 0
        is_one = self.words[self.place + size].text.lower() in ("meeting", "appointment")
        if held and number is None and not is_one:
            return 0  # it does not say how many
        self.listing.first = int(number) if number is not None else 1 if is_one else None
        word = "completed" if held else "scheduled"
        self.listing.states, self.listing.state_words = [*STATES["meeting"][word]], [word]
        return size

    def _asks_for_one(self) -> bool:
        """Says whether the next meeting is asked for, or the last: when it is stands in its line."""
        pairs = zip(self.words, self.words[1:], strict=False)
        return any(one.form in ("next", "last", "previous") and two.text.lower() == "meeting" for one, two in pairs)

    def idle(self) -> int:
        if size := longest(self.words, self.place, SHOWN) or longest(self.words, self.place, NOW):
            return size
        form = self.form()
        if form == "when":
            return int(self.place == 0 and self.form(1) in BEING and self._asks_for_one())
        has_noun = any(word.form in NOUNS for word in self.words[: self.place])
        if form == "been" and self.form(1) in STATES[self.listing.kind]:
            return 1
        if form not in IDLE or (form in WISHES and has_noun) or (form == "who" and self.form(1) not in BEING):
            return 0
        if form == "every" and period_at(self.words, self.place + 1, self.today) is not None:
            return 0
        if form not in ALONE:
            return 1
        return 1 if form in ("to", "of", "on") and not has_noun and self.place + 1 < len(self.words) else 0


_RULES: Final[Sequence[Callable[[ListReader], int]]] = (
    *(ListReader.late, ListReader.amount, ListReader.ranked, ListReader.nearest, ListReader.mine, ListReader.dated),
    *(ListReader.state, ListReader.new, ListReader.noun, list_names.owned, list_names.staged, list_names.named),
    ListReader.idle,
)
"""The readers that are tried at each word, in this order; each says how many words it has read."""
