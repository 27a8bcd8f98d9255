"""The tables, one module per noun; importing the package registers them all."""

from storage.tables.accounts import Account
from storage.tables.campaigns import Campaign, CampaignMailbox
from storage.tables.contacts import Contact
from storage.tables.credentials import Credential
from storage.tables.deals import Deal, DealContact
from storage.tables.enrollments import Enrollment, OutreachMessage
from storage.tables.events import Event
from storage.tables.health import HealthFactor, HealthSnapshot
from storage.tables.jobs import Job, JobWorker, QueuedJob
from storage.tables.mailboxes import Mailbox
from storage.tables.meetings import Activity
from storage.tables.organizations import EventCounter, Member, Membership, Organization
from storage.tables.outreach_domains import OutreachDomain
from storage.tables.pipeline_stages import PipelineStage, StageChange

__all__ = [
    "Account",
    "Activity",
    "Campaign",
    "CampaignMailbox",
    "Contact",
    "Credential",
    "Deal",
    "DealContact",
    "Enrollment",
    "Event",
    "EventCounter",
    "HealthFactor",
    "HealthSnapshot",
    "Job",
    "JobWorker",
    "Mailbox",
    "Member",
    "Membership",
    "Organization",
    "OutreachDomain",
    "OutreachMessage",
    "PipelineStage",
    "QueuedJob",
    "StageChange",
]
