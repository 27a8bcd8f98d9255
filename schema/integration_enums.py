"""The vocabularies of integrations on the GraphQL surface."""

from contract.integrations import (
    IntegrationItemDecision,
    IntegrationItemOutcome,
    IntegrationOwnership,
    IntegrationProblemCode,
    IntegrationProvider,
    IntegrationRunMode,
    IntegrationRunStatus,
    IntegrationSkipReason,
    IntegrationStatus,
    IntegrationStreamKind,
    ParticipantResponse,
    SyncedField,
    SyncVisibility,
)
from schema.declare import enum

enum(
    IntegrationProvider,
    "Whose account can be connected.",
    GOOGLE="Google: calendar and, if chosen, the headers of Gmail.",
    MICROSOFT="Microsoft 365 and Outlook.com: calendar and, if chosen, the headers of mail.",
    ZOOM="Zoom: past meetings, recordings, transcripts.",
    SLACK="Slack: huddles in channels that are linked to an account or a deal.",
    ICAL="An iCalendar feed by address or file; needs nothing from the operator.",
)
enum(
    IntegrationOwnership,
    "Whose a connection is.",
    MEMBER="One member's own account.",
    ORGANIZATION="The organization's workspace.",
)
enum(
    IntegrationStatus,
    "Where a connection stands.",
    PENDING="Begun; waits for the member's consent, for ten minutes.",
    ACTIVE="Synchronises.",
    PAUSED="Stopped by a member.",
    ACTION_REQUIRED="Cannot go on until a member does what `problem` says.",
    DISCONNECTING="Being removed.",
)
enum(
    IntegrationProblemCode,
    "Why a connection does not get on.",
    REAUTHORIZE="The provider does not accept the consent any more: reconnect.",
    SCOPES_MISSING="The member did not grant what the stream needs: reconnect and tick it.",
    FORBIDDEN="The provider refuses, whatever the consent says.",
    RATE_LIMITED="The provider asks to wait; goes on by itself.",
    PROVIDER_UNAVAILABLE="The provider fails or does not answer; goes on by itself.",
    PROVIDER_ANSWER="The provider's answers make no sense (a page that comes again, no end, no JSON); goes on by "
    "itself.",
    FEED_UNREADABLE="The feed is no iCalendar text.",
    FEED_UNREACHABLE="The feed is not there, or its address may not be called.",
    TOO_LARGE="More than is followed: a limit of the documentation.",
)
enum(
    IntegrationStreamKind,
    "What a provider's stream holds.",
    CALENDAR="Events of one calendar.",
    MAIL="Headers of e-mail.",
    RECORDINGS="Past video meetings with their recordings.",
    CHANNEL="Huddles of one chat channel.",
)
enum(
    SyncVisibility,
    "What the other members of the organization see of what a connection brings; what is not shown is not stored.",
    EVERYTHING="Subject, text, place, participants.",
    SUBJECT_ONLY="Subject, times, and the contacts that take part; no text, no place, nobody who is no contact.",
    NOTHING="Times and links to records, with the subject left empty.",
)
enum(
    IntegrationItemOutcome,
    "What became of an item.",
    TAKEN="It is a meeting, or an e-mail on a contact.",
    SKIPPED="It is left out, for its reason.",
)
enum(
    IntegrationSkipReason,
    "Why an item was left out.",
    PRIVATE="Marked private or confidential by its owner; the subject is not kept.",
    DECLINED="The owner of the connection declined.",
    NO_EXTERNAL_ATTENDEE="Nobody but the owner takes part.",
    INTERNAL_DOMAIN="Everybody who takes part has an address of an internal domain.",
    NOT_A_MEETING="Focus time, out of office, a birthday, a place of work: no meeting by the provider's own word.",
    OUTSIDE_WINDOW="Starts before or after the days that are followed; taken once they reach it.",
    DUPLICATE="Came by another connection already: one meeting, see `meeting`.",
    REMOVED_HERE="A member deleted the meeting here, or had the item ignored.",
    NO_CONTACT="No address of it is a contact's (e-mail only).",
    TOO_MANY="A series of too many occurrences, or that repeats more often than daily.",
    UNREADABLE="Cannot be understood; the rest is not held up.",
)
enum(
    IntegrationItemDecision,
    "What a member decided about an item.",
    TAKE="Take it, whatever speaks against it.",
    IGNORE="Leave it out.",
)
enum(
    SyncedField,
    "A field of a meeting that synchronisation writes until a member does.",
    SUBJECT="The title.",
    BODY="The text.",
    DUE_AT="The start.",
    DURATION="The length.",
    COMPLETED_AT="When it was held.",
    LOCATION="The place.",
    ATTENDEES="Who takes part.",
    RECORDING_URL="The recording.",
    TRANSCRIPT="What was said.",
    ACCOUNT="The account.",
    DEAL="The deal.",
    CONTACT="The contact.",
)
enum(
    IntegrationRunMode,
    "How a run reads.",
    FULL="Everything from the beginning.",
    INCREMENTAL="What changed since the latest run.",
)
enum(
    IntegrationRunStatus,
    "What has become of a run.",
    QUEUED="Waits for its turn.",
    RUNNING="Under way.",
    SUCCEEDED="Read to the end.",
    FAILED="Ended early; nothing was removed by it.",
    CANCELLED="Given up because the connection was paused or removed.",
)
enum(
    ParticipantResponse,
    "Whether an invitation was accepted.",
    ACCEPTED="Comes.",
    DECLINED="Does not come.",
    TENTATIVE="May come.",
    NO_RESPONSE="Has not answered.",
)
