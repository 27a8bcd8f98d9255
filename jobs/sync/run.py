"""One run of a connection: what changed is read in pages, each kept in a transaction of its own; then the sweep.

A run that is cut off anywhere is repeated: what it had kept is found by its key, and nothing is there twice. A pass
that did not reach the provider's end removes nothing.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

from contract.integrations import (
    CONFIRM_SECONDS,
    LARGE_REMOVAL,
    PROGRESS_SECONDS,
    VISIBILITY_WIDTH,
    IntegrationProblemCode,
    IntegrationProvider,
    IntegrationStreamKind,
    SyncVisibility,
)
from jobs.sync import sources
from jobs.sync.channels import look
from jobs.sync.events import happened, synchronised
from jobs.sync.filling import fill_all, look_first
from jobs.sync.judge import Rules
from jobs.sync.leaving import drop_items, is_left_out
from jobs.sync.lifecycle import Begun, Done, begin, end_where_gone, failed, succeeded
from jobs.sync.mail import keep_mail
from jobs.sync.mail_rules import MAIL_SOURCES
from jobs.sync.meetings import Connection, Meetings
from jobs.sync.narrowing import narrow_all, narrow_unread
from jobs.sync.notices import KIND
from jobs.sync.pages import Pass, keep
from jobs.sync.parts import Shown, parts_of
from jobs.sync.recordings import placed
from jobs.sync.refresh import Renewal
from jobs.sync.rules import rules_of, window_of
from jobs.sync.turns import in_turn, is_thorough, is_unread
from jobs.sync.watches import tend
from jobs.sync.writing import Outcome
from jobs.work import NoPlace, NotYet, Retry, Run, work
from providers.accounts.ports import AccountError, Asked, Cursor, Gone, Mail, More, Reader, Seen, StartOver, Told
from storage.base import now
from storage.queries import integrations, notices, sync
from storage.tables import Integration, SyncRun, SyncStream
from storage.tenancy.sessions import TenantSession

_MAIL = IntegrationStreamKind.MAIL
_ENOUGH = 10_000  # attempts of a job: a first run that is killed often goes on all the same
_SECONDS = 3_600.0


class Stopped(Exception):
    """The connection was paused or removed meanwhile."""


@dataclass(slots=True)
class _Sum:
    """The work that the run has done so far."""

    calls: int = 0
    processed: int = 0
    has_changed: bool = False
    wants_confirmation: bool = False
    wait: float | None = None
    told_at: float = field(default_factory=time.monotonic)


@work(KIND, attempts=_ENOUGH, seconds=_SECONDS)
async def synchronise(run: Run, integration_id: str) -> None:
    """Read what changed, and make meetings of it. Raises Retry where it is to go on at another time than usual.

    Requests go first at each of its steps (decision 1175).
    """
    await run.ports.paced(partial(_synchronise, run, integration_id))


async def _synchronise(run: Run, integration_id: str) -> None:
    try:
        begun = await begin(run, integration_id)
    except (NotYet, NoPlace):
        await narrow_unread(run, integration_id)
        raise
    if begun is None:
        await narrow_unread(run, integration_id)
        await end_where_gone(run, integration_id)
        return
    so_far = _Sum()
    try:
        await narrow_all(run, begun.integration, begun.streams, begun.visibility, begun.run.id)
        tended = await tend(run, begun)
        so_far.calls += tended.calls + await look(run, begun)
        if begun.integration.last_synced_at is None:
            await look_first(run, begun)
        await _streams(run, begun, so_far)
        thorough = any(is_thorough(each, begun.run.mode, now()) for each in begun.streams if each.enabled)
        so_far.has_changed |= await fill_all(run, begun, is_thorough=thorough)
    except Stopped:
        async with run.writing() as session:
            await integrations.cancel_runs(session, integration_id)
        return
    except AccountError as error:
        run.ports.accounts.count_run(begun.integration.provider, error.code.value, so_far.processed)
        after = await failed(run, begun, error, so_far.calls)
        raise Retry(error.words, after=after) from None
    wait = CONFIRM_SECONDS if so_far.wants_confirmation else so_far.wait
    done = Done(so_far.calls, so_far.has_changed, wait, tended.is_told)
    waits = await succeeded(run, begun, done)
    run.ports.accounts.count_run(begun.integration.provider, "succeeded", so_far.processed)
    if waits:
        raise Retry("Another run was asked for", after=timedelta())
    if wait is not None:
        raise Retry("Another look is to be taken soon", after=timedelta(seconds=wait))


async def _streams(run: Run, begun: Begun, so_far: _Sum) -> None:
    """Read the streams that are followed. A chat channel that is not shown holds up none of the others.

    Raises AccountError.
    """
    wanted, so_far.wait = in_turn(run.ports.accounts, begun.integration, begun.streams)
    held_up: AccountError | None = None
    for stream in wanted:
        if stream.kind == IntegrationStreamKind.CHANNEL:
            async with run.reading() as session:  # a statement for each chat channel that is read
                if await sync.about(session, stream.id) is None:
                    continue
        try:
            await _stream(run, begun, stream, so_far)
        except AccountError as error:
            if stream.kind != IntegrationStreamKind.CHANNEL or error.code is not IntegrationProblemCode.FORBIDDEN:
                raise
            held_up = held_up or error
            taken_up = {"wants_full": True} if is_unread(stream) else {}  # one made since stays
            async with run.writing() as session:  # so that it is another one's turn
                await _update(session, stream, confirmed_at=now(), **taken_up)
    if held_up is not None:
        raise held_up


async def _locked(
    run: Run, session: TenantSession, begun: Begun, told: Told | None = None
) -> tuple[Integration, Connection, Rules]:
    """The connection, locked, with its rules. Raises Stopped."""
    policy = await sync.lock(session)
    integration = await _active(session, begun)
    connection, rules = await rules_of(session, integration, policy, now(), () if told is None else told.addresses)
    return integration, connection, rules


async def _active(session: TenantSession, begun: Begun) -> Integration:
    """The connection, locked. Raises Stopped."""
    integration = await session.find(Integration, id=begun.integration.id, lock=True)
    if integration is None or integration.status != "active":
        raise Stopped
    return integration


class _Anew(Exception):
    """The provider does not know any more where the stream goes on from."""


async def _stream(run: Run, begun: Begun, stream: SyncStream, so_far: _Sum) -> None:
    """Read one stream to its end; all of it, where the provider has forgotten where it goes on from (decision 575)."""
    try:
        await _read(run, begun, stream, so_far)
    except _Anew:
        async with run.writing() as session:
            await _update(session, stream, wants_full=True, cursor=None)
            if (current := await session.find(SyncRun, id=begun.run.id)) is not None:
                await session.update(current, calls=current.calls + so_far.calls)
            [anew] = [each for each in await sync.streams(session, begun.integration.id) if each.id == stream.id]
        so_far.calls = 0
        run.takes_long()
        try:
            await _read(run, begun, anew, so_far)
        except _Anew:
            words = "The provider asks for everything to be read again, and again; it is tried again by itself."
            raise AccountError(IntegrationProblemCode.PROVIDER_ANSWER, words) from None


def _reader(run: Run, begun: Begun, stream: SyncStream) -> Reader:
    """The reader of a stream. Raises AccountError."""
    integration, pepper = begun.integration, run.ports.pepper

    async def content() -> bytes:
        async with run.reading() as session:
            sealed = await integrations.content(session, stream.id)
        if sealed is None:
            raise AccountError(IntegrationProblemCode.FEED_UNREACHABLE, "The content of the feed is gone: replace it.")
        return sources.opened_content(pepper, stream.id, sealed)

    secret = sources.opened_secret(pepper, integration.id, integration.sealed)
    if secret.account is None:
        return sources.reader_of(run.ports, secret, content, now)
    provider = sources.provider_of(run.ports, integration.provider)
    renewal = Renewal(run.reading, run.apart, pepper, provider.oauth, integration.id)
    return sources.account_reader(provider, secret.account, stream, renewal.token)


async def _read(run: Run, begun: Begun, stream: SyncStream, so_far: _Sum) -> None:
    """Read one stream to its end. Raises _Anew."""
    present = now()
    window_from, window_until = window_of(present)
    thorough = is_thorough(stream, begun.run.mode, present)
    cursor = sources.opened_cursor(run.ports.pepper, stream.id, stream.cursor)
    if thorough:  # unconfirmed until it has ended; who asks for everything meanwhile gets another pass (decision 1032)
        async with run.writing() as session:
            await _update(session, stream, wants_full=False, confirmed_at=None)
    asked = Asked(None if thorough else cursor, thorough, window_from, window_until, cursor, stream.noticed_at)
    told = Told()
    reader = _reader(run, begun, stream)
    generation, shown, end = stream.generation, 0, None
    try:
        async for changes in reader.read(asked, told):
            page = [each for each in changes if isinstance(each, Seen | Gone | Mail)]
            expected = next((each.expected for each in changes if isinstance(each, More)), None)
            end = next((each for each in changes if isinstance(each, Cursor)), None)
            if any(isinstance(each, StartOver) for each in changes):
                raise _Anew
            if generation == stream.generation and not (end and end.is_unchanged):
                generation += told.is_complete
            for part in parts_of(page):
                shown += len(part)
                await _page(run, begun, stream, generation, part, expected, told, so_far)
    finally:
        so_far.calls += told.calls
    if end is None:
        words = "The provider's answer has no end; it is read again by itself."
        raise AccountError(IntegrationProblemCode.PROVIDER_ANSWER, words)
    is_whole = told.is_complete and not end.is_unchanged
    if is_whole and not await _sweep(run, begun, stream, generation, shown, told, so_far):
        return
    await _ended(run, begun, stream, generation, end, asked)


async def _page(
    run: Run,
    begun: Begun,
    stream: SyncStream,
    generation: int,
    page: Sequence[Shown],
    expected: int | None,
    told: Told,
    so_far: _Sum,
) -> None:
    async with run.writing() as session:
        integration, connection, rules = await _locked(run, session, begun, told)
        if VISIBILITY_WIDTH[connection.visibility] > VISIBILITY_WIDTH[SyncVisibility(integration.shown)]:
            integration = await session.update(integration, shown=connection.visibility.value)  # from the first page on
        about = await sync.about(session, stream.id) if stream.kind == IntegrationStreamKind.CHANNEL else None
        going = Pass(stream.id, generation, run.ports.pepper, rules, now(), begun.run.id, stream.kind, about)
        if stream.kind == _MAIL:
            mails = [each for each in page if isinstance(each, Mail)]
            source = MAIL_SOURCES[IntegrationProvider(integration.provider)].value
            done = await keep_mail(session, connection, going, mails, source)
        else:
            events = [each for each in page if not isinstance(each, Mail)]
            if stream.kind == IntegrationStreamKind.RECORDINGS:
                events = await placed(session, integration, stream.id, events)
            done = await keep(session, connection, going, events)
        if generation != stream.generation:
            await _update(session, stream, generation=generation)
        so_far.processed += done.processed
        outcome = done.outcome
        so_far.has_changed = so_far.has_changed or bool(outcome.created or outcome.updated or outcome.removed)
        current = await session.find(SyncRun, id=begun.run.id)
        if current is None:
            raise Stopped
        await session.update(
            current,
            processed=so_far.processed,
            expected=expected,
            created=current.created + len(outcome.created),
            updated=current.updated + len(outcome.updated),
            removed=current.removed + len(outcome.removed),
            skipped=current.skipped + done.skipped,
        )
        await synchronised(session, integration, begun.run.id, outcome, done.events, kind=stream.kind)
        if time.monotonic() - so_far.told_at >= PROGRESS_SECONDS:
            so_far.told_at = time.monotonic()
            await _progressed(session, integration, begun, so_far.processed, expected)


async def _progressed(
    session: TenantSession, integration: Integration, begun: Begun, processed: int, expected: int | None
) -> None:
    share = percentage(processed, expected)
    data = {"processed": processed, "expected": expected, "percentage": share}
    await happened(session, integration, "integration_progressed", begun.run.id, **data)


def percentage(processed: int, expected: int | None) -> int | None:
    """Says how far a run has come, in percent: never all of it before its end."""
    return None if not expected else min(99, processed * 100 // expected)


async def _sweep(
    run: Run, begun: Begun, stream: SyncStream, generation: int, shown: int, told: Told, so_far: _Sum
) -> bool:
    """Remove what the pass did not meet. False where that is so much that another pass has to confirm it."""
    window_from, _ = window_of(now())
    async with run.writing() as session:
        await _locked(run, session, begun)
        missing = await sync.count_stale(session, stream.id, generation, window_from)
        total = await sync.count_items(session, stream.id)
        if told.confirms_removals and _is_large(missing, total, shown):
            newly = missing
            if stream.doubted is not None:
                newly = await sync.count_stale(session, stream.id, generation, window_from, stream.doubted)
            if stream.doubted is None or (newly and _is_large(newly, total, shown)):
                await _update(session, stream, generation=generation, doubted=generation, wants_full=True)
                so_far.wants_confirmation = True
                return False
    while await _sweep_batch(run, begun, stream, generation, window_from, so_far):
        pass
    return True


def _is_large(missing: int, total: int, shown: int) -> bool:
    """Says whether a removal has to be confirmed: of more than half, or of all, as nothing is shown (decision 364)."""
    return missing > 0 and (shown == 0 or (missing >= LARGE_REMOVAL and missing * 2 > total))


async def _sweep_batch(
    run: Run, begun: Begun, stream: SyncStream, generation: int, since: datetime, so_far: _Sum
) -> bool:
    """One batch in a transaction; whether there was any."""
    async with run.writing() as session:
        integration, connection, rules = await _locked(run, session, begun)
        ids = await sync.stale(session, stream.id, generation, since)
        if not ids:
            await sync.forget_old(session, stream.id, generation)
            return False
        outcome = await let_go(session, connection, rules, ids, since)
        so_far.has_changed = so_far.has_changed or bool(outcome.removed or outcome.updated)
        current = await session.find(SyncRun, id=begun.run.id)
        if current is not None:
            removed, updated = current.removed + len(outcome.removed), current.updated + len(outcome.updated)
            await session.update(current, removed=removed, updated=updated)
        await synchronised(session, integration, begun.run.id, outcome)
        return True


async def let_go(
    session: TenantSession, connection: Connection, rules: Rules, item_ids: Sequence[str], since: datetime
) -> Outcome:
    """Delete items with their occurrences; the meetings of those that lie before the days that are followed stay."""
    rows = await sync.occurrences(session, "item_id", item_ids)
    near = (row for row in rows if row.starts_at is None or row.starts_at >= since)
    lost = [row for row in near if not is_left_out(row)]
    meetings = Meetings(session, connection, rules, now())
    await meetings.find([], lost)
    outcome = await meetings.settle([], lost)
    await drop_items(session, item_ids, rows)
    return outcome


async def _ended(run: Run, begun: Begun, stream: SyncStream, generation: int, end: Cursor, asked: Asked) -> None:
    """The stream was read to its end: that is where it goes on from."""
    cursor = sources.sealed_cursor(run.ports.pepper, stream.id, end.text)
    moment = now()
    confirmed = moment if asked.thorough else stream.confirmed_at
    if end.is_unchanged:
        async with run.writing() as session:
            await _active(session, begun)
            await _noted(session, stream)
            await _update(session, stream, synced_at=moment, cursor=cursor)
        return
    async with run.writing() as session:
        await _active(session, begun)
        await _noted(session, stream)
        await _update(
            session,
            stream,
            cursor=cursor,
            generation=generation,
            doubted=None,
            window_from=None if stream.kind == _MAIL else asked.window_from,
            window_until=None if stream.kind == _MAIL else asked.window_until,
            synced_at=moment,
            confirmed_at=confirmed,
        )


async def _noted(session: TenantSession, stream: SyncStream) -> None:
    """The provider's notice of a change to the stream is done with."""
    if stream.noticed_at is not None:
        await notices.taken_up(session, stream)


async def _update(session: TenantSession, stream: SyncStream, **changes: object) -> None:
    """Change the stream, unless it is gone."""
    current = await session.find(SyncStream, id=stream.id)
    if current is None:
        raise Stopped
    await session.update(current, **changes)
