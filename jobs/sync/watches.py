"""The channels by which providers tell of changes: asked for, renewed, overlapped and stopped.

A channel is renewed at half of what was granted, and the former one is stopped a while after the next one holds.
Without any the connection is read at its usual pace (decision 912).
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from contract.integrations import (
    WATCH_AGAIN_SECONDS,
    WATCH_OVERLAP_SECONDS,
    WATCH_SECONDS,
    IntegrationProblemCode,
    IntegrationProvider,
    IntegrationStatus,
)
from identity.encryption import opened, seal
from identity.secrets import peppers
from jobs.sync import sources
from jobs.sync.lifecycle import Begun
from jobs.sync.notices import notice_token
from jobs.sync.refresh import Renewal
from jobs.sync.writing import as_changed
from jobs.work import Run, work
from providers.accounts.calls import Refused
from providers.accounts.consents import AccountProvider
from providers.accounts.oauth import OAuth
from providers.accounts.ports import AccountError
from providers.accounts.watching import Channel, Watching
from storage.base import new_id, now
from storage.new_rows import new_row
from storage.queries import notices, sync
from storage.tables import Integration, StreamWatch, SyncStream

KIND = "integration_watches_end"
_AGAIN = timedelta(seconds=WATCH_AGAIN_SECONDS)
_PASSING = frozenset({IntegrationProblemCode.RATE_LIMITED, IntegrationProblemCode.PROVIDER_UNAVAILABLE})


@dataclass(slots=True)
class Tended:
    """The channels after a look at them, and the calls it took.

    `is_told` says whether one tells of each stream that is followed; it is None where there are no such channels.
    """

    is_told: bool | None = None
    calls: int = 0


@dataclass(frozen=True, slots=True)
class _Asking:
    """A connection on whose behalf a provider is asked, and what came of it so far."""

    run: Run
    provider: Watching
    which: IntegrationProvider
    address: str
    renewal: Renewal
    done: Tended


async def tend(run: Run, begun: Begun) -> Tended:
    """Ask for the channels that are missing or half over, before the streams are read; stop those that are replaced."""
    done = Tended()
    accounts, which = run.ports.accounts, IntegrationProvider(begun.integration.provider)
    provider, address = accounts.providers.get(which), accounts.hook(which)
    if provider is None or address is None or not isinstance(provider, Watching):
        return done
    account = sources.opened_secret(run.ports.pepper, begun.integration.id, begun.integration.sealed).account
    if account is None:
        return done
    async with run.reading() as session:
        there = await notices.watches(session, begun.integration.id)
    asking = _Asking(run, provider, which, address, _renewal(run, provider.oauth, begun.integration.id), done)
    followed = [stream for stream in begun.streams if stream.enabled]
    told = [each for each in followed if each.kind in provider.watched and each.external_id in account.calendars]
    live = 0
    for stream in told:  # a call for each, and seldom
        own = [each for each in there if each.stream_id == stream.id]
        live += await _held(asking, stream, account.calendars[stream.external_id], own)
    kept = {stream.id for stream in told}
    for watch in there:  # a call for each that is over, and seldom
        if watch.stream_id not in kept or _is_over(watch):
            await _stopped(asking, watch)
    done.is_told = live == len(followed) > 0
    return done


def _renewal(run: Run, oauth: OAuth, integration_id: str) -> Renewal:
    return Renewal(run.reading, run.apart, run.ports.pepper, oauth, integration_id)


def _is_over(watch: StreamWatch) -> bool:
    present = now()
    return watch.expires_at <= present or (watch.ends_at is not None and watch.ends_at <= present)


async def _held(asking: _Asking, stream: SyncStream, calendar: str, own: Sequence[StreamWatch]) -> bool:
    """Says whether a channel tells of the stream, after one was asked for where need be."""
    present, run = now(), asking.run
    current = [each for each in own if each.ends_at is None and each.expires_at > present]
    if current and current[-1].renews_at > present:
        return current[-1].sealed is not None
    watch_id = new_id()
    token = notice_token(run.ports.pepper, asking.which.value, run.org_id, watch_id)
    channel = Channel(watch_id, token, asking.address, present + timedelta(seconds=WATCH_SECONDS))
    made = new_row(
        StreamWatch,
        id=watch_id,
        integration_id=stream.integration_id,
        stream_id=stream.id,
        expires_at=present + _AGAIN,
        renews_at=present + _AGAIN,
    )
    try:
        access = await asking.renewal.token()
        asking.done.calls += 1
        granted = await asking.provider.watch(access, calendar, channel)
    except AccountError as error:
        if error.code in _PASSING or not isinstance(error, Refused) or error.status == 401:
            return any(each.sealed is not None for each in current)
    else:
        sealed = seal(run.ports.pepper, f"watch:{watch_id}", granted.reference.encode())
        half = present + (granted.expires_at - present) / 2
        made = as_changed(made, sealed=sealed, expires_at=granted.expires_at, renews_at=half)
    async with run.writing() as session:
        await session.insert(made)
        ends_at = now() + timedelta(seconds=WATCH_OVERLAP_SECONDS)
        await notices.replace_watches(session, [each.id for each in current], ends_at)
    return made.sealed is not None


async def _stopped(asking: _Asking, watch: StreamWatch) -> None:
    """Stop a channel; one that cannot be stopped ends by itself, and its notices change nothing."""
    run = asking.run
    if watch.sealed is not None and watch.expires_at > now():
        try:
            access = await asking.renewal.token()
            asking.done.calls += 1
            await asking.provider.unwatch(access, watch.id, _reference(run, watch.id, watch.sealed))
        except AccountError as error:
            if error.code in _PASSING:
                return
    async with run.writing() as session:
        await sync.delete_each(session, StreamWatch, [watch.id])


def _reference(run: Run, watch_id: str, sealed: bytes) -> str:
    return opened(peppers(run.ports.pepper), f"watch:{watch_id}", sealed).decode()


@work(KIND)
async def stop(run: Run, integration_id: str) -> None:
    """Stop the channels of a connection that is not read any more."""
    async with run.reading() as session:
        integration = await session.find(Integration, id=integration_id)
        there = await notices.watches(session, integration_id)
    if integration is None or integration.status == IntegrationStatus.ACTIVE.value:
        return
    which = IntegrationProvider(integration.provider)
    provider = run.ports.accounts.providers.get(which)
    if provider is None or not isinstance(provider, Watching):
        return
    asking = _Asking(run, provider, which, "", _renewal(run, provider.oauth, integration.id), Tended())
    for watch in there:  # a call for each
        await _stopped(asking, watch)


async def stop_at_the_end(run: Run, provider: AccountProvider, integration_id: str, token: str) -> str:
    """Stop the channels of a connection that is being removed; the token by which its consent is to be taken back.

    Raises AccountError: what is not stopped ends by itself.
    """
    if not isinstance(provider, Watching):
        return token
    async with run.reading() as session:
        there = await notices.watches(session, integration_id)
    live = [(each.id, each.sealed) for each in there if each.sealed is not None and each.expires_at > now()]
    if not live:
        return token
    renewed = await provider.oauth.renewed(token, now())
    for watch_id, sealed in live:  # a call for each
        with suppress(AccountError):
            await provider.unwatch(renewed.access, watch_id, _reference(run, watch_id, sealed))
    return renewed.refresh or token
