"""Asks the provider how running campaigns stand, and writes down what it says."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from contract.campaign_states import RUNS
from contract.outreach_vocabulary import CampaignStatus, EnrollmentStatus
from jobs.campaigns import ASK, ask_later, block, note_change, outline_of
from jobs.sequences import ATTEMPTS, failure_of
from jobs.work import Run, work
from providers.local_sequencing import midnight
from providers.sequencing import Lead, Move, Progress, Recipient, Running, SequencingError, State
from storage.base import now
from storage.queries import campaigns as statements
from storage.queries import listables, records
from storage.rows import CampaignRow
from storage.tables import Campaign, Enrollment, OutreachMessage
from storage.tenancy.sessions import TenantSession

_DUE_MAX: Final = 200
_SHORTEST: Final = timedelta(seconds=1)
_AFTER_ALL: Final = timedelta(minutes=30)


@work(ASK, attempts=ATTEMPTS)
async def ask_provider(run: Run, *, campaign_id: str, revision: int) -> None:
    """Writes down how a running campaign stands; then again when the provider says.

    It ends with the revision that it was begun for: the run that notifies the provider of a newer one begins another.
    """
    async with run.reading() as session:
        row = await records.one(session, listables.CAMPAIGNS, campaign_id)
        if row is None or row.revision != revision or CampaignStatus(row.status) not in RUNS:
            return
        if row.provider_campaign_id is None or row.provider != run.ports.sequencing.name:
            return
        running = await _running(session, row, row.provider_campaign_id)
    try:
        progress = await run.ports.sequencing.progress(running)
    except SequencingError as error:
        if run.is_last:
            async with run.finishing() as session:
                await ask_later(session, campaign_id, revision, _AFTER_ALL)
            return
        raise failure_of(error) from None
    async with run.finishing() as session:
        campaign = await records.lock_for_update(session, Campaign, campaign_id)
        if campaign is None or campaign.revision != revision or CampaignStatus(campaign.status) not in RUNS:
            return
        if await _note(session, campaign, progress):
            await ask_later(session, campaign_id, revision, max(_SHORTEST, progress.again - now()))


async def _running(session: TenantSession, row: CampaignRow, sequence_id: str) -> Running:
    moment = now()
    mailboxes = (await statements.mailboxes_of(session, [row.id]))[row.id]
    due = await statements.due(session, row.id, moment, _DUE_MAX)
    next_at = await statements.next_due(session, row.id, moment)
    if len(due) == _DUE_MAX:
        next_at = moment
    return Running(
        sequence_id=sequence_id,
        sequence=outline_of(row, mailboxes),
        due=[Recipient(r.id, Lead(r.email, r.variables), EnrollmentStatus(r.status), r.step, r.next_at) for r in due],
        sent_today=await statements.messages_since(session, row.id, midnight(moment, row.timezone)),
        next_at=next_at,
    )


async def _note(session: TenantSession, campaign: Campaign, progress: Progress) -> bool:
    """Write down how a running campaign stands; whether it still runs."""
    await _note_steps(session, campaign, [m for m in progress.moves if m.id is not None and m.step is not None])
    named = [m for m in progress.moves if m.id is None]
    in_order = sorted(named, key=lambda move: list(EnrollmentStatus).index(move.status))  # of one address, the last
    await statements.set_statuses(session, campaign.id, {m.email.casefold(): m.status.value for m in in_order})
    if progress.state is State.BLOCKED:
        await block(session, campaign, progress.reason or "The provider blocks the campaign")
        return False
    if progress.state is State.COMPLETED and await _is_done(session, campaign):
        completed = {"status": CampaignStatus.COMPLETED.value, "status_reason": None}
        await note_change(session, campaign, "campaign_completed", **completed)
        return False
    return True


async def _is_done(session: TenantSession, campaign: Campaign) -> bool:
    """Says whether it has recipients and is done with all of them."""
    if await statements.enrolled(session, campaign.id, unfinished=True):
        return False
    return bool(await statements.enrolled(session, campaign.id))


async def _note_steps(session: TenantSession, campaign: Campaign, moves: Sequence[Move]) -> None:
    """The embedded provider's moves, but of recipients that have gone or moved on since they were read."""
    there = await statements.unfinished(session, [move.id for move in moves if move.id is not None])
    moved: dict[str, Enrollment] = {}
    messages = []
    for move in moves:
        message, recipient = move.message, there.get(move.id or "")
        seen = message.step if message is not None else move.step
        if recipient is None or recipient.step != seen or move.step is None:
            continue
        moved[recipient.id] = statements.moved(recipient, move.status, move.step, move.at)
        if move.status.value in statements.UNFINISHED:
            there[recipient.id] = moved[recipient.id]
        else:
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
    await statements.move_each(session, list(moved.values()))
    await session.insert(*messages)
