"""Connections to accounts elsewhere: whose they are, what they follow, and what their members do with them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import AfterValidator, ConfigDict, Field, StrictBool, StrictInt

from contract.criteria import EVERYTHING, All, Any_, Compare, Condition, ListQuery, Op, Selection
from contract.errors import Forbidden, InvalidState, NotFound, Path, Problem, Problems
from contract.integrations import (
    CATALOGUE,
    INTEGRATION_NAME_MAX,
    RUNS_KEPT,
    SYNC_RUNS_DEFAULT,
    VISIBILITY_WIDTH,
    IntegrationRunMode,
    IntegrationStatus,
    ProviderInfo,
    SyncVisibility,
)
from contract.scopes import ScopeGroup
from jobs.queue import enqueue, hasten, supersede
from jobs.sync import removal, sources, waits, watches
from jobs.sync.notices import KIND
from providers.accounts.ports import AccountError
from resolvers.integration_streams import StreamChange, follow
from resolvers.shared import changes
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.inputs import Input, never_null, not_null, shown, storable, trimmed
from resolvers.shared.lists import PageResult, page_of
from storage.base import as_uuid, now
from storage.new_rows import new_row
from storage.queries import integrations as statements
from storage.queries import jobs, listables, notices, records, sync
from storage.rows import IntegrationRow
from storage.tables import Integration, IntegrationPolicy, Job, SyncRun, SyncStream
from storage.tenancy.sessions import TenantSession

Connected = Integration | IntegrationRow
"""A connection as it was read, alone or in a list."""
Name = Annotated[str, trimmed(INTEGRATION_NAME_MAX), AfterValidator(storable), AfterValidator(shown)]
_GOING: Final = IntegrationStatus.DISCONNECTING.value


class Settings(Input):
    """The settings that the owner of a connection chooses; one that is left out stays, or is the policy's default."""

    visibility: SyncVisibility | None = None
    auto_create_contacts: StrictBool | None = None
    take_internal: StrictBool | None = None


class SettingsChange(Settings):
    """Changes to the settings; one that is left out stays."""

    model_config = ConfigDict(json_schema_extra=never_null())


class IntegrationUpdate(Input):
    """Changes to a connection; a field that is left out stays."""

    model_config = ConfigDict(json_schema_extra=never_null())

    name: Name | None = None
    settings: SettingsChange | None = None
    streams: Annotated[list[StreamChange], Field(max_length=100)] | None = None
    expected_version: StrictInt | None = None


@dataclass(frozen=True, slots=True)
class ProviderView:
    """A provider of the catalogue as the organization may use it here."""

    info: ProviderInfo
    available: bool
    missing_settings: list[str]
    push: bool = False


@dataclass(frozen=True, slots=True)
class Queued:
    """A connection, and the run that waits for its turn."""

    integration: Integration
    run: SyncRun


@dataclass(frozen=True, slots=True)
class Disconnected:
    """The connection that is gone, and the job that deletes what came, where it does."""

    id: str
    job: Job | None


def is_administrator(ctx: Context) -> bool:
    return ScopeGroup.ORG_ADMIN.passes(ctx.caller.scopes)


@requires(ScopeGroup.CRM_READ)
async def list_providers(ctx: Context) -> list[ProviderView]:
    """The providers, in their order."""
    async with ctx.reading() as session:
        policy = await statements.policy(session)
    return [_view(ctx, policy, info) for info in CATALOGUE]


def _view(ctx: Context, policy: IntegrationPolicy, info: ProviderInfo) -> ProviderView:
    """Of what the policy does not allow no setting is missing (decision 362)."""
    if info.provider not in policy.allowed_providers:
        return ProviderView(info, False, [])
    missing = [name for name in info.settings if name in ctx.services.accounts.missing]
    return ProviderView(info, not missing, missing, not missing and ctx.services.accounts.tells(info.provider))


@requires(ScopeGroup.CRM_READ)
async def get_integration(ctx: Context, integration_id: str) -> Integration | None:
    """A connection of the caller's own or of the organization, or any for an administrator; None for others."""
    canonical = as_uuid(integration_id)
    if canonical is None:
        return None

    async def load(ids: list[str]) -> list[Integration | None]:
        found = {each.id: each for each in await visible_of(ctx, ids)}
        return [found.get(i) for i in ids]

    return await ctx.loader("integrations", load).load(canonical)


