"""The tables, one module per record type; each is loaded when its class is first asked for (decision 1070).

A command that looks into the directory needs a tenth of them, and making the classes of all was half of its time. Who
goes through all of them calls `load_all`, as `storage.adapters.sqlmodel.mappers` does.
"""

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

from sqlmodel import SQLModel

from storage.adapters.sqlalchemy import share_types

if TYPE_CHECKING:
    from storage.tables.accounts import Account
    from storage.tables.activities import Activity, ReminderWatch
    from storage.tables.analytics import AnalyticsConversation, AnalyticsEvent, AnalyticsRun, AnalyticsWatch
    from storage.tables.artifacts import Artifact, Medium
    from storage.tables.campaigns import Campaign, CampaignMailbox
    from storage.tables.cells import DealCell, DealCellDelta, MeetingCell, MeetingCellDelta
    from storage.tables.chat import ChatEvent, ChatMessage, ChatRun, ChatStep, ChatThread, ChatWatch, ModelUsage
    from storage.tables.chat_approvals import ChatApproval
    from storage.tables.competitors import Competitor
    from storage.tables.contacts import Contact
    from storage.tables.credentials import Credential
    from storage.tables.cx_reports import CXReport, CXReportRevision
    from storage.tables.deals import Deal, DealContact
    from storage.tables.duplicates import MatchGroup, MatchKey, NotDuplicate
    from storage.tables.enrollments import Enrollment, OutreachMessage
    from storage.tables.events import Event
    from storage.tables.exports import DataExport
    from storage.tables.external_keys import ExternalKey
    from storage.tables.feedback import Feedback
    from storage.tables.files import File, FileLink, FileUsage, Leftover
    from storage.tables.folders import Folder
    from storage.tables.health import HealthFactor, HealthSnapshot
    from storage.tables.history import RecordChange
    from storage.tables.idempotency import IdempotencyKey
    from storage.tables.imports import DataImport, ImportRefusal
    from storage.tables.integrations import (
        FeedContent,
        Integration,
        IntegrationAccount,
        IntegrationPolicy,
        StreamLink,
        StreamWatch,
        SyncedMeeting,
        SyncItem,
        SyncOccurrence,
        SyncRun,
        SyncStream,
    )
    from storage.tables.jobs import Job, JobWorker, QueuedJob
    from storage.tables.leads import Lead
    from storage.tables.logins import LoginGrant, LoginSession, LoginTicket, Password
    from storage.tables.mailboxes import Mailbox
    from storage.tables.mails import Mail
    from storage.tables.members import Person
    from storage.tables.merging import Merge, MergedId
    from storage.tables.organizations import EventCounter, Member, Membership, Organization
    from storage.tables.outreach_domains import OutreachDomain
    from storage.tables.pipeline_stages import PipelineStage, StageChange
    from storage.tables.reports import Report, ReportRun, ReportWatch
    from storage.tables.research import ResearchResult, ResearchRun
    from storage.tables.sales_targets import SalesTarget
    from storage.tables.saved_queries import SavedQuery
    from storage.tables.search import SearchEntry
    from storage.tables.tags import Tag, TagLink
    from storage.tables.uploads import FilePiece, FileUpload
    from storage.tables.webhooks import Webhook, WebhookDelivery, WebhookWatch

TABLES: Final = {
    "accounts": "accounts.Account",
    "activities": "activities.Activity",
    "analytics_conversations": "analytics.AnalyticsConversation",
    "analytics_events": "analytics.AnalyticsEvent",
    "analytics_runs": "analytics.AnalyticsRun",
    "analytics_watches": "analytics.AnalyticsWatch",
    "artifacts": "artifacts.Artifact",
    "campaign_mailboxes": "campaigns.CampaignMailbox",
    "campaigns": "campaigns.Campaign",
    "chat_approvals": "chat_approvals.ChatApproval",
    "chat_events": "chat.ChatEvent",
    "chat_messages": "chat.ChatMessage",
    "chat_runs": "chat.ChatRun",
    "chat_steps": "chat.ChatStep",
    "chat_threads": "chat.ChatThread",
    "chat_watches": "chat.ChatWatch",
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
    "feed_contents": "integrations.FeedContent",
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
    "integration_accounts": "integrations.IntegrationAccount",
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
    "reminder_watches": "activities.ReminderWatch",
    "report_runs": "reports.ReportRun",
    "report_watches": "reports.ReportWatch",
    "reports": "reports.Report",
    "research_results": "research.ResearchResult",
    "research_runs": "research.ResearchRun",
    "sales_targets": "sales_targets.SalesTarget",
    "saved_queries": "saved_queries.SavedQuery",
    "search_entries": "search.SearchEntry",
    "stage_changes": "pipeline_stages.StageChange",
    "stream_links": "integrations.StreamLink",
    "stream_watches": "integrations.StreamWatch",
    "sync_items": "integrations.SyncItem",
    "sync_occurrences": "integrations.SyncOccurrence",
    "sync_runs": "integrations.SyncRun",
    "sync_streams": "integrations.SyncStream",
    "synced_meetings": "integrations.SyncedMeeting",
    "tag_links": "tags.TagLink",
    "tags": "tags.Tag",
    "webhook_deliveries": "webhooks.WebhookDelivery",
    "webhook_watches": "webhooks.WebhookWatch",
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


__all__ = [
    "TABLES",
    "Account",
    "Activity",
    "AnalyticsConversation",
    "AnalyticsEvent",
    "AnalyticsRun",
    "AnalyticsWatch",
    "Artifact",
    "CXReport",
    "CXReportRevision",
    "Campaign",
    "CampaignMailbox",
    "ChatApproval",
    "ChatEvent",
    "ChatMessage",
    "ChatRun",
    "ChatStep",
    "ChatThread",
    "ChatWatch",
    "Competitor",
    "Contact",
    "Credential",
    "DataExport",
    "DataImport",
    "Deal",
    "DealCell",
    "DealCellDelta",
    "DealContact",
    "Enrollment",
    "Event",
    "EventCounter",
    "ExternalKey",
    "FeedContent",
    "Feedback",
    "File",
    "FileLink",
    "FilePiece",
    "FileUpload",
    "FileUsage",
    "Folder",
    "HealthFactor",
    "HealthSnapshot",
    "IdempotencyKey",
    "ImportRefusal",
    "Integration",
    "IntegrationAccount",
    "IntegrationPolicy",
    "Job",
    "JobWorker",
    "Lead",
    "Leftover",
    "LoginGrant",
    "LoginSession",
    "LoginTicket",
    "Mail",
    "Mailbox",
    "MatchGroup",
    "MatchKey",
    "Medium",
    "MeetingCell",
    "MeetingCellDelta",
    "Member",
    "Membership",
    "Merge",
    "MergedId",
    "ModelUsage",
    "NotDuplicate",
    "Organization",
    "OutreachDomain",
    "OutreachMessage",
    "Password",
    "Person",
    "PipelineStage",
    "QueuedJob",
    "RecordChange",
    "ReminderWatch",
    "Report",
    "ReportRun",
    "ReportWatch",
    "ResearchResult",
    "ResearchRun",
    "SalesTarget",
    "SavedQuery",
    "SearchEntry",
    "StageChange",
    "StreamLink",
    "StreamWatch",
    "SyncItem",
    "SyncOccurrence",
    "SyncRun",
    "SyncStream",
    "SyncedMeeting",
    "Tag",
    "TagLink",
    "Webhook",
    "WebhookDelivery",
    "WebhookWatch",
]
