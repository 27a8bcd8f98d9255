"""Has an example for each answer of chats."""

from __future__ import annotations

from typing import Final

from contract.canonical_json import sha256_of
from rest_compat.example_identifiers import (
    DEAL,
    JOB,
    ORGANIZATION,
    RESULT,
    RUN,
)
from rest_compat.schemas import JsonObject
from storage.columns import MADE_AT

_NOTED: Final = {"kind": "deal", "id": DEAL, "text": "They will sign in May"}

ANSWERS: Final[JsonObject] = {
    "ChatThread": {
        "id": RESULT,
        "org_id": ORGANIZATION,
        "title": "my open deals",
        "active_run_id": None,
        "created_at": MADE_AT,
        "updated_at": MADE_AT,
        "expires_at": MADE_AT,
    },
    "ChatMessage": {
        "id": JOB,
        "thread_id": RESULT,
        "run_id": RUN,
        "role": "assistant",
        "text": "There is one: Renewal.",
        "citations": [{"start": 14, "end": 21, "kind": "deal", "id": DEAL, "label": "Renewal"}],
        "created_at": MADE_AT,
    },
    "ChatRun": {
        "id": RUN,
        "thread_id": RESULT,
        "status": "succeeded",
        "provider": "embedded",
        "model": None,
        "error_code": None,
        "attempts": 1,
        "input_tokens": 0,
        "output_tokens": 0,
        "points": 3,
        "created_at": MADE_AT,
        "finished_at": MADE_AT,
        "events_url": f"/chat/runs/{RUN}/events",
    },
    "ChatApproval": {
        "id": RUN,
        "run_id": RUN,
        "thread_id": RESULT,
        "tool": "log_note",
        "operation": "noteCreate",
        "arguments": _NOTED,
        "arguments_sha256": sha256_of({"arguments": _NOTED, "record_version": 3, "tool": "log_note"}),
        "record_version": 3,
        "preview": {
            "kind": "deal",
            "id": DEAL,
            "label": "Renewal",
            "before": {"note": None},
            "after": {"note": "They will sign in May"},
        },
        "status": "pending",
        "expires_at": MADE_AT,
        "decided_at": None,
        "result": None,
    },
    "ChatUsageDay": {
        "date": "2026-11-24",
        "subject": "user_2mF7",
        "provider": "embedded",
        "model": None,
        "runs": 12,
        "input_tokens": 0,
        "output_tokens": 0,
        "is_estimated": False,
    },
    "ChatTool": {
        "name": "account_health",
        "description": "How an account's relationship is: its score from 0 to 100, where it goes, and why.",
        "input_schema": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]},
        "effect": "read",
        "operations": ["account"],
        "documents": {"account": "query($id: ID!) { account(id: $id) { id name health { score trend } } }"},
    },
}
