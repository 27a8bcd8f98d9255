"""Sales targets of the organization and of members, and how far they are reached (decisions 244 and 245)."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date, timedelta
from decimal import Decimal
from typing import Annotated, Final
from zoneinfo import ZoneInfo

from pydantic import Field

from contract.criteria import All, Compare, Condition, ListQuery, Op, Selection
from contract.errors import NotFound, Problem, Problems
from contract.limits import TARGET_DAYS_MAX, TARGETS_MAX, TARGETS_TOGETHER_MAX
from contract.scopes import ScopeGroup
from contract.time_zones import beginning_of
from contract.vocabulary import TargetMetric, TargetPeriod
from resolvers.deals import MoneyTotal
from resolvers.outreach_inputs import TimeZone
from resolvers.shared import changes
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.inputs import Amount, CalendarDate, Currency, Given, Input, Line
from resolvers.shared.lists import PageResult, by_id, page_of
from resolvers.shared.sentences import INACTIVE
from resolvers.shared.told_at_once import EACH, leading, to_member
from storage.joined_rows import ReachedRow
from storage.new_rows import new_row
from storage.queries import listables, members, records
from storage.queries import sales_targets as statements
from storage.queries.paging import by_ids
from storage.rows import SalesTargetRow
from storage.tables import SalesTarget

_YEARS = range(1900, 9000)
"""The years in which a period may begin: what it ends with is a day that there is."""


class SalesTargetInput(Input):
    """A target; what has the same member, metric, currency and days already is changed."""

    owner_id: Line | None = None
    metric: TargetMetric
    currency: Currency | None = None
    period: TargetPeriod
    starts_on: CalendarDate
    ends_on: CalendarDate | None = None
    time_zone: TimeZone = "UTC"
    amount: Amount


@leading({("inputs", EACH, "owner_id"): to_member})
class SalesTargets(Input):
    """Targets that are set together."""

    inputs: Annotated[list[SalesTargetInput], Field(min_length=1, max_length=TARGETS_TOGETHER_MAX)]


@dataclass(frozen=True, slots=True)
class TargetAttainment:
    """Says how far a target is reached."""

    actual: Decimal
    deals: int
    ratio: Decimal
    remaining: Decimal
    other_currencies: Sequence[MoneyTotal]
    without_value: int
    open_pipeline: Decimal


PARTS: Final = frozenset(each.name for each in fields(TargetAttainment))
_OF_OTHERS: Final = frozenset({"other_currencies", "without_value"})
"""The parts that deals in other currencies than the target's make."""


@requires(ScopeGroup.CRM_READ, finds=(listables.SALES_TARGETS,))
async def get_target(ctx: Context, target_id: str, selection: Selection | None = None) -> SalesTargetRow | None:
    """The target, or None."""
    return await by_id(ctx, listables.SALES_TARGETS, target_id, selection)


@requires(ScopeGroup.CRM_READ)
async def list_targets(
    ctx: Context, listing: ListQuery, selection: Selection | None = None
) -> PageResult[SalesTargetRow]:
    """A page of the targets, by first day, latest first; the organization's before members'."""
    return await page_of(ctx, listables.SALES_TARGETS, listing, selection)


def wanted(
    owner_ids: Sequence[str] | None = None,
    organization_wide: bool | None = None,
    metric: str | None = None,
    currency: str | None = None,
    on: date | None = None,
) -> Condition:
    """Make the condition: of one of the members, of the organization or not, and with a period that has the day."""
    parts: list[Condition] = []
    if owner_ids is not None:
        parts.append(Compare("owner_id", Op.IN, tuple(owner_ids)))
    if organization_wide is not None:
        parts.append(Compare("owner_id", Op.IS_NULL, organization_wide))
    if metric is not None:
        parts.append(Compare("metric", Op.EQ, metric))
    if currency is not None:
        parts.append(Compare("currency", Op.EQ, currency.upper()))
    if on is not None:
        parts += [Compare("starts_on", Op.LTE, on), Compare("ends_on", Op.GTE, on)]
    return All(tuple(parts))


