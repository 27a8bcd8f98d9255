"""The tables, one module per record type; each is loaded when its class is first asked for (decision 1070).

A command that looks into the directory needs a tenth of them, and making the classes of all was half of its time. Who
goes through all of them calls `load_all`, as `storage.adapters.sqlmodel.mappers` does. The type checker finds the
classes in `__init__.pyi`, which `./run rows` makes of `TABLES`.
"""

from functools import cache
from importlib import import_module
from typing import Final

from sqlmodel import SQLModel

from storage.adapters.sqlalchemy import share_types

TABLES: Final = {
    "accounts": "accounts.Account",
    "activities": "activities.Activity",
    "analytics_conversations": "analytics.AnalyticsConversation",
    "analytics_events": "analytics.AnalyticsEvent",
    "analytics_runs": "analytics.AnalyticsRun",
    "analytics_watches": "watches.AnalyticsWatch",
    "artifacts": "artifacts.Artifact",
    "campaign_mailboxes": "campaigns.CampaignMailbox",
    "campaigns": "campaigns.Campaign",
    "chat_approvals": "chat_approvals.ChatApproval",
    "chat_events": "chat.ChatEvent",
    "chat_messages": "chat.ChatMessage",
    "chat_runs": "chat.ChatRun",
    "chat_steps": "chat.ChatStep",
    "chat_threads": "chat.ChatThread",
    "chat_watches": "watches.ChatWatch",
    "competitors": "competitors.Competitor",
    "contacts": "contacts.Contact",
    "credentials": "credentials.Credential",
    "cx_report_revisions": "cx_reports.CXReportRevision",
    "cx_reports": "cx_reports.CXReport",
    "deal_cell_deltas": "cells.DealCellDelta",
    "deal_cells": "cells.DealCell",
    "deal_contacts": "deals.DealContact",
    "deals": "deals.Deal",
    "enrollments": "enrollments.Enrollment",
    "event_counters": "organizations.EventCounter",
    "events": "events.Event",
    "exports": "exports.DataExport",
    "external_keys": "external_keys.ExternalKey",
    "feed_contents": "syncs.FeedContent",
    "feedback": "feedback.Feedback",
    "file_leftovers": "files.Leftover",
    "file_links": "files.FileLink",
    "file_pieces": "uploads.FilePiece",
    "file_uploads": "uploads.FileUpload",
    "file_usage": "files.FileUsage",
    "files": "files.File",
    "folders": "folders.Folder",
    "health_factors": "health.HealthFactor",
    "health_snapshots": "health.HealthSnapshot",
    "idempotency_keys": "idempotency.IdempotencyKey",
    "import_refusals": "imports.ImportRefusal",
    "imports": "imports.DataImport",
    "integration_accounts": "syncs.IntegrationAccount",
    "integration_policies": "integrations.IntegrationPolicy",
    "integrations": "integrations.Integration",
    "job_queue": "jobs.QueuedJob",
    "job_workers": "jobs.JobWorker",
    "jobs": "jobs.Job",
    "leads": "leads.Lead",
    "login_grants": "logins.LoginGrant",
    "login_sessions": "logins.LoginSession",
    "login_tickets": "logins.LoginTicket",
    "mailboxes": "mailboxes.Mailbox",
    "mails": "mails.Mail",
    "match_groups": "duplicates.MatchGroup",
    "match_keys": "duplicates.MatchKey",
    "media": "artifacts.Medium",
    "meeting_cell_deltas": "cells.MeetingCellDelta",
    "meeting_cells": "cells.MeetingCell",
    "members": "organizations.Member",
    "memberships": "organizations.Membership",
    "merged_ids": "merging.MergedId",
    "merges": "merging.Merge",
    "model_usage": "chat.ModelUsage",
    "not_duplicates": "duplicates.NotDuplicate",
    "organizations": "organizations.Organization",
    "outreach_domains": "outreach_domains.OutreachDomain",
    "outreach_messages": "enrollments.OutreachMessage",
    "passwords": "logins.Password",
    "people": "members.Person",
    "pipeline_stages": "pipeline_stages.PipelineStage",
    "record_changes": "history.RecordChange",
    "reminder_watches": "watches.ReminderWatch",
    "report_runs": "reports.ReportRun",
    "report_watches": "watches.ReportWatch",
    "reports": "reports.Report",
    "research_results": "research.ResearchResult",
    "research_runs": "research.ResearchRun",
    "sales_targets": "sales_targets.SalesTarget",
    "saved_queries": "saved_queries.SavedQuery",
    "search_entries": "search.SearchEntry",
    "stage_changes": "pipeline_stages.StageChange",
    "stream_links": "syncs.StreamLink",
    "stream_watches": "syncs.StreamWatch",
    "sync_items": "syncs.SyncItem",
    "sync_occurrences": "syncs.SyncOccurrence",
    "sync_runs": "syncs.SyncRun",
    "sync_streams": "syncs.SyncStream",
    "synced_meetings": "syncs.SyncedMeeting",
    "tag_links": "tags.TagLink",
    "tags": "tags.Tag",
    "webhook_deliveries": "webhooks.WebhookDelivery",
    "webhook_watches": "watches.WebhookWatch",
    "webhooks": "webhooks.Webhook",
}
"""Every table by its name, with the module that declares it and its class."""
_MODULES = {home.partition(".")[2]: home.partition(".")[0] for home in TABLES.values()}


def __getattr__(name: str) -> type[SQLModel]:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: type[SQLModel] = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = found
    return found


def load(table: str) -> type[SQLModel]:
    """The class of a table. Raises KeyError where there is no such table."""
    return __getattr__(TABLES[table].partition(".")[2])


@cache
def load_all() -> None:
    """Load every table, so that those who go through the classes or the metadata meet all of them."""
    for table in TABLES:
        load(table)
    share_types(SQLModel.metadata)
