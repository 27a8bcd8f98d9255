"""Closed vocabularies of bulk work: upserts, imports, exports, duplicates and merging."""

from enum import StrEnum


class MergeableKind(StrEnum):
    """The kinds of records that can become one."""

    ACCOUNT = "account"
    CONTACT = "contact"


class DuplicateReason(StrEnum):
    """A trait that records have in common that may be one, the surest first."""

    SAME_EMAIL = "same_email"
    SAME_DOMAIN = "same_domain"
    SAME_PHONE = "same_phone"
    SAME_NAME_AND_ACCOUNT = "same_name_and_account"
    SAME_NAME = "same_name"


class BulkPolicy(StrEnum):
    """The meaning of one bad row of many for the others."""

    SKIP_FAILED = "skip_failed"
    ALL_OR_NOTHING = "all_or_nothing"


class BulkOutcome(StrEnum):
    """The outcome of one row of many."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"
    FAILED = "failed"


class AccountMatch(StrEnum):
    """By what a row finds its account."""

    EXTERNAL_KEY = "external_key"
    DOMAIN = "domain"
    ID = "id"


class ContactMatch(StrEnum):
    """By what a row finds its contact."""

    EXTERNAL_KEY = "external_key"
    EMAIL = "email"
    ID = "id"


class DealMatch(StrEnum):
    """By what a row finds its deal."""

    EXTERNAL_KEY = "external_key"
    ID = "id"


class LeadMatch(StrEnum):
    """By what a row finds its lead."""

    EXTERNAL_KEY = "external_key"
    EMAIL = "email"
    ID = "id"


class ExportKind(StrEnum):
    """The kinds of records that are exported."""

    ACCOUNT = "account"
    CONTACT = "contact"
    DEAL = "deal"
    LEAD = "lead"
    MEETING = "meeting"
    ACTIVITY = "activity"
    CAMPAIGN = "campaign"


class ImportKind(StrEnum):
    """The kinds of records that files become."""

    ACCOUNT = "account"
    CONTACT = "contact"
    DEAL = "deal"
    LEAD = "lead"


class ImportStatus(StrEnum):
    """The state of an import."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class ExportFormat(StrEnum):
    """The forms of an export."""

    CSV = "csv"
    JSONL = "jsonl"