@requires(ScopeGroup.CRM_READ)
async def attainment_of(ctx: Context, target_id: str, parts: Collection[str] = PARTS) -> TargetAttainment:
    """Says how far the target is reached, computed from the deals now; those of a page come in the same two statements.

    `parts` are the names of the parts that are wanted: what others take is not read. Raises NotFound.
    """
    asked = statements.Asked(
        is_whole=not _OF_OTHERS.isdisjoint(parts),
        has_open="open_pipeline" in parts,
    )

    async def load(ids: list[str]) -> list[TargetAttainment | None]:
        async with ctx.reading() as session:
            targets = await by_ids(session, listables.SALES_TARGETS, ids)
            rows = await statements.reached(session, ids, asked)
        of_target: dict[str, list[ReachedRow]] = {i: [] for i in ids}
        for row in rows:
            of_target[row.target_id].append(row)
        return [_attainment(targets[i], of_target[i]) if i in targets else None for i in ids]

    attainment: TargetAttainment | None = await ctx.loader(("attainment_of", asked), load).load(target_id)
    if attainment is None:
        raise NotFound(field=("id",))
    return attainment


def _attainment(target: SalesTargetRow, rows: Sequence[ReachedRow]) -> TargetAttainment:
    reached = statements.reached_of(target, rows)
    is_counted = target.metric == TargetMetric.WON_DEALS.value
    others = [row for row in reached.won if row.currency != target.currency and not is_counted]
    return TargetAttainment(
        actual=reached.actual,
        deals=reached.deals,
        ratio=reached.ratio,
        remaining=reached.remaining,
        other_currencies=[
            MoneyTotal(row.currency, row.amount or Decimal(0), row.deals)
            for row in sorted(others, key=lambda row: row.currency)
        ],
        without_value=sum(row.deals - row.valued for row in reached.won),
        open_pipeline=reached.open_pipeline,
    )


@requires(ScopeGroup.ORG_ADMIN, writes=True)
async def put_targets(ctx: Context, input: SalesTargets) -> list[SalesTarget]:
    """Set targets, all or none: those of a member, metric, currency and days that are there are changed.

    Raises Problems.
    """
    problems = [
        Problem(("inputs", number, field), words, "value_error")
        for number, each in enumerate(input.inputs)
        for field, words in _wrong(each)
    ]
    if problems:
        raise Problems(problems)
    drafts = [_values(each) for each in input.inputs]
    keys = [tuple(draft[name] for name in _KEY) for draft in drafts]
    problems = [
        Problem(("inputs", number), f"is for the same as number {keys.index(key)}", "duplicate")
        for number, key in enumerate(keys)
        if keys.index(key) < number
    ]
    async with ctx.writing() as session:
        owners = sorted({draft["owner_id"] for draft in drafts if draft["owner_id"] is not None})
        active = await members.active_of(session, owners) if owners else set()
        words = INACTIVE
        problems += [
            Problem(("inputs", number, "owner_id"), words, "reference")
            for number, draft in enumerate(drafts)
            if draft["owner_id"] is not None and draft["owner_id"] not in active
        ]
        if problems:
            raise Problems(problems)
        await records.lock_organization(session)  # so that of two calls for one target the second finds it
        known = await statements.known(session, keys)
        new = {key: new_row(SalesTarget, **draft) for key, draft in zip(keys, drafts, strict=True) if key not in known}
        if await statements.number(session) + len(new) > TARGETS_MAX:
            raise Problems([Problem(("inputs",), f"there can be at most {TARGETS_MAX} targets", "too_long")])
        made = await session.insert(*new.values())
        changed = _changed(known, dict(zip(keys, drafts, strict=True)))
        if changed:
            await session.update_each(list(changed.values()), *sorted(drafts[0]), "version", "updated_at")
        if new or changed:
            data = {"created": [target.id for target in made], "changed": [target.id for target in changed.values()]}
            await changes.append_event(ctx, session, "sales_targets_set", data, area="admin")
        targets = known | dict(zip(new, made, strict=True)) | changed
    ctx.forget()
    return [targets[key] for key in keys]