async def visible_of(ctx: Context, ids: Sequence[str]) -> Sequence[Integration]:
    """Those of these connections that the caller sees."""
    async with ctx.reading() as session:
        return await statements.visible(session, None if is_administrator(ctx) else ctx.caller.subject, ids)


@requires(ScopeGroup.CRM_READ)
async def list_integrations(
    ctx: Context, listing: ListQuery, selection: Selection | None = None, *, everybodys: bool = False
) -> PageResult[IntegrationRow]:
    """A page of the caller's own connections and the organization's, or of everybody's. Raises Forbidden."""
    if everybodys and not is_administrator(ctx):
        raise Forbidden(ScopeGroup.ORG_ADMIN, ctx.caller.scopes)
    own = Any_((Compare("owner_id", Op.EQ, ctx.caller.subject), Compare("owner_id", Op.IS_NULL, True)))
    seen: Condition = EVERYTHING if everybodys else own
    wanted = ListQuery(All((seen, listing.condition)), None, listing.page)
    return await page_of(ctx, listables.INTEGRATIONS, wanted)


@requires(ScopeGroup.CRM_READ)
async def streams_of_integration(ctx: Context, integration_id: str) -> Sequence[SyncStream]:
    """List the streams that the connection follows and could follow."""

    async def load(ids: list[str]) -> list[list[SyncStream]]:
        async with ctx.reading() as session:
            found = await statements.streams(session, ids)
        return [found[i] for i in ids]

    return await ctx.loader("sync_streams", load).load(integration_id)


@requires(ScopeGroup.CRM_READ)
async def runs_of_integration(ctx: Context, integration_id: str, first: int = SYNC_RUNS_DEFAULT) -> Sequence[SyncRun]:
    """The latest runs, newest first. Raises Problems for a number out of range."""
    if not 0 <= first <= RUNS_KEPT:
        raise Problems([Problem(("first",), f"must lie between 0 and {RUNS_KEPT}", "range")])

    async def load(ids: list[str]) -> list[list[SyncRun]]:
        async with ctx.reading() as session:
            found = await statements.runs(session, ids, first)
        return [found[i] for i in ids]

    return await ctx.loader(("sync_runs", first), load).load(integration_id)


@requires(ScopeGroup.CRM_READ)
async def list_runs(ctx: Context, integration_id: str) -> Sequence[SyncRun]:
    """The runs of a connection that the caller sees, newest first. Raises NotFound."""
    if await get_integration(ctx, integration_id) is None:
        raise NotFound(field=("id",))
    return await runs_of_integration(ctx, as_uuid(integration_id) or "", RUNS_KEPT)


async def run_under_way(ctx: Context, integration_id: str) -> SyncRun | None:
    """The run that is under way."""

    async def load(ids: list[str]) -> list[SyncRun | None]:
        async with ctx.reading() as session:
            found = await statements.running(session, ids)
        return [found.get(i) for i in ids]

    return await ctx.loader("sync_progress", load).load(integration_id)


@requires(ScopeGroup.CRM_READ)
async def label_of_integration(ctx: Context, integration_id: str) -> str | None:
    """Find the account's label, for its owner and administrators: its address, or the host of a feed's."""
    integration = await get_integration(ctx, integration_id)
    if integration is None or (integration.owner_id != ctx.caller.subject and not is_administrator(ctx)):
        return None
    try:
        secret = sources.opened_secret(ctx.services.identity.pepper, integration.id, integration.sealed)
    except AccountError:
        return None
    return sources.label_of(secret)


def is_own(ctx: Context, integration: Connected) -> bool:
    """Says whether the connection is the caller's own: that of an organization is its administrators'."""
    return integration.owner_id == ctx.caller.subject or (integration.owner_id is None and is_administrator(ctx))


def _check_owner(ctx: Context, integration: Integration) -> None:
    """Raise Forbidden for a connection of the organization, which its administrators alone change (decision 913)."""
    if integration.owner_id is None and not is_administrator(ctx):
        raise Forbidden(ScopeGroup.ORG_ADMIN, ctx.caller.scopes)


