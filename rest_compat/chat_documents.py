"""Has the documents of threads, messages, runs and approvals on the paths of a chat."""

from __future__ import annotations

from typing import Final

from contract.chat import ChatApprovalStatus, ChatRole, ChatRunStatus
from contract.tools import KINDS
from resolvers.chat_approvals import Approval
from resolvers.chat_threads import Message, Run, Thread, expires_at
from resolvers.shared.context import Context
from rest_compat.schemas import JsonObject, enumerated, or_null, record_schema

_TEXT: Final = {"type": "string"}
_WHOLE: Final = {"type": "integer", "minimum": 0}
ID: Final = {"type": "string", "format": "uuid"}
TIME: Final = {"type": "string", "format": "date-time", "description": "ISO 8601 in UTC."}

THREAD_SCHEMA: Final = record_schema(
    {
        "id": ID,
        "org_id": ID,
        "title": or_null(_TEXT, "Given, or the first words of the first message."),
        "active_run_id": or_null(ID, "The run that has not ended yet."),
        "created_at": TIME,
        "updated_at": {**TIME, "description": "When its newest message was written."},
        "expires_at": or_null(TIME, "When it is deleted unless somebody writes in it again; null for never."),
    },
    "A conversation of one member.",
)
CITATION_SCHEMA: Final = record_schema(
    {
        "start": {**_WHOLE, "description": "The first code point of the text that names the record, from 0."},
        "end": {**_WHOLE, "description": "The code point behind the last one."},
        "kind": {"type": "string", "enum": [*KINDS]},
        "id": ID,
        "label": {**_TEXT, "description": "The record's name when it was cited."},
    },
    "A record that a message names.",
)
MESSAGE_SCHEMA: Final = record_schema(
    {
        "id": ID,
        "thread_id": ID,
        "run_id": or_null(ID, "The run that wrote it, or that it began."),
        "role": enumerated(ChatRole),
        "text": {**_TEXT, "description": "Plain: no HTML, no image, no address of another site."},
        "citations": {"type": "array", "items": CITATION_SCHEMA},
        "created_at": TIME,
    },
    "One message of a thread.",
)
RUN_SCHEMA: Final = record_schema(
    {
        "id": ID,
        "thread_id": ID,
        "status": enumerated(ChatRunStatus),
        "provider": {**_TEXT, "description": "Who answers: embedded, openai or anthropic."},
        "model": or_null(_TEXT, "Null for the embedded answerer."),
        "error_code": or_null(_TEXT, "Why it failed; null otherwise."),
        "attempts": {**_WHOLE, "description": "How often it was taken up; more than 1 after a process died."},
        "input_tokens": _WHOLE,
        "output_tokens": _WHOLE,
        "points": {**_WHOLE, "description": "What its tools cost of the caller's budget."},
        "created_at": TIME,
        "finished_at": or_null(TIME),
        "events_url": {**_TEXT, "description": "The path of its events."},
    },
    "The answer to one message.",
)

APPROVAL_SCHEMA: Final = record_schema(
    {
        "id": ID,
        "run_id": ID,
        "thread_id": ID,
        "tool": _TEXT,
        "operation": {**_TEXT, "description": "The field of Mutation that it stands for."},
        "arguments": {"type": "object", "description": "What it will be called with."},
        "arguments_sha256": {
            **_TEXT,
            "description": "SHA-256, in hex, of the canonical JSON (RFC 8785) of {arguments, record_version, tool}.",
        },
        "record_version": or_null(_WHOLE, "The version of the record that was shown; null where one is created."),
        "preview": record_schema(
            {
                "kind": _TEXT,
                "id": or_null(ID, "Null where one is created."),
                "label": _TEXT,
                "before": or_null({"type": "object"}, "Null where one is created."),
                "after": {"type": "object"},
            },
            "The record before and after.",
        ),
        "status": enumerated(ChatApprovalStatus),
        "expires_at": {**TIME, "description": "Until when it can be decided."},
        "decided_at": or_null(TIME),
        "result": or_null(
            record_schema({"kind": _TEXT, "id": ID}, "A record."), "The record that was written; null before that."
        ),
    },
    "One write that a run proposed.",
)


def thread_document(ctx: Context, thread: Thread, active: Run | None) -> JsonObject:
    return {
        "id": thread.id,
        "org_id": thread.org_id,
        "title": thread.title,
        "active_run_id": None if active is None else active.id,
        "created_at": thread.created_at,
        "updated_at": thread.updated_at,
        "expires_at": expires_at(ctx, thread),
    }


def message_document(message: Message) -> JsonObject:
    return {
        "id": message.id,
        "thread_id": message.thread_id,
        "run_id": message.run_id,
        "role": message.role,
        "text": message.text,
        "citations": message.citations,
        "created_at": message.created_at,
    }


def run_document(run: Run) -> JsonObject:
    return {
        "id": run.id,
        "thread_id": run.thread_id,
        "status": run.status,
        "provider": run.provider,
        "model": run.model,
        "error_code": run.error_code,
        "attempts": run.attempts,
        "input_tokens": run.input_tokens,
        "output_tokens": run.output_tokens,
        "points": run.points,
        "created_at": run.created_at,
        "finished_at": run.finished_at,
        "events_url": f"/chat/runs/{run.id}/events",
    }


def approval_document(approval: Approval) -> JsonObject:
    made = approval.result_id is not None
    return {
        "id": approval.id,
        "run_id": approval.run_id,
        "thread_id": approval.thread_id,
        "tool": approval.tool,
        "operation": approval.operation,
        "arguments": approval.arguments,
        "arguments_sha256": approval.arguments_sha256,
        "record_version": approval.record_version,
        "preview": approval.preview,
        "status": approval.status,
        "expires_at": approval.expires_at,
        "decided_at": approval.decided_at,
        "result": {"kind": approval.result_kind, "id": approval.result_id} if made else None,
    }
