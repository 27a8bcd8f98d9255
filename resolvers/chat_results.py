"""Writes the result of a tool as the model reads it, and as the run's event tells it."""

from collections.abc import Iterator, Mapping
from typing import Final

import orjson

from contract.canonical_json import Json
from contract.chat import CHAT_RESULT_RECORDS, ChatEventType
from contract.tool_answers import ToolAnswer, ToolError
from contract.tools import KINDS
from storage.base import JsonDict
from storage.queries.chat_runs import Said

_KIND_OF: Final = {name: kind for kind in KINDS for name in (kind, f"{kind}s")}
_LISTS: Final = ("nodes", "edges", "node", "columns")
"""Fields whose rows are of the kind that the field around them has."""
_FULL: Final = ToolError("RESULTS_FULL", "The tools of this answer have told as much as they may; ask for less")

Seen = dict[tuple[str, str], str]
"""The names of records by kind and id."""


def content_of(answer: ToolAnswer) -> str:
    """The result as the model reads it."""
    told: JsonDict = {"operation": answer.operation}
    if answer.errors:
        told["errors"] = [_error(each) for each in answer.errors]
    else:
        told |= {"data": answer.data, "truncated": answer.is_truncated, "untrusted": list(answer.untrusted)}
    return _written(told)


def refusal(operation: str, error: ToolError) -> str:
    """An error as the model reads it."""
    return _written({"operation": operation, "errors": [_error(error)]})


def full() -> ToolAnswer:
    """Make the answer that a tool gives in place of a result for which there is no room."""
    return ToolAnswer("", None, "", {}, errors=[_FULL])


def _written(told: JsonDict) -> str:
    return orjson.dumps(told, option=orjson.OPT_UTC_Z).decode()


def _error(error: ToolError) -> JsonDict:
    return {"code": error.code, "message": error.message, "field": None if error.field is None else [*error.field]}


def result_event(
    call_id: str,
    tool: str,
    answer: ToolAnswer,
    *,
    arguments: Mapping[str, Json],
    scopes: list[str] | None = None,
) -> tuple[Said, Seen]:
    """The event of a result, and the records that it names."""
    seen = records_of(tool, arguments, answer.data)
    error = answer.errors[0] if answer.errors else None
    data: JsonDict = {
        "call_id": call_id,
        "tool": tool,
        "ok": error is None,
        "records": [
            {"kind": kind, "id": identifier, "label": label}
            for (kind, identifier), label in list(seen.items())[:CHAT_RESULT_RECORDS]
        ],
        "rows": _rows(answer.data),
        "bytes": 0 if answer.data is None else len(orjson.dumps(answer.data, option=orjson.OPT_UTC_Z)),
        "truncated": answer.is_truncated,
        "untrusted": list(answer.untrusted),
        "cost": answer.cost,
        "error": None if error is None else _told(error, scopes),
    }
    return (ChatEventType.TOOL_RESULT, data), seen


def _told(error: ToolError, scopes: list[str] | None) -> JsonDict:
    return {**_error(error), "code": error.code.lower(), "required_scopes": scopes}


def _rows(data: Json) -> int:
    """Says how many rows a result has: those of its page or list, or the one that it is."""
    if data is None:
        return 0
    if isinstance(data, list):
        return len(data)
    return len(data["nodes"]) if isinstance(data, dict) and isinstance(data.get("nodes"), list) else 1


def records_of(tool: str, arguments: Mapping[str, Json], data: Json) -> Seen:
    """The records that a result names, in its order."""
    kind = arguments.get("kind")
    kind = kind if kind in KINDS else {"account_health": "account", "deal_board": "deal"}.get(tool)
    return {(kind, identifier): label for kind, identifier, label in _found(data, kind)}


def _found(value: Json, kind: str | None) -> Iterator[tuple[str, str, str]]:
    if isinstance(value, list):
        for each in value:
            yield from _found(each, kind)
    elif isinstance(value, dict):
        if kind is not None and isinstance(value.get("id"), str) and (label := _label(value)):
            yield kind, value["id"], label
        for name, inner in value.items():
            yield from _found(inner, _kind(name, value, kind))


def _kind(name: str, value: Mapping[str, Json], kind: str | None) -> str | None:
    """The kind of what a field leads to."""
    if name == "node" and isinstance(value.get("type"), str):  # a hit of the search
        return _KIND_OF.get(value["type"].lower())
    return kind if name in _LISTS else _KIND_OF.get(name)


def _label(value: Mapping[str, Json]) -> str:
    names = [value.get("name")] if "name" in value else [value.get("firstName"), value.get("lastName")]
    text = " ".join(each for each in names if isinstance(each, str) and each)
    subject = value.get("subject")
    return text or (subject if isinstance(subject, str) else "")
