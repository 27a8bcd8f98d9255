"""An organization with so many of everything, and two of everything below each."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sqlmodel import col

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
    ChatApproval,
    ChatEvent,
    ChatMessage,
    ChatRun,
    ChatThread,
    Contact,
    Credential,
    CXReport,
    CXReportRevision,
    Deal,
    DealContact,
    Enrollment,
    Event,
    FileLink,
    Folder,
    HealthFactor,
    HealthSnapshot,
    ImportRefusal,
    Integration,
    Lead,
    Mailbox,
    ModelUsage,
    OutreachDomain,
    PipelineStage,
    RecordChange,
    ResearchResult,
    ResearchRun,
    StageChange,
    SyncItem,
    SyncOccurrence,
    SyncStream,
    Webhook,
    WebhookDelivery,
)
from tests.support.record_types import record_types
from tests.support.tenants import Tenant, new_tenant

START = datetime(2026, 1, 1, tzinfo=UTC)
BELOW = range(2)


async def forest(tenant: Tenant, size: int) -> Tenant:
    """The organization, filled."""
    for number in range(size):
        await _crm(tenant, number)
        await _outreach(tenant, number)
        await _research(tenant, number)
        await _administration(tenant, number)
        await _questions(tenant, number)
        await new_membership(tenant)
    await _chats(tenant, size)
    await _synchronised(tenant, size)
    return tenant


async def _crm(tenant: Tenant, number: int) -> None:
    account = Account(name=f"common account {number}", domain=f"a{number}.example")
    stage = PipelineStage(name=f"stage {number}", position=number)
    await tenant.add(account, stage)
    # The two of an account have one address, and so are a group of duplicates.
    contacts = [
        Contact(last_name=f"{number}-{k}", email=f"{number}@duplicates.example", account_id=account.id) for k in BELOW
    ]
    await tenant.add(*contacts)
    for k in BELOW:
        at = START + timedelta(minutes=number * 10 + k)
        deal = Deal(
            name=f"{number}-{k}",
            account_id=account.id,
            stage_id=stage.id if k else None,
            champion_id=contacts[k].id,
            value=10,
            competitors=["rival"],
        )
        snapshot = HealthSnapshot(
            account_id=account.id, score=50, trend="stable", data_points=1, snapshot_at=at, formula_version="1"
        )
        await tenant.add(deal, snapshot)
        await tenant.add(
            *(DealContact(deal_id=deal.id, contact_id=contact.id, linked_at=at) for contact in contacts),
            StageChange(deal_id=deal.id, to_stage_id=stage.id, at=at, account_id=account.id),
            *(
                RecordChange(
                    subject_kind=kind, subject_id=record.id, at=at, actor="a", type="t", fields={"name": [None, str(k)]}
                )
                for kind, record in (("account", account), ("contact", contacts[k]), ("deal", deal))
            ),
            Activity(
                subject=f"{number}-{k}", due_at=at, account_id=account.id, deal_id=deal.id, contact_id=contacts[k].id
            ),
            Lead(name=f"lead {number}-{k}", tags=["t"], account_id=account.id, deal_id=deal.id, status="new"),
            *(
                HealthFactor(
                    account_id=account.id,
                    health_score_id=snapshot.id,
                    snapshot_at=at,
                    position=position,
                    key=("champion_presence", "deal_outcomes")[position],
                    label="l",
                    score=50,
                    weight=1.0,
                    value=1.0,
                    explanation="e",
                    sample_size=1,
                )
                for position in BELOW
            ),
        )
    known = {"account": account.id, "contact": contacts[0].id, "deal": deal.id}
    rows = {record.name: record.row(known, f"{number}") for record in record_types()}
    folder, file = rows.pop("folder"), rows["file"]
    file.folder_id = folder.id
    report_run = rows.pop("report run")
    report_run.report_id, report_run.file_ids = rows["saved report"].id, [file.id]
    problem = {"path": [], "message": "m", "type": "t", "names": []}
    refused = [ImportRefusal(import_id=rows["import"].id, line=k, errors=[problem]) for k in BELOW]
    below = [Folder(name=f"{k}", parent_id=folder.id, depth=2) for k in BELOW]
    attached = FileLink(record_id=account.id, file_id=file.id, kind="account")
    await tenant.add(folder, *below, *rows.values(), attached, report_run, *refused)


async def _outreach(tenant: Tenant, number: int) -> None:
    mark = f"n{number}"
    domain = OutreachDomain(name=f"{mark}.example", status="active")
    mailboxes = [
        Mailbox(domain_id=domain.id, email=f"{k}@{mark}.example", display_name="d", status="active") for k in BELOW
    ]
    steps = [{"delay_days": 0, "subject": "s", "body": "b"} for _ in BELOW]
    campaign = Campaign(name=mark, steps=steps, provider="local", status="draft")
    await tenant.add(domain, *mailboxes, campaign)
    await tenant.add(
        *(CampaignMailbox(campaign_id=campaign.id, mailbox_id=mailbox.id) for mailbox in mailboxes),
        *(Enrollment(campaign_id=campaign.id, email=f"{k}@x", email_key=f"{k}@x") for k in BELOW),
    )


async def _research(tenant: Tenant, number: int) -> None:
    run = ResearchRun(name=f"run {number}", result_count=2)
    await tenant.add(run)
    for position in BELOW:
        result = ResearchResult(run_id=run.id, position=position, company_name="c", status="scored", score=5)
        report = CXReport(result_id=result.id, published_revision=1)
        content = CXReportRevision(report_id=report.id, revision=1, copy_blobs={}, analysis={}, brand={})
        await tenant.add(result, report, content)
        files = [
            Artifact(
                subject_id=report.id,
                kind=kind,
                revision=1,
                storage_name=f"{report.id}/{kind}",
                file_name="f",
                content_type="application/pdf",
                bytes=4,
                sha256="s",
            )
            for kind in ("PDF", "DECK")
        ]
        async with tenant.gateway.world.database.writing(tenant.id) as session:
            await publish(session, *files)


async def _questions(tenant: Tenant, number: int) -> None:
    conversation = AnalyticsConversation(subject=tenant.subject("admin"), title=f"{number}")
    column = {"name": "count", "label": "Count", "kind": "integer", "unit": None, "currency_column": None}
    run = AnalyticsRun(
        conversation_id=conversation.id,
        subject=conversation.subject,
        fingerprint="",
        question=f"{number}",
        status="succeeded",
        sql={"text": "SELECT 1", "dialect": "sqlite", "tables": [], "filters": [], "digest": ""},
        columns=[column],
        chart={"kind": "number", "spec": None},
        row_count=1,
        holder=new_id(),
        leased_until=now(),
        finished_at=now(),
    )
    step = AnalyticsEvent(run_id=run.id, sequence=1, type="rows", data={"offset": 0, "rows": [[number]]})
    await tenant.add(conversation, run, step)


async def _chats(tenant: Tenant, size: int) -> None:
    """So many threads, of which the newest has so many messages, each with its run."""
    account, subject = (await tenant.rows(col(Account.id)))[0][0], tenant.subject("admin")
    threads = [ChatThread(subject=subject, title=f"{number}") for number in range(size)]
    day = now().date().isoformat()
    usage = [ModelUsage(day=day, subject=f"{number}", provider="embedded", model="") for number in range(size)]
    await tenant.add(*threads, *usage)
    for number, thread in enumerate([*threads[:-1], *threads[-1:] * size]):
        run = ChatRun(
            thread_id=thread.id,
            subject=subject,
            message_id=new_id(),
            answer_id=new_id(),
            request_id="request",
            provider="embedded",
            time_zone="UTC",
            credential_kind="session",
            granted_scopes=[],
            finished_at=now(),
        )
        cited = {"start": 0, "end": 1, "kind": "account", "id": account, "label": "A"}
        message = ChatMessage(
            id=run.message_id,
            thread_id=thread.id,
            subject=subject,
            position=number + 1,
            run_id=run.id,
            role="user",
            text=f"{number}",
            citations=[cited],
        )
        event = ChatEvent(run_id=run.id, sequence=1, subject=subject, type="text_delta", data={"text": f"{number}"})
        approval = ChatApproval(
            thread_id=thread.id,
            run_id=run.id,
            call_id="call_1",
            subject=subject,
            tool="update_record",
            operation="accountUpdate",
            arguments={},
            arguments_sha256="a" * 64,
            preview={},
            status="executed",
            expires_at=now(),
            result_kind="account",
            result_id=account,
        )
        await tenant.add(run, message, event, approval)


async def _synchronised(tenant: Tenant, size: int) -> None:
    """Every connection has two streams, and the newest one showed so many things."""
    ids = [row[0] for row in await tenant.rows(col(Integration.id))]
    streams = [SyncStream(integration_id=i, external_id=f"{k}", name=f"{k}") for i in ids for k in BELOW]
    await tenant.add(*streams)
    known = {"integration_id": streams[-1].integration_id, "stream_id": streams[-1].id}
    for number in range(size):
        names = dict.fromkeys(("external_id", "uid", "hash"), f"{number}")
        item = SyncItem(stream_id=known["stream_id"], body={}, **names)
        await tenant.add(item)
        await tenant.add(SyncOccurrence(item_id=item.id, outcome="taken", subject=f"{number}", **known))


async def _administration(tenant: Tenant, number: int) -> None:
    webhook = Webhook(url=f"http://127.0.0.1:9/{number}", areas=["crm"], types=["a", "b"], cursor=10**6, active=False)
    await tenant.add(webhook)
    await tenant.add(
        *(
            WebhookDelivery(webhook_id=webhook.id, event_id=new_id(), sequence=k, attempt=1, delivered=True)
            for k in BELOW
        ),
        Event(sequence=1_000 + number, type="account_created", area="crm", actor="a", data={}),
    )
    subject = tenant.subject("admin")
    for kind, org_id in (("organization_key", tenant.id), ("user_token", None)):
        credential = Credential(
            kind=kind,
            key_id=new_id().replace("-", "")[-16:],
            secret_hash="h",
            hint="h",
            name=f"{kind} {number}",
            org_id=org_id,
            owner_subject=subject,
            created_at=now(),
        )
        async with tenant.gateway.world.database.directory(writing=True) as session:
            await session.insert(credential)


async def new_membership(tenant: Tenant) -> None:
    """The administrator is in one more organization."""
    other = await new_tenant(tenant.gateway)
    await tenant.gateway.world.join(tenant.subject("admin"), other.organization, scopes=[])
