"""One record of every kind in an organization, and identifiers that none has."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import NAMESPACE_URL, uuid5

import httpx

from identity.principal import Organization
from jobs.queue import enqueue
from resolvers.credentials import CredentialCreate, create_organization_key, create_user_token
from resolvers.deals import DealCreate, create_deal
from resolvers.health import factors_of, refresh_health
from storage.tables import (
    Account,
    Activity,
    Campaign,
    CampaignMailbox,
    Contact,
    DealContact,
    Enrollment,
    Mailbox,
    OutreachDomain,
    OutreachMessage,
    PipelineStage,
)
from tests.isolation.cases import Graph, Rest
from tests.support.gateway import Gateway
from tests.support.world import Headers, World


async def fill_organization(world: World, organization: Organization, member: str, mark: str) -> dict[str, str]:
    """The identifiers by name; every text in the records is the mark, and the member owns the credentials.

    The deal is in the second stage, so that the first can be deleted.
    """
    account = Account(name=mark, domain=mark, industry=mark)
    contact = Contact(first_name=mark, last_name=mark, account_id=account.id)
    stages = [PipelineStage(name=mark, position=0), PipelineStage(name=mark, position=1)]
    await world.add(organization, account, contact, *stages)
    context = await world.context(member, organization)
    deal = await create_deal(context, DealCreate(name=mark, account_id=account.id, stage_id=stages[1].id))
    meeting = Activity(subject=mark, account_id=account.id, contact_id=contact.id, deal_id=deal.id)
    await world.add(organization, meeting, DealContact(deal_id=deal.id, contact_id=contact.id, role=mark))
    snapshot = await refresh_health(context, account.id)
    key = await create_organization_key(context, CredentialCreate(name=mark))
    token = await create_user_token(context, CredentialCreate(name=mark))
    async with world.database.writing(organization.id) as session:
        job = await enqueue(session, mark, {"mark": mark})
    domain = OutreachDomain(name=f"{mark}.com", status="active")
    mailbox = Mailbox(domain_id=domain.id, email=f"{mark}@{mark}.com", display_name=mark, status="active")
    steps = [{"delay_days": 0, "subject": mark, "body": mark}]
    campaigns = [Campaign(name=mark, steps=steps, provider="local", status=s) for s in ("draft", "active")]
    enrollments = [
        Enrollment(campaign_id=c.id, contact_id=contact.id, email=mark, email_key=mark, variables={"mark": mark})
        for c in campaigns
    ]
    links = [CampaignMailbox(campaign_id=c.id, mailbox_id=mailbox.id) for c in campaigns]
    message = OutreachMessage(
        campaign_id=campaigns[1].id,
        enrollment_id=enrollments[1].id,
        step=0,
        sender=mark,
        recipient=mark,
        subject=mark,
        body=mark,
    )
    await world.add(organization, domain, mailbox, *campaigns, *enrollments, *links, message)
    return {
        "account": account.id,
        "domain": mark,
        "contact": contact.id,
        "deal": deal.id,
        "stage": stages[0].id,
        "second stage": stages[1].id,
        "meeting": meeting.id,
        "snapshot": snapshot.id,
        "factor": (await factors_of(context, snapshot.id))[0].id,
        "job": job.id,
        "key": key.credential.id,
        "token": token.credential.id,
        "campaign": campaigns[0].id,
        "running campaign": campaigns[1].id,
        "enrollment": enrollments[0].id,
        "outreach domain": domain.id,
        "mailbox": mailbox.id,
    }


def missing(names: Iterable[str]) -> dict[str, str]:
    """An identifier for each name that no record has."""
    return {name: str(uuid5(NAMESPACE_URL, f"missing:{name}")) for name in names}


async def send(gateway: Gateway, request: Rest | Graph, headers: Headers) -> httpx.Response:
    """Send the request through its door."""
    if isinstance(request, Rest):
        return await gateway.rest(request.method, request.path, headers, request.body)
    return await gateway.graphql(request.document, headers, **request.variables)
