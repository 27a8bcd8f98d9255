"""The types of connections to accounts elsewhere on the GraphQL surface: what they and their runs show."""

from datetime import datetime
from typing import Annotated

import strawberry

from contract.integrations import (
    WINDOWED,
    IntegrationOwnership,
    IntegrationProblemCode,
    IntegrationProvider,
    IntegrationRunMode,
    IntegrationRunStatus,
    IntegrationSkipReason,
    IntegrationStatus,
    IntegrationStreamKind,
    SyncVisibility,
)
from resolvers import accounts, deals, integration_channels, integration_views, integrations
from resolvers.integrations import Connected, ProviderView
from schema import integration_enums as _vocabularies  # noqa: F401  # declares the enums
from schema.connections import Node
from schema.declare import Info, argument, computed_field, field, guarded_field
from schema.execution.selections import selected
from schema.links import AccountLink, DealLink
from storage.rows import SyncRunRow, SyncStreamRow


@strawberry.type(description="A provider of the catalogue.")
class IntegrationProviderInfo:
    available: bool = field("Whether it can be connected here now.")

    @computed_field("Which one.")
    def provider(root: strawberry.Parent[ProviderView]) -> IntegrationProvider:
        return root.info.provider

    @computed_field("What it is called.")
    def name(root: strawberry.Parent[ProviderView]) -> str:
        return root.info.name

    @computed_field("Whose a connection to it is.")
    def ownership(root: strawberry.Parent[ProviderView]) -> IntegrationOwnership:
        return root.info.ownership

    @computed_field("What it can bring.")
    def kinds(root: strawberry.Parent[ProviderView]) -> list[IntegrationStreamKind]:
        return list(root.info.kinds)

    @computed_field(
        "The settings that the operator still has to give, by name; empty where it is available or not allowed by the "
        "policy."
    )
    def missing_settings(root: strawberry.Parent[ProviderView]) -> list[str]:
        return root.missing_settings

    @computed_field("The permissions that the provider will ask the member for, in its own words.")
    def permissions(root: strawberry.Parent[ProviderView]) -> list[str]:
        return list(root.info.permissions)

    push: bool = field("Whether the provider tells of changes, or is asked now and then.")


@strawberry.type(description="What holds a connection up, in words for the member.")
class IntegrationProblem:
    code: IntegrationProblemCode = field("What it is, for programs.")
    message: str = field("What it is and what to do, for people.")
    since: datetime = field("When it began.")
    retry_at: datetime | None = field("When it is tried again by itself; null where a member has to act.")


@strawberry.type(description="What the owner of a connection chooses.")
class IntegrationSettings:
    visibility: SyncVisibility = field("What the others see.")
    auto_create_contacts: bool = field("Whether people who take part and are no contact yet become one.")
    take_internal: bool = field("Whether meetings among internal addresses alone are taken.")


@strawberry.type(description="One thing that is followed.")
class IntegrationStream:
    id: strawberry.ID = field("The stream's identifier.")
    name: str = field("What the members call it.")
    enabled: bool = field("Whether it is followed.")

    @computed_field("The days that are followed now; null for e-mail and chat.")
    def window_from(root: strawberry.Parent[SyncStreamRow]) -> datetime | None:
        return root.window_from if root.kind in WINDOWED else None

    @computed_field("The end of the days that are followed.")
    def window_until(root: strawberry.Parent[SyncStreamRow]) -> datetime | None:
        return root.window_until if root.kind in WINDOWED else None

    @computed_field("What kind of stream it came by.")
    def kind(root: strawberry.Parent[SyncStreamRow]) -> IntegrationStreamKind:
        return IntegrationStreamKind(root.kind)

    @computed_field("When it was last read to its end.")
    def last_synced_at(root: strawberry.Parent[SyncStreamRow]) -> datetime | None:
        return root.synced_at


@strawberry.type(description="A chat channel and what it is about.")
class IntegrationChannel:
    channel_id: str = field("The provider's identifier of the channel.")
    name: str = field("The channel's name at the provider.")

    @guarded_field(accounts.get_account, "The account that it is about.", "account_id")
    async def account(root: strawberry.Parent[integration_channels.Channel], info: Info) -> AccountLink | None:
        if root.account_id is None:
            return None
        return await accounts.get_account(info.context, root.account_id, selection=selected(info))

    @guarded_field(deals.get_deal, "The deal that it is about.", "deal_id")
    async def deal(root: strawberry.Parent[integration_channels.Channel], info: Info) -> DealLink | None:
        if root.deal_id is None:
            return None
        return await deals.get_deal(info.context, root.deal_id, selected(info))


@strawberry.type(description="How far the run that is under way has come.")
class IntegrationProgress:
    mode: IntegrationRunMode | None = field("Null while nothing runs.")
    percentage: int | None = field(
        "0 to 100; null while the provider has not said, and no earlier run shows, how much there is."
    )
    processed: int = field("Items seen in this run.")
    expected: int | None = field("How much there is, as far as it is known.")


@strawberry.type(description="How often a reason occurred.")
class IntegrationSkipCount:
    reason: IntegrationSkipReason = field("Why it was left out; null where it was taken.")
    count: int = field("How many.")


