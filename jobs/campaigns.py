"""The provider and the campaigns: it is told what they are, asked how they stand, and what it says is written down.

A call never happens inside a transaction: each run reads, ends its reading, calls, and then writes what came of it.
Telling converges (decision 50): whoever has told the provider something looks whether the campaign is still at that
revision, and if it is not, tells it anew. So the last word that the provider hears is the newest state, whichever
runs were under way at the same time.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from contract.campaign_states import RUNS
from contract.vocabulary import SYSTEM_ACTOR, CampaignStatus, EnrollmentStatus, MailboxStatus, ProviderSync
from jobs import queue
from jobs.work import Retry, Run, WorkFailed, work
from providers.local_sequencing import midnight
from providers.sequencing import (
    LEADS_MAX,
    Gone,
    Lead,
    Move,
    Outline,
    Progress,
    Recipient,
    Refused,
    Running,
    SequencingError,
    State,
    Step,
    Unreachable,
)
from storage.base import now
from storage.queries import campaigns as statements
from storage.queries import nouns, records
from storage.sessions import TenantSession
from storage.tables import Campaign, OutreachMessage

_log = logging.getLogger(__name__)

TELL: Final = "campaign_tell"
ASK: Final = "campaign_ask"
REMOVE: Final = "sequence_remove"
REMOVE_LEAD: Final = "lead_remove"
SYSTEM: Final = SYSTEM_ACTOR
"""The actor of events that no person caused."""

_ATTEMPTS: Final = 12
_ROUNDS: Final = 20
_DUE_MAX: Final = 200
_SHORTEST: Final = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class _Seen:
    """A campaign as it was read: what the provider is to be told."""

    id: str
    revision: int
    is_told: bool
    runs: bool
    provider: str
    sequence_id: str | None
    outline: Outline


async def tell(session: TenantSession, campaign: Campaign) -> None:
    """The provider has something to be told of this campaign, which the transaction has locked (decision 50)."""
    campaign.revision += 1
    campaign.provider_sync = ProviderSync.PENDING.value
    await session.flush()
    # Without a key: a job that waits for its next attempt may wait long, and what is new is told at once.
    await queue.enqueue(session, TELL, {"campaign_id": campaign.id})


async def clean_up(session: TenantSession, provider: str, sequence_id: str) -> None:
    """A sequence is left at the provider that belongs to no campaign any more."""
    await queue.enqueue(session, REMOVE, {"provider": provider, "sequence_id": sequence_id}, key=sequence_id)


async def take_off(session: TenantSession, campaign: Campaign, email: str) -> None:
    """A recipient is to get nothing more of a sequence."""
    if campaign.provider_campaign_id is not None:
        await _take_off(session, campaign.provider, campaign.provider_campaign_id, [email])


async def _take_off(session: TenantSession, provider: str, sequence_id: str, emails: Sequence[str]) -> None:
    """A job for each, in as many statements as for one."""
    removed = [{"provider": provider, "sequence_id": sequence_id, "email": email} for email in emails]
    if removed:
        await queue.enqueue_each(session, REMOVE_LEAD, removed)


@work(TELL, attempts=_ATTEMPTS)
async def tell_provider(run: Run, *, campaign_id: str) -> None:
    """Let the provider's sequence be what the campaign is: there with its recipients and running, or silent."""
    for number in range(_ROUNDS):
        seen = await _read(run, campaign_id)
        if seen is None or (seen.is_told and not number):
            return
        try:
            sequence_id = await _apply(run, seen)
        except Refused as error:
            if await _refused(run, seen, error.words):
                raise WorkFailed(error.words) from None
            continue
        except SequencingError as error:
            await _failed(run, seen, final=run.is_last)
            raise _retry(error) from None
        if await _settle(run, seen, sequence_id):
            return
    raise Retry("The campaign changed too often meanwhile")


