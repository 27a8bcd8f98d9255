"""Deletes items that the provider shows no more, but for what a member left out of them."""

from collections.abc import Collection, Sequence

from contract.integrations import IntegrationItemDecision
from storage.queries import sync
from storage.tables import SyncItem, SyncOccurrence
from storage.tenancy.sessions import TenantSession


def is_left_out(row: SyncOccurrence) -> bool:
    """Says whether a member had it left out, which holds when it is shown again (decision 1131)."""
    return row.decision == IntegrationItemDecision.IGNORE


async def drop_items(session: TenantSession, ids: Collection[str], rows: Sequence[SyncOccurrence]) -> None:
    """Delete these items, whose occurrences these were; one of which something was left out is kept for that alone."""
    kept = {row.item_id for row in rows if is_left_out(row)}
    if kept:
        await sync.expect_again(session, kept)
    await sync.delete_each(session, SyncItem, [each for each in ids if each not in kept])
