"""Describes the documents of activities: what all of them have, then what each type has of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from contract.vocabulary import ActivityDirection, ActivityType, TaggedKind, TaskState
from resolvers.activities import state_of
from resolvers.shared.node_lookup import NodeResult
from rest_compat.documents import AnyRow, Document
from rest_compat.schemas import JsonObject, Schema, enumerated, reference_to
from storage import tables as t

_SHARED: Final = (
    *("id", "type", "subject", "body", "occurred_at", "account_id", "deal_id", "contact_id", "lead_id", "owner_id"),
    *("source", "tags", "created_at", "updated_at", "version"),
)
_DIRECTION: Final = {"direction": {**enumerated(ActivityDirection), "description": "Who addressed whom."}}
_STATE: Final = {**enumerated(TaskState), "description": "What its times say at the moment of asking."}


def _document(
    kind: ActivityType,
    text: str,
    *keys: str,
    name: str = "",
    texts: Mapping[str, str] | None = None,
    added: Mapping[str, Schema] | None = None,
) -> Document:
    is_directed = "direction" in keys
    examples = {"type": kind.value} | ({"direction": "outbound"} if is_directed else {})
    return Document(
        name or kind.capitalize(),
        t.Activity,
        text,
        (*_SHARED, *keys),
        schemas={"type": {"const": kind.value}} | (_DIRECTION if is_directed else {}),
        texts=texts or {},
        added=added or {},
        examples=examples | dict.fromkeys(added or {}, "open"),
        tagged=TaggedKind.ACTIVITY,
    )


DOCUMENTS: Final[Mapping[ActivityType, Document]] = {
    ActivityType.MEETING: _document(
        ActivityType.MEETING,
        "A meeting, as an activity.",
        *("due_at", "completed_at", "duration_minutes", "metadata"),
        name="MeetingActivity",
    ),
    ActivityType.TASK: _document(
        ActivityType.TASK,
        "Something to be done.",
        *("due_at", "completed_at", "remind_at", "priority"),
        added={"state": _STATE},
    ),
    ActivityType.NOTE: _document(ActivityType.NOTE, "A text on a record.", "is_pinned"),
    ActivityType.CALL: _document(
        ActivityType.CALL,
        "A telephone call.",
        *("direction", "started_at=due_at", "duration_minutes", "phone", "outcome"),
        texts={"started_at": "When it started. ISO 8601 in UTC."},
    ),
    ActivityType.EMAIL: _document(
        ActivityType.EMAIL,
        "An e-mail message, logged or synced.",
        *("direction", "sent_at=due_at", "from_address", "to_addresses", "cc_addresses", "message_id", "thread_id"),
        texts={"sent_at": "When it was sent. ISO 8601 in UTC."},
    ),
}


@dataclass(frozen=True)
class ActivityDocument(Document):
    """Describes an activity of any type: the document is that of the row's own type."""

    def of(self, row: AnyRow) -> JsonObject:
        """Returns the document of one row."""
        row = row.record if isinstance(row, NodeResult) else row
        kind = ActivityType(row.type)
        made = DOCUMENTS[kind].of(row)
        return made | {"state": state_of(row).value} if kind is ActivityType.TASK else made

    def all_of(self, rows: Sequence[AnyRow]) -> list[JsonObject]:
        """Returns the documents of rows, each of its own type."""
        return [self.of(row) for row in rows]

    @cached_property
    def components(self) -> dict[str, Schema]:
        """Returns the schemas of the types, and that of any of them."""
        each = {name: schema for document in DOCUMENTS.values() for name, schema in document.components.items()}
        one_of = {"oneOf": [reference_to(name) for name in each], "description": self.text}
        return {self.name: one_of, **each}

    @property
    def columns(self) -> tuple[str, ...]:
        """Returns the columns that the types show together."""
        return tuple(dict.fromkeys(c for document in DOCUMENTS.values() for c in document.columns))

    @cached_property
    def example(self) -> JsonObject:
        """Returns an example of the document: a task."""
        return DOCUMENTS[ActivityType.TASK].example


ACTIVITY: Final = ActivityDocument(
    "Activity", t.Activity, "An activity of any type.", _SHARED, tagged=TaggedKind.ACTIVITY
)
