"""Campaigns: content, and the way from draft to archive (specification 4.7, 4.8; contract/campaign_states.py).

Every change of state is made here first, in one transaction with the job that tells the provider: whatever becomes of
that job, a campaign that was paused counts as paused (decision 50).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from contract.campaign_states import CHANGEABLE, RUNS, TRANSITIONS
from contract.criteria import ListQuery, Selection
from contract.errors import InvalidState, NotFound, Problem, Problems, ProviderFailed
from contract.outreach_vocabulary import CampaignAction, CampaignStatus
from contract.scopes import ScopeGroup
from jobs import campaigns as provider
from providers.sequencing import Gone, SequencingError, patience
from resolvers.outreach_inputs import CampaignCreate, CampaignUpdate
from resolvers.shared import changes
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.inputs import Given, not_null
from resolvers.shared.lists import PageResult, by_id, page_of
from resolvers.shared.sentences import ABSENT
from storage.base import JsonDict, now
from storage.new_rows import new_row
from storage.queries import campaigns as statements
from storage.queries import history, listables, records, tags
from storage.queries.history import Told
from storage.rows import CampaignRow, MailboxRow
from storage.tables import Campaign, Mailbox
from storage.tenancy.sessions import TenantSession

_EVENTS = {
    CampaignAction.LAUNCH: "campaign_launched",
    CampaignAction.PAUSE: "campaign_paused",
    CampaignAction.RESUME: "campaign_resumed",
    CampaignAction.ARCHIVE: "campaign_archived",
}


@dataclass(frozen=True, slots=True)
class StepView:
    """A message of a campaign."""

    delay_days: int
    subject: str
    body: str


@dataclass(frozen=True, slots=True)
class Deletion:
    """The result of a deletion: how many enrollments went along, and what became of the provider's sequence."""

    deleted_id: str
    deleted_enrollment_count: int
    provider_outcome: str


def steps_of(campaign: Campaign | CampaignRow) -> list[StepView]:
    """The messages of a campaign, in the order they are sent."""
    return [StepView(step["delay_days"], step["subject"], step["body"]) for step in campaign.steps]


@requires(ScopeGroup.OUTREACH_READ, finds=(listables.CAMPAIGNS,))
async def get_campaign(ctx: Context, campaign_id: str | None, selection: Selection | None = None) -> CampaignRow | None:
    """The campaign, or None."""
    return await by_id(ctx, listables.CAMPAIGNS, campaign_id, selection)


@requires(ScopeGroup.OUTREACH_READ)
async def list_campaigns(
    ctx: Context, listing: ListQuery, selection: Selection | None = None
) -> PageResult[CampaignRow]:
    """A page of the campaigns."""
    return await page_of(ctx, listables.CAMPAIGNS, listing, selection)


@requires(ScopeGroup.OUTREACH_READ)
async def mailboxes_of_campaign(ctx: Context, campaign_id: str) -> Sequence[MailboxRow]:
    """The mailboxes that the campaign is sent from, by address."""

    async def load(ids: list[str]) -> list[Sequence[MailboxRow]]:
        async with ctx.reading() as session:
            found = await statements.mailboxes_of(session, ids)
        return [found[i] for i in ids]

    return await ctx.loader("mailboxes_of_campaign", load).load(campaign_id)


@requires(ScopeGroup.OUTREACH_MANAGE, writes=True)
async def create_campaign(ctx: Context, input: CampaignCreate) -> Campaign:
    """A draft, which the provider hears of when it is launched."""
    fields = _values(input)
    mailboxes = fields.pop("mailbox_ids", None) or []
    not_null(fields, *input.filled)
    campaign = new_row(Campaign, **fields, org_id=ctx.org_id, provider=ctx.services.sequencing.name)
    async with ctx.writing() as session:
        await _check_mailboxes(session, mailboxes)
        await session.insert(campaign)
        await statements.place_mailboxes(session, campaign.id, mailboxes)
        told = [Told("campaign", campaign.id, {"name": [None, campaign.name]}, alone=True)]
        await _log(ctx, session, "campaign_created", provider.event_data(campaign), told)
    ctx.forget()
    return campaign


