"""Describes the bodies and answers of duplicates and merges, with an example of each."""

from __future__ import annotations

from typing import Final

from contract.bulk_vocabulary import DuplicateReason, MergeableKind
from contract.limits import DUPLICATES_SHOWN
from contract.mergeable import LINKS
from rest_compat.schemas import JsonObject, Schema, enumerated, or_null, record_schema, reference_to
from storage.columns import MADE_AT

_UUID: Final = {"type": "string", "format": "uuid"}
_TEXT: Final = {"type": "string"}
_TIME: Final = {"type": "string", "format": "date-time", "description": "ISO 8601 in UTC."}
_RECORD: Final = {"anyOf": [reference_to("Account"), reference_to("Contact")]}
_MERGE: Final[dict[str, Schema]] = {
    "id": _UUID,
    "kind": enumerated(MergeableKind),
    "into_id": {**_UUID, "description": "The id of the record that stays."},
    "from_ids": {"type": "array", "items": _UUID, "description": "The ids of the records that went."},
    "links": reference_to("MergeLinks"),
    "merged_by": {**_TEXT, "description": "The subject of who merged."},
    "merged_at": _TIME,
    "undo_until": {**_TIME, "description": "Until when it can be undone: 30 days. ISO 8601 in UTC."},
    "undone_at": or_null(_TIME, "When it was undone. ISO 8601 in UTC."),
}
MERGES: Final[dict[str, Schema]] = {
    "DuplicateGroup": record_schema(
        {
            "reasons": {"type": "array", "items": enumerated(DuplicateReason)},
            "size": {"type": "integer", "minimum": 2, "description": "How many there are in all."},
            "records": {
                "type": "array",
                "items": _RECORD,
                "minItems": 2,
                "maxItems": DUPLICATES_SHOWN,
                "description": "The oldest first.",
            },
        },
        "Records that may be one.",
    ),
    "MergeLinks": record_schema(
        {name: {"type": "integer", "minimum": 0} for name in LINKS}, "How many links go over to the record that stays."
    ),
    "MergePreview": record_schema(
        {
            "fields": {
                "type": "array",
                "items": record_schema(
                    {
                        "field": _TEXT,
                        "value": or_null(_TEXT),
                        "record_id": or_null(_UUID, "The record that it comes from."),
                        "conflicting": {"type": "boolean", "description": "Whether the records differ in it."},
                    },
                    "One field of the merged record.",
                ),
            },
            "links": reference_to("MergeLinks"),
        },
        "What a merge does.",
    ),
    "Merge": record_schema(_MERGE, "A merge that was made."),
    "MergeMade": record_schema({**_MERGE, "record": _RECORD}, "A merge, and the record that stays."),
    "MergeUndone": record_schema(
        {
            **_MERGE,
            "restored": {"type": "array", "items": _RECORD, "description": "The records that are back."},
            "kept": {
                "type": "array",
                "items": _TEXT,
                "description": "Fields and links that were changed after the merge, and so stay as they are.",
            },
        },
        "A merge that was undone.",
    ),
}
"""The schemas by their names."""

_INTO: Final = "01993f5e-8c00-7a11-9d52-6f0f3f1c2b05"
_FROM: Final = "01993f5e-8c00-7a11-9d52-6f0f3f1c2b06"
_LINKS: Final = dict.fromkeys(LINKS, 0) | {"deal_contacts": 2, "activities": 7}
_MADE: Final = {
    "id": "01993f5e-8c00-7a11-9d52-6f0f3f1c2b31",
    "kind": "contact",
    "into_id": _INTO,
    "from_ids": [_FROM],
    "links": _LINKS,
    "merged_by": "user_2mF7",
    "merged_at": MADE_AT,
    "undo_until": "2026-12-20T09:30:00Z",
    "undone_at": None,
}
_CONTACT: Final = {
    "id": _INTO,
    "org_id": "01993f5e-8c00-7a11-9d52-6f0f3f1c2b02",
    "owner_id": "user_2mF7",
    "first_name": "Ada",
    "last_name": "Park",
    "email": "ada@example.com",
    "phone": None,
    "title": None,
    "linkedin": None,
    "account_id": None,
    "created_at": MADE_AT,
    "updated_at": MADE_AT,
    "version": 2,
    "tags": ["vip"],
    "merged_from": [],
}
MERGE_EXAMPLES: Final[JsonObject] = {
    "DuplicateGroup": {
        "reasons": ["same_email", "same_name"],
        "size": 2,
        "records": [_CONTACT, {**_CONTACT, "id": _FROM}],
    },
    "MergeLinks": _LINKS,
    "MergePreview": {
        "fields": [{"field": "email", "value": "ada@example.com", "record_id": _INTO, "conflicting": True}],
        "links": _LINKS,
    },
    "Merge": _MADE,
    "MergeMade": {**_MADE, "record": _CONTACT},
    "MergeUndone": {**_MADE, "undone_at": MADE_AT, "restored": [{**_CONTACT, "id": _FROM}], "kept": ["title"]},
}
MERGE_BODY: Final[JsonObject] = {
    "kind": "contact",
    "into": _INTO,
    "from": [_FROM],
    "choose": [{"field": "title", "record_id": _FROM}],
}
"""An example of the body."""
