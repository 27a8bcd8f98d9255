"""Account health: a snapshot computed from the account's own rows, and what was computed before (specification 2.3)."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from contract.criteria import ListQuery, PageWindow, Selection
from contract.errors import NotFound
from contract.scopes import ScopeGroup
from contract.timeline import Fields
from resolvers.health_formula import assess
from resolvers.shared import changes
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.lists import PageResult, children
from resolvers.shared.loader import Loader
from storage.base import as_uuid, now
from storage.database import Database
from storage.expressions import AnyColumn
from storage.new_rows import new_row
from storage.queries import health, merged_ids
from storage.queries.along import key_of
from storage.queries.history import Told
from storage.queries.listable import Listable
from storage.queries.listables import FACTORS, SNAPSHOTS
from storage.queries.records import lock_each
from storage.rows import HealthFactorRow, HealthSnapshotRow, Row
from storage.tables import Account, HealthFactor, HealthSnapshot
from storage.tenancy.sessions import TenantSession

RowT = TypeVar("RowT", bound=Row)


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def refresh_health(ctx: Context, account_id: str) -> HealthSnapshot:
    """Compute and store a new snapshot with its nine factors, whole or not at all; `factors_of` reads them.

    Refreshes of one account run one after the other, so each sees the one before. Raises NotFound.
    """
    async with ctx.writing() as session:
        known = await _locked(session, [account_id])
        if not known and (stays := await merged_ids.stays(session, Account, account_id)) is not None:
            known = await _locked(session, [stays])
        if not known:
            raise NotFound(field=("id",))
        # The time is taken behind the lock: the snapshots of an account are in the order of their commits.
        [snapshot], previous = await _refresh(session, known, now())
        data = {"account_id": snapshot.account_id, "health_score_id": snapshot.id, "score": snapshot.score}
        seen = previous.get(snapshot.account_id)
        fields: Fields = {
            "health_score_id": [None if seen is None else seen.id, snapshot.id],
            "health_score": [None if seen is None else seen.score, snapshot.score],
        }
        told = [Told("account", snapshot.account_id, fields, alone=True)]
        await changes.append_event(ctx, session, "account_health_refreshed", data, told=told)
    ctx.forget()
    return snapshot


@requires(ScopeGroup.MEETINGS_READ, finds=(SNAPSHOTS, FACTORS))
async def latest_health(
    ctx: Context,
    account_id: str,
    selection: Selection | None = None,
    *,
    with_factors: bool = False,
    leads: bool = False,
) -> HealthSnapshotRow | None:
    """The most recent snapshot; None for an account that was never scored or is unknown (specification 4.6).

    With its factors, or where they are selected, `factors_of` has them at hand. An identifier that `leads` may be one
    that a merge took away.
    """
    with_factors = with_factors or (selection is not None and any(one.name == "factors" for one in selection.along))
    came = _came(ctx, SNAPSHOTS, HealthSnapshot.account_id, account_id, selection)
    if came is not None:
        return next(iter(came), None)

    async def load(ids: list[str]) -> list[HealthSnapshotRow | None]:
        async with ctx.reading() as session:
            if not with_factors:
                snapshots = await health.latest(session, ids)
                return [snapshots.get(i) for i in ids]
            found = await health.latest_with_factors(session, ids)
        factors = _factors(ctx)
        for snapshot, its_factors in found.values():
            factors.prime(snapshot.id, its_factors)
        return [found[i][0] if i in found else None for i in ids]

    canonical = as_uuid(account_id)
    if canonical is None:
        return None
    loader = ctx.loader(("health.latest", with_factors), load)
    found: HealthSnapshotRow | None = await loader.load(canonical)
    if found is None and leads:
        async with ctx.reading() as session:
            stays = await merged_ids.stays(session, Account, canonical)
        found = None if stays is None else await loader.load(stays)
    return found


@requires(ScopeGroup.MEETINGS_READ)
async def factors_of(ctx: Context, snapshot_id: str, selection: Selection | None = None) -> Sequence[HealthFactorRow]:
    """The factors of a snapshot, oldest-inserted first (specification 2.3)."""
    came = _came(ctx, FACTORS, HealthFactor.health_score_id, snapshot_id, selection)
    if came is not None:
        return came
    canonical = as_uuid(snapshot_id)
    return [] if canonical is None else await _factors(ctx).load(canonical)


def _came(
    ctx: Context, listable: Listable[RowT], parent: AnyColumn, parent_id: str, selection: Selection | None
) -> Sequence[RowT] | None:
    """Finds the rows that came along with the record that they hang on; None where they did not."""
    return ctx.came_along(lambda: key_of(listable.selecting(selection), parent, None), parent_id)


def _factors(ctx: Context) -> Loader[str, Sequence[HealthFactorRow]]:
    async def load(ids: list[str]) -> list[Sequence[HealthFactorRow]]:
        async with ctx.reading() as session:
            found = await health.factors(session, ids)
        return [found[i] for i in ids]

    return ctx.loader("health.factors", load)


@requires(ScopeGroup.MEETINGS_READ)
async def health_history(ctx: Context, account_id: str, page: PageWindow) -> PageResult[HealthSnapshotRow]:
    """The snapshots of an account, newest first."""
    return await children(ctx, SNAPSHOTS, HealthSnapshot.account_id, account_id, ListQuery(page=page))


async def refresh_many(
    database: Database, organization: str, account_ids: Sequence[str], moment: datetime
) -> list[HealthSnapshot]:
    """Snapshots of several accounts as of a moment, in one transaction; unknown accounts are left out.

    For the operator's commands: it has no caller and no guard. What rows do not remember, such as a deal's status at a
    past moment, is taken as it is now.
    """
    async with database.writing(organization) as session:
        known = await _locked(session, account_ids)
        return (await _refresh(session, known, moment))[0] if known else []


async def _locked(session: TenantSession, account_ids: Sequence[str]) -> list[str]:
    """Reads the accounts that exist, locked in one order for all, so that two callers never wait for each other."""
    return await lock_each(session, Account, account_ids)


async def _refresh(
    session: TenantSession, account_ids: Sequence[str], moment: datetime
) -> tuple[list[HealthSnapshot], Mapping[str, HealthSnapshotRow]]:
    """The new snapshots, and those before them by account."""
    facts = await health.facts(session, account_ids, moment)
    previous = await health.latest(session, account_ids, until=moment)
    snapshots, factors = [], []
    for account_id in account_ids:
        before = previous.get(account_id)
        result = assess(facts[account_id], moment, None if before is None else before.score)
        snapshot = new_row(
            HealthSnapshot,
            account_id=account_id,
            score=result.score,
            trend=result.trend,
            data_points=len(result.factors),
            snapshot_at=moment,
            formula_version=result.formula_version,
        )
        snapshots.append(snapshot)
        factors += [
            new_row(
                HealthFactor,
                account_id=account_id,
                health_score_id=snapshot.id,
                snapshot_at=moment,
                position=position,
                key=factor.key,
                label=factor.label,
                score=factor.score,
                weight=factor.weight,
                value=factor.value,
                explanation=factor.explanation,
                sample_size=factor.sample_size,
            )
            for position, factor in enumerate(result.factors)
        ]
    made = await session.insert(*snapshots)
    await session.insert(*factors)
    return made, previous
