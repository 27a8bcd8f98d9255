"""Reads what both surfaces show of a connection beside its columns: counts, problem, progress and channels."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from contract.integrations import (
    BY_PROVIDER,
    IntegrationItemOutcome,
    IntegrationOwnership,
    IntegrationProblemCode,
    IntegrationProvider,
    IntegrationRunMode,
    IntegrationSkipReason,
    IntegrationStatus,
    IntegrationStreamKind,
    SyncVisibility,
)
from contract.scopes import ScopeGroup
from jobs.sync.run import percentage
from resolvers.integrations import Connected, run_under_way
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from storage.base import now
from storage.queries import integrations as statements
from storage.queries import notices


@dataclass(frozen=True, slots=True)
class SkipCount:
    """Says how often a reason occurred."""

    reason: IntegrationSkipReason
    count: int


@dataclass(frozen=True, slots=True)
class Counts:
    """The counts of a connection's meetings, emails and skipped items now."""

    meetings: int
    emails: int
    skipped: int
    skipped_by: tuple[SkipCount, ...]


@dataclass(frozen=True, slots=True)
class IntegrationProblemView:
    """The problem that holds a connection up."""

    code: IntegrationProblemCode
    message: str
    since: datetime
    retry_at: datetime | None


@dataclass(frozen=True, slots=True)
class SettingsView:
    """The settings that the owner of a connection chose, or that a new one starts with."""

    visibility: SyncVisibility
    auto_create_contacts: bool
    take_internal: bool


@dataclass(frozen=True, slots=True)
class ProgressView:
    """Says how far the run that is under way has come."""

    mode: IntegrationRunMode | None
    percentage: int | None
    processed: int
    expected: int | None


@requires(ScopeGroup.CRM_READ)
async def counts_of_integration(ctx: Context, integration_id: str) -> Counts:
    """Says how much a connection shows, and how much of it is left out, the most frequent reason first."""

    async def load(ids: list[str]) -> list[Counts]:
        async with ctx.reading() as session:
            rows = await statements.counts(session, ids)
        found: dict[str, list[tuple[str, str | None, int, int, bool]]] = {i: [] for i in ids}
        for row in rows:
            is_mail = row.kind == IntegrationStreamKind.MAIL
            found[row.integration_id].append((row.outcome, row.reason, row.items, row.shown, is_mail))
        return [_counted(found[i]) for i in ids]

    return await ctx.loader("integration_counts", load).load(integration_id)


def _counted(rows: Sequence[tuple[str, str | None, int, int, bool]]) -> Counts:
    skipped = [each for each in rows if each[0] == IntegrationItemOutcome.SKIPPED]
    reasons: dict[str, int] = {}
    for _, reason, items, _, _ in skipped:
        if reason is not None:
            reasons[reason] = reasons.get(reason, 0) + items
    ordered = sorted(reasons.items(), key=lambda each: (-each[1], each[0]))
    by = tuple(SkipCount(IntegrationSkipReason(reason), items) for reason, items in ordered)
    meetings, emails = (sum(each[3] for each in rows if each[4] is is_mail) for is_mail in (False, True))
    return Counts(meetings, emails, sum(each[2] for each in skipped), by)


def problem_of(integration: Connected) -> IntegrationProblemView | None:
    """Read the problem that holds the connection up; None where nothing does."""
    code, since = integration.problem_code, integration.problem_since
    if code is None or since is None:
        return None
    words = integration.problem_message or ""
    is_tried = integration.status == IntegrationStatus.ACTIVE
    return IntegrationProblemView(
        IntegrationProblemCode(code), words, since, integration.retry_at if is_tried else None
    )


def settings_of(integration: Connected) -> SettingsView:
    """Read the settings that the owner chose."""
    visibility = SyncVisibility(integration.visibility)
    return SettingsView(visibility, integration.auto_create, integration.take_internal)


@requires(ScopeGroup.CRM_READ)
async def progress_shown(ctx: Context, integration_id: str) -> ProgressView:
    """Says how far the run that is under way has come; nothing while none is."""
    run = await run_under_way(ctx, integration_id)
    if run is None:
        return ProgressView(None, None, 0, None)
    share = percentage(run.processed, run.expected)
    return ProgressView(IntegrationRunMode(run.mode), share, run.processed, run.expected)


@requires(ScopeGroup.CRM_READ)
async def is_told(ctx: Context, integration_id: str) -> bool:
    """Says whether the provider's notices of changes arrive: by a channel that holds, or as the operator set it up."""
    accounts = ctx.services.accounts

    async def load(ids: list[str]) -> list[bool]:
        async with ctx.reading() as session:
            found = await notices.watched(session, ids, now())
            signed = await notices.active_of(session, ids, [each.value for each in accounts.signing])
        return [i in found or i in signed for i in ids]

    return await ctx.loader("integration_notices", load).load(integration_id)


def ownership_of(provider: str) -> IntegrationOwnership:
    """Says whose a connection to the provider is."""
    return BY_PROVIDER[IntegrationProvider(provider)].ownership
