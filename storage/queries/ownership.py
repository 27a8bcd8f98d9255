"""Statements on what somebody owns: how much it is, and its way to another owner."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import ColumnElement, and_, func, literal_column, select, true, union_all, update
from sqlmodel import col

from contract.vocabulary import DealStatus, OwnedKind
from storage.base import Record, now, with_copies
from storage.expressions import AnyColumn, AnySelect
from storage.queries.filtering import in_list
from storage.statements import ORG_PARAM
from storage.tables import Account, Activity, Contact, Deal, Lead, Report
from storage.tenancy.sessions import TenantSession

MODELS: Mapping[OwnedKind, Any] = {  # Any: what they have in common is no class
    OwnedKind.ACCOUNT: Account,
    OwnedKind.CONTACT: Contact,
    OwnedKind.DEAL: Deal,
    OwnedKind.LEAD: Lead,
    OwnedKind.ACTIVITY: Activity,
    OwnedKind.REPORT: Report,
}
_COUNTED: tuple[OwnedKind, ...] = tuple(kind for kind in MODELS if kind is not OwnedKind.REPORT)
"""The kinds of which it is told how many there are: reports are moved, and not counted (decision 479)."""
_OPEN: Mapping[OwnedKind, ColumnElement[bool]] = {
    OwnedKind.DEAL: col(Deal.status) == literal_column(f"'{DealStatus.OPEN}'"),
    OwnedKind.ACTIVITY: and_(col(Activity.type) == literal_column("'task'"), col(Activity.completed_at).is_(None)),
}
"""The conditions for open records, of the kinds that may be open."""


@dataclass(frozen=True, slots=True)
class OwnedCounts:
    """Says how many records of each kind somebody owns."""

    accounts: int = 0
    contacts: int = 0
    deals: int = 0
    open_deals: int = 0
    leads: int = 0
    activities: int = 0
    open_tasks: int = 0

    def of(self, kinds: Collection[OwnedKind], *, open_only: bool) -> "OwnedCounts":
        """Count those of them that a transfer of these kinds moves."""
        every = OwnedCounts(deals=self.open_deals, activities=self.open_tasks) if open_only else self
        kept = {_PLURALS[kind]: getattr(every, _PLURALS[kind]) for kind in kinds if kind in _PLURALS}
        if OwnedKind.DEAL in kinds:
            kept["open_deals"] = self.open_deals
        if OwnedKind.ACTIVITY in kinds:
            kept["open_tasks"] = self.open_tasks
        return OwnedCounts(**kept)

    @property
    def total(self) -> int:
        """Return the number of records."""
        return sum(getattr(self, plural) for plural in _PLURALS.values())


_PLURALS: Mapping[OwnedKind, str] = {kind: str(MODELS[kind].__tablename__) for kind in _COUNTED}
_OPEN_PLURALS = {OwnedKind.DEAL: "open_deals", OwnedKind.ACTIVITY: "open_tasks"}


async def owned(session: TenantSession, owners: Sequence[str]) -> dict[str, OwnedCounts]:
    """Count what each of these subjects owns, in one statement."""

    def build() -> AnySelect:
        each = union_all(*(_counted(kind) for kind in _COUNTED)).subquery("counted")
        return select(each.c.owner_id, each.c.kind, each.c.number, each.c.open)

    found = dict.fromkeys(owners, OwnedCounts())
    for row in await session.fetch("owned", build, owners=list(owners)):
        kind = OwnedKind(row.kind)
        counted = {_PLURALS[kind]: row.number}
        if kind in _OPEN_PLURALS:
            counted[_OPEN_PLURALS[kind]] = row.open
        found[row.owner_id] = replace(found[row.owner_id], **counted)
    return found


def _counted(kind: OwnedKind) -> AnySelect:
    model = MODELS[kind]
    columns: list[AnyColumn] = [
        col(model.owner_id).label("owner_id"),
        literal_column(f"'{kind}'").label("kind"),
        func.count().label("number"),
        func.count().filter(_OPEN.get(kind, true())).label("open"),
    ]
    return (
        select(*columns)
        .where(col(model.org_id) == ORG_PARAM, in_list(col(model.owner_id), "owners"))
        .group_by(col(model.owner_id))
    )


async def move(
    session: TenantSession, kind: OwnedKind, source: str, target: str, *, after: str, size: int, open_only: bool
) -> list[str]:
    """Give the next records of one owner to another, in the order of their identifiers, and return these.

    They get their next version, where they have one.
    """
    model: type[Record] = MODELS[kind]
    owner = MODELS[kind].owner_id
    own = col(model.org_id) == session.org_id
    wanted = select(col(model.id)).where(own, owner == source, col(model.id) > after)
    if open_only:
        wanted = wanted.where(_OPEN[kind])
    rows = await session.rows(wanted.order_by(col(model.id)).limit(size).with_for_update())
    ids = [str(row.id) for row in rows]
    changed: dict[str, object] = with_copies(model, {"owner_id": target})
    if hasattr(model, "version"):
        changed |= {"version": model.version + 1, "updated_at": now()}
    if ids:
        await session.execute(update(model).where(own, col(model.id).in_(ids)).values(changed))
    return ids


def kinds_to_move(kinds: Collection[OwnedKind], *, open_only: bool) -> list[OwnedKind]:
    """List the kinds of which a transfer moves something, in one order: of the open ones, those that may be open."""
    return [kind for kind in MODELS if kind in kinds and (kind in _OPEN or not open_only)]
