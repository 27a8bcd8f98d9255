"""The closed vocabularies of the records; each value is what the database and the REST bodies hold."""

from enum import StrEnum


class ActivitySource(StrEnum):
    """The source of an activity (specification 2.1; the four sync sources: decision 3)."""

    MANUAL = "manual"
    IMPORT = "import"
    CALENDAR = "calendar"
    GMAIL = "gmail"
    OUTLOOK = "outlook"
    SLACK = "slack"
    ZOOM = "zoom"


class ActivityType(StrEnum):
    """The kinds of activities; the specification's part 2.1 has the first."""

    MEETING = "meeting"
    TASK = "task"
    NOTE = "note"
    CALL = "call"
    EMAIL = "email"


class ActivityDirection(StrEnum):
    """Who addressed whom by a call or a message."""

    INBOUND = "inbound"
    OUTBOUND = "outbound"


class TaskPriority(StrEnum):
    """How pressing a task is."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"


class TaskState(StrEnum):
    """The state of a task by its times, at the moment of asking."""

    OPEN = "open"
    OVERDUE = "overdue"
    DONE = "done"


class MediaType(StrEnum):
    """The media types of the files of a CX report, for the programs that open them."""

    PDF = "application/pdf"
    SPREADSHEET = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
    DECK = "application/vnd.openxmlformats-officedocument.presentationml.presentation"


class TargetMetric(StrEnum):
    """The figure that a sales target measures."""

    WON_VALUE = "won_value"
    WON_DEALS = "won_deals"


class TargetPeriod(StrEnum):
    """The kind of days that a sales target is for."""

    MONTH = "month"
    QUARTER = "quarter"
    YEAR = "year"
    CUSTOM = "custom"


class TaggedKind(StrEnum):
    """The kinds of records that have tags."""

    ACCOUNT = "account"
    CONTACT = "contact"
    DEAL = "deal"
    LEAD = "lead"
    ACTIVITY = "activity"
    CAMPAIGN = "campaign"


class StringMatchMode(StrEnum):
    """Says how a filter compares texts."""

    EXACT = "exact"
    IGNORE_CASE = "ignore_case"


class MeetingState(StrEnum):
    """The state of a meeting by its times, at the moment of asking."""

    UNSCHEDULED = "unscheduled"
    SCHEDULED = "scheduled"
    OVERDUE = "overdue"
    COMPLETED = "completed"


class GeoScope(StrEnum):
    """The reach of a deal (specification 2.2)."""

    LOCAL = "local"
    REGIONAL = "regional"
    INTERNATIONAL = "international"


class DealStatus(StrEnum):
    """Follows the type of the deal's stage; open without a stage (decision 4)."""

    OPEN = "open"
    WON = "won"
    LOST = "lost"


class StageType(StrEnum):
    """The meaning of a pipeline stage for a deal that reaches it."""

    OPEN = "open"
    WON = "won"
    LOST = "lost"


class HealthTrend(StrEnum):
    """The movement of a health score against the previous snapshot (specification 2.3)."""

    IMPROVING = "improving"
    DECLINING = "declining"
    STABLE = "stable"


class HealthFactorKey(StrEnum):
    """The nine factors of a snapshot, in their order."""

    MEETING_RECENCY = "meeting_recency"
    MEETING_CADENCE = "meeting_cadence"
    STAKEHOLDER_BREADTH = "stakeholder_breadth"
    CHAMPION_PRESENCE = "champion_presence"
    PIPELINE_MOMENTUM = "pipeline_momentum"
    DEAL_OUTCOMES = "deal_outcomes"
    OUTREACH_ENGAGEMENT = "outreach_engagement"
    FOLLOW_THROUGH = "follow_through"
    DATA_COMPLETENESS = "data_completeness"


class CaptureSource(StrEnum):
    """How a lead was captured (specification 4.2)."""

    SCAN_BADGE = "scan_badge"
    SCAN_CARD = "scan_card"
    MANUAL = "manual"


class LeadStatus(StrEnum):
    """The state of a lead; contract/lead_states.py says what may follow what (decision 37)."""

    NEW = "new"
    WORKING = "working"
    QUALIFIED = "qualified"
    CONVERTED = "converted"
    DISQUALIFIED = "disqualified"