async def _read(run: Run, campaign_id: str) -> _Seen | None:
    async with run.reading() as session:
        row = await records.one(session, nouns.CAMPAIGNS, campaign_id)
        if row is None:
            return None
        mailboxes = (await statements.mailboxes_of(session, [row.id]))[row.id]
    return _Seen(
        row.id,
        row.revision,
        row.provider_sync == ProviderSync.SYNCED,
        CampaignStatus(row.status) in RUNS,
        row.provider,
        row.provider_campaign_id,
        outline_of(row, mailboxes),
    )


def outline_of(row: Any, mailboxes: Sequence[Any]) -> Outline:
    """The campaign as a provider is told of it; only mailboxes that can send are named."""
    return Outline(
        key=row.id,
        name=row.name,
        steps=[Step(s["delay_days"], s["subject"], s["body"]) for s in row.steps],
        mailboxes=[m.email for m in mailboxes if m.status == MailboxStatus.ACTIVE],
        daily_limit=row.daily_limit,
        timezone=row.timezone,
        stop_on_reply=row.stop_on_reply,
    )


async def _apply(run: Run, seen: _Seen) -> str | None:
    """Tell the provider; the sequence's identifier. One that was made elsewhere is not this provider's to change."""
    provider = run.ports.sequencing
    if seen.provider != provider.name:
        raise Refused(f"The campaign belongs to another provider: {seen.provider}")
    if not seen.runs:
        return await _silence(run, seen)
    sequence_id = seen.sequence_id or await _made(run, seen)
    if sequence_id is None:
        return None
    try:
        await provider.update(sequence_id, seen.outline)
        await _add_leads(run, seen, sequence_id)
        await provider.activate(sequence_id)
    except Gone:
        await _forget(run, seen, sequence_id)
        raise Unreachable("The sequence is gone at the provider; it is made anew") from None
    return sequence_id


async def _silence(run: Run, seen: _Seen) -> str | None:
    sequence_id = seen.sequence_id
    if sequence_id is not None:
        try:
            await run.ports.sequencing.pause(sequence_id)
        except Gone:
            await _forget(run, seen, sequence_id)
            return None
    return sequence_id


async def _made(run: Run, seen: _Seen) -> str | None:
    """A new sequence, or the one that an attempt made which was cut off before it could write that down.

    None where the campaign has gone meanwhile; a sequence that it turns out to have already is kept in the new one's
    place.
    """
    provider = run.ports.sequencing
    sequence_id = await provider.find(seen.id) if run.attempt > 1 else None
    sequence_id = sequence_id or await provider.create(seen.outline)
    async with run.writing() as session:
        campaign = await records.to_change(session, Campaign, seen.id)
        if campaign is not None and campaign.provider_campaign_id is None:
            campaign.provider_campaign_id = sequence_id
        elif campaign is None or campaign.provider_campaign_id != sequence_id:
            await clean_up(session, seen.provider, sequence_id)
        return None if campaign is None else campaign.provider_campaign_id


async def _forget(run: Run, seen: _Seen, sequence_id: str) -> None:
    async with run.writing() as session:
        campaign = await records.to_change(session, Campaign, seen.id)
        if campaign is not None and campaign.provider_campaign_id == sequence_id:
            campaign.provider_campaign_id = None
            await statements.forget_told(session, campaign.id)


async def _add_leads(run: Run, seen: _Seen, sequence_id: str) -> None:
    while True:
        async with run.reading() as session:
            rows = await statements.untold(session, seen.id, LEADS_MAX)
        if not rows:
            return
        await run.ports.sequencing.add_leads(sequence_id, [Lead(r.email, r.variables) for r in rows])
        async with run.writing() as session:
            there = await statements.told(session, [r.id for r in rows], now())
            # Who was removed meanwhile may have been taken off before the provider took them on.
            gone = [row.email for row in rows if row.id not in there]
            await _take_off(session, seen.provider, sequence_id, gone)


