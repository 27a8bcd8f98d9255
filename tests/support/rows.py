"""Two organizations with one row in every table each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
from sqlmodel import SQLModel

from storage.base import Tenant, new_id, now
from storage.database import Database
from storage.tables import (
    Account,
    Activity,
    AnalyticsConversation,
    AnalyticsEvent,
    AnalyticsRun,
    AnalyticsWatch,
    Artifact,
    Campaign,
    CampaignMailbox,
    ChatApproval,
    ChatEvent,
    ChatMessage,
    ChatRun,
    ChatStep,
    ChatThread,
    ChatWatch,
    Contact,
    Credential,
    CXReport,
    CXReportRevision,
    Deal,
    DealContact,
    Enrollment,
    Event,
    EventCounter,
    ExternalKey,
    Feedback,
    FeedContent,
    FileLink,
    FilePiece,
    FileUsage,
    HealthFactor,
    HealthSnapshot,
    IdempotencyKey,
    ImportRefusal,
    IntegrationAccount,
    IntegrationPolicy,
    Job,
    JobWorker,
    Lead,
    Leftover,
    LoginGrant,
    LoginSession,
    LoginTicket,
    Mailbox,
    MatchGroup,
    MatchKey,
    Medium,
    Member,
    Membership,
    MergedId,
    ModelUsage,
    NotDuplicate,
    Organization,
    OutreachDomain,
    OutreachMessage,
    Password,
    PipelineStage,
    QueuedJob,
    ReminderWatch,
    ReportWatch,
    ResearchResult,
    ResearchRun,
    StageChange,
    StreamLink,
    StreamWatch,
    SyncedMeeting,
    SyncItem,
    SyncOccurrence,
    SyncRun,
    SyncStream,
    TagLink,
    Webhook,
    WebhookDelivery,
    WebhookWatch,
)
from tests.support.cells import blank_cells
from tests.support.record_types import record_types

_TENANTS = [m.class_ for m in SQLModel._sa_registry.mappers if issubclass(m.class_, Tenant)]
TENANT_TABLES = sorted(str(model.__tablename__) for model in _TENANTS)


@dataclass(frozen=True)
class Rows:
    """The identifiers of one organization's rows; every text in them is its name, "first" or "second"."""

    name: str
    org: str
    account: str
    contact: str
    stage: str
    deal: str
    activity: str
    snapshot: str
    job: str
    run: str
    result: str
    report: str
    artifact: str
    lead: str
    tag: str
    later_meeting: str
    task: str
    note: str
    call: str
    email: str
    file: str


async def fill(database: Database) -> tuple[Rows, Rows]:
    """The first and the second organization."""
    return await organization(database, "first"), await organization(database, "second")


