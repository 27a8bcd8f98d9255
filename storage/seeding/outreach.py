"""The demo's outreach: a domain with two mailboxes, a campaign that runs and one that is still a draft."""

from datetime import datetime, timedelta

from sqlalchemy import select
from sqlmodel import col

from contract.outreach_vocabulary import CampaignStatus, DomainStatus, EnrollmentStatus, MailboxStatus
from storage.expressions import AnyColumn
from storage.rows import ContactRow
from storage.tables import Campaign, CampaignMailbox, Contact, Enrollment, Mailbox, OutreachDomain
from storage.tenancy.sessions import TenantSession

_DOMAIN = "mail.demo-sales.example"
_SENDERS = (("max", "Max Member"), ("ada", "Ada Admin"))
_INTRODUCTION = [
    {
        "delay_days": 0,
        "subject": "A question about {{company}}, {{first_name}}",
        "body": "Hello {{first_name}},\n\nwho looks after customer service at {{company}}?\n\nMax",
    },
    {
        "delay_days": 3,
        "subject": "Once more, {{first_name}}",
        "body": "Hello {{first_name}},\n\nmay I show you what others in your business have done?\n\nMax",
    },
]
_REVIVAL = [
    {
        "delay_days": 0,
        "subject": "How have you been, {{first_name}}?",
        "body": "Hello {{first_name}},\n\nit has been a while. Is now a better time?\n\nAda",
    }
]
_STATES = (
    EnrollmentStatus.REPLIED,
    EnrollmentStatus.BOUNCED,
    EnrollmentStatus.UNSUBSCRIBED,
    *(EnrollmentStatus.PENDING,) * 9,
)
_DRAFTED = 4


async def add_outreach(session: TenantSession, now: datetime) -> Campaign:
    """Add the outreach to an organization that has contacts; the campaign that runs, as of an hour ago."""
    domain = OutreachDomain(
        name=_DOMAIN,
        status=DomainStatus.ACTIVE.value,
        spf=True,
        dkim=True,
        dmarc=True,
        created_at=now - timedelta(days=30),
    )
    mailboxes = [
        Mailbox(
            domain_id=domain.id,
            email=f"{local_part}@{_DOMAIN}",
            display_name=name,
            status=MailboxStatus.ACTIVE.value,
            created_at=now - timedelta(days=30),
        )
        for local_part, name in _SENDERS
    ]
    running, draft = (
        Campaign(name=name, status=status.value, steps=steps, provider="local", daily_limit=limit, created_at=since)
        for name, status, steps, limit, since in (
            ("Introduction", CampaignStatus.ACTIVE, _INTRODUCTION, 25, now - timedelta(days=7)),
            ("Coming back", CampaignStatus.DRAFT, _REVIVAL, 10, now - timedelta(days=1)),
        )
    )
    contacts = await _contacts(session, len(_STATES) + _DRAFTED)
    states = [*((running, status) for status in _STATES), *((draft, EnrollmentStatus.PENDING),) * _DRAFTED]
    enrollments = [
        _enrollment(campaign, contact, status, now)
        for contact, (campaign, status) in zip(contacts, states, strict=False)
    ]
    links = [CampaignMailbox(campaign_id=c.id, mailbox_id=m.id) for c in (running, draft) for m in mailboxes]
    await session.insert(domain)
    written, _ = await session.insert(running, draft)
    await session.insert(*mailboxes)
    await session.insert(*links, *enrollments)
    return written


async def _contacts(session: TenantSession, count: int) -> list[ContactRow]:
    columns: list[AnyColumn] = [Contact.id, Contact.email, Contact.first_name]
    statement = (
        select(*columns)
        .where(col(Contact.org_id) == session.org_id, col(Contact.email).is_not(None))
        .order_by(col(Contact.created_at), col(Contact.id))
        .limit(count)
    )
    return list(await session.rows(statement))


def _enrollment(campaign: Campaign, contact: ContactRow, status: EnrollmentStatus, now: datetime) -> Enrollment:
    assert contact.email is not None  # noqa: S101  # as `_contacts` selects them
    return Enrollment(
        campaign_id=campaign.id,
        contact_id=contact.id,
        email=contact.email,
        email_key=contact.email.casefold(),
        variables={"first_name": contact.first_name, "company": contact.email.partition("@")[2]},
        status=status.value,
        step=0 if status is EnrollmentStatus.PENDING else 1,
        next_at=now - timedelta(hours=1),
        enrolled_at=campaign.created_at,
    )
