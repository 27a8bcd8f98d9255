"""Enrollments: who a campaign is sent to, once per address and once per contact, however many requests race."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from contract.campaign_states import CHANGEABLE, RUNS
from contract.criteria import ListQuery, Selection
from contract.errors import InvalidState, NotFound, Problem, Problems
from contract.outreach_vocabulary import CampaignStatus
from contract.scopes import ScopeGroup
from jobs import campaigns as provider
from resolvers.outreach_inputs import EnrollmentInput, Enrollments, address_key
from resolvers.shared.access import requires
from resolvers.shared.context import Context
from resolvers.shared.lists import PageResult, by_id, children
from resolvers.shared.sentences import ABSENT
from storage.base import as_uuid, now
from storage.queries import campaigns as statements
from storage.queries import listables, records
from storage.rows import EnrollmentRow
from storage.tables import Campaign, Contact, Enrollment
from storage.tenancy.sessions import TenantSession

_AGAIN = "is named twice"
_ADDRESS = "the address is enrolled already"
_CONTACT = "the contact is enrolled already"


@dataclass(frozen=True, slots=True)
class Skipped:
    """Someone who was not enrolled, and why."""

    email: str
    reason: str


@dataclass(frozen=True, slots=True)
class Enrolled:
    """The recipients that were enrolled and those that were not, each in the order of the request."""

    created: Sequence[Enrollment]
    skipped: Sequence[Skipped]


@requires(ScopeGroup.OUTREACH_READ)
async def get_enrollment(ctx: Context, enrollment_id: str, selection: Selection | None = None) -> EnrollmentRow | None:
    """The enrollment, or None."""
    return await by_id(ctx, listables.ENROLLMENTS, enrollment_id, selection)


@requires(ScopeGroup.OUTREACH_READ, finds=(listables.ENROLLMENTS,))
async def enrollments_of_campaign(
    ctx: Context, campaign_id: str, listing: ListQuery, selection: Selection | None = None
) -> PageResult[EnrollmentRow]:
    """A page of the campaign's enrollments, in the order they were made."""
    return await children(ctx, listables.ENROLLMENTS, Enrollment.campaign_id, campaign_id, listing, selection)


@requires(ScopeGroup.OUTREACH_MANAGE, writes=True)
async def enroll_contacts(ctx: Context, campaign_id: str, input: Enrollments) -> Enrolled:
    """Enroll recipients in a campaign that is neither completed nor archived; who is in it already is skipped."""
    async with ctx.writing() as session:
        # Locked, so that requests that race come one after the other.
        campaign = await records.lock_for_update(session, Campaign, campaign_id)
        if campaign is None:
            raise NotFound(field=("campaign_id",))
        status = CampaignStatus(campaign.status)
        if status not in CHANGEABLE:
            raise InvalidState(f"Nobody is enrolled in a campaign that is {status.value}", field=("campaign_id",))
        await _check_contacts(session, input.contacts)
        enrolled = await _enroll(session, campaign, input.contacts)
        if enrolled.created:
            if status in RUNS:
                await provider.tell(session, campaign)
            await records.append_event(
                session,
                type="enrollments_created",
                area="outreach",
                actor=ctx.caller.subject,
                request_id=ctx.request_id,
                data={"campaign_id": campaign.id, "enrollment_ids": [e.id for e in enrolled.created]},
            )
    ctx.forget()
    return enrolled


async def _enroll(session: TenantSession, campaign: Campaign, contacts: Sequence[EnrollmentInput]) -> Enrolled:
    keys = [address_key(contact.email) for contact in contacts]
    # The campaign is locked, so nobody else is enrolled meanwhile.
    there = await statements.there(session, campaign.id, keys, _contacts(contacts))
    first_at = now() + timedelta(days=campaign.steps[0]["delay_days"] if campaign.steps else 0)
    created: list[Enrollment] = []
    skipped: list[Skipped] = []
    made: set[str] = set()
    taken = set(there.contacts)
    for key, contact in zip(keys, contacts, strict=True):
        contact_id = as_uuid(contact.contact_id)
        enrollment = Enrollment(
            org_id=session.org_id,
            campaign_id=campaign.id,
            contact_id=contact_id,
            email=contact.email,
            email_key=key,
            variables=contact.variables,
            next_at=first_at,
        )
        if key in made:
            skipped.append(Skipped(contact.email, _AGAIN))
        elif key in there.keys:
            skipped.append(Skipped(contact.email, _ADDRESS))
        elif contact_id is not None and contact_id in taken:
            skipped.append(Skipped(contact.email, _CONTACT))
        else:
            made.add(key)
            if contact_id is not None:
                taken.add(contact_id)
            created.append(enrollment)
    await session.insert(*created)
    return Enrolled(created, skipped)


def _contacts(contacts: Sequence[EnrollmentInput]) -> list[str]:
    return [canonical for c in contacts if (canonical := as_uuid(c.contact_id)) is not None]


async def _check_contacts(session: TenantSession, contacts: Sequence[EnrollmentInput]) -> None:
    given = {str(n): (Contact, c.contact_id) for n, c in enumerate(contacts) if c.contact_id is not None}
    if problems := [
        Problem(("contacts", int(n), "contact_id"), ABSENT, "reference")
        for n in await records.missing_references(session, given)
    ]:
        raise Problems(problems)


@requires(ScopeGroup.OUTREACH_MANAGE, writes=True)
async def remove_enrollment(ctx: Context, enrollment_id: str) -> str:
    """Take a recipient out of its campaign; the provider is told by a job."""
    async with ctx.writing() as session:
        seen = await records.one(session, listables.ENROLLMENTS, enrollment_id)
        # The campaign first, as whoever needs both rows takes them.
        campaign = None if seen is None else await records.lock_for_update(session, Campaign, seen.campaign_id)
        enrollment = await records.lock_for_update(session, Enrollment, enrollment_id)
        if campaign is None or enrollment is None:
            raise NotFound(field=("id",))
        await provider.take_off(session, campaign, enrollment.email)
        await session.delete(enrollment)
        await records.append_event(
            session,
            type="enrollment_removed",
            area="outreach",
            actor=ctx.caller.subject,
            request_id=ctx.request_id,
            data={"campaign_id": enrollment.campaign_id, "enrollment_id": enrollment.id},
        )
    ctx.forget()
    return enrollment.id
