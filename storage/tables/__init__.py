"""The tables, one module per record type; importing the package registers them all."""

from storage.tables.accounts import Account
from storage.tables.activities import Activity, ReminderWatch
from storage.tables.analytics import AnalyticsConversation, AnalyticsEvent, AnalyticsRun, AnalyticsWatch
from storage.tables.artifacts import Artifact, Medium
from storage.tables.campaigns import Campaign, CampaignMailbox
from storage.tables.cells import DealCell, DealCellDelta, MeetingCell, MeetingCellDelta
from storage.tables.competitors import Competitor
from storage.tables.contacts import Contact
from storage.tables.credentials import Credential
from storage.tables.cx_reports import CXReport, CXReportRevision
from storage.tables.deals import Deal, DealContact
from storage.tables.enrollments import Enrollment, OutreachMessage
from storage.tables.events import Event
from storage.tables.feedback import Feedback
from storage.tables.health import HealthFactor, HealthSnapshot
from storage.tables.history import RecordChange
from storage.tables.idempotency import IdempotencyKey
from storage.tables.jobs import Job, JobWorker, QueuedJob
from storage.tables.leads import Lead
from storage.tables.mailboxes import Mailbox
from storage.tables.members import Person
from storage.tables.organizations import EventCounter, Member, Membership, Organization
from storage.tables.outreach_domains import OutreachDomain
from storage.tables.pipeline_stages import PipelineStage, StageChange
from storage.tables.research import ResearchResult, ResearchRun
from storage.tables.sales_targets import SalesTarget
from storage.tables.saved_queries import SavedQuery
from storage.tables.search import SEARCHED, SearchEntry
from storage.tables.tags import TAGGED, Tag, TagLink
from storage.tables.webhooks import Webhook, WebhookDelivery, WebhookWatch

__all__ = [
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
    "Competitor",
    "Contact",
    "Credential",
    "Deal",
    "DealCell",
    "DealCellDelta",
    "DealContact",
    "Enrollment",
    "Event",
    "EventCounter",
    "Feedback",
    "HealthFactor",
    "HealthSnapshot",
    "IdempotencyKey",
    "Job",
    "JobWorker",
    "Lead",
    "Mailbox",
    "Medium",
    "MeetingCell",
    "MeetingCellDelta",
    "Member",
    "Membership",
    "Organization",
    "OutreachDomain",
    "OutreachMessage",
    "Person",
    "PipelineStage",
    "QueuedJob",
    "RecordChange",
    "ReminderWatch",
    "ResearchResult",
    "ResearchRun",
    "SalesTarget",
    "SavedQuery",
    "SearchEntry",
    "StageChange",
    "Tag",
    "TagLink",
    "Webhook",
    "WebhookDelivery",
    "WebhookWatch",
]
