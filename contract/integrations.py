"""Integrations with third-party accounts: the vocabularies, the catalogue of providers, and the limits."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from types import MappingProxyType


class IntegrationProvider(StrEnum):
    """Whose account can be connected."""

    GOOGLE = "google"
    MICROSOFT = "microsoft"
    ZOOM = "zoom"
    SLACK = "slack"
    ICAL = "ical"


class IntegrationOwnership(StrEnum):
    """Says whose a connection is."""

    MEMBER = "member"
    ORGANIZATION = "organization"


class IntegrationStatus(StrEnum):
    """The state of a connection."""

    PENDING = "pending"
    ACTIVE = "active"
    PAUSED = "paused"
    ACTION_REQUIRED = "action_required"
    DISCONNECTING = "disconnecting"


COMPLETE = (IntegrationStatus.ACTIVE, IntegrationStatus.PAUSED, IntegrationStatus.ACTION_REQUIRED)
"""The states of connections that have brought something and keep it, whether they are read now or not."""


class IntegrationProblemCode(StrEnum):
    """Why a connection does not get on."""

    REAUTHORIZE = "reauthorize"
    SCOPES_MISSING = "scopes_missing"
    FORBIDDEN = "forbidden"
    RATE_LIMITED = "rate_limited"
    PROVIDER_UNAVAILABLE = "provider_unavailable"
    PROVIDER_ANSWER = "provider_answer"
    FEED_UNREADABLE = "feed_unreadable"
    FEED_UNREACHABLE = "feed_unreachable"
    TOO_LARGE = "too_large"


class IntegrationStreamKind(StrEnum):
    """The kind of items that a provider's stream holds."""

    CALENDAR = "calendar"
    MAIL = "mail"
    RECORDINGS = "recordings"
    CHANNEL = "channel"


WINDOWED = frozenset({IntegrationStreamKind.CALENDAR, IntegrationStreamKind.RECORDINGS})
"""The kinds of streams of which certain days are followed."""


class SyncVisibility(StrEnum):
    """The part that the other members see of what a connection brings."""

    EVERYTHING = "everything"
    SUBJECT_ONLY = "subject_only"
    NOTHING = "nothing"


class IntegrationItemOutcome(StrEnum):
    """The outcome of an item."""

    TAKEN = "taken"
    SKIPPED = "skipped"


class IntegrationSkipReason(StrEnum):
    """Why an item was left out."""

    PRIVATE = "private"
    DECLINED = "declined"
    NO_EXTERNAL_ATTENDEE = "no_external_attendee"
    INTERNAL_DOMAIN = "internal_domain"
    NOT_A_MEETING = "not_a_meeting"
    OUTSIDE_WINDOW = "outside_window"
    DUPLICATE = "duplicate"
    REMOVED_HERE = "removed_here"
    NO_CONTACT = "no_contact"
    TOO_MANY = "too_many"
    UNREADABLE = "unreadable"


class IntegrationItemDecision(StrEnum):
    """A member's decision about an item."""

    TAKE = "take"
    IGNORE = "ignore"


class SyncedField(StrEnum):
    """A field of a meeting that synchronisation writes until a member does."""

    SUBJECT = "subject"
    BODY = "body"
    DUE_AT = "due_at"
    DURATION = "duration"
    COMPLETED_AT = "completed_at"
    LOCATION = "location"
    ATTENDEES = "attendees"
    RECORDING_URL = "recording_url"
    TRANSCRIPT = "transcript"
    ACCOUNT = "account"
    DEAL = "deal"
    CONTACT = "contact"


class IntegrationRunMode(StrEnum):
    """Says how a run reads."""

    FULL = "full"
    INCREMENTAL = "incremental"


