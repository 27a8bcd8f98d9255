"""The names of an organization's that a question may have: one statement, bounded."""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import Integer, bindparam, literal_column, select, union_all
from sqlmodel import col

from storage.base import PlainText
from storage.expressions import AnyColumn, AnyEntity, AnySelect
from storage.joined_rows import NameRow
from storage.queries.filtering import in_list
from storage.statements import ORG_PARAM
from storage.tables import Account, Campaign, Contact, Deal, Person, PipelineStage, Tag
from storage.tenancy.sessions import TenantSession

_MOST: Final = 2_000
_NAMED: Final[Sequence[tuple[str, AnyEntity, AnyColumn, AnyColumn]]] = (
    ("account", Account, col(Account.name), col(Account.folded_name)),
    ("industry", Account, col(Account.industry), col(Account.folded_industry)),
    ("source", Deal, col(Deal.source), col(Deal.folded_source)),
    ("deal", Deal, col(Deal.name), col(Deal.folded_name)),
    ("title", Contact, col(Contact.title), col(Contact.folded_title)),
    ("tag", Tag, col(Tag.name), col(Tag.folded_name)),
    ("campaign", Campaign, col(Campaign.name), col(Campaign.folded_name)),
)
"""Names that are looked up by the words of a question: there may be any number of them."""
_LISTED: Final[Sequence[tuple[str, AnyEntity, AnyColumn]]] = (
    ("stage", PipelineStage, col(PipelineStage.name)),
    ("owner", Person, col(Person.id)),
)
"""Names of which there are few, and that a question may have a part of."""


async def names_in(session: TenantSession, words: Sequence[str], *, with_campaigns: bool) -> Sequence[NameRow]:
    """Stages, people, and what the words name, each with its kind, value and name."""

    def build() -> AnySelect:
        parts = [
            _part(kind, model, column, column).where(column.is_not(None), in_list(folded, "words")).distinct()
            for kind, model, column, folded in (_NAMED if with_campaigns else _NAMED[:-1])
        ]
        parts += [_part(kind, model, value, col(model.name)) for kind, model, value in _LISTED]
        found = union_all(*parts).subquery("names")
        return select(*found.c).limit(bindparam("most", type_=Integer))

    return await session.fetch(("question_names", with_campaigns), build, words=list(words), most=_MOST)


def _part(kind: str, model: AnyEntity, value: AnyColumn, name: AnyColumn) -> AnySelect:
    word = literal_column(f"'{kind}'", PlainText).label("kind")
    return select(word, value.label("value"), name.label("name")).where(col(model.org_id) == ORG_PARAM)
