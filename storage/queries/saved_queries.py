"""Statements on saved queries."""

from collections.abc import Sequence
from hashlib import sha256

from sqlalchemy import func, or_, select
from sqlmodel import col

from contract.normal_form import folded
from storage.expressions import AnySelect
from storage.table_statements import finding
from storage.tables import SavedQuery
from storage.tenancy.sessions import TenantSession


def name_key(name: str) -> str:
    """Digest a name, letter case, width and the number of blanks aside."""
    return sha256(folded(" ".join(name.split())).encode()).hexdigest()


def question_key(question: str) -> str:
    """Digest a question: as a name, and without closing marks."""
    return name_key(question.rstrip(" ?!."))


async def visible(session: TenantSession, subject: str, ids: Sequence[str]) -> Sequence[SavedQuery]:
    """Those of these that are the subject's own or shared."""
    seen = or_(col(SavedQuery.owner_id) == subject, col(SavedQuery.is_shared))
    own = select(SavedQuery).where(col(SavedQuery.org_id) == session.org_id, seen)
    return await session.find_all(own.where(col(SavedQuery.id).in_(ids)))


async def verified(session: TenantSession, question: str) -> SavedQuery | None:
    """The one that was verified for this question."""

    def build() -> AnySelect:
        # Said as the index says it, which has no others: with a parameter for it, no database would take the index.
        return finding(SavedQuery, ("question_key",), lock=False, inside=True).where(col(SavedQuery.is_verified))

    rows = await session.fetch_of(SavedQuery, "saved_query_verified", build, question_key=question_key(question))
    return next(iter(rows), None)


async def number(session: TenantSession, subject: str) -> int:
    """Says how many the subject has."""
    own = col(SavedQuery.org_id) == session.org_id, col(SavedQuery.owner_id) == subject
    counted: int = await session.scalar(select(func.count()).select_from(SavedQuery).where(*own))
    return counted