async def own_to_change(ctx: Context, session: TenantSession, integration_id: str, at: Path = ("id",)) -> Integration:
    """The caller's own connection, named at this field, locked.

    Raises NotFound, and Forbidden for the organization's.
    """
    found = await records.lock_for_update(session, Integration, integration_id)
    if found is not None:
        _check_owner(ctx, found)
    if found is None or not is_own(ctx, found):
        raise NotFound(field=at)
    return found


async def _to_run(ctx: Context, session: TenantSession, integration_id: str) -> Integration:
    """The connection to be paused, resumed or removed: the caller's own, or any for an administrator."""
    found = await records.lock_for_update(session, Integration, integration_id)
    if found is not None:
        _check_owner(ctx, found)
    if found is None or (found.owner_id != ctx.caller.subject and not is_administrator(ctx)):
        raise NotFound(field=("id",))
    return found


def check_visibility(policy: IntegrationPolicy, settings: Settings | None) -> None:
    """Raise Problems for a visibility that is wider than the policy's."""
    if settings is None or settings.visibility is None:
        return
    widest = SyncVisibility(policy.widest_visibility)
    if VISIBILITY_WIDTH[settings.visibility] > VISIBILITY_WIDTH[widest]:
        words = f"must not show more than the organization's policy allows: {widest.value}"
        raise Problems([Problem(("input", "settings", "visibility"), words, "value_error")])


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def update_integration(
    ctx: Context, integration_id: str, input: IntegrationUpdate, *, seen: Collection[int] | None = None
) -> Integration:
    """Change the caller's own connection. Raises NotFound, PreconditionFailed, InvalidState or Problems."""
    fields = input.given()
    not_null(fields, *fields.keys() - {"expected_version"})
    async with ctx.writing() as session:
        await hasten(session, KIND, as_uuid(integration_id) or "")
        policy = await sync.lock(session)
        integration = await own_to_change(ctx, session, integration_id)
        if integration.status == _GOING:
            raise InvalidState("The connection is being removed", field=("id",))
        changes.expect(integration, fields.get("expected_version"), seen)
        check_visibility(policy, input.settings)
        wanted = {"name": input.name} if input.name is not None else {}
        chosen = {} if input.settings is None else _chosen(input.settings)
        moved = await follow(session, integration.id, input.streams or [])
        differences = changes.differences(integration, {**wanted, **chosen})
        if differences or moved:
            await _read_anew(session, integration.id, wants=bool(chosen.keys() & differences.keys()))
            values = {**differences, **changes.next_version(integration)}
            integration = await session.update(integration, **values)
            told = sorted([*differences, *(["streams"] if moved else [])])
            await _log(ctx, session, "integration_updated", integration, changed=told)
    ctx.forget()
    return integration


def _chosen(settings: Settings) -> dict[str, object]:
    names = {"visibility": "visibility", "auto_create_contacts": "auto_create", "take_internal": "take_internal"}
    given = settings.given()
    not_null(given, *given, at=("input", "settings"))
    return {names[name]: getattr(value, "value", value) for name, value in given.items()}


