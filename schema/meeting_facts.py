"""What a meeting's metadata says under the documented keys (specification 2.1), with their types (decision 989)."""

from collections.abc import Mapping
from datetime import datetime

import strawberry

from resolvers.shared.inputs import moment
from schema.declare import field


@strawberry.type(description="Someone at a meeting, as its metadata has it.")
class MeetingAttendee:
    name: str | None = field("The name.")
    email: str | None = field("The e-mail address.")


@strawberry.type(description="What the metadata of a meeting says under the documented keys.")
class MeetingFacts:
    transcript: str | None = field("What was said.")
    recording_url: str | None = field('Where the recording is, such as "https://recordings.example/7".')
    attendees: list[MeetingAttendee] = field("Who was there; empty where nobody is named.")
    location: str | None = field('Where it took place, such as "Room 4".')
    provider: str | None = field('What carried it, such as "zoom".')
    started_at: datetime | None = field("When it began, of a synchronised one.")
    ended_at: datetime | None = field("When it ended, of a synchronised one.")


def facts_of(metadata: object) -> MeetingFacts:
    """Read the keys that are documented; what is of another shape than theirs is left out."""
    told: Mapping[str, object] = metadata if isinstance(metadata, Mapping) else {}
    named = told.get("attendees")
    return MeetingFacts(
        transcript=_text(told.get("transcript")),
        recording_url=_text(told.get("recording_url")),
        attendees=[
            MeetingAttendee(name=_text(one.get("name")), email=_text(one.get("email")))
            for one in (named if isinstance(named, list) else ())
            if isinstance(one, dict)
        ],
        location=_text(told.get("location")),
        provider=_text(told.get("provider")),
        started_at=_moment(told.get("started_at")),
        ended_at=_moment(told.get("ended_at")),
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _moment(value: object) -> datetime | None:
    try:
        return moment(value) if isinstance(value, str) else None
    except ValueError:
        return None
