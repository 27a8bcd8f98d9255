"""All kinds of work: importing this registers them. A module of work imports what is slow to load where it needs it."""

from jobs import (
    campaigns_progress,
    campaigns_sync,
    lead_tags,
    mails,
    outreach_domains,
    ownership,
    render,
    report_runs,
    research,
    sequences,
    tagged_records,
    webhooks,
)
from jobs.sync import held, kept, removal, waits, watches
from jobs.sync import run as synchronisation
from jobs.work import KINDS

__all__ = [
    "KINDS",
    "campaigns_progress",
    "campaigns_sync",
    "held",
    "kept",
    "lead_tags",
    "mails",
    "outreach_domains",
    "ownership",
    "removal",
    "render",
    "report_runs",
    "research",
    "sequences",
    "synchronisation",
    "tagged_records",
    "waits",
    "watches",
    "webhooks",
]
