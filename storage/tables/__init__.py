"""The tables, one module per noun; importing the package registers them all."""

from storage.tables.accounts import Account
from storage.tables.artifacts import Artifact, Medium
from storage.tables.campaigns import Campaign, CampaignMailbox
from storage.tables.competitors import Competitor
from storage.tables.contacts import Contact
from storage.tables.credentials import Credential
from storage.tables.cx_reports import CXReport, CXReportRevision
from storage.tables.deals import Deal, DealContact
from storage.tables.enrollments import Enrollment, OutreachMessage
from storage.tables.events import Event
from storage.tables.feedback import Feedback
from storage.tables.health import HealthFactor, HealthSnapshot
from storage.tables.idempotency import IdempotencyKey
from storage.tables.jobs import Job, JobWorker, QueuedJob
from storage.tables.leads import Lead
from storage.tables.mailboxes import Mailbox
from storage.tables.meetings import Activity
from storage.tables.organizations import EventCounter, Member, Membership, Organization
from storage.tables.outreach_domains import OutreachDomain
from storage.tables.pipeline_stages import PipelineStage, StageChange
from storage.tables.research import ResearchResult, ResearchRun
from storage.tables.search import SEARCHED, SearchEntry
from storage.tables.webhooks import Webhook, WebhookDelivery, WebhookWatch

__all__ = [
    "SEARCHED",
    "Account",
    "Activity",
    "Artifact",
    "CXReport",
    "CXReportRevision",
    "Campaign",
    "CampaignMailbox",
    "Competitor",
    "Contact",
    "Credential",
    "Deal",
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
    "Member",
    "Membership",
    "Organization",
    "OutreachDomain",
    "OutreachMessage",
    "PipelineStage",
    "QueuedJob",
    "ResearchResult",
    "ResearchRun",
    "SearchEntry",
    "StageChange",
    "Webhook",
    "WebhookDelivery",
    "WebhookWatch",
]
