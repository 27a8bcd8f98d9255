"""Campaigns and their provider: what is queued for it, and what is written of a campaign.

`campaigns_sync.py` makes the provider's sequence what the campaign is, `campaigns_progress.py` asks how it stands,
`sequences.py` removes there what is left.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from contract.outreach_vocabulary import CampaignStatus, MailboxStatus, ProviderSync
from contract.vocabulary import SYSTEM_ACTOR
from jobs import queue
from jobs.sequences import REMOVE, REMOVE_LEAD
from providers.sequencing import Outline, Step
from storage.base import now
from storage.queries import history, records
from storage.rows import CampaignRow, MailboxRow
from storage.tables import Campaign
from storage.tenancy.sessions import TenantSession

TELL: Final = "campaign_tell"
ASK: Final = "campaign_ask"


async def tell(session: TenantSession, campaign: Campaign, **changes: object) -> Campaign:
    """Have the provider notified of this campaign, as it is with the changes; the transaction has locked it.

    Gives its new row (decision 50).
    """
    told = {"revision": campaign.revision + 1, "provider_sync": ProviderSync.PENDING.value}
    campaign = await session.update(campaign, **changes, **told)
    # Without a key: a job that waits for its next attempt may wait long, and what is new is sent at once.
    await queue.enqueue(session, TELL, {"campaign_id": campaign.id})
    return campaign


async def clean_up(session: TenantSession, provider: str, sequence_id: str) -> None:
    """Have a sequence removed at the provider that belongs to no campaign any more."""
    await queue.enqueue(session, REMOVE, {"provider": provider, "sequence_id": sequence_id}, key=sequence_id)


async def take_off(session: TenantSession, campaign: Campaign, email: str) -> None:
    """Have a recipient sent nothing more of a sequence."""
    if campaign.provider_campaign_id is not None:
        await take_off_each(session, campaign.provider, campaign.provider_campaign_id, [email])


async def take_off_each(session: TenantSession, provider: str, sequence_id: str, emails: Sequence[str]) -> None:
    """A job for each, in as many statements as for one."""
    removed = [{"provider": provider, "sequence_id": sequence_id, "email": email} for email in emails]
    if removed:
        await queue.enqueue_each(session, REMOVE_LEAD, removed)


async def ask_later(session: TenantSession, campaign_id: str, revision: int, wait: timedelta) -> None:
    """Have the provider asked how the campaign stands at this revision."""
    await queue.enqueue(session, ASK, {"campaign_id": campaign_id, "revision": revision}, delay=wait)


def outline_of(row: CampaignRow, mailboxes: Sequence[MailboxRow]) -> Outline:
    """The campaign as a provider gets it; only mailboxes that can send are named."""
    return Outline(
        key=row.id,
        name=row.name,
        steps=[Step(s["delay_days"], s["subject"], s["body"]) for s in row.steps],
        mailboxes=[m.email for m in mailboxes if m.status == MailboxStatus.ACTIVE],
        daily_limit=row.daily_limit,
        timezone=row.timezone,
        stop_on_reply=row.stop_on_reply,
    )


async def block(session: TenantSession, campaign: Campaign, reason: str) -> None:
    """Note that the provider keeps the campaign from sending."""
    await note_change(session, campaign, "campaign_blocked", status=CampaignStatus.BLOCKED.value, status_reason=reason)


async def note_change(session: TenantSession, campaign: Campaign, event: str, **changes: object) -> None:
    """Write a change of state that no person made, and its event."""
    seen = campaign
    campaign = await session.update(campaign, **changes, version=campaign.version + 1, updated_at=now())
    await records.append_event(
        session,
        type=event,
        area="outreach",
        actor=SYSTEM_ACTOR,
        request_id=None,
        data=event_data(campaign),
        told=history.edited(seen, campaign),
    )


def event_data(campaign: Campaign) -> dict[str, object]:
    """Makes the data that every event on a campaign has (decision 56)."""
    return {
        "campaign_id": campaign.id,
        "name": campaign.name,
        "status": campaign.status,
        "status_reason": campaign.status_reason,
    }