async def organization(database: Database, name: str) -> Rows:
    """An organization with one row in every table."""
    rows = Rows(name, *(new_id() for _ in range(20)))
    async with database.directory(writing=True) as session:
        await session.insert(Organization(id=rows.org, external_id=name, name=name), Member(subject=name), JobWorker())
        await session.insert(
            Membership(org_id=rows.org, subject=name, scopes=["crm:read"]),
            Credential(
                org_id=rows.org,
                kind="organization_key",
                key_id=name,
                secret_hash=name,
                hint=name,
                name=name,
                owner_subject=name,
            ),
            Feedback(org_id=rows.org, subject=name, kind="idea", message=name),
            IdempotencyKey(
                id=name,
                org_id=rows.org,
                fingerprint=name,
                holder=rows.org,
                leased_until=now(),
                expires_at=now(),
                result=name.encode(),
            ),
            Password(subject=name, hash=name),
        )
        await session.insert(LoginSession(id=rows.org, hash=name, subject=name, expires_at=now()))
        await session.insert(LoginGrant(subject=name, session_id=rows.org, client_id=name, expires_at=now()))
        await session.insert(LoginTicket(hash=name, kind="login_link", subject=name, expires_at=now()))
    async with database.writing(rows.org) as session:
        await session.insert(
            Account(id=rows.account, name=name), PipelineStage(id=rows.stage, name=name), EventCounter(last=1)
        )
        await session.insert(Contact(id=rows.contact, first_name=name, account_id=rows.account))
        await session.insert(
            Deal(
                id=rows.deal,
                name=name,
                account_id=rows.account,
                stage_id=rows.stage,
                champion_id=rows.contact,
            ),
            *blank_cells(name),
            HealthSnapshot(id=rows.snapshot, account_id=rows.account, score=50, formula_version=name),
            Artifact(id=rows.artifact, subject_id=rows.artifact, kind="PDF", revision=1, **_file(name)),
            Event(sequence=1, type=name, area=name, actor=name, data={"name": name}),
            Job(id=rows.job, kind=name, arguments={"name": name}),
            ResearchRun(id=rows.run, name=name, result_count=1),
        )
        await session.insert(
            ReminderWatch(org_id=rows.org, next_at=now()),
            ReportWatch(org_id=rows.org, next_at=now()),
            QueuedJob(org_id=rows.org, job_id=rows.job, due_at=now()),
            ResearchResult(id=rows.result, run_id=rows.run, position=0, company_name=name),
            Medium(key=name, org_id=rows.org, artifact_id=rows.artifact, **_file(name)),
            DealContact(deal_id=rows.deal, contact_id=rows.contact, role=name),
            StageChange(deal_id=rows.deal, to_stage_id=rows.stage, by=name, account_id=rows.account),
            Activity(
                id=rows.activity,
                subject=name,
                account_id=rows.account,
                deal_id=rows.deal,
                contact_id=rows.contact,
                details={"name": name},
            ),
            Lead(
                id=rows.lead,
                card_id=name,
                name=name,
                account_id=rows.account,
                contact_id=rows.contact,
                deal_id=rows.deal,
                capture_payload={"name": name},
            ),
            HealthFactor(
                account_id=rows.account,
                health_score_id=rows.snapshot,
                position=0,
                key=name,
                label=name,
                score=50,
                weight=1.0,
                explanation=name,
                sample_size=1,
            ),
        )
        await session.insert(CXReport(id=rows.report, result_id=rows.result))
        await session.insert(
            AnalyticsConversation(id=rows.run, subject=name, title=name),
            AnalyticsRun(
                id=rows.run,
                conversation_id=rows.run,
                subject=name,
                fingerprint=name,
                question=name,
                holder=rows.run,
                leased_until=now(),
            ),
            AnalyticsEvent(run_id=rows.run, sequence=1, type=name, data={"name": name}),
            AnalyticsWatch(org_id=rows.org, next_at=now()),
            ChatThread(id=rows.run, subject=name, title=name),
            ChatMessage(id=rows.run, thread_id=rows.run, subject=name, position=1, role="user", text=name),
            ChatRun(
                id=rows.run,
                thread_id=rows.run,
                subject=name,
                message_id=rows.run,
                answer_id=rows.run,
                request_id=name,
                provider=name,
                time_zone="UTC",
                credential_kind="session",
                granted_scopes=[],
            ),
            ChatEvent(run_id=rows.run, sequence=1, subject=name, type=name, data={"name": name}),
            ChatStep(run_id=rows.run, position=0, subject=name, content={"name": name}),
            ModelUsage(day="2026-01-01", subject=name, provider=name, model=""),
            ChatApproval(
                id=rows.run,
                thread_id=rows.run,
                run_id=rows.run,
                call_id=name,
                subject=name,
                tool=name,
                operation=name,
                arguments={},
                arguments_sha256=name,
                preview={},
                expires_at=now(),
            ),
            ChatWatch(org_id=rows.org, next_at=now()),
        )
        known = {"account": rows.account, "contact": rows.contact, "deal": rows.deal}
        others = {record.name: record.row(known, name) for record in record_types()}
        others["activity"].id, others["activity"].type = rows.later_meeting, "meeting"
        for noun in ("tag", "task", "note", "call", "email", "file"):
            others[noun].id = getattr(rows, noun)
        others["file"].folder_id = others["folder"].id
        await session.insert(others.pop("folder"))
        await session.insert(*others.values())
        file, upload = others["file"], others["upload"]
        await session.insert(
            FileUsage(bytes=1, files=1),
            FileLink(record_id=rows.account, file_id=file.id, kind="account", attached_by=name),
            FilePiece(upload_id=upload.id, start=0, bytes=1, storage_name=name),
            Leftover(org_id=rows.org, storage_name=name, gone_after=now()),
        )
        await session.insert(
            TagLink(kind="account", record_id=rows.account, tag_id=rows.tag),
            MatchGroup(kind="account", key=f"b{name}", sign="b", size=2),
            MatchKey(kind="account", key=name, record_id=rows.account),
            NotDuplicate(kind="account", low_id=min(rows.account, rows.tag), high_id=max(rows.account, rows.tag)),
            MergedId(kind="account", from_id=rows.tag, into_id=rows.account, merge_id=others["merge"].id),
            ExternalKey(kind="account", key=name, record_id=rows.account),
            ImportRefusal(import_id=others["import"].id, line=2, cells={name: name}, errors=[]),
            CXReportRevision(report_id=rows.report, revision=1, copy_blobs={"name": name}, analysis={}, brand={}),
        )
    await _outreach(database, rows)
    await _integrations(database, rows, others["integration"].id)
    webhook = Webhook(url=name, cursor=0)
    async with database.writing(rows.org) as session:
        await session.insert(webhook)
        await session.insert(
            WebhookDelivery(webhook_id=webhook.id, event_id=webhook.id, sequence=1, attempt=1, delivered=False),
            WebhookWatch(org_id=rows.org, webhook_id=webhook.id),
        )
    return rows


