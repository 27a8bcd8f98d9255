"""Tags on the demo's records, and its sales targets."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from sqlalchemy import select
from sqlmodel import col

from contract.normal_form import folded
from contract.vocabulary import TaggedKind
from storage.expressions import AnyEntity
from storage.new_rows import new_row
from storage.queries import tags
from storage.tables import Lead, SalesTarget, TagLink
from storage.tenancy.sessions import TenantSession

_COLORS = {"vip": "#B3261E", "renewal": "#1B6E3C", "fair": "#0B3D5C"}
_OF_ACCOUNTS: tuple[tuple[str, ...], ...] = (("vip",), (), ("Berlin",), ("vip", "Berlin"), ())
_OF_DEALS: tuple[tuple[str, ...], ...] = (("renewal",), (), ("pilot", "vip"), ())
_OF_CONTACTS: tuple[tuple[str, ...], ...] = ((), ("champion",), (), (), ())
_OF_ACTIVITIES: tuple[tuple[str, ...], ...] = (*((),) * 9, ("follow up",))
_OF_CAMPAIGNS: tuple[tuple[str, ...], ...] = (("fair",), ())


async def add_tags(session: TenantSession) -> None:
    """Tag every few records of each kind, and make tags of those that the leads have."""
    wanted: list[tuple[TaggedKind, str, Sequence[str]]] = []
    leads = select(col(Lead.id), col(Lead.tags)).where(col(Lead.org_id) == session.org_id)
    wanted += [(TaggedKind.LEAD, row.id, row.tags) for row in await session.rows(leads)]
    for kind, cycle in (  # five tables
        (TaggedKind.ACCOUNT, _OF_ACCOUNTS),
        (TaggedKind.CONTACT, _OF_CONTACTS),
        (TaggedKind.DEAL, _OF_DEALS),
        (TaggedKind.ACTIVITY, _OF_ACTIVITIES),
        (TaggedKind.CAMPAIGN, _OF_CAMPAIGNS),
    ):
        model: AnyEntity = tags.MODELS[kind]
        rows = await session.rows(select(model.id).where(model.org_id == session.org_id).order_by(model.id))
        wanted += [(kind, row.id, cycle[number % len(cycle)]) for number, row in enumerate(rows)]
    names = list(dict.fromkeys(name for _, _, given in wanted for name in given))
    await tags.make_missing(session, names)
    found = await tags.named(session, names)
    for key, color in _COLORS.items():  # three, once
        if key in found:
            await session.update(found[key], color=color)
    links = [
        new_row(TagLink, kind=kind.value, record_id=record, tag_id=found[folded(name)].id, position=position)
        for kind, record, given in wanted
        for position, name in enumerate(given)
    ]
    await tags.link(session, links)


async def add_targets(session: TenantSession, present: datetime, owners: Sequence[str]) -> None:
    """Set targets for the organization's year and quarter, and for each owner's month."""
    today = present.astimezone(UTC).date()
    year, quarter, month = (
        date(today.year, 1, 1),
        date(today.year, (today.month - 1) // 3 * 3 + 1, 1),
        today.replace(day=1),
    )
    await session.insert(
        _target("won_value", "year", year, 12, Decimal(2_000_000)),
        _target("won_value", "quarter", quarter, 3, Decimal(500_000)),
        _target("won_deals", "quarter", quarter, 3, Decimal(12)),
        *(_target("won_value", "month", month, 1, Decimal(60_000), owner) for owner in owners),
    )


def _target(
    metric: str, period: str, first: date, months: int, amount: Decimal, owner: str | None = None
) -> SalesTarget:
    month = first.month - 1 + months
    after = date(first.year + month // 12, month % 12 + 1, 1)
    currency = "USD" if metric == "won_value" else None
    return new_row(
        SalesTarget,
        owner_id=owner,
        owner_key=owner or "",
        metric=metric,
        currency=currency,
        currency_key=currency or "",
        period=period,
        starts_on=first,
        ends_on=after - timedelta(days=1),
        amount=amount,
        begins_at=datetime(first.year, first.month, first.day, tzinfo=UTC),
        ends_before=datetime(after.year, after.month, after.day, tzinfo=UTC),
    )