@strawberry.type(description="What there is of a connection now.")
class IntegrationCounts:
    meetings: int = field("Meetings that it shows.")
    emails: int = field("E-mails that it brought: activities of type EMAIL, by their headers alone.")
    skipped: int = field("Items left out.")
    skipped_by: list[IntegrationSkipCount] = field("The same by reason, the most frequent first.")


@strawberry.type(description="One run of the synchronisation.")
class IntegrationRun:
    id: strawberry.ID = field("The run's identifier.")
    queued_at: datetime = field("When it was asked for.")
    started_at: datetime | None = field("When it began.")
    finished_at: datetime | None = field("When it ended.")
    calls: int = field("Calls that the provider was asked, refreshes of tokens aside.")
    processed: int = field("Items that the provider showed.")
    created: int = field("Meetings and e-mails made.")
    updated: int = field("Those changed.")
    removed: int = field("Those deleted.")
    skipped: int = field("Items left out.")

    @computed_field("How it reads.")
    def mode(root: strawberry.Parent[SyncRunRow]) -> IntegrationRunMode:
        return IntegrationRunMode(root.mode)

    @computed_field("What has become of it.")
    def status(root: strawberry.Parent[SyncRunRow]) -> IntegrationRunStatus:
        return IntegrationRunStatus(root.status)

    @computed_field("Why it failed.")
    def problem(root: strawberry.Parent[SyncRunRow]) -> IntegrationProblemCode | None:
        return None if root.problem is None else IntegrationProblemCode(root.problem)


@strawberry.type(description="A connection to an account somewhere else. Its tokens are never shown.")
class Integration(Node):
    owner_id: str | None = field("The member whose account it is; null where it is the organization's.")
    name: str = field("What the members call it.")
    last_synced_at: datetime | None = field("The end of the latest run that succeeded.")
    created_at: datetime = field("When it was begun.")
    updated_at: datetime = field("When a member last changed it.")
    version: int = field("Counts the changes, for expectedVersion.")

    @computed_field("Whose account.", "provider")
    def provider(root: strawberry.Parent[Connected]) -> IntegrationProvider:
        return IntegrationProvider(root.provider)

    @computed_field("Whether it is a member's or the organization's.", "provider")
    def ownership(root: strawberry.Parent[Connected]) -> IntegrationOwnership:
        return integration_views.ownership_of(root.provider)

    @guarded_field(
        integrations.label_of_integration,
        "The account at the provider, usually an address; null for callers who are neither its owner nor "
        "organizations:manage.",
    )
    async def account_label(root: strawberry.Parent[Connected], info: Info) -> str | None:
        return await integrations.label_of_integration(info.context, root.id)

    @computed_field("Where it stands.", "status")
    def status(root: strawberry.Parent[Connected]) -> IntegrationStatus:
        return IntegrationStatus(root.status)

    @computed_field("What holds it up; null where nothing does.")
    def problem(root: strawberry.Parent[Connected]) -> IntegrationProblem | None:
        return integration_views.problem_of(root)

    @computed_field("What its owner chose.")
    def settings(root: strawberry.Parent[Connected]) -> IntegrationSettings:
        return integration_views.settings_of(root)

    @guarded_field(integrations.streams_of_integration, "What it follows and could follow.")
    async def streams(root: strawberry.Parent[Connected], info: Info) -> list[IntegrationStream]:
        return await integrations.streams_of_integration(info.context, root.id)

    @guarded_field(integration_channels.channels_of_integration, "The chat channels that are linked to a record.")
    async def channels(root: strawberry.Parent[Connected], info: Info) -> list[IntegrationChannel]:
        return await integration_channels.channels_of_integration(info.context, root.id)

    @guarded_field(integration_views.progress_shown, "How far the present run has come.")
    async def progress(root: strawberry.Parent[Connected], info: Info) -> IntegrationProgress:
        return await integration_views.progress_shown(info.context, root.id)

    @guarded_field(integration_views.counts_of_integration, "What there is of it now.")
    async def counts(root: strawberry.Parent[Connected], info: Info) -> IntegrationCounts:
        return await integration_views.counts_of_integration(info.context, root.id)

    @guarded_field(integrations.runs_of_integration, "The latest runs, newest first; 50 are kept.")
    async def runs(
        root: strawberry.Parent[Connected],
        info: Info,
        first: Annotated[int | None, argument("How many, 0 to 50.")] = 20,
    ) -> list[IntegrationRun]:
        return await integrations.runs_of_integration(info.context, root.id, 20 if first is None else first)

    @computed_field("When it is looked at again without being asked; null unless ACTIVE.", "next_sync_at", "status")
    def next_sync_at(root: strawberry.Parent[Connected]) -> datetime | None:
        return root.next_sync_at if root.status == IntegrationStatus.ACTIVE else None

    @guarded_field(integration_views.is_told, "Whether the provider's notices of changes arrive.")
    async def push(root: strawberry.Parent[Connected], info: Info) -> bool:
        return await integration_views.is_told(info.context, root.id)