@requires(ScopeGroup.OUTREACH_MANAGE, writes=True)
async def update_campaign(ctx: Context, campaign_id: str, input: CampaignUpdate) -> Campaign:
    """Change a campaign's content; one that runs stays one that can run, and the provider is told."""
    fields = _values(input)
    version = fields.pop("expected_version", None)
    mailboxes = (fields.pop("mailbox_ids") or []) if "mailbox_ids" in fields else None
    not_null(fields, *input.filled)
    async with ctx.writing() as session:
        campaign = seen = await _to_change(session, campaign_id)
        changes.expect(campaign, version)
        status = CampaignStatus(campaign.status)
        if status not in CHANGEABLE:
            raise InvalidState(f"A campaign that is {status.value} cannot be changed")
        if mailboxes is not None:
            await _check_mailboxes(session, mailboxes)
        sent_from = await _mailboxes(session, campaign.id, mailboxes)
        campaign, names = await changes.apply(session, campaign, fields)
        changed = bool(names)
        if mailboxes is not None and await statements.place_mailboxes(session, campaign.id, mailboxes) and not changed:
            campaign = await session.update(campaign, **changes.next_version(campaign))
            changed = True
        if changed:
            if status in RUNS:
                await _check_ready(session, campaign, "stay active")
                campaign = await provider.tell(session, campaign)
            told = history.edited(seen, campaign)
            if (now_from := await _mailboxes(session, campaign.id, mailboxes)) != sent_from:
                fields = told[0].fields if told else {}
                told = [Told("campaign", campaign.id, {**fields, "mailbox_ids": [sent_from, now_from]})]
            await _log(ctx, session, "campaign_updated", provider.event_data(campaign), told)
    ctx.forget()
    return campaign


async def _mailboxes(session: TenantSession, campaign_id: str, given: Sequence[str] | None) -> list[str]:
    """The identifiers of the campaign's mailboxes, where they are to be changed."""
    return [] if given is None else [m.id for m in (await statements.mailboxes_of(session, [campaign_id]))[campaign_id]]


@requires(ScopeGroup.OUTREACH_MANAGE, writes=True)
async def launch_campaign(ctx: Context, campaign_id: str) -> Campaign:
    """Start a draft that has steps, an active mailbox and enrollments. Raises InvalidState with what it lacks."""
    return await _act(ctx, campaign_id, CampaignAction.LAUNCH)


@requires(ScopeGroup.OUTREACH_MANAGE, writes=True)
async def pause_campaign(ctx: Context, campaign_id: str) -> Campaign:
    """Stop a campaign here and now; the provider is told by a job (specification 4.8)."""
    return await _act(ctx, campaign_id, CampaignAction.PAUSE)


@requires(ScopeGroup.OUTREACH_MANAGE, writes=True)
async def resume_campaign(ctx: Context, campaign_id: str) -> Campaign:
    """Go on with a paused campaign, or with a blocked one if the provider says that the block is gone."""
    seen = await _seen(ctx, campaign_id)
    if seen.status == CampaignStatus.BLOCKED:
        await _ask_for_block(ctx, seen)
    return await _act(ctx, campaign_id, CampaignAction.RESUME, seen=seen)


@requires(ScopeGroup.OUTREACH_MANAGE, writes=True)
async def archive_campaign(ctx: Context, campaign_id: str) -> Campaign:
    """Put a campaign away that does not run."""
    return await _act(ctx, campaign_id, CampaignAction.ARCHIVE)


@requires(ScopeGroup.OUTREACH_MANAGE, writes=True)
async def delete_campaign(ctx: Context, campaign_id: str) -> Deletion:
    """Delete a campaign: the sequence at the provider first, then the record with its enrollments (specification 4.7).

    One that runs is stopped before. A provider that fails blocks nothing: what it is left with is removed by a job.
    """
    sequence_id = await _stop(ctx, campaign_id)
    outcome = await _remove(ctx, sequence_id)
    async with ctx.writing() as session:
        campaign = await _to_change(session, campaign_id)
        # A run that was under way may have made a sequence since.
        left = campaign.provider_campaign_id
        if left is not None and (outcome == _QUEUED or left != sequence_id):
            await provider.clean_up(session, campaign.provider, left)
            outcome = _QUEUED
        count = await statements.enrolled(session, campaign.id)
        await _log(
            ctx,
            session,
            "campaign_deleted",
            {**provider.event_data(campaign), "deleted_enrollment_count": count, "provider_outcome": outcome},
        )
        await tags.unlink(session, [campaign.id])
        await history.forget(session, Campaign, campaign.id)
        await session.delete(campaign)
    ctx.forget()
    return Deletion(campaign.id, count, outcome)


_REMOVED, _GONE, _NONE, _QUEUED = "removed", "already_gone", "not_created", "cleanup_queued"


async def _stop(ctx: Context, campaign_id: str) -> str | None:
    """Let a running campaign be paused before anything is removed; the sequence's identifier at the provider."""
    async with ctx.writing() as session:
        campaign = await _to_change(session, campaign_id)
        if CampaignStatus(campaign.status) in RUNS:
            paused = {"status": CampaignStatus.PAUSED.value, **changes.next_version(campaign)}
            seen, campaign = campaign, await provider.tell(session, campaign, **paused)
            await _log(ctx, session, "campaign_paused", provider.event_data(campaign), history.edited(seen, campaign))
    await ctx.commit()
    if campaign.provider != ctx.services.sequencing.name:
        return None
    return campaign.provider_campaign_id


