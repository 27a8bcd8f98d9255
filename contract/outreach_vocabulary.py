"""Closed vocabularies of outreach: campaigns, enrollments, domains and mailboxes."""

from enum import StrEnum


class CampaignStatus(StrEnum):
    """The states of a campaign; contract/campaign_states.py says what leads from one to another."""

    DRAFT = "draft"
    ACTIVE = "active"
    PAUSED = "paused"
    BLOCKED = "blocked"
    COMPLETED = "completed"
    ARCHIVED = "archived"


class CampaignAction(StrEnum):
    """The actions that can be taken on a campaign as a whole."""

    LAUNCH = "launch"
    PAUSE = "pause"
    RESUME = "resume"
    ARCHIVE = "archive"


class ProviderSync(StrEnum):
    """Says whether the sequencing provider knows what the campaign is now."""

    SYNCED = "synced"
    PENDING = "pending"
    FAILED = "failed"


class EnrollmentStatus(StrEnum):
    """Says how far a campaign has come with one recipient."""

    PENDING = "pending"
    ACTIVE = "active"
    PAUSED = "paused"
    REPLIED = "replied"
    BOUNCED = "bounced"
    UNSUBSCRIBED = "unsubscribed"
    COMPLETED = "completed"
    FAILED = "failed"


class DomainStatus(StrEnum):
    """Says whether a domain can be sent from."""

    PENDING = "pending"
    VERIFYING = "verifying"
    ACTIVE = "active"
    FAILED = "failed"


class MailboxStatus(StrEnum):
    """Says whether a mailbox can send."""

    PENDING = "pending"
    ACTIVE = "active"
    PAUSED = "paused"
    ERROR = "error"