class IntegrationRunStatus(StrEnum):
    """The state of a run."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


class ParticipantResponse(StrEnum):
    """Says whether an invitation was accepted."""

    ACCEPTED = "accepted"
    DECLINED = "declined"
    TENTATIVE = "tentative"
    NO_RESPONSE = "no_response"


VISIBILITY_WIDTH: Mapping[SyncVisibility, int] = MappingProxyType(
    {SyncVisibility.NOTHING: 0, SyncVisibility.SUBJECT_ONLY: 1, SyncVisibility.EVERYTHING: 2}
)
"""How much each shows: the more, the greater."""


def narrower(one: SyncVisibility, other: SyncVisibility) -> SyncVisibility:
    """The one of the two that shows less."""
    return min(one, other, key=VISIBILITY_WIDTH.__getitem__)


def wider(one: SyncVisibility, other: SyncVisibility) -> SyncVisibility:
    """The one of the two that shows more."""
    return max(one, other, key=VISIBILITY_WIDTH.__getitem__)


@dataclass(frozen=True, slots=True)
class ProviderInfo:
    """A provider of the catalogue.

    `settings` are the variables that the operator has to set for it; `permissions` what its accounts are asked for.
    """

    provider: IntegrationProvider
    name: str
    ownership: IntegrationOwnership
    kinds: tuple[IntegrationStreamKind, ...]
    permissions: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    of_kind: Mapping[IntegrationStreamKind, str] = field(default_factory=dict)
    """The permissions that one kind of stream alone needs; a provider without has one kind."""
    folders: tuple[tuple[str, str], ...] = ()
    """The folders whose e-mail is followed, as the provider and as members call them."""

    def asked_for(self, kinds: Collection[IntegrationStreamKind]) -> tuple[str, ...]:
        """The permissions that these kinds of streams need."""
        others = {permission for kind, permission in self.of_kind.items() if kind not in kinds}
        return tuple(permission for permission in self.permissions if permission not in others)

    def usual(self, kinds: Sequence[IntegrationStreamKind] | None) -> tuple[IntegrationStreamKind, ...]:
        """The kinds that a connection follows: those that are named, else all but e-mail."""
        every = (kind for kind in self.kinds if kind is not IntegrationStreamKind.MAIL)
        return tuple(dict.fromkeys(kinds)) if kinds else tuple(every)


_MEMBER, _CALENDAR, _MAIL = IntegrationOwnership.MEMBER, IntegrationStreamKind.CALENDAR, IntegrationStreamKind.MAIL
GOOGLE_CALENDAR = "https://www.googleapis.com/auth/calendar.readonly"
GOOGLE_MAIL = "https://www.googleapis.com/auth/gmail.metadata"
"""The permissions to read the calendars and the headers of mail of a Google account."""
MICROSOFT_CALENDAR, MICROSOFT_MAIL, MICROSOFT_PROFILE = "Calendars.Read", "Mail.ReadBasic", "User.Read"
"""The same of a Microsoft account, and the one that says whose it is."""
CATALOGUE: Sequence[ProviderInfo] = (
    ProviderInfo(
        IntegrationProvider.GOOGLE,
        "Google",
        _MEMBER,
        (_CALENDAR, _MAIL),
        ("openid", "email", GOOGLE_CALENDAR, GOOGLE_MAIL),
        settings=("CRM_GOOGLE_CLIENT_ID", "CRM_GOOGLE_CLIENT_SECRET", "CRM_PUBLIC_URL"),
        of_kind={_CALENDAR: GOOGLE_CALENDAR, _MAIL: GOOGLE_MAIL},
        folders=(("mail", "Mail"),),
    ),
    ProviderInfo(
        IntegrationProvider.MICROSOFT,
        "Microsoft 365",
        _MEMBER,
        (_CALENDAR, _MAIL),
        ("offline_access", MICROSOFT_PROFILE, MICROSOFT_CALENDAR, MICROSOFT_MAIL),
        settings=("CRM_MICROSOFT_CLIENT_ID", "CRM_MICROSOFT_CLIENT_SECRET", "CRM_PUBLIC_URL"),
        of_kind={_CALENDAR: MICROSOFT_CALENDAR, _MAIL: MICROSOFT_MAIL},
        folders=(("inbox", "Inbox"), ("sentitems", "Sent items")),
    ),
    ProviderInfo(
        IntegrationProvider.ZOOM,
        "Zoom",
        _MEMBER,
        (IntegrationStreamKind.RECORDINGS,),
        ("user:read:user", "cloud_recording:read:list_user_recordings", "meeting:read:list_past_participants"),
        settings=("CRM_ZOOM_CLIENT_ID", "CRM_ZOOM_CLIENT_SECRET", "CRM_PUBLIC_URL"),
    ),
    ProviderInfo(
        IntegrationProvider.SLACK,
        "Slack",
        IntegrationOwnership.ORGANIZATION,
        (IntegrationStreamKind.CHANNEL,),
        ("channels:read", "channels:history", "users:read", "users:read.email"),
        settings=("CRM_SLACK_CLIENT_ID", "CRM_SLACK_CLIENT_SECRET", "CRM_PUBLIC_URL"),
    ),
    ProviderInfo(IntegrationProvider.ICAL, "iCalendar feed", _MEMBER, (_CALENDAR,)),
)
"""All providers, in the order in which they are listed."""
NAMED_IN_NOTICES = frozenset({IntegrationProvider.ZOOM, IntegrationProvider.SLACK})
"""The providers whose notices name an account there, and nothing that we gave them."""
BY_PROVIDER: Mapping[IntegrationProvider, ProviderInfo] = MappingProxyType({info.provider: info for info in CATALOGUE})

INTEGRATIONS_OF_A_MEMBER_MAX = 10
INTEGRATIONS_MAX = 500
INTEGRATION_NAME_MAX = 200
INTERNAL_DOMAINS_MAX = 100
RUNS_KEPT, SYNC_RUNS_DEFAULT = 50, 20
ITEMS_OF_A_STREAM_MAX = 50_000

FEED_BYTES_MAX = 10 * 1024 * 1024
FEED_PATTERN = (
    r"^[\r\n]*BEGIN:VCALENDAR[\r\n]([\s\S]*[\r\n])?END:VCALENDAR"  # what an iCalendar text begins and ends with
)
FEED_EVENTS_MAX = 20_000
FEED_SECONDS = 15.0
FEED_CONTENT_MAX = 1024 * 1024
"""The characters of a feed's content in a GraphQL or JSON request."""