async def _remove(ctx: Context, sequence_id: str | None) -> str:
    if sequence_id is None:
        return _NONE
    try:
        async with patience():
            await ctx.services.sequencing.delete(sequence_id)
    except Gone:
        return _GONE
    except SequencingError:
        return _QUEUED
    return _REMOVED


async def _seen(ctx: Context, campaign_id: str) -> CampaignRow:
    async with ctx.reading() as session:
        seen = await records.one(session, listables.CAMPAIGNS, campaign_id)
    if seen is None:
        raise NotFound(field=("id",))
    return seen


async def _ask_for_block(ctx: Context, seen: CampaignRow) -> None:
    """Raise InvalidState while the provider blocks the campaign, ProviderFailed where it cannot be asked."""
    sequencing = ctx.services.sequencing
    if seen.provider != sequencing.name:
        raise InvalidState(f"The campaign belongs to another provider: {seen.provider}", field=("id",))
    try:
        async with patience():
            reason = await sequencing.blocked(seen.provider_campaign_id)
    except Gone:
        return  # it is made anew
    except SequencingError as error:
        raise ProviderFailed(error.words, field=("id",)) from None
    if reason is not None:
        raise InvalidState(f"The provider still blocks the campaign: {reason}", field=("id",))


async def _act(ctx: Context, campaign_id: str, action: CampaignAction, *, seen: CampaignRow | None = None) -> Campaign:
    async with ctx.writing() as session:
        campaign = await _to_change(session, campaign_id)
        status = CampaignStatus(campaign.status)
        if seen is not None and status is CampaignStatus.BLOCKED and seen.status != CampaignStatus.BLOCKED:
            raise InvalidState("The provider has blocked the campaign meanwhile", field=("id",))
        cell = TRANSITIONS[status][action]
        if not isinstance(cell, CampaignStatus):
            raise InvalidState(cell, field=("id",))
        if cell is not status:
            campaign = await _enter(ctx, session, campaign, cell, action)
    ctx.forget()
    return campaign


async def _enter(
    ctx: Context, session: TenantSession, campaign: Campaign, status: CampaignStatus, action: CampaignAction
) -> Campaign:
    if status in RUNS:
        await _check_ready(session, campaign, action.value)
    if action is CampaignAction.LAUNCH:
        first = timedelta(days=campaign.steps[0]["delay_days"])
        await statements.start_clocks(session, campaign.id, now() + first)
    seen = campaign
    entered = {"status": status.value, "status_reason": None, **changes.next_version(campaign)}
    if status in RUNS or campaign.provider_campaign_id is not None:
        campaign = await provider.tell(session, campaign, **entered)
    else:
        campaign = await session.update(campaign, **entered)
    await _log(ctx, session, _EVENTS[action], provider.event_data(campaign), history.edited(seen, campaign))
    return campaign


async def _check_ready(session: TenantSession, campaign: Campaign, to: str) -> None:
    """Raise InvalidState with everything that a running campaign must have and this one has not."""
    findings = []
    if not campaign.steps:
        findings.append("it has no steps")
    if not await statements.has_active_mailbox(session, campaign.id):
        findings.append("it has no active mailbox")
    if campaign.status == CampaignStatus.DRAFT and not await statements.enrolled(session, campaign.id):
        findings.append("it has no enrollments")
    if findings:
        raise InvalidState(f"The campaign cannot {to}: {', '.join(findings)}", field=("id",))


async def _to_change(session: TenantSession, campaign_id: str) -> Campaign:
    campaign = await records.lock_for_update(session, Campaign, campaign_id)
    if campaign is None:
        raise NotFound(field=("id",))
    return campaign


async def _check_mailboxes(session: TenantSession, ids: Sequence[str]) -> None:
    missing = await records.missing_references(session, {str(number): (Mailbox, i) for number, i in enumerate(ids)})
    if missing:
        words = ABSENT
        raise Problems([Problem(("input", "mailbox_ids", int(number)), words, "reference") for number in missing])


def _values(input: CampaignCreate | CampaignUpdate) -> Given:
    fields = input.given()
    if "steps" in fields:
        fields["steps"] = [step.model_dump() for step in input.steps or ()]
    return fields


async def _log(ctx: Context, session: TenantSession, event: str, data: JsonDict, told: Sequence[Told] = ()) -> None:
    await changes.append_event(ctx, session, event, data, area="outreach", told=told)
