"""Lists what can be listed: for each record type its source, its columns, and the orders that its lists know."""

from dataclasses import replace

from sqlalchemy import and_, case, func, literal_column, select
from sqlmodel import col

from contract.criteria import Order
from contract.vocabulary import JobStatus, SortDirection
from storage import rows as r
from storage import tables as t
from storage.expressions import AnyColumn
from storage.joined_rows import CXContentRow, DomainRow, LinkedContactRow, ToldMergeRow
from storage.queries import record_listables as of_records
from storage.queries.listable import (
    BY_CREATION,
    ID,
    NEWEST,
    Key,
    Listable,
    in_order_of,
    linked_by,
    record_listable,
    shown_columns,
)

ACCOUNTS, CONTACTS, COMPETITORS = of_records.ACCOUNTS, of_records.CONTACTS, of_records.COMPETITORS
PEOPLE, STAGES, DEALS, LEADS = of_records.PEOPLE, of_records.STAGES, of_records.DEALS, of_records.LEADS
ACTIVITIES, TASKS, NOTES = of_records.ACTIVITIES, of_records.TASKS, of_records.NOTES
CALLS, EMAILS, MEETINGS = of_records.CALLS, of_records.EMAILS, of_records.MEETINGS
MEETINGS_WITH_LINKS = of_records.MEETINGS_WITH_LINKS
SNAPSHOTS: Listable[r.HealthSnapshotRow] = Listable(
    "snapshots",
    t.HealthSnapshot,
    shown_columns(t.HealthSnapshot),
    {"snapshot_at": (Key("snapshot_at"), Key("id"))},
    Order("snapshot_at"),
)
FACTORS: Listable[r.HealthFactorRow] = in_order_of("position", "factors", t.HealthFactor)

_CONTENT = (
    col(t.CXReportRevision.copy_blobs),
    col(t.CXReportRevision.analysis),
    col(t.CXReportRevision.brand),
    col(t.CXReportRevision.bpo_prefix),
)
RESEARCH_RUNS: Listable[r.ResearchRunRow] = Listable(
    "research_runs", t.ResearchRun, shown_columns(t.ResearchRun), BY_CREATION, NEWEST
)
RESEARCH_RESULTS: Listable[r.ResearchResultRow] = in_order_of("position", "research_results", t.ResearchResult)
CX_REPORTS: Listable[CXContentRow] = Listable(
    "cx_reports",
    t.CXReport,
    (*shown_columns(t.CXReport), *_CONTENT),
    {"updated_at": (Key("updated_at"), ID)},
    Order("updated_at"),
    joins=(
        (
            t.CXReportRevision,
            and_(
                col(t.CXReportRevision.org_id) == col(t.CXReport.org_id),
                col(t.CXReportRevision.report_id) == col(t.CXReport.id),
                col(t.CXReportRevision.revision) == col(t.CXReport.revision),
            ),
            False,
        ),
    ),
)
"""Reports with the content of their newest revision."""
WEBHOOKS: Listable[r.WebhookRow] = Listable("webhooks", t.Webhook, shown_columns(t.Webhook), BY_CREATION, NEWEST)
JOBS: Listable[r.JobRow] = Listable("jobs", t.Job, shown_columns(t.Job), BY_CREATION, NEWEST)
EVENTS: Listable[r.EventRow] = Listable(
    "events",
    t.Event,
    shown_columns(t.Event),
    {"sequence": (Key("sequence"),), "occurred_at": (Key("occurred_at"), Key("sequence", descending=False))},
    Order("sequence", SortDirection.ASC),
)

SALES_TARGETS: Listable[r.SalesTargetRow] = Listable(
    "sales_targets",
    t.SalesTarget,
    shown_columns(t.SalesTarget),
    {"starts_on": (Key("starts_on"), Key("owner_key", descending=False), ID)},
    Order("starts_on"),
    links={"owner": ("owner_id", PEOPLE)},
)

REPORTS: Listable[r.ReportRow] = replace(
    in_order_of("name", "reports", t.Report), links={"owner": ("owner_id", PEOPLE)}
)