class FeedbackKind(StrEnum):
    """The kind of message that someone has about the platform."""

    BUG = "bug"
    IDEA = "idea"
    QUESTION = "question"
    PRAISE = "praise"


class SearchType(StrEnum):
    """The kinds of records that a search finds."""

    ACCOUNT = "account"
    CONTACT = "contact"
    DEAL = "deal"
    LEAD = "lead"
    MEETING = "meeting"
    TASK = "task"
    NOTE = "note"
    CALL = "call"
    EMAIL = "email"
    FILE = "file"


class MemberState(StrEnum):
    """Whether somebody may call."""

    ACTIVE = "active"
    DEACTIVATED = "deactivated"
    LEFT = "left"


class OwnedKind(StrEnum):
    """The kinds of records that have an owner."""

    ACCOUNT = "account"
    CONTACT = "contact"
    DEAL = "deal"
    LEAD = "lead"
    ACTIVITY = "activity"
    REPORT = "report"


class ReportKind(StrEnum):
    """The questions that a report may ask."""

    PIPELINE_BY_STAGE = "pipeline_by_stage"
    ACTIVITY_BY_OWNER = "activity_by_owner"
    WON_LOST_BY_MONTH = "won_lost_by_month"
    TARGET_ATTAINMENT = "target_attainment"


class ReportFormat(StrEnum):
    """The files that a report is made into."""

    PDF = "pdf"
    SPREADSHEET = "spreadsheet"
    CSV = "csv"


class ReportFrequency(StrEnum):
    """How often a report is mailed by itself."""

    DAILY = "daily"
    WEEKLY = "weekly"
    MONTHLY = "monthly"


class Weekday(StrEnum):
    """A day of the week, in their order."""

    MONDAY = "monday"
    TUESDAY = "tuesday"
    WEDNESDAY = "wednesday"
    THURSDAY = "thursday"
    FRIDAY = "friday"
    SATURDAY = "saturday"
    SUNDAY = "sunday"


class MailStatus(StrEnum):
    """The state of a message that the service sends."""

    QUEUED = "queued"
    SENT = "sent"
    FAILED = "failed"


class ReportColumnType(StrEnum):
    """The type of the cells in a report's column."""

    TEXT = "text"
    INTEGER = "integer"
    DECIMAL = "decimal"
    RATIO = "ratio"
    DATE = "date"


class TimelineKind(StrEnum):
    """The kinds of items in a timeline; the first five are those of activities."""

    MEETING = "meeting"
    TASK = "task"
    NOTE = "note"
    CALL = "call"
    EMAIL = "email"
    STAGE_CHANGE = "stage_change"
    CHANGE = "change"
    FILE = "file"
    ENROLLMENT = "enrollment"


class CredentialKind(StrEnum):
    """Says how the caller proved who is calling."""

    SESSION = "session"
    ORGANIZATION_KEY = "organization_key"
    USER_TOKEN = "user_token"


class ResearchRunStatus(StrEnum):
    """Says how far a research run has come."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    PARTIAL = "partial"
    FAILED = "failed"
    CANCELLED = "cancelled"


class ResearchResultStatus(StrEnum):
    """The states of one company of a research run."""

    PENDING = "pending"
    SCORED = "scored"
    FAILED = "failed"


class JobStatus(StrEnum):
    """The state of a piece of work that runs later."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SUPERSEDED = "superseded"


class SortDirection(StrEnum):
    """Ascending or descending."""

    ASC = "asc"
    DESC = "desc"


SYNCED = frozenset(
    {
        *(ActivitySource.CALENDAR, ActivitySource.GMAIL, ActivitySource.OUTLOOK),
        *(ActivitySource.SLACK, ActivitySource.ZOOM),
    }
)
"""The sources from which activities are synced; the others are written by hand or from a file."""

MANUAL_METADATA_KEYS = ("transcript", "recording_url", "attendees", "location", "provider")
"""The keys that manual logging may write into a meeting's metadata (specification 2.1)."""

SYSTEM_ACTOR = "system"
"""The actor, in the change log, of what no person did."""
