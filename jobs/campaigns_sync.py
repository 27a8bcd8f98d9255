"""Makes the provider's sequence what the campaign is.

A call never happens inside a transaction: each run reads, ends its reading, calls, and then writes what came of it.
It converges (decision 50): a run that has notified the provider looks whether the campaign is still at that revision,
and if it is not, does so again. So the last word that the provider hears is the newest state, whichever
runs were under way at the same time.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from contract.campaign_states import RUNS
from contract.outreach_vocabulary import CampaignStatus, ProviderSync
from jobs.campaigns import TELL, ask_later, block, clean_up, outline_of, take_off_each
from jobs.sequences import ATTEMPTS, failure_of
from jobs.work import Retry, Run, WorkFailed, work
from providers.sequencing import LEADS_MAX, Gone, Lead, Outline, Refused, SequencingError, Unreachable
from storage.base import now
from storage.queries import campaigns as statements
from storage.queries import listables, records
from storage.tables import Campaign

_ROUNDS: Final = 20


@dataclass(frozen=True, slots=True)
class _Seen:
    """A campaign as it was read: what the provider is to know."""

    id: str
    revision: int
    is_told: bool
    runs: bool
    provider: str
    sequence_id: str | None
    outline: Outline


@work(TELL, attempts=ATTEMPTS)
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
            raise failure_of(error) from None
        if await _settle(run, seen, sequence_id):
            return
    raise Retry("The campaign changed too often meanwhile")


async def _read(run: Run, campaign_id: str) -> _Seen | None:
    async with run.reading() as session:
        row = await records.one(session, listables.CAMPAIGNS, campaign_id)
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


async def _apply(run: Run, seen: _Seen) -> str | None:
    """Notify the provider; the sequence's identifier. One that was made elsewhere is not this provider's to change."""
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
        campaign = await records.lock_for_update(session, Campaign, seen.id)
        if campaign is not None and campaign.provider_campaign_id is None:
            await session.update(campaign, provider_campaign_id=sequence_id)
            return sequence_id
        if campaign is None or campaign.provider_campaign_id != sequence_id:
            await clean_up(session, seen.provider, sequence_id)
        return None if campaign is None else campaign.provider_campaign_id


async def _forget(run: Run, seen: _Seen, sequence_id: str) -> None:
    async with run.writing() as session:
        campaign = await records.lock_for_update(session, Campaign, seen.id)
        if campaign is not None and campaign.provider_campaign_id == sequence_id:
            await session.update(campaign, provider_campaign_id=None)
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
            await take_off_each(session, seen.provider, sequence_id, gone)


async def _settle(run: Run, seen: _Seen, sequence_id: str | None) -> bool:
    """Write down that the provider knows; False where the campaign is another by now, and has to be sent anew."""
    async with run.writing() as session:
        campaign = await records.lock_for_update(session, Campaign, seen.id)
        if campaign is None:
            if sequence_id is not None:
                await clean_up(session, seen.provider, sequence_id)
            return True
        if campaign.revision != seen.revision:
            return False
        if campaign.provider_sync != ProviderSync.SYNCED:
            await session.update(campaign, provider_sync=ProviderSync.SYNCED.value, provider_synced_at=now())
            if seen.runs:
                await ask_later(session, seen.id, seen.revision, timedelta())
        return True


async def _refused(run: Run, seen: _Seen, words: str) -> bool:
    """The provider will not: a running campaign is blocked. False where the campaign is another by now."""
    async with run.writing() as session:
        campaign = await records.lock_for_update(session, Campaign, seen.id)
        if campaign is None:
            return True
        if campaign.revision != seen.revision:
            return False
        campaign = await session.update(campaign, provider_sync=ProviderSync.FAILED.value)
        if CampaignStatus(campaign.status) in RUNS:
            await block(session, campaign, words)
    return True


async def _failed(run: Run, seen: _Seen, *, final: bool) -> None:
    async with run.writing() as session:
        campaign = await records.lock_for_update(session, Campaign, seen.id)
        if final and campaign is not None and campaign.revision == seen.revision:
            await session.update(campaign, provider_sync=ProviderSync.FAILED.value)