async def _settle(run: Run, seen: _Seen, sequence_id: str | None) -> bool:
    """Write down that the provider knows; False where the campaign is another by now, and has to be told anew."""
    async with run.writing() as session:
        campaign = await records.to_change(session, Campaign, seen.id)
        if campaign is None:
            if sequence_id is not None:
                await clean_up(session, seen.provider, sequence_id)
            return True
        if campaign.revision != seen.revision:
            return False
        if campaign.provider_sync != ProviderSync.SYNCED:
            campaign.provider_sync = ProviderSync.SYNCED.value
            campaign.provider_synced_at = now()
            if seen.runs:
                await _ask_later(session, seen.id, seen.revision, timedelta())
        return True


async def _refused(run: Run, seen: _Seen, words: str) -> bool:
    """The provider will not: a running campaign is blocked. False where the campaign is another by now."""
    async with run.writing() as session:
        campaign = await records.to_change(session, Campaign, seen.id)
        if campaign is None:
            return True
        if campaign.revision != seen.revision:
            return False
        campaign.provider_sync = ProviderSync.FAILED.value
        if CampaignStatus(campaign.status) in RUNS:
            await _block(session, campaign, words)
    return True


async def _failed(run: Run, seen: _Seen, *, final: bool) -> None:
    async with run.writing() as session:
        campaign = await records.to_change(session, Campaign, seen.id)
        if final and campaign is not None and campaign.revision == seen.revision:
            campaign.provider_sync = ProviderSync.FAILED.value


async def _block(session: TenantSession, campaign: Campaign, reason: str) -> None:
    campaign.status = CampaignStatus.BLOCKED.value
    campaign.status_reason = reason
    await _changed(session, campaign, "campaign_blocked")


async def _changed(session: TenantSession, campaign: Campaign, event: str) -> None:
    campaign.version += 1
    campaign.updated_at = now()
    await session.flush()
    await records.append_event(
        session, type=event, area="outreach", actor=SYSTEM, request_id=None, data=event_data(campaign)
    )


def event_data(campaign: Any) -> dict[str, Any]:
    """Makes the data that every event on a campaign has (decision 56)."""
    return {
        "campaign_id": campaign.id,
        "name": campaign.name,
        "status": campaign.status,
        "status_reason": campaign.status_reason,
    }


def _retry(error: SequencingError) -> Retry:
    after = error.after if isinstance(error, Unreachable) else None
    return Retry(error.words, after=None if after is None else timedelta(seconds=after))


async def _ask_later(session: TenantSession, campaign_id: str, revision: int, wait: timedelta) -> None:
    await queue.enqueue(session, ASK, {"campaign_id": campaign_id, "revision": revision}, delay=wait)


@work(ASK, attempts=_ATTEMPTS)
async def ask_provider(run: Run, *, campaign_id: str, revision: int) -> None:
    """Writes down how a running campaign stands; then again when the provider says.

    It ends with the revision that it was begun for: the run that tells the provider of a newer one begins another.
    """
    async with run.reading() as session:
        row = await records.one(session, nouns.CAMPAIGNS, campaign_id)
        if row is None or row.revision != revision or CampaignStatus(row.status) not in RUNS:
            return
        if row.provider_campaign_id is None or row.provider != run.ports.sequencing.name:
            return
        running = await _running(session, row)
    try:
        progress = await run.ports.sequencing.progress(running)
    except SequencingError as error:
        if run.is_last:
            await _later_after_all(run, campaign_id, revision)
            return
        raise _retry(error) from None
    async with run.finishing() as session:
        campaign = await records.to_change(session, Campaign, campaign_id)
        if campaign is None or campaign.revision != revision or CampaignStatus(campaign.status) not in RUNS:
            return
        await _note(session, campaign, progress)
        if CampaignStatus(campaign.status) in RUNS:
            await _ask_later(session, campaign_id, revision, max(_SHORTEST, progress.again - now()))


async def _later_after_all(run: Run, campaign_id: str, revision: int) -> None:
    async with run.finishing() as session:
        await _ask_later(session, campaign_id, revision, timedelta(minutes=30))