_HAS_ENDED = col(t.ReportRun.finished_at).is_not(None)
_GIVEN_UP: AnyColumn = literal_column(f"'{JobStatus.FAILED}'")
_TOLD_BY_JOB = {
    "status": case((_HAS_ENDED, col(t.ReportRun.status)), else_=func.coalesce(col(t.Job.status), _GIVEN_UP)),
    "error": case((_HAS_ENDED, col(t.ReportRun.error)), (col(t.Job.status) == _GIVEN_UP, col(t.Job.error))),
    "finished_at": func.coalesce(col(t.ReportRun.finished_at), col(t.Job.finished_at)),
}
REPORT_RUNS: Listable[r.ReportRunRow] = Listable(
    "report_runs",
    t.ReportRun,
    tuple(
        _TOLD_BY_JOB[column.key].label(column.key) if column.key in _TOLD_BY_JOB else column
        for column in shown_columns(t.ReportRun)
    ),
    {"created_at": (Key("created_at"), ID)},
    Order("created_at"),
    joins=(linked_by(t.Job, col(t.ReportRun.org_id), col(t.ReportRun.job_id)),),
)
"""Runs of reports. While one has not written its own end its job says where it stands: also of one whose worker died
as often as it tried (decision 550)."""

MAILS: Listable[r.MailRow] = Listable(
    "mails", t.Mail, shown_columns(t.Mail), {"created_at": (Key("created_at"), ID)}, Order("created_at")
)

ANALYTICS_RUNS: Listable[r.AnalyticsRunRow] = Listable(
    "analytics_runs",
    t.AnalyticsRun,
    shown_columns(t.AnalyticsRun),
    {"created_at": (Key("created_at"), ID)},
    Order("created_at"),
)
"""Questions: whoever lists them says whose, since they are nobody else's."""

INTEGRATIONS: Listable[r.IntegrationRow] = Listable(
    "integrations", t.Integration, shown_columns(t.Integration), BY_CREATION, NEWEST, called="Integration"
)
"""Connections: whoever lists them says whose."""
INTEGRATION_ITEMS: Listable[r.SyncOccurrenceRow] = Listable(
    "integration_items",
    t.SyncOccurrence,
    shown_columns(t.SyncOccurrence),
    {"starts_at": (Key("starts_at", nullable=True), ID)},
    Order("starts_at"),
    called="IntegrationItem",
)
"""The items that a connection showed: whoever lists them says of which."""
CHAT_THREADS: Listable[r.ChatThreadRow] = Listable(
    "chat_threads",
    t.ChatThread,
    shown_columns(t.ChatThread),
    {"updated_at": (Key("updated_at"), ID)},
    Order("updated_at"),
)
CHAT_MESSAGES: Listable[r.ChatMessageRow] = in_order_of("position", "chat_messages", t.ChatMessage)
CHAT_RUNS: Listable[r.ChatRunRow] = in_order_of("created_at", "chat_runs", t.ChatRun)
CHAT_APPROVALS: Listable[r.ChatApprovalRow] = Listable(
    "chat_approvals", t.ChatApproval, shown_columns(t.ChatApproval), BY_CREATION, NEWEST
)
"""Threads, messages, runs and approvals: whoever lists them says whose, since they are nobody else's."""

SAVED_QUERIES: Listable[r.SavedQueryRow] = Listable(
    "saved_queries",
    t.SavedQuery,
    shown_columns(t.SavedQuery),
    {"name": (Key("name"), ID)},
    Order("name", SortDirection.ASC),
)
"""Saved queries: whoever lists them says whose."""

MERGES: Listable[ToldMergeRow] = Listable(
    "merges",
    t.Merge,
    tuple(column for column in shown_columns(t.Merge) if column.key not in ("choice", "moved", "before")),
    {"merged_at": (Key("merged_at"), ID)},
    Order("merged_at"),
)
"""Merges without what only an undo reads."""

EXPORTS: Listable[r.DataExportRow] = replace(
    in_order_of("created_at", "exports", t.DataExport, called="DataExport"), needs=col(t.DataExport.needs)
)
IMPORTS: Listable[r.DataImportRow] = Listable(
    "imports", t.DataImport, shown_columns(t.DataImport), BY_CREATION, NEWEST, called="DataImport"
)
IMPORT_REFUSALS: Listable[r.ImportRefusalRow] = in_order_of("line", "import_refusals", t.ImportRefusal)