def _changed(
    known: Mapping[tuple[object, ...], SalesTarget], drafts: Mapping[tuple[object, ...], Given]
) -> dict[tuple[object, ...], SalesTarget]:
    """The targets that differ from what they are to be, as they are then, by their keys."""
    changed = {}
    for key, target in known.items():
        if values := changes.differences(target, drafts[key]):
            changed[key] = changes.as_changed(target, {**values, **changes.next_version(target)})
    return changed


_KEY = ("owner_key", "metric", "currency_key", "starts_on", "ends_on")


@requires(ScopeGroup.ORG_ADMIN, writes=True)
async def delete_target(ctx: Context, target_id: str) -> str:
    """Delete a target. Raises NotFound."""
    async with ctx.writing() as session:
        await records.lock_organization(session)
        target = await records.lock_for_update(session, SalesTarget, target_id)
        if target is None:
            raise NotFound(field=("id",))
        await session.delete(target)
        data = {"sales_target_id": target.id}
        await changes.append_event(ctx, session, "sales_target_deleted", data, area="admin")
    ctx.forget()
    return target.id


def _wrong(target: SalesTargetInput) -> Iterator[tuple[str, str]]:
    """Find the fields of a target that are wrong, each with the words for it."""
    if target.metric is TargetMetric.WON_VALUE and target.currency is None:
        yield "currency", "is needed for a value"
    if target.metric is TargetMetric.WON_DEALS and target.currency is not None:
        yield "currency", "does not go with a number of deals"
    if target.amount <= 0:
        yield "amount", "must be above zero"
    elif target.metric is TargetMetric.WON_DEALS and target.amount != target.amount.to_integral_value():
        yield "amount", "must be a whole number of deals"
    if target.starts_on.year not in _YEARS:
        yield "starts_on", f"must be in the years {_YEARS.start} to {_YEARS.stop - 1}"
    elif not _begins(target.period, target.starts_on):
        yield "starts_on", f"must be the first day of a {target.period.value}"
    if target.period is not TargetPeriod.CUSTOM:
        if target.ends_on is not None:
            yield "ends_on", "goes with custom days only"
    elif target.ends_on is None:
        yield "ends_on", "is needed for custom days"
    elif not 0 <= (target.ends_on - target.starts_on).days < TARGET_DAYS_MAX:
        yield "ends_on", f"must be the first day or one of the {TARGET_DAYS_MAX - 1} after it"


def _begins(period: TargetPeriod, day: date) -> bool:
    """Says whether a period of the kind begins on the day."""
    if period is TargetPeriod.CUSTOM:
        return True
    months = {TargetPeriod.MONTH: 1, TargetPeriod.QUARTER: 3, TargetPeriod.YEAR: 12}[period]
    return day.day == 1 and (day.month - 1) % months == 0


def _values(target: SalesTargetInput) -> Given:
    """The columns of a target that nothing is wrong with."""
    last = _last_day(target)
    zone = ZoneInfo(target.time_zone)
    return {
        "owner_id": target.owner_id,
        "owner_key": target.owner_id or "",
        "metric": target.metric.value,
        "currency": target.currency,
        "currency_key": target.currency or "",
        "period": target.period.value,
        "starts_on": target.starts_on,
        "ends_on": last,
        "time_zone": target.time_zone,
        "amount": target.amount,
        "begins_at": beginning_of(target.starts_on, zone),
        "ends_before": beginning_of(last + timedelta(days=1), zone),
    }


def _last_day(target: SalesTargetInput) -> date:
    if target.ends_on is not None:
        return target.ends_on
    months = {TargetPeriod.MONTH: 1, TargetPeriod.QUARTER: 3}.get(target.period, 12)
    month = target.starts_on.month - 1 + months
    return date(target.starts_on.year + month // 12, month % 12 + 1, 1) - timedelta(days=1)
