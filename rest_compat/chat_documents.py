"""Has the documents of threads, messages and runs on the paths of a chat."""

from __future__ import annotations

from typing import Final

from contract.chat import ChatRole, ChatRunStatus
from contract.tools import KINDS
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
