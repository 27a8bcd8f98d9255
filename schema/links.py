"""References between the types of different record types, which need each other in circles."""

from typing import TYPE_CHECKING, Annotated

import strawberry

if TYPE_CHECKING:
    from schema.accounts import Account
    from schema.activities import Activity, ActivityFilter
    from schema.contacts import Contact
    from schema.deals import Deal, DealFilter
    from schema.health import HealthSnapshot
    from schema.meetings import Meeting, MeetingFilter

AccountLink = Annotated["Account", strawberry.lazy("schema.accounts")]
ActivityLink = Annotated["Activity", strawberry.lazy("schema.activities")]
ActivityFilterLink = Annotated["ActivityFilter", strawberry.lazy("schema.activities")]
ContactLink = Annotated["Contact", strawberry.lazy("schema.contacts")]
DealLink = Annotated["Deal", strawberry.lazy("schema.deals")]
DealFilterLink = Annotated["DealFilter", strawberry.lazy("schema.deals")]
SnapshotLink = Annotated["HealthSnapshot", strawberry.lazy("schema.health")]
MeetingLink = Annotated["Meeting", strawberry.lazy("schema.meetings")]
MeetingFilterLink = Annotated["MeetingFilter", strawberry.lazy("schema.meetings")]
