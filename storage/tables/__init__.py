"""The tables, one module per record type; importing the package registers them all."""

from sqlmodel import SQLModel

from storage.adapters.sqlalchemy import share_types
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
from storage.tables.files import ATTACHABLE, File, FileLink, FileUsage, Leftover
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
from storage.tables.search import SEARCHED, SearchEntry
from storage.tables.tags import TAGGED, Tag, TagLink
from storage.tables.uploads import FilePiece, FileUpload
from storage.tables.webhooks import Webhook, WebhookDelivery, WebhookWatch

share_types(SQLModel.metadata)

__all__ = [
    "ATTACHABLE",
    "SEARCHED",
    "TAGGED",
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
