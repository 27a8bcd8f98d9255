"""One record of every kind in an organization, and identifiers that none has."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import timedelta
from uuid import NAMESPACE_URL, uuid5

import httpx

from contract.analytics_events import AnalyticsRunStatus, last_step
from contract.scopes import Role
from contract.vocabulary import FeedbackKind
from identity.principal import Organization
from jobs.queue import enqueue
from jobs.sync.sources import Secret, sealed_secret
from resolvers.credentials import CredentialCreate, create_organization_key, create_user_token
from resolvers.deals import DealCreate, create_deal
from resolvers.feedback import FeedbackCreate, submit_feedback
from resolvers.health import factors_of, refresh_health
from storage.base import new_id, now
from storage.queries.artifacts import publish
from storage.queries.files import lock_usage
from storage.tables import (
    Account,
    Activity,
    AnalyticsConversation,
    AnalyticsEvent,
    AnalyticsRun,
    Artifact,
    Campaign,
    CampaignMailbox,
    ChatApproval,
    ChatEvent,
    ChatMessage,
    ChatRun,
    ChatStep,
    ChatThread,
    Contact,
    CXReport,
    CXReportRevision,
    DealContact,
    Enrollment,
    ExternalKey,
    FeedContent,
    FileLink,
    FilePiece,
    Folder,
    IdempotencyKey,
    ImportRefusal,
    IntegrationAccount,
    Lead,
    Leftover,
    Mailbox,
    Member,
    Membership,
    MergedId,
    ModelUsage,
    NotDuplicate,
    OutreachDomain,
    OutreachMessage,
    PipelineStage,
    RecordChange,
    ResearchResult,
    ResearchRun,
    StreamLink,
    StreamWatch,
    SyncedMeeting,
    SyncItem,
    SyncOccurrence,
    SyncRun,
    SyncStream,
    Tag,
    TagLink,
    Webhook,
    WebhookDelivery,
    WebhookWatch,
)
from tests.isolation.cases import Graph, Rest
from tests.isolation.requests import UPLOADING
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
        await publish(session, file)
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
    others["saved query"].owner_id = others["integration"].owner_id = member
    secret = Secret(url=f"https://{mark.lower()}.com/calendar")
    others["integration"].sealed = sealed_secret(world.services.identity.pepper, others["integration"].id, secret)
    old_key = ExternalKey(kind="account", key=mark, record_id=account.id)
    folder, second_folder = others["folder"], Folder(name=mark, parent_id=others["folder"].id, depth=2)
    others["file"].folder_id = folder.id
    others["file"].storage_name = f"{organization.id}/{new_id()}"
    await world.services.artifacts.put(others["file"].storage_name, b"1")
    report_run = others["report run"]
    report_run.report_id, report_run.mail_id = others["saved report"].id, others["mail"].id
    uploading = others["upload"]
    await world.add(organization, folder, second_folder)
    async with world.database.writing(organization.id) as session:  # which may have been filled before
        used = await lock_usage(session)
        await session.update(used, bytes=used.bytes + 1, reserved=used.reserved + uploading.bytes, files=used.files + 1)
    attached = FileLink(record_id=account.id, file_id=others["file"].id, kind="account", attached_by=mark)
    piece = FilePiece(upload_id=uploading.id, start=0, bytes=1, storage_name=f"{organization.id}/{new_id()}")
    leftover = Leftover(org_id=organization.id, storage_name=f"{organization.id}/{new_id()}", gone_after=now())
    second_tag = Tag(name=f"{mark}second")
    seconds = [Account(name=mark, domain=mark), Contact(first_name=mark, last_name=mark)]
    pair = sorted((contact.id, seconds[1].id))
    apart = NotDuplicate(kind="contact", low_id=pair[0], high_id=pair[1])
    gone = MergedId(kind="account", from_id=new_id(), into_id=account.id, merge_id=others["merge"].id)
    tagged = TagLink(kind="lead", record_id=lead.id, tag_id=others["tag"].id)
    problem = {"path": ["email"], "message": mark, "type": "value_error", "names": []}
    refused = ImportRefusal(import_id=others["import"].id, line=2, cells={mark: mark}, errors=[problem])
    first = [other for other in others.values() if other not in (folder, report_run)]
    await world.add(organization, *first, report_run, second_tag, tagged)
    await world.add(organization, attached, piece, leftover, old_key, *seconds, apart, gone, refused)
    item, stream = await _synchronised(world, organization, others["integration"].id, meeting.id, deal.id, mark)
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
    thread, message, chat_run, approval = await _chat(world, organization, member, mark)
    return {
        "owner": member,
        "question": question.id,
        "item": item,
        "stream": stream,
        "conversation": conversation.id,
        "thread": thread,
        "message": message,
        "chat run": chat_run,
        "approval": approval,
        **{name: other.id for name, other in others.items()},
        "run": run.id,
        "result": result.id,
        "report": report.id,
        "account": account.id,
        "domain": mark,
        "contact": contact.id,
        "deal": deal.id,
        "lead": lead.id,
        "record": account.id,
        "second folder": second_folder.id,
        "stage": stages[0].id,
        "second stage": stages[1].id,
        "second tag": second_tag.id,
        "second account": seconds[0].id,
        "second contact": seconds[1].id,
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


async def _synchronised(
    world: World, organization: Organization, integration_id: str, meeting_id: str, deal_id: str, mark: str
) -> tuple[str, str]:
    """What a connection showed, and what is known of a meeting of it; the identifiers of occurrence and stream."""
    stream = SyncStream(integration_id=integration_id, name=mark)
    kept = {"said": {"subject": mark, "text": mark}, "single": {}}
    item = SyncItem(stream_id=stream.id, external_id=mark, uid=mark, body=kept, hash=mark)
    occurrence = SyncOccurrence(
        integration_id=integration_id,
        stream_id=stream.id,
        item_id=item.id,
        outcome="taken",
        meeting_id=meeting_id,
        **dict.fromkeys(("subject", "explanation"), mark),
    )
    guest = {"name": mark, "email": f"{mark}@{mark}.com", "response": "accepted", "organizer": False}
    known = SyncedMeeting(
        **dict.fromkeys(("uid", "uid_hash", "conference_url"), mark),
        meeting_id=meeting_id,
        participants=[guest],
        overridden=["subject"],
        deal_candidates=[deal_id],
    )
    run = SyncRun(integration_id=integration_id, mode="full", status="running")
    await world.add(organization, stream)
    await world.add(organization, item, run, FeedContent(stream_id=stream.id, sealed=mark.encode()))
    await world.add(organization, occurrence, known, StreamLink(stream_id=stream.id, deal_id=deal_id))
    ends = now() + timedelta(days=1)
    watch = StreamWatch(
        integration_id=integration_id, stream_id=stream.id, sealed=mark.encode(), expires_at=ends, renews_at=ends
    )
    led = IntegrationAccount(org_id=organization.id, integration_id=integration_id, provider=mark, account_key=mark)
    await world.add(organization, watch, led)
    return occurrence.id, stream.id


APPROVED = "a" * 64
"""The hash of what the run proposed."""


async def _chat(world: World, organization: Organization, member: str, mark: str) -> tuple[str, str, str, str]:
    """A thread with a message, the run that answered it and what that proposed; their identifiers."""
    thread = ChatThread(subject=member, title=mark)
    run = ChatRun(
        thread_id=thread.id,
        subject=member,
        message_id=new_id(),
        answer_id=new_id(),
        request_id="request",
        status="succeeded",
        provider="embedded",
        time_zone="UTC",
        credential_kind="session",
        granted_scopes=[],
        last_sequence=1,
        finished_at=now(),
    )
    cited = {"start": 0, "end": 1, "kind": "account", "id": new_id(), "label": mark}
    message = ChatMessage(
        id=run.message_id,
        thread_id=thread.id,
        subject=member,
        position=1,
        run_id=run.id,
        role="user",
        text=mark,
        citations=[cited],
    )
    event = ChatEvent(
        run_id=run.id, sequence=1, subject=member, type="run_finished", data={"status": "succeeded", "words": mark}
    )
    step = ChatStep(run_id=run.id, position=0, subject=member, content={"said": mark})
    usage = ModelUsage(day="2026-01-01", subject=member, provider="embedded", model=run.id)  # each time another one
    approval = ChatApproval(
        thread_id=thread.id,
        run_id=run.id,
        call_id="call_1",
        subject=member,
        tool="log_note",
        operation="noteCreate",
        arguments={"text": mark},
        arguments_sha256=APPROVED,
        preview={"label": mark},
        status="rejected",
        expires_at=now(),
    )
    await world.add(organization, thread, run, message, event, step, usage, approval)
    return thread.id, message.id, run.id, approval.id


async def settle(gateway: Gateway) -> None:
    """Wait until no question and no chat is worked on any more."""
    services = gateway.runtime.services
    await asyncio.gather(*services.runs._tasks, *services.chat_runs._tasks, return_exceptions=True)


def missing(names: Iterable[str]) -> dict[str, str]:
    """An identifier for each name that no record has."""
    return {name: str(uuid5(NAMESPACE_URL, f"missing:{name}")) for name in names}


async def _by_path(gateway: Gateway, request: Rest, headers: Headers) -> httpx.Response:
    """Send the request, with a file where it is about one, whose name is what the body says."""
    if (request.method, request.path) == ("POST", "/files"):
        file = (request.body["file"], b"text", "text/plain")
        return await gateway.http.post("/files", headers=headers, files={"file": file})
    if (request.method, request.path) == ("POST", "/files/uploads"):
        length = "5" if request.body["file"] else "none"
        begun = {"Tus-Resumable": "1.0.0", "Upload-Length": length}
        return await gateway.http.post("/files/uploads", headers=headers | begun)
    if request.path.startswith("/files/uploads/"):
        headers = UPLOADING | headers
    return await gateway.rest(request.method, request.path, headers, request.body)


async def send(gateway: Gateway, request: Rest | Graph, headers: Headers) -> httpx.Response:
    """Send the request through its surface."""
    if isinstance(request, Rest):
        return await _by_path(gateway, request, headers)
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