async def _running(session: TenantSession, row: Any) -> Running:
    moment = now()
    mailboxes = (await statements.mailboxes_of(session, [row.id]))[row.id]
    due = await statements.due(session, row.id, moment, _DUE_MAX)
    next_at = await statements.next_due(session, row.id, moment)
    if len(due) == _DUE_MAX:
        next_at = moment
    return Running(
        sequence_id=row.provider_campaign_id,
        sequence=outline_of(row, mailboxes),
        due=[Recipient(r.id, Lead(r.email, r.variables), EnrollmentStatus(r.status), r.step, r.next_at) for r in due],
        sent_today=await statements.messages_since(session, row.id, midnight(moment, row.timezone)),
        next_at=next_at,
    )


async def _note(session: TenantSession, campaign: Campaign, progress: Progress) -> None:
    await _note_steps(session, campaign, [m for m in progress.moves if m.id is not None and m.step is not None])
    for status in EnrollmentStatus:
        keys = [m.email.casefold() for m in progress.moves if m.id is None and m.status is status]
        for start in range(0, len(keys), LEADS_MAX):
            await statements.set_statuses(session, campaign.id, keys[start : start + LEADS_MAX], status.value)
    if progress.state is State.BLOCKED:
        await _block(session, campaign, progress.reason or "The provider blocks the campaign")
    elif progress.state is State.COMPLETED and await _is_done(session, campaign):
        campaign.status = CampaignStatus.COMPLETED.value
        campaign.status_reason = None
        await _changed(session, campaign, "campaign_completed")


async def _is_done(session: TenantSession, campaign: Campaign) -> bool:
    """Whether it has recipients and is done with all of them."""
    if await statements.enrolled(session, campaign.id, unfinished=True):
        return False
    return bool(await statements.enrolled(session, campaign.id))


async def _note_steps(session: TenantSession, campaign: Campaign, moves: Sequence[Move]) -> None:
    """The embedded provider's moves, but of recipients that have gone or moved on since they were read."""
    there = await statements.unfinished(session, [move.id for move in moves if move.id is not None])
    messages = []
    for move in moves:
        message, recipient = move.message, there.get(move.id or "")
        seen = message.step if message is not None else move.step
        if recipient is None or recipient.step != seen or move.step is None:
            continue
        recipient.status, recipient.step, recipient.next_at = move.status.value, move.step, move.at
        if move.status.value not in statements.UNFINISHED:
            del there[recipient.id]
        if message is not None:
            messages.append(
                OutreachMessage(
                    campaign_id=campaign.id,
                    enrollment_id=recipient.id,
                    step=message.step,
                    sender=message.sender,
                    recipient=message.recipient,
                    subject=message.subject,
                    body=message.body,
                )
            )
    await session.insert(*messages)


@work(REMOVE, attempts=_ATTEMPTS)
async def remove_sequence(run: Run, *, provider: str, sequence_id: str) -> None:
    """Remove what a deletion had to leave behind; gone already is fine."""
    if provider != run.ports.sequencing.name:
        raise WorkFailed(f"The sequence belongs to another provider: {provider}")
    try:
        await run.ports.sequencing.delete(sequence_id)
    except Gone:
        return
    except Refused as error:
        raise WorkFailed(error.words) from None
    except SequencingError as error:
        raise _retry(error) from None


@work(REMOVE_LEAD, attempts=_ATTEMPTS)
async def remove_lead(run: Run, *, provider: str, sequence_id: str, email: str) -> None:
    """Let the provider send a recipient nothing more."""
    if provider != run.ports.sequencing.name:
        raise WorkFailed(f"The sequence belongs to another provider: {provider}")
    try:
        await run.ports.sequencing.remove_lead(sequence_id, email)
    except Gone:
        return
    except Refused as error:
        raise WorkFailed(error.words) from None
    except SequencingError as error:
        raise _retry(error) from None