async def _read_anew(session: TenantSession, integration_id: str, *, wants: bool) -> None:
    """Have everything judged again by other settings."""
    if wants:
        await sync.read_anew(session, integration_id)


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def pause_integration(ctx: Context, integration_id: str) -> Integration:
    """Stop synchronising. Raises NotFound or InvalidState."""
    paused = IntegrationStatus.PAUSED.value
    async with ctx.writing() as session:
        integration = await _to_run(ctx, session, integration_id)
        if integration.status in (IntegrationStatus.PENDING.value, _GOING):
            raise InvalidState("The connection is not complete, or is being removed", field=("id",))
        if integration.status != paused or integration.is_suspended:
            values = {"status": paused, "is_suspended": False, "next_sync_at": None}
            integration = await session.update(integration, **values, **changes.next_version(integration))
            await statements.cancel_queued(session, integration.id)
            if await notices.watches(session, integration.id):
                await enqueue(session, watches.KIND, {"integration_id": integration.id}, key=integration.id)
            await _log(ctx, session, "integration_paused", integration)
    ctx.forget()
    return integration


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def resume_integration(ctx: Context, integration_id: str) -> Integration:
    """Go on from where it was. Raises NotFound or InvalidState."""
    async with ctx.writing() as session:
        await hasten(session, KIND, as_uuid(integration_id) or "")
        integration = await _to_run(ctx, session, integration_id)
        if integration.status == IntegrationStatus.ACTION_REQUIRED.value:
            raise InvalidState("The connection needs a new consent: reconnect it", field=("id",))
        if integration.status in (IntegrationStatus.PENDING.value, _GOING):
            raise InvalidState("The connection is not complete, or is being removed", field=("id",))
        if integration.sealed is None:
            words = "Its owner has left, and what it was read with is forgotten: connect the account again"
            raise InvalidState(words, field=("id",))
        if integration.status == IntegrationStatus.PAUSED.value:
            due = max(now(), integration.retry_at or now())
            values = {"status": IntegrationStatus.ACTIVE.value, "is_suspended": False, "next_sync_at": due}
            integration = await session.update(integration, **values, **changes.next_version(integration))
            await _log(ctx, session, "integration_resumed", integration)
    ctx.forget()
    return integration


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def sync_integration(ctx: Context, integration_id: str, full: bool = False) -> Queued:
    """Have the caller's own connection read now, all of it or what changed; a run that waits is the answer.

    Raises NotFound or InvalidState.
    """
    async with ctx.writing() as session:
        await hasten(session, KIND, as_uuid(integration_id) or "")
        integration = await own_to_change(ctx, session, integration_id)
        if integration.status != IntegrationStatus.ACTIVE.value:
            words = "The connection is not being synchronised: it is paused, not complete, or needs a member to act"
            raise InvalidState(words, field=("id",))
        run = await queue_run(session, integration.id, full=full)
    ctx.forget()
    return Queued(integration, run)


async def queue_run(session: TenantSession, integration_id: str, *, full: bool = False) -> SyncRun:
    """The run that waits for its turn, or a new one; one that is asked to read everything does."""
    mode = IntegrationRunMode.FULL if full else IntegrationRunMode.INCREMENTAL
    waiting = await statements.queued_run(session, integration_id)
    if waiting is None:
        [made] = await session.insert(new_row(SyncRun, integration_id=integration_id, mode=mode.value))
        return made
    return await session.update(waiting, mode=mode.value) if full else waiting


@requires(ScopeGroup.CRM_MANAGE, writes=True)
async def disconnect_integration(ctx: Context, integration_id: str, delete_synced: bool = False) -> Disconnected:
    """Forget what is secret at once, and have the connection removed, with what it brought or without.

    Raises NotFound.
    """
    async with ctx.writing() as session:
        waiting = await jobs.unfinished(session, KIND, as_uuid(integration_id))
        integration = await _to_run(ctx, session, integration_id)
        if integration.status == _GOING:
            raise NotFound(field=("id",))
        revoking = sources.revocation_of(ctx.services.identity.pepper, integration, ctx.services.accounts)
        await waits.remember(session, integration)
        values = {"status": _GOING, "sealed": None, "next_sync_at": None, "retry_at": None, "grant_sealed": None}
        values["account_key"] = integration.id  # so that the account can be connected anew at once
        integration = await session.update(integration, **values, **changes.next_version(integration))
        await statements.forget_content(session, integration.id)
        await notices.forget_account(session, integration.id)
        await statements.cancel_queued(session, integration.id)
        arguments = {"integration_id": integration.id, "delete_synced": delete_synced, **revoking}
        job = await enqueue(session, removal.KIND, arguments)
        await _log(ctx, session, "integration_disconnected", integration, deleted=delete_synced)
    if waiting is not None:  # a run that has begun finds out by itself
        await ctx.commit()  # a worker has the job's place in the queue before the connection (decision 1200)
        async with ctx.writing() as session:
            await supersede(session, waiting.id)
    ctx.forget()
    return Disconnected(integration.id, job if delete_synced else None)


async def _log(ctx: Context, session: TenantSession, type: str, integration: Integration, **data: object) -> None:
    told = {"integration_id": integration.id, "provider": integration.provider, **data}
    await changes.append_event(ctx, session, type, told)
