"""The tables, one module per noun; importing the package registers them all."""

from storage.tables.accounts import Account
from storage.tables.artifacts import Artifact, Medium
from storage.tables.contacts import Contact
from storage.tables.credentials import Credential
from storage.tables.cx_reports import CXReport, CXReportRevision
from storage.tables.deals import Deal, DealContact
from storage.tables.events import Event
from storage.tables.health import HealthFactor, HealthSnapshot
from storage.tables.jobs import Job, JobWorker, QueuedJob
from storage.tables.meetings import Activity
from storage.tables.organizations import EventCounter, Member, Membership, Organization
from storage.tables.pipeline_stages import PipelineStage, StageChange
from storage.tables.research import ResearchResult, ResearchRun

__all__ = [
    "Account",
    "Activity",
    "Artifact",
    "CXReport",
    "CXReportRevision",
    "Contact",
    "Credential",
    "Deal",
    "DealContact",
    "Event",
    "EventCounter",
    "HealthFactor",
    "HealthSnapshot",
    "Job",
    "JobWorker",
    "Medium",
    "Member",
    "Membership",
    "Organization",
    "PipelineStage",
    "QueuedJob",
    "ResearchResult",
    "ResearchRun",
    "StageChange",
]
