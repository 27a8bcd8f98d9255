"""The streams that a run reads, and when it may ask: a provider may let the history of chats be looked at seldom."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from contract.integrations import (
    IntegrationProblemCode,
    IntegrationProvider,
    IntegrationRunMode,
    IntegrationStreamKind,
)
from jobs.sync.rules import window_of
from providers.accounts.chats import Chats
from providers.accounts.consents import Accounts
from storage.tables import Integration, SyncStream

_ANEW = timedelta(days=1)
"""How long a stream goes without everything being read anew, so that the days that are followed move on."""
_NEVER = datetime.min.replace(tzinfo=UTC)


def in_turn(
    accounts: Accounts, integration: Integration, streams: Sequence[SyncStream]
) -> tuple[Sequence[SyncStream], float | None]:
    """The streams that are read now, and the seconds until it is the turn of others.

    Where a provider lets one be read at a time, it is one that the provider told of, else the one that was read
    longest ago (decision 916).
    """
    followed = [stream for stream in streams if stream.enabled]
    pause = history_pause(accounts, integration)
    if pause <= 0 or len(followed) < 2:
        return followed, None
    followed.sort(key=_last_looked)
    followed.sort(key=lambda each: each.noticed_at is None)
    waits = any(each.noticed_at is not None or is_unread(each) for each in followed[1:])
    return followed[:1], pause if waits else None


def is_thorough(stream: SyncStream, mode: str, present: datetime) -> bool:
    """Says whether all of the stream is read, and not only what changed: that may take long."""
    window_from, _ = window_of(present)
    if is_unread(stream) or stream.confirmed_at is None or mode == IntegrationRunMode.FULL.value:
        return True
    anew = stream.confirmed_at < present - _ANEW or stream.window_from != window_from
    return anew and stream.kind != IntegrationStreamKind.MAIL  # which never changes, and may take a call for each


def is_unread(stream: SyncStream) -> bool:
    """Says whether everything is wanted, or a pass over everything has not ended yet (decision 1032)."""
    return stream.wants_full or stream.confirmed_at is None


def _last_looked(stream: SyncStream) -> datetime:
    return max(stream.synced_at or _NEVER, stream.confirmed_at or _NEVER)


def history_pause(accounts: Accounts, integration: Integration) -> float:
    """The seconds that the provider wants between two looks into the history of chats."""
    provider: object = accounts.providers.get(IntegrationProvider(integration.provider))
    if isinstance(provider, Chats):
        return provider.history_pause
    return 0.0


def too_early(accounts: Accounts, integration: Integration, present: datetime, *, was_asked: bool) -> timedelta | None:
    """Says how long a run has to wait, by the provider's own word; None where it may begin.

    Nothing cuts short what the provider asked to wait, a member's wish neither (decision 1014); a member need not wait
    between two looks into the history of chats.
    """
    due = None
    if integration.problem_code == IntegrationProblemCode.RATE_LIMITED.value:
        due = integration.retry_at
    elif integration.last_synced_at is not None and not was_asked:
        due = integration.last_synced_at + timedelta(seconds=history_pause(accounts, integration))
    return due - present if due is not None and due > present else None
