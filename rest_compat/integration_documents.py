"""Writes connections and their runs as documents."""

from __future__ import annotations

from asyncio import gather
from collections.abc import Sequence
from dataclasses import asdict
from typing import Final

from contract.integrations import WINDOWED, IntegrationStatus
from resolvers import integration_channels, integration_views, integrations
from resolvers.integrations import Connected
from resolvers.shared.context import Context
from rest_compat.operations import RestResponse
from rest_compat.schemas import JsonObject
from storage.tables import SyncRun, SyncStream


def settings_document(view: integration_views.SettingsView) -> JsonObject:
    return {
        "visibility": view.visibility.value,
        "auto_create_contacts": view.auto_create_contacts,
        "take_internal": view.take_internal,
    }


def etag_of(version: int) -> dict[str, str]:
    return {"ETag": f'"{version}"'}


async def answer_of(ctx: Context, integration: Connected) -> RestResponse:
    [document] = await all_shown(ctx, [integration])
    return RestResponse(document, etag_of(integration.version))


async def all_shown(ctx: Context, found: Sequence[Connected]) -> list[JsonObject]:
    return list(await gather(*(_shown(ctx, each) for each in found)))


async def _shown(ctx: Context, each: Connected) -> JsonObject:
    """Returns the document; what stands beside the columns comes in a statement for all of a page."""
    label, streams, channels, progress, counts, is_told = await gather(
        integrations.label_of_integration(ctx, each.id),
        integrations.streams_of_integration(ctx, each.id),
        integration_channels.channels_of_integration(ctx, each.id),
        integration_views.progress_shown(ctx, each.id),
        integration_views.counts_of_integration(ctx, each.id),
        integration_views.is_told(ctx, each.id),
    )
    problem = integration_views.problem_of(each)
    is_active = each.status == IntegrationStatus.ACTIVE
    return {
        "id": each.id,
        "org_id": each.org_id,
        "provider": each.provider,
        "ownership": integration_views.ownership_of(each.provider).value,
        "owner_id": each.owner_id,
        "name": each.name,
        "account_label": label,
        "status": each.status,
        "problem": None
        if problem is None
        else {
            "code": problem.code.value,
            "message": problem.message,
            "since": problem.since,
            "retry_at": problem.retry_at,
        },
        "settings": settings_document(integration_views.settings_of(each)),
        "streams": [_stream(stream) for stream in streams],
        "channels": [asdict(channel) for channel in channels],
        "progress": {
            "mode": None if progress.mode is None else progress.mode.value,
            "percentage": progress.percentage,
            "processed": progress.processed,
            "expected": progress.expected,
        },
        "counts": {
            "meetings": counts.meetings,
            "emails": counts.emails,
            "skipped": counts.skipped,
            "skipped_by": [{"reason": by.reason.value, "count": by.count} for by in counts.skipped_by],
        },
        "last_synced_at": each.last_synced_at,
        "next_sync_at": each.next_sync_at if is_active else None,
        "push": is_told,
        "created_at": each.created_at,
        "updated_at": each.updated_at,
        "version": each.version,
    }


def _stream(stream: SyncStream) -> JsonObject:
    return {
        "id": stream.id,
        "kind": stream.kind,
        "name": stream.name,
        "enabled": stream.enabled,
        "window_from": stream.window_from if stream.kind in WINDOWED else None,
        "window_until": stream.window_until if stream.kind in WINDOWED else None,
        "last_synced_at": stream.synced_at,
    }


_RUN_KEYS: Final = (
    *("id", "mode", "status", "queued_at", "started_at", "finished_at", "calls", "processed", "created", "updated"),
    *("removed", "skipped", "problem"),
)


def run_document(run: SyncRun) -> JsonObject:
    return {key: getattr(run, key) for key in _RUN_KEYS}
