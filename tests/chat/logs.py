"""A log of a run that has every kind of event."""

from __future__ import annotations

from typing import Any

from contract.chat import ChatEventType as Type
from storage.base import new_id
from storage.tables import ChatEvent

_RUN, _DEAL = new_id(), new_id()
_CITED = {"message_id": "m", "kind": "deal", "id": _DEAL, "label": "Renewal"}


def _call(number: int, tool: str, effect: str) -> dict[str, Any]:
    named = {"call_id": f"call_{number}", "tool": tool, "arguments": {"kind": "deal"}, "effect": effect}
    return {**named, "twin": None}


def _result(number: int, tool: str, *, ok: bool) -> dict[str, Any]:
    error = None if ok else {"code": "forbidden", "message": "Insufficient permissions", "field": None}
    told = {"records": [], "rows": 0, "bytes": 0, "truncated": False, "untrusted": [], "cost": 1, "error": error}
    return {"call_id": f"call_{number}", "tool": tool, "ok": ok, **told}


def _asked(number: int) -> dict[str, Any]:
    return {
        **{"approval_id": f"approval{number}", "call_id": f"call_{number}", "tool": "log_note"},
        **{"operation": "noteCreate", "arguments": {"text": "hello"}, "arguments_sha256": "0" * 64},
        **{"record_version": 1, "preview": {"kind": "deal", "id": _DEAL, "label": "D", "before": {}, "after": {}}},
        "expires_at": "2026-01-01T00:15:00Z",
    }


def _decided(number: int, status: str) -> dict[str, Any]:
    return {"approval_id": f"approval{number}", "call_id": f"call_{number}", "status": status}


def every_kind_of_event() -> list[ChatEvent]:
    """The events, in the order in which a run that was cut off, and asked for two decisions, tells them."""
    limits = {"seconds": 120, "steps": 8, "tool_calls": 16}
    started = {"run_id": _RUN, "thread_id": "t", "message_id": "q", "provider": "openai", "model": "small"}
    told: list[tuple[Type, dict[str, Any]]] = [
        (Type.RUN_STARTED, {**started, "limits": limits}),
        (Type.TEXT_DELTA, {"message_id": "m", "text": "Let me look."}),
        (Type.TOOL_CALL, _call(1, "list_records", "read")),
        (Type.TOOL_RESULT, _result(1, "list_records", ok=True)),
        (Type.TOOL_CALL, _call(2, "get_record", "read")),
        (Type.TOOL_RESULT, _result(2, "get_record", ok=False)),
        (Type.TEXT_DELTA, {"message_id": "m", "text": "Cut "}),
        (Type.CITATION, {**_CITED, "start": 0, "end": 7}),
        (Type.TEXT_DELTA, {"message_id": "m", "text": "off"}),
        (Type.RUN_RESUMED, {"attempt": 2, "discard_after": 6}),
        (Type.TEXT_DELTA, {"message_id": "m", "text": "Once more."}),
        (Type.CITATION, {**_CITED, "start": 12, "end": 19}),
        (Type.WARNING, {"code": "link_removed", "message": "A link was left out"}),
        (Type.TOOL_CALL, _call(3, "log_note", "write")),
        (Type.APPROVAL_REQUIRED, _asked(3)),
        (Type.APPROVAL_DECIDED, _decided(3, "rejected")),
        (Type.TOOL_CALL, _call(4, "log_note", "write")),
        (Type.APPROVAL_REQUIRED, _asked(4)),
        (Type.APPROVAL_DECIDED, _decided(4, "approved")),
        (Type.TOOL_RESULT, _result(4, "log_note", ok=True)),
        (Type.USAGE, {"input_tokens": 1, "output_tokens": 2, "is_estimated": False, "points": 3}),
        (Type.ERROR, {"code": "model_timeout", "message": "The model did not answer in time", "retryable": True}),
        (Type.RUN_FINISHED, {"status": "failed", "error_code": "model_timeout", "message_id": "m"}),
    ]
    assert {kind for kind, _ in told} == set(Type)
    return [
        ChatEvent(run_id=_RUN, sequence=place, subject="s", type=kind.value, data=data)
        for place, (kind, data) in enumerate(told, 1)
    ]
