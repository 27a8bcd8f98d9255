"""Names that an organization has given: stages, people, industries, accounts, campaigns, tags (decision 283)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from contract.catalog import Entity
from resolvers.questions.tokens import Token, forms_of
from resolvers.shared.inputs import currencies

_DIMENSIONS: Final[Mapping[str, Sequence[str]]] = {
    "stage": ("stage",),
    "owner": ("owner",),
    "industry": ("industry",),
    "source": ("source",),
    "account": ("account",),
    "campaign": ("campaign",),
    "tag": ("tag",),
    "reason": ("disqualified_reason",),
    "deal": ("deal",),
    "title": ("title",),
}
"""The dimensions that names of a kind are values of."""
_OWN: Final = {"accounts": "account", "campaigns": "campaign", "deals": "deal"}
"""The kind of name that the records of an entity have themselves."""
_NOT_CODES: Final = frozenset({"ALL", "TOP", "TRY"})
_COMMON: Final = {"eur": "EUR", "usd": "USD", "gbp": "GBP", "chf": "CHF", "euro": "EUR", "euros": "EUR"}
_NO_NAMES: Final = frozenset({"the", "all", "our", "any"})
_LONGEST: Final = 8


@dataclass(slots=True)
class Names:
    """The names that were looked up, by the forms of their words."""

    by_forms: dict[tuple[str, ...], list[tuple[str, str]]] = field(default_factory=dict)
    people: dict[str, str] = field(default_factory=dict)
    is_complete: bool = False

    def add(self, kind: str, value: str, name: str) -> None:
        """Know a value by a name."""
        forms = forms_of(name)
        if forms:
            found = self.by_forms.setdefault(forms, [])
            if (kind, value) not in found:
                found.append((kind, value))

    def add_people(self, people: Iterable[tuple[str, str]]) -> None:
        """Know people by their names, and by the first words of these."""
        for subject, name in people:
            self.people[subject] = name
            self.add("owner", subject, name)
            first = name.split()[0]
            if len(first) > 2 and first.casefold() not in _NO_NAMES:
                self.add("owner", subject, first)

    def person(self, subject: str) -> str:
        """The name of a person; empty where none is known."""
        return self.people.get(subject, "")

    def at(self, tokens: Sequence[Token], place: int, entity: Entity) -> tuple[tuple[tuple[str, str], ...], int] | None:
        """Find the entity's longest name at this place, as dimensions with values, and how many words it has."""
        if not self.by_forms:
            return None
        for size in range(min(_LONGEST, len(tokens) - place), 0, -1):
            forms = tuple(token.form for token in tokens[place : place + size])
            if size == 1 and tokens[place].kind.name == "QUOTED":
                forms = forms_of(tokens[place].text[1:-1])
            options = self._options(forms, entity)
            if options:
                return options, size
        return None

    def _options(self, forms: tuple[str, ...], entity: Entity) -> tuple[tuple[str, str], ...]:
        found: list[tuple[str, str]] = []
        for kind, value in self.by_forms.get(forms, ()):
            name = "name" if _OWN.get(entity.name) == kind else _DIMENSIONS[kind][0]
            known = entity.dimensions.get(name)
            if known is not None and known.values is None and (name, value) not in found:
                found.append((name, value))
        return tuple(found)

    @staticmethod
    def currency(token: Token) -> str | None:
        """The code of the currency that the word is."""
        if token.form in _COMMON:
            return _COMMON[token.form]
        is_code = len(token.text) == 3 and token.text.isascii() and token.text.isupper()
        return token.text if is_code and token.text in currencies() - _NOT_CODES else None
