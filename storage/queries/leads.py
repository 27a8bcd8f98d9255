"""Statements on leads: the one of a card, and records that may be the same company or person."""

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from sqlalchemy import Boolean, ColumnElement, Integer, Select, Text, bindparam, func, literal_column, or_
from sqlmodel import col

from storage.prepared import ORGANIZATION
from storage.queries.dialects import Dialectal
from storage.queries.filtering import contains
from storage.queries.nouns import ACCOUNTS, CONTACTS, Noun
from storage.sessions import TenantSession
from storage.tables import Account, Contact, DealContact, Lead

_SEEN_MAX = 200


async def of_card(session: TenantSession, card_id: str) -> Lead | None:
    """The lead of this card, locked against other writers."""
    return await session.find(Lead, col(Lead.card_id) == card_id, lock=True)


def _name() -> Any:
    empty, blank = literal_column("''", Text()), literal_column("' '", Text())
    return func.coalesce(col(Contact.first_name), empty) + blank + func.coalesce(col(Contact.last_name), empty)


class _matches(Dialectal[bool]):
    """Whether a text has something in it that a pattern of letters and sets of letters stands for."""

    type = Boolean()
    inherit_cache = True
    name = "matches"
    templates: ClassVar = {"postgresql": "({} ~ {})", "sqlite": "({} GLOB '*' || {} || '*')"}


_Finds = Callable[[Any, Any], ColumnElement[bool]]
_TEXTS: dict[str, tuple[Noun, Any, _Finds]] = {
    "account name": (ACCOUNTS, func.lower(col(Account.name)), _matches),
    "account domain": (ACCOUNTS, func.lower(col(Account.domain)), contains),
    "contact name": (CONTACTS, func.lower(_name()), _matches),
    "contact email": (CONTACTS, func.lower(col(Contact.email)), contains),
}
"""The texts that are looked through, by patterns or as plain texts.

Both databases lower ASCII letters only: PostgreSQL because of the collation of the columns.
"""


async def containing(session: TenantSession, what: str, words: Sequence[Sequence[str]]) -> Sequence[Any]:
    """Rows whose text (one of _TEXTS) has each of the words in one of its forms; those with the least else come first.

    At most 200: who looks for equal texts finds them among the shortest.
    """
    noun, text, finds = _TEXTS[what]
    values = {f"w{i}_{j}": form for i, word in enumerate(words) for j, form in enumerate(word)}

    def build() -> Select[Any]:
        conditions: list[ColumnElement[bool]] = [
            or_(*(finds(text, bindparam(f"w{i}_{j}", type_=Text)) for j in range(len(word))))
            for i, word in enumerate(words)
        ]
        found = noun.select(ORGANIZATION).where(*conditions)
        return found.order_by(func.length(text), noun.column("id")).limit(literal_column(str(_SEEN_MAX), Integer))

    return await session.fetch(("containing", what, tuple(map(len, words))), build, **values)


async def link(session: TenantSession, deal_id: str, contact_id: str, *, is_primary: bool) -> None:
    """Put the contact on the deal unless it is there; how it stands there then stays."""
    known = await session.find(
        DealContact, col(DealContact.deal_id) == deal_id, col(DealContact.contact_id) == contact_id, lock=True
    )
    if known is None:
        await session.insert(DealContact(deal_id=deal_id, contact_id=contact_id, is_primary=is_primary))
