"""Statements on leads: the one of a card, and records that may be the same company or person."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from sqlalchemy import BindParameter, Boolean, ColumnElement, Integer, Text, bindparam, func, literal_column, or_
from sqlmodel import col

from storage.expressions import AnySelect
from storage.new_rows import new_row
from storage.queries.dialects import Dialectal
from storage.queries.filtering import contains
from storage.queries.listable import Listable
from storage.queries.record_listables import ACCOUNTS, CONTACTS
from storage.rows import Row
from storage.statements import ORG_PARAM
from storage.tables import Account, Contact, DealContact, Lead
from storage.tenancy.sessions import TenantSession

RowT = TypeVar("RowT", bound=Row)

_SEEN_MAX = 200


async def of_card(session: TenantSession, card_id: str) -> Lead | None:
    """The lead of this card, locked against other writers."""
    return await session.find(Lead, card_id=card_id, lock=True)


def _name() -> ColumnElement[str]:
    empty, blank = literal_column("''", Text()), literal_column("' '", Text())
    return func.coalesce(col(Contact.first_name), empty) + blank + func.coalesce(col(Contact.last_name), empty)


class _matches(Dialectal[bool]):
    """Says whether a text has something in it that a pattern of letters and sets of letters stands for."""

    type = Boolean()
    inherit_cache = True
    name = "matches"
    templates: ClassVar = {"postgresql": "({} ~ {})", "sqlite": "({} GLOB '*' || {} || '*')"}


_Finds = Callable[[ColumnElement[str], BindParameter[str]], ColumnElement[bool]]


@dataclass(frozen=True, slots=True)
class SearchedText(Generic[RowT]):
    """A text that records are looked for by, with patterns or plain words.

    Both databases lower ASCII letters only: PostgreSQL because of the collation of the columns.
    """

    name: str
    listable: Listable[RowT]
    expression: ColumnElement[str]
    finds: _Finds


ACCOUNT_NAME = SearchedText("account name", ACCOUNTS, func.lower(col(Account.name)), _matches)
ACCOUNT_DOMAIN = SearchedText("account domain", ACCOUNTS, func.lower(col(Account.domain)), contains)
CONTACT_NAME = SearchedText("contact name", CONTACTS, func.lower(_name()), _matches)
CONTACT_EMAIL = SearchedText("contact email", CONTACTS, func.lower(col(Contact.email)), contains)


async def containing(
    session: TenantSession, text: SearchedText[RowT], words: Sequence[Sequence[str]]
) -> Sequence[RowT]:
    """Rows whose text has each of the words in one of its forms; those with the least else come first.

    At most 200: who looks for equal texts finds them among the shortest.
    """
    values = {f"w{i}_{j}": form for i, word in enumerate(words) for j, form in enumerate(word)}

    def build() -> AnySelect:
        conditions: list[ColumnElement[bool]] = [
            or_(*(text.finds(text.expression, bindparam(f"w{i}_{j}", type_=Text)) for j in range(len(word))))
            for i, word in enumerate(words)
        ]
        found = text.listable.select(ORG_PARAM).where(*conditions)
        return found.order_by(func.length(text.expression), text.listable.column("id")).limit(
            literal_column(str(_SEEN_MAX), Integer)
        )

    return await session.fetch(("containing", text.name, tuple(map(len, words))), build, **values)


async def link(session: TenantSession, deal_id: str, contact_id: str, *, is_primary: bool) -> None:
    """Put the contact on the deal unless it is there; how it stands there then stays."""
    await session.insert_missing(new_row(DealContact, deal_id=deal_id, contact_id=contact_id, is_primary=is_primary))