_USES = (
    select(func.count())
    .select_from(t.TagLink)
    .where(col(t.TagLink.org_id) == col(t.Tag.org_id), col(t.TagLink.tag_id) == col(t.Tag.id))
    .scalar_subquery()
)
TAGS: Listable[r.TagRow] = Listable(
    "tags",
    t.Tag,
    (*shown_columns(t.Tag), _USES.label("uses")),
    {"name": (Key("name"), ID), "uses": (Key("uses"), ID), "created_at": (Key("created_at"), ID)},
    Order("name", SortDirection.ASC),
)

_LINKED = (col(t.DealContact.role), col(t.DealContact.is_primary), col(t.DealContact.linked_at))
CONTACTS_OF_DEALS: Listable[LinkedContactRow] = Listable(
    "contacts_of_deals",
    t.DealContact,
    (*shown_columns(t.Contact), col(t.DealContact.deal_id), *_LINKED),
    {"linked_at": (Key("linked_at"), ID)},
    Order("linked_at", SortDirection.ASC),
    links=CONTACTS.links,
    joins=(linked_by(t.Contact, col(t.DealContact.org_id), col(t.DealContact.contact_id), optional=False),),
)
DEALS_OF_CONTACTS: Listable[r.DealRow] = Listable(
    "deals_of_contacts",
    t.DealContact,
    (*shown_columns(t.Deal), col(t.DealContact.contact_id)),
    DEALS.orders,
    DEALS.default,
    links=DEALS.links,
    joins=(linked_by(t.Deal, col(t.DealContact.org_id), col(t.DealContact.deal_id), optional=False),),
)

_MAILBOXES_ON_IT = (
    select(func.count())
    .select_from(t.Mailbox)
    .where(col(t.Mailbox.org_id) == col(t.OutreachDomain.org_id), col(t.Mailbox.domain_id) == col(t.OutreachDomain.id))
    .scalar_subquery()
)
DOMAINS: Listable[DomainRow] = Listable(
    "domains",
    t.OutreachDomain,
    (*shown_columns(t.OutreachDomain), _MAILBOXES_ON_IT.label("mailbox_count")),
    {"name": (Key("name"), ID)},
    Order("name", SortDirection.ASC),
)
MAILBOXES: Listable[r.MailboxRow] = in_order_of("email", "mailboxes", t.Mailbox)
CAMPAIGNS: Listable[r.CampaignRow] = record_listable(t.Campaign)
ENROLLMENTS: Listable[r.EnrollmentRow] = in_order_of("enrolled_at", "enrollments", t.Enrollment)
MAILBOXES_OF_CAMPAIGNS: Listable[r.MailboxRow] = Listable(
    "mailboxes_of_campaigns",
    t.CampaignMailbox,
    (*shown_columns(t.Mailbox), col(t.CampaignMailbox.campaign_id)),
    {"email": (Key("email"), ID)},
    Order("email", SortDirection.ASC),
    joins=(linked_by(t.Mailbox, col(t.CampaignMailbox.org_id), col(t.CampaignMailbox.mailbox_id), optional=False),),
)

_FOLDER: Listable[r.FolderRow] = in_order_of("name", "parent_folders", t.Folder)
FOLDERS = replace(_FOLDER, name="folders", links={"parent": ("parent_id", _FOLDER)}, is_shared=True)
FILES: Listable[r.FileRow] = replace(record_listable(t.File, folder=FOLDERS), needs=col(t.File.needs))
FILES_OF_RECORDS: Listable[r.FileRow] = Listable(  # without those in the trash
    "files_of_records",
    t.FileLink,
    (*shown_columns(t.File), col(t.FileLink.record_id)),
    FILES.orders,
    FILES.default,
    links=FILES.links,
    joins=(linked_by(t.File, col(t.FileLink.org_id), col(t.FileLink.file_id), optional=False),),
    fixed=(col(t.File.trashed_at).is_(None),),
    needs=col(t.File.needs),
)
