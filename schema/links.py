"""References between the types of different record types, which need each other in circles."""

from typing import TYPE_CHECKING, Annotated

import strawberry

if TYPE_CHECKING:
    from schema.accounts import Account
    from schema.activities import Activity, ActivityFilter
    from schema.contacts import Contact
    from schema.deals import Deal, DealFilter
    from schema.files import File
    from schema.folders import Folder
    from schema.health import HealthSnapshot
    from schema.mails import Mail
    from schema.meeting_sync import MeetingParticipant, MeetingSync
    from schema.meetings import Meeting, MeetingFilter
    from schema.reports import Report

AccountLink = Annotated["Account", strawberry.lazy("schema.accounts")]
ActivityLink = Annotated["Activity", strawberry.lazy("schema.activities")]
ActivityFilterLink = Annotated["ActivityFilter", strawberry.lazy("schema.activities")]
ContactLink = Annotated["Contact", strawberry.lazy("schema.contacts")]
DealLink = Annotated["Deal", strawberry.lazy("schema.deals")]
DealFilterLink = Annotated["DealFilter", strawberry.lazy("schema.deals")]
FileLink = Annotated["File", strawberry.lazy("schema.files")]
FolderLink = Annotated["Folder", strawberry.lazy("schema.folders")]
SnapshotLink = Annotated["HealthSnapshot", strawberry.lazy("schema.health")]
ReportLink = Annotated["Report", strawberry.lazy("schema.reports")]
MailLink = Annotated["Mail", strawberry.lazy("schema.mails")]
MeetingLink = Annotated["Meeting", strawberry.lazy("schema.meetings")]
MeetingParticipantLink = Annotated["MeetingParticipant", strawberry.lazy("schema.meeting_sync")]
MeetingSyncLink = Annotated["MeetingSync", strawberry.lazy("schema.meeting_sync")]
MeetingFilterLink = Annotated["MeetingFilter", strawberry.lazy("schema.meetings")]