async def _integrations(database: Database, rows: Rows, integration_id: str) -> None:
    stream = SyncStream(integration_id=integration_id, name=rows.name)
    item = SyncItem(stream_id=stream.id, body={}, **dict.fromkeys(("external_id", "uid", "hash"), rows.name))
    occurrence = SyncOccurrence(integration_id=integration_id, stream_id=stream.id, item_id=item.id, outcome="taken")
    async with database.writing(rows.org) as session:
        await session.insert(stream)
        await session.insert(item, FeedContent(stream_id=stream.id, sealed=b"1"))
        await session.insert(
            occurrence,
            SyncedMeeting(uid=rows.name, uid_hash=rows.name, meeting_id=rows.activity),
            SyncRun(integration_id=integration_id, mode="full"),
            IntegrationPolicy(org_id=rows.org),
            StreamLink(stream_id=stream.id, deal_id=rows.deal),
            IntegrationAccount(
                org_id=rows.org, integration_id=integration_id, provider=rows.name, account_key=rows.name
            ),
            StreamWatch(integration_id=integration_id, stream_id=stream.id, expires_at=now(), renews_at=now()),
        )


def _file(name: str) -> dict[str, Any]:
    return {"storage_name": name, "file_name": name, "content_type": name, "bytes": 1, "sha256": name}


async def _outreach(database: Database, rows: Rows) -> None:
    name = rows.name
    domain, campaign = OutreachDomain(name=name), Campaign(name=name, provider=name)
    mailbox = Mailbox(domain_id=domain.id, email=name)
    enrollment = Enrollment(campaign_id=campaign.id, contact_id=rows.contact, email=name, email_key=name)
    message = OutreachMessage(
        campaign_id=campaign.id,
        enrollment_id=enrollment.id,
        step=0,
        sender=name,
        recipient=name,
        subject=name,
        body=name,
    )
    link = CampaignMailbox(campaign_id=campaign.id, mailbox_id=mailbox.id)
    async with database.writing(rows.org) as session:
        for records in ((domain, campaign), (mailbox,), (enrollment, link), (message,)):
            await session.insert(*records)


async def count_rows(database: Database, organizations: tuple[Rows, ...]) -> dict[str, int]:
    """How many rows each table has, over the given organizations."""
    counts: dict[str, int] = {}
    for mapper in SQLModel._sa_registry.mappers:
        model = mapper.class_
        name = mapper.local_table.name
        statement = select(func.count()).select_from(model)
        if not issubclass(model, Tenant):
            async with database.directory() as session:
                counts[name] = await session.scalar(statement)
            continue
        counts[name] = 0
        for rows in organizations:
            async with database.reading(rows.org) as session:
                counts[name] += await session.scalar(statement.where(model.org_id == rows.org))
    return counts