WINDOW_BACK = timedelta(days=90)
WINDOW_AHEAD = timedelta(days=365)
OCCURRENCES_MAX = 1_000
"""The occurrences of one series in the window; a series of more is not followed."""
PARTICIPANTS_MAX = 500
CONTACTS_OF_A_MEETING_MAX = 20
"""The contacts that are made from the participants of one meeting."""
SUBJECT_KEPT, TEXT_KEPT, PLACE_KEPT = 1_000, 20_000, 1_000
"""The characters of a title, a text and a place that are kept."""
ITEMS_FORGOTTEN = timedelta(days=30)
"""How long an item is kept that the provider shows no more."""

POLL_SECONDS, FEED_POLL_SECONDS, DEMO_POLL_SECONDS, HELD_SECONDS = 300, 900, 60, 60
CONFIRM_SECONDS = 600
"""The seconds after which a removal of more than half is confirmed by another full pass."""
LARGE_REMOVAL = 20
"""The number of items from which on a removal of more than half is confirmed first."""
PROGRESS_SECONDS = 5.0

ADDRESSES_OF_A_MAIL_MAX = 500
"""The addresses of an e-mail that are kept."""

CONSENT_SECONDS = 600
"""How long a consent may take, and again its completion."""
TOKEN_SECONDS_LEFT, REFRESH_SECONDS, REFRESH_WAIT_SECONDS = 120, 30, 10.0
"""The seconds before its end at which a token is renewed, for which one process alone may, and the others wait."""
CALENDARS_MAX = 20
"""The calendars of an account that can be followed."""
CHANNELS_MAX = 200
"""The chat channels of a connection that can be linked to records."""
CHANNELS_LISTED_MAX = 500
"""The chat channels of an account that are listed for somebody to link them."""
TRANSCRIPT_KEPT = 500_000
"""The characters of what was said in a recording that are kept."""
PASS_PAGES_MAX = 2_000
"""The pages of one pass over a stream."""

HOOK_BYTES_MAX = 256 * 1024
HOOKS_A_SECOND = 50
"""The notices of providers that one address may send in a second."""
HOOK_AGE_SECONDS = 300
"""How far the moment of a signed notice may lie from ours."""
WATCH_SECONDS, WATCH_OVERLAP_SECONDS, WATCH_AGAIN_SECONDS = 3 * 86_400, 60, 86_400
"""How long a provider is asked to tell of changes, for how long a former channel overlaps the next one, and after how
long a provider that declined is asked again."""
WATCHED_POLL_SECONDS = 1_800
"""The pause between two looks at an account whose provider tells of changes."""
HISTORY_PAUSE_SECONDS = 60.0
"""The pause between two looks into the history of chat channels, where the provider lets an app ask once a minute."""

FREE_MAIL = frozenset(
    {"gmail.com", "googlemail.com", "outlook.com", "hotmail.com", "live.com", "msn.com", "yahoo.com", "ymail.com"}
    | {"icloud.com", "me.com", "mac.com", "aol.com", "gmx.de", "gmx.net", "gmx.com", "web.de", "t-online.de"}
    | {"proton.me", "protonmail.com", "mail.com", "yandex.com", "yandex.ru", "mail.ru", "qq.com", "163.com", "126.com"}
    | {"zoho.com", "fastmail.com", "hey.com", "freenet.de", "orange.fr", "free.fr", "laposte.net", "libero.it"}
    | {"yahoo.co.uk", "yahoo.de", "yahoo.fr", "yahoo.co.jp", "hotmail.co.uk", "hotmail.de", "hotmail.fr", "outlook.de"}
)
"""Domains whose addresses belong to anybody: they lead to no account, and are no organization's own."""
