"""Reads a question: every word belongs to a slot, or the question is declined (decision 275)."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from itertools import islice
from typing import Final
from zoneinfo import ZoneInfo

from contract.catalog import Entity, catalog_for
from contract.normal_form import folded
from contract.scopes import ScopeGroup
from resolvers.analytics_inputs import AnalyticsQuery
from resolvers.questions.assembling import Made, assemble
from resolvers.questions.decline import EXAMPLES, nearest
from resolvers.questions.follow_up import follow
from resolvers.questions.grammar import Reader
from resolvers.questions.lexicon import Slot, nouns
from resolvers.questions.names import Names
from resolvers.questions.plans import Declined, Plan
from resolvers.questions.slots import Slots
from resolvers.questions.tokens import Token, TokenKind, tokens_of
from resolvers.shared.context import Context
from storage.queries.question_names import names_in

_WORDS_MAX: Final = 60
"""A question of more words is none that the grammar has."""
_LONGEST: Final = 5
_EXAMPLES: Final = 3
_GROUPING: Final = frozenset({"by", "per", "each", "every"})
_WITHIN: Final = frozenset({"of", "in", "from", "at", "for", "on", "no", "without", "with"})
_DATES: Final = {"created_at": "created", "close_date": "closing"}


async def read(
    ctx: Context, question: str, time_zone: str, present: datetime, previous: AnalyticsQuery | None = None
) -> Plan | Declined:
    """The query that answers the question, or the words that were not read.

    The organization's names are looked up, in one statement, where words are left that the catalogue does not have.
    `previous` is the last plan of the conversation, which a question without an entity of its own changes.
    """
    today = present.astimezone(ZoneInfo(time_zone)).date()
    scopes = frozenset(ctx.caller.scopes)
    known = {one.name: one for one in catalog_for(scopes)}
    asked = _Question(tokens_of(question), known, time_zone, today, ctx.caller.subject, previous)
    found = asked.plan(Names())
    if found is not None:
        return found
    if not asked.tokens or len(asked.tokens) > _WORDS_MAX:
        return asked.read(Names())
    return asked.read(await _names(ctx, asked.tokens, with_campaigns=ScopeGroup.OUTREACH_READ.passes(scopes)))


def examples_for(entities: Sequence[Entity]) -> list[str]:
    """Questions about these entities that are read as they stand: three of each, fewer where scopes leave fewer."""
    known = {one.name: one for one in entities}
    asked = _Question((), known, "UTC", date(2000, 1, 1), "")
    return [
        text for one in known for text in islice((text for text in EXAMPLES[one] if asked.is_read(text)), _EXAMPLES)
    ]


async def _names(ctx: Context, tokens: Sequence[Token], *, with_campaigns: bool) -> Names:
    names = Names(is_complete=True)
    async with ctx.reading() as session:
        found = await names_in(session, _grams(tokens), with_campaigns=with_campaigns)
    for row in found:
        if row.kind != "owner" and row.name:
            names.add(row.kind, row.value, row.name)
    names.add_people((row.value, row.name) for row in found if row.kind == "owner" and row.name and row.name.strip())
    return names


def _grams(tokens: Sequence[Token]) -> list[str]:
    """Neighbouring words as they were written, up to five at a time: names that the question may have."""
    found: dict[str, None] = {}
    for place, token in enumerate(tokens):
        if token.kind is TokenKind.QUOTED:
            found[folded(token.text[1:-1])] = None
        for end in range(place + 1, min(place + _LONGEST, len(tokens)) + 1):
            text = folded(" ".join(one.text for one in tokens[place:end]))
            found |= dict.fromkeys((text, text.removesuffix("'s")))
    return list(found)


@dataclass(slots=True)
class _Tried:
    """The readings that a question had: one for each entity; `unread` is what a follow-up left."""

    slots: list[Slots] = field(default_factory=list)
    made: list[Made] = field(default_factory=list)
    plans: list[Plan] = field(default_factory=list)
    unread: Sequence[Token] = ()


@dataclass(slots=True)
class _Question:
    """The words of a question, and what they are read with."""

    tokens: Sequence[Token]
    known: dict[str, Entity]
    zone: str
    today: date
    me: str
    previous: AnalyticsQuery | None = None

    def read(self, names: Names) -> Plan | Declined:
        """The question with these names known."""
        if len(self.tokens) > _WORDS_MAX:
            return self._declined(self.tokens[_WORDS_MAX:])
        found, tried = self._tried(names)
        return found if found is not None else self._refused(tried, names)

    def plan(self, names: Names) -> Plan | None:
        """The query, where the question is read in full; without making a refusal of it otherwise."""
        return self._tried(names)[0] if len(self.tokens) <= _WORDS_MAX else None

    def _tried(self, names: Names) -> tuple[Plan | None, "_Tried"]:
        """The only reading of the question, and how each was tried."""
        tried, entities = _Tried(), self._entities()
        if self.previous is not None and not self._is_new():
            found = follow(self.tokens, self.previous, self.known, names, self.today, self.me)
            if isinstance(found, Plan):
                return found, tried
            tried.unread = found
        for entity in (name for group in entities for name in (group if not tried.plans else ())):
            slots, made = self._as(entity, names)
            tried.slots.append(slots)
            tried.made.append(made)
            if made.plan is not None:
                tried.plans.append(made.plan)
        return (tried.plans[0] if len(tried.plans) == 1 else None), tried

    def _as(self, entity: str, names: Names) -> tuple[Slots, Made]:
        """The question read as one about the entity."""
        slots = Reader(self.tokens, self.known[entity], self.known, names, self.today, self.me).read()
        if slots.unread or slots.readings:
            return slots, Made()
        return slots, assemble(slots, self.known[entity], self.zone, self.today)

    def _entities(self) -> list[list[str]]:
        """The entities that the question may be about: those that its words name, and then those that it is grouped by
        or narrowed to.
        """
        found: dict[str, None] = {}
        grouping: dict[str, None] = {}
        place = 0
        while place < len(self.tokens):
            sizes = [1]
            for sense, size in nouns().at(self.tokens, place):
                if sense.name in self.known and (sense.slot is not Slot.ENTITY or len(sizes) == 1):
                    before = self.tokens[place - 1].form if place else ""
                    is_grouping = before in _GROUPING or (before in _WITHIN and bool(found))
                    is_grouping &= sense.slot is Slot.ENTITY
                    (grouping if is_grouping else found)[sense.name] = None
                    if sense.slot is Slot.ENTITY:
                        sizes.append(size)
            place += max(sizes)
        return [list(found), [name for name in grouping if name not in found]]

    def _is_new(self) -> bool:
        """Says whether the question names an entity of its own, as what it is about."""
        before = {"by", "per", "each", "without", "with", "no", "every", "have"}
        for place in range(len(self.tokens)):
            if place and self.tokens[place - 1].form in before:
                continue
            for sense, _ in nouns().at(self.tokens, place):
                opens = self.tokens[0].form in ("and", "only", "now", "just")
                opens |= len(self.tokens) > 1 and self.tokens[1].form == "about"
                if sense.slot is Slot.ENTITY or not opens:
                    return True
        return False

    def _refused(self, tried: "_Tried", names: Names) -> Declined:
        slots, made = tried.slots, tried.made
        if len(tried.plans) > 1:
            return self._declined(self.tokens)
        for one, filled in zip(made, slots, strict=True):
            if one.dates:
                return self._with_dates(one, filled, names)
            if filled.readings and not filled.unread:
                return self._with_names(filled, names)
        if not slots:
            return self._declined(tried.unread or self.tokens)
        best = min(
            range(len(slots)), key=lambda n: (self._leaves_noun(slots[n]), len(slots[n].unread) or len(made[n].why), n)
        )
        if slots[best].unread:
            return self._declined(slots[best].unread)
        return self._unread(made[best].why or [self._text()])

    @staticmethod
    def _leaves_noun(slots: Slots) -> bool:
        """Says whether what another entity is called was not read: then the question is hardly about this one."""
        found = (next(nouns().at([token], 0), None) for token in slots.unread)
        return any(one is not None and one[0].slot is Slot.ENTITY for one in found)

    def _text(self) -> str:
        return " ".join(dict.fromkeys(token.text for token in self.tokens))

    def _declined(self, unread: Sequence[Token]) -> Declined:
        return self._unread([token.text for token in unread])

    def _unread(self, words: Sequence[str]) -> Declined:
        """A refusal with the words that were not read, each once, and what can be asked instead."""
        return Declined(tuple(dict.fromkeys(words)), nearest(self.tokens, self.known, self.is_read))

    def is_read(self, question: str) -> bool:
        """Says whether another question is read, as the first one of a conversation."""
        asked = _Question(tokens_of(question), self.known, self.zone, self.today, self.me)
        groups = asked._entities()
        return any(asked._as(name, Names())[1].plan is not None for group in groups for name in group)

    def _with_dates(self, made: Made, slots: Slots, names: Names) -> Declined:
        """The question once for each date that it may be about."""
        place = slots.period_place or 0
        texts = [token.text for token in self.tokens]
        asked = [" ".join([*texts[:place], _DATES[name], *texts[place:]]) for name in made.dates]
        return self._either(list(made.why) or texts[place : place + 2], asked, names)

    def _with_names(self, slots: Slots, names: Names) -> Declined:
        """The question once for each dimension or person that a name may be of."""
        token, options = slots.readings[0]
        texts = [one.text for one in self.tokens]
        place = next(n for n, one in enumerate(self.tokens) if one is token)
        asked = []
        for name, value in options:
            said = names.person(value) or (token.text if name == "name" else f"{name.replace('_', ' ')} {token.text}")
            asked.append(" ".join([*texts[:place], said, *texts[place + 1 :]]))
        return self._either([token.text], asked, names)

    def _either(self, unread: Sequence[str], asked: Sequence[str], names: Names) -> Declined:
        """A refusal that asks which of several readings is meant, of those that are read."""
        read = [
            text
            for text in dict.fromkeys(asked)
            if isinstance(
                _Question(tokens_of(text), self.known, self.zone, self.today, self.me, self.previous).read(names), Plan
            )
        ]
        if len(read) < 2:
            return self._unread(unread)
        return Declined(tuple(dict.fromkeys(unread)), tuple(read[:3]))
