"""One record of every kind in an organization, and identifiers that none has."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import NAMESPACE_URL, uuid5

import httpx

from contract.analytics_events import AnalyticsRunStatus, last_step
from contract.scopes import Role
from contract.vocabulary import FeedbackKind
from identity.principal import Organization
from jobs.queue import enqueue
from resolvers.credentials import CredentialCreate, create_organization_key, create_user_token
from resolvers.deals import DealCreate, create_deal
from resolvers.feedback import FeedbackCreate, submit_feedback
from resolvers.health import factors_of, refresh_health
from storage.base import new_id, now
from storage.queries.artifacts import publish
from storage.tables import (
    Account,
    Activity,
    AnalyticsConversation,
    AnalyticsEvent,
    AnalyticsRun,
    Artifact,
    Campaign,
    CampaignMailbox,
    Contact,
    CXReport,
    CXReportRevision,
    DealContact,
    Enrollment,
    IdempotencyKey,
    Lead,
    Mailbox,
    Member,
    Membership,
    OutreachDomain,
    OutreachMessage,
    PipelineStage,
    RecordChange,
    ResearchResult,
    ResearchRun,
    Tag,
    TagLink,
    Webhook,
    WebhookDelivery,
    WebhookWatch,
)
from tests.isolation.cases import Graph, Rest
from tests.support.cells import blank_cells
from tests.support.gateway import Gateway
from tests.support.record_types import record_types
from tests.support.world import Headers, World


async def fill_organization(world: World, organization: Organization, member: str, mark: str) -> dict[str, str]:
    """The identifiers by name; every text in the records is the mark, and the member owns the credentials.

    The deal is in the second stage, so that the first can be deleted.
    """
    account = Account(name=mark, domain=mark, industry=mark)
    contact = Contact(first_name=mark, last_name=mark, account_id=account.id)
    stages = [PipelineStage(name=mark, position=0), PipelineStage(name=mark, position=1)]
    await world.add(organization, account, contact, *stages)
    await world.publish(organization, mark.encode(), name=mark)
    context = await world.context(member, organization)
    deal = await create_deal(context, DealCreate(name=mark, account_id=account.id, stage_id=stages[1].id))
    lead = Lead(
        **dict.fromkeys(("card_id", "name", "title", "company", "notes"), mark),
        capture_payload={"raw": mark},
        tags=[mark],
    )
    await world.add(organization, lead)
    links = {"account_id": account.id, "contact_id": contact.id, "deal_id": deal.id, "lead_id": lead.id}
    meeting = Activity(subject=mark, **links)
    await world.add(
        organization, *blank_cells(mark), meeting, DealContact(deal_id=deal.id, contact_id=contact.id, role=mark)
    )
    await submit_feedback(context, FeedbackCreate(kind=FeedbackKind.IDEA, message=mark))
    snapshot = await refresh_health(context, account.id)
    key = await create_organization_key(context, CredentialCreate(name=mark))
    token = await create_user_token(context, CredentialCreate(name=mark))
    async with world.database.writing(organization.id) as session:
        job = await enqueue(session, mark, {"mark": mark})
    run = ResearchRun(name=mark, result_count=1)
    result = ResearchResult(run_id=run.id, position=0, company_name=mark, domain=mark, status="scored", score=50)
    report = CXReport(result_id=result.id, published_revision=1)
    content = CXReportRevision(
        report_id=report.id, revision=1, copy_blobs={"headline": mark}, analysis={}, brand={"company": mark}
    )
    await world.add(organization, run, result, report, content)
    file = Artifact(
        subject_id=report.id,
        kind="PDF",
        revision=1,
        storage_name=f"{organization.id}/report.pdf",
        file_name=mark,
        content_type="application/pdf",
        bytes=4,
        sha256=mark,
    )
    async with world.database.writing(organization.id) as session:
        [key_of_file] = await publish(session, file)
    domain = OutreachDomain(name=f"{mark}.com", status="active")
    mailbox = Mailbox(domain_id=domain.id, email=f"{mark}@{mark}.com", display_name=mark, status="active")
    steps = [{"delay_days": 0, "subject": mark, "body": mark}]
    campaigns = [Campaign(name=mark, steps=steps, provider="local", status=s) for s in ("draft", "active")]
    enrollments = [
        Enrollment(campaign_id=c.id, contact_id=contact.id, email=mark, email_key=mark, variables={"mark": mark})
        for c in campaigns
    ]
    sending = [CampaignMailbox(campaign_id=c.id, mailbox_id=mailbox.id) for c in campaigns]
    message = OutreachMessage(
        campaign_id=campaigns[1].id,
        enrollment_id=enrollments[1].id,
        step=0,
        sender=mark,
        recipient=mark,
        subject=mark,
        body=mark,
    )
    # A port that is refused before anything is sent.
    webhook = Webhook(url=f"http://127.0.0.1:9/{mark}", areas=["crm"], cursor=0)
    await world.add(organization, webhook)
    attempt = WebhookDelivery(
        webhook_id=webhook.id, event_id=webhook.id, sequence=1, attempt=1, delivered=False, error=mark
    )
    await world.add(organization, attempt, WebhookWatch(org_id=organization.id, webhook_id=webhook.id))
    moment = now()
    idempotency_key = IdempotencyKey(
        id=f"{mark} in {organization.id}",
        org_id=organization.id,
        fingerprint=mark,
        holder=run.id,
        leased_until=moment,
        expires_at=moment,
    )
    await world.add(organization, idempotency_key)
    await world.add(organization, domain, mailbox, *campaigns, *enrollments, *sending, message)
    made = RecordChange(
        subject_kind="campaign",
        subject_id=campaigns[0].id,
        actor=mark,
        type="campaign_created",
        fields={"name": [None, mark]},
    )
    await world.add(organization, made)
    known = {"account": account.id, "contact": contact.id, "deal": deal.id}
    others = {record.name: record.row(known, mark) for record in record_types()}
    others["saved query"].owner_id = member
    second_tag = Tag(name=f"{mark}second")
    tagged = TagLink(kind="lead", record_id=lead.id, tag_id=others["tag"].id)
    await world.add(organization, *others.values(), second_tag, tagged)
    async with world.database.directory(writing=True) as session:
        await session.insert(Member(subject=others["member"].id, name=mark))
    belongs = Membership(org_id=organization.id, subject=others["member"].id, scopes=sorted(Role.MEMBER.scopes))
    await world.add(organization, belongs)
    conversation = AnalyticsConversation(subject=member, title=mark)
    question = AnalyticsRun(
        conversation_id=conversation.id,
        subject=member,
        fingerprint=mark,
        **dict.fromkeys(("question", "explanation"), mark),
        **{name: [mark] for name in ("assumptions", "unread", "suggestions")},
        status="declined",
        holder=run.id,
        leased_until=moment,
        finished_at=moment,
    )
    ended = {"unread": [mark], "suggestions": [mark]}
    step = AnalyticsEvent(
        run_id=question.id, sequence=1, type="run_finished", data=last_step(AnalyticsRunStatus.DECLINED, 0, ended)
    )
    await world.add(organization, conversation, question, step)
    return {
        "owner": member,
        "question": question.id,
        "conversation": conversation.id,
        **{name: other.id for name, other in others.items()},
        "run": run.id,
        "result": result.id,
        "report": report.id,
        "file": key_of_file,
        "account": account.id,
        "domain": mark,
        "contact": contact.id,
        "deal": deal.id,
        "lead": lead.id,
        "stage": stages[0].id,
        "second stage": stages[1].id,
        "second tag": second_tag.id,
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
        "webhook": webhook.id,
    }


def missing(names: Iterable[str]) -> dict[str, str]:
    """An identifier for each name that no record has."""
    return {name: str(uuid5(NAMESPACE_URL, f"missing:{name}")) for name in names}


async def send(gateway: Gateway, request: Rest | Graph, headers: Headers) -> httpx.Response:
    """Send the request through its surface."""
    if isinstance(request, Rest):
        return await gateway.rest(request.method, request.path, headers, request.body)
    if request.needs_key:
        headers = {"Idempotency-Key": new_id()} | headers
    if request.document.startswith("subscription"):
        return await gateway.first_event(request.document, headers, **request.variables)
    return await gateway.graphql(request.document, headers, **request.variables)


def plain(response: httpx.Response, values: dict[str, str], named: set[str]) -> tuple[int, dict[str, str], str]:
    """The response with the identifiers that it was asked with under their names, and without the request's own."""
    text = response.text.replace(response.headers["x-request-id"], "request")
    for name in named:
        text = text.replace(values[name], f"<{name}>")
    headers = {
        name: value for name, value in response.headers.items() if name not in ("x-request-id", "content-length")
    }
    return response.status_code, headers, text
