"""Renders the events of a run as the AI SDK's UI message stream: a pure function of the log (decision 519)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import orjson

from contract.canonical_json import Json
from contract.chat import ChatEventType as Type
from contract.chat import ChatRunStatus
from resolvers.chat_runs import Event, event_id

HEADER: Final = {"X-Vercel-AI-UI-Message-Stream": "v1"}
DONE: Final = b"data: [DONE]\n\n"
_OURS: Final = "crm-gateway"
_SERVICE_RAN_IT: Final = {"providerExecuted": True, "dynamic": True}
"""Tools are the service's: the client has no types of them, and is not to run them."""

Chunk = dict[str, Any]
"""Any: JSON."""


class Rendering:
    """One run's events from the first on; what an event becomes follows from those before it."""

    def __init__(self) -> None:
        self._text: str | None = None
        self._has_results = False
        self._void: list[Chunk] = []
        self._approvals: dict[str, Mapping[str, Json]] = {}

    def render(self, event: Event) -> bytes:
        """The event as it is sent: its id stands with the last of its chunks, so that none is left out by resuming."""
        chunks = list(self._chunks(Type(event.type), event.data, event.sequence))
        if not chunks:
            return b""
        lines = [b"data: " + orjson.dumps(chunk, option=orjson.OPT_UTC_Z) + b"\n\n" for chunk in chunks]
        return b"".join([*lines[:-1], f"id: {event_id(event)}\n".encode(), lines[-1]])

    def _chunks(self, kind: Type, data: Mapping[str, Any], sequence: int) -> Iterable[Chunk]:  # Any: JSON
        match kind:
            case Type.RUN_STARTED:
                shown = {name: data[name] for name in ("run_id", "thread_id", "provider", "model")}
                return [
                    {"type": "start", "messageId": data["run_id"], "messageMetadata": shown},
                    {"type": "start-step"},
                ]
            case Type.TEXT_DELTA:
                return self._said(data["text"], sequence)
            case Type.CITATION:
                chunk = {"type": "data-citation", "id": f"citation-{sequence}", "data": data}
                self._void.append(chunk)
                return [chunk]
            case Type.WARNING:
                return [{"type": "data-warning", "data": data}]
            case Type.RUN_RESUMED:
                return self._resumed()
            case Type.USAGE:
                return [*self._whole(), {"type": "message-metadata", "messageMetadata": {"usage": data}}]
            case Type.ERROR:
                return [*self._whole(), {"type": "error", "errorText": data["message"]}]
            case Type.RUN_FINISHED:
                return [*self._whole(), *_finished(data)]
        return [*self._whole(), *self._called(kind, data)]

    def _said(self, text: str, sequence: int) -> Iterator[Chunk]:
        """Text; behind what tools gave a new step begins."""
        if self._has_results:
            self._has_results = False
            yield from ({"type": "finish-step"}, {"type": "start-step"})
        if self._text is None:
            self._text = f"text-{sequence}"
            yield {"type": "text-start", "id": self._text}
        yield {"type": "text-delta", "id": self._text, "delta": text}

    def _whole(self) -> Iterator[Chunk]:
        """The end of a text that stays."""
        self._void = []
        if self._text is not None:
            yield {"type": "text-end", "id": self._text}
        self._text = None

    def _resumed(self) -> Iterator[Chunk]:
        """The end of a text that another process says anew; the stream cannot take it back, so its part says so."""
        for chunk in self._void:
            yield {**chunk, "data": {**chunk["data"], "void": True}}
        if self._text is not None:
            yield {"type": "text-end", "id": self._text, "providerMetadata": {_OURS: {"void": True}}}
        self._void, self._text = [], None

    def _called(self, kind: Type, data: Mapping[str, Any]) -> Iterator[Chunk]:  # Any: JSON
        """A tool's call and result, and what the member decides of it."""
        call = {"toolCallId": data["call_id"]}
        match kind:
            case Type.TOOL_CALL:
                more = {"toolName": data["tool"], "input": data["arguments"], **_SERVICE_RAN_IT}
                yield {"type": "tool-input-available", **call, **more}
            case Type.TOOL_RESULT if data["ok"]:
                self._has_results = True
                output = {name: value for name, value in data.items() if name not in ("call_id", "tool", "ok", "error")}
                yield {"type": "tool-output-available", **call, "output": output, **_SERVICE_RAN_IT}
            case Type.TOOL_RESULT:
                self._has_results = True
                yield {"type": "tool-output-error", **call, "errorText": data["error"]["message"], **_SERVICE_RAN_IT}
            case Type.APPROVAL_REQUIRED:
                self._approvals[data["approval_id"]] = data
                yield {"type": "tool-approval-request", **call, "approvalId": data["approval_id"]}
                yield {"type": "data-approval", "id": data["approval_id"], "data": {**data, "status": "pending"}}
            case Type.APPROVAL_DECIDED:
                asked = self._approvals.get(data["approval_id"], {})
                yield {"type": "data-approval", "id": data["approval_id"], "data": {**asked, **data}}
                if data["status"] != "approved":
                    yield {"type": "tool-output-denied", **call}


def _finished(data: Mapping[str, object]) -> Iterator[Chunk]:
    yield {"type": "finish-step"}
    if data["status"] == ChatRunStatus.CANCELLED.value:
        yield {"type": "abort", "reason": "cancelled"}
        return
    reason = "stop" if data["status"] == ChatRunStatus.SUCCEEDED.value else "error"
    yield {"type": "finish", "finishReason": reason, "messageMetadata": data}
