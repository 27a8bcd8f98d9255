"""Reads the one JSON-RPC message of a request, and refuses in our own words what is none (decision 317).

The library's words would quote what was sent, and its own parts.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import orjson

from contract.canonical_json import JsonObject
from contract.errors import BadRequest
from contract.json_depth import depth_of
from contract.limits import JSON_DEPTH_MAX

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
INVALID_PARAMS: Final = -32602
HEADER_MISMATCH: Final = -32020
UNSUPPORTED_VERSION: Final = -32022
REVISIONS: Final = ("2026-07-28", "2025-11-25")
"""The protocol revisions that are spoken; what asks for none is taken for the last."""
CALL: Final = "tools/call"
INITIALIZE: Final = "initialize"


class NoMessage(BadRequest):
    """The text that was sent is no message of the protocol: the JSON-RPC code, and what is wrong."""

    def __init__(self, rpc: int, message: str, data: object = None, identifier: str | int | None = None) -> None:
        super().__init__(message)
        self.rpc = rpc
        self.data = data
        self.identifier = identifier


@dataclass(slots=True)
class Message:
    """A request or a notification; `id` is None for the latter."""

    method: str
    params: JsonObject
    id: str | int | None
    whole: JsonObject

    @property
    def is_call(self) -> bool:
        """Whether it calls a tool, and waits for what that gives."""
        return self.method == CALL and self.id is not None


def read_message(body: bytes) -> Message:
    """The message. Raises NoMessage."""
    if not body.strip():
        raise NoMessage(PARSE_ERROR, "The body is empty; it must be one JSON-RPC message")
    try:
        whole = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise NoMessage(PARSE_ERROR, f"The body is no JSON: {error.msg} at character {error.pos}") from None
    except RecursionError:
        raise _too_deep() from None
    if isinstance(whole, list):
        raise NoMessage(INVALID_REQUEST, "Batches are not taken; send one message at a time")
    if not isinstance(whole, dict) or whole.get("jsonrpc") != "2.0" or not isinstance(whole.get("method"), str):
        raise NoMessage(INVALID_REQUEST, 'The body must be a JSON-RPC message: {"jsonrpc": "2.0", "method": …}')
    identifier = whole.get("id")
    if "id" in whole and (isinstance(identifier, bool) or not isinstance(identifier, str | int)):
        raise NoMessage(INVALID_REQUEST, "id must be a text or an integer")
    if depth_of(whole) > JSON_DEPTH_MAX:
        raise _too_deep()
    params = whole.get("params", {})
    if not isinstance(params, dict):
        raise NoMessage(INVALID_PARAMS, "params must be an object", identifier=identifier)
    message = Message(whole["method"], params, identifier, whole)
    if message.method == CALL:
        _check_call(message)
    return message


def _too_deep() -> NoMessage:
    return NoMessage(INVALID_REQUEST, f"The body is nested deeper than {JSON_DEPTH_MAX} levels")


def _check_call(message: Message) -> None:
    params = message.params
    wrong = None
    if not isinstance(params.get("name"), str):
        wrong = "params.name must be the name of a tool"
    elif not isinstance(params.get("arguments", {}), dict):
        wrong = "params.arguments must be an object"
    elif not isinstance(params.get("_meta", {}), dict):
        wrong = "params._meta must be an object"
    if wrong is not None:
        raise NoMessage(INVALID_PARAMS, wrong, identifier=message.id)


def refusal(code: int, words: str, data: object = None, identifier: str | int | None = None) -> bytes:
    """A JSON-RPC error."""
    error: dict[str, object] = {"code": code, "message": words}
    return orjson.dumps({"jsonrpc": "2.0", "id": identifier, "error": error | ({} if data is None else {"data": data})})


def answered(identifier: str | int | None, result: JsonObject) -> bytes:
    """A JSON-RPC result."""
    return orjson.dumps({"jsonrpc": "2.0", "id": identifier, "result": result})


def check_envelope(message: Message, told: Mapping[str, str | None]) -> None:
    """Look whether a call of the newer revision says of itself what its headers say.

    Raises NoMessage.
    """
    meta, name = message.params.get("_meta", {}), message.params["name"]
    if missing := [key for key in (_VERSION_IN_META, _CAPABILITIES_IN_META) if key not in meta]:
        raise NoMessage(INVALID_PARAMS, f"params._meta needs {' and '.join(missing)}", identifier=message.id)
    for header, value in (
        ("MCP-Protocol-Version", meta[_VERSION_IN_META]),
        ("Mcp-Method", message.method),
        ("Mcp-Name", name),
    ):
        if told[header.lower()] != value:
            words = f"The header {header} does not match the message"
            raise NoMessage(HEADER_MISMATCH, words, identifier=message.id)


_VERSION_IN_META: Final = "io.modelcontextprotocol/protocolVersion"
_CAPABILITIES_IN_META: Final = "io.modelcontextprotocol/clientCapabilities"


def check_revision(header: str | None) -> None:
    """Raises NoMessage for a protocol revision that is not spoken."""
    if header is not None and header not in REVISIONS:
        told = {"supported": list(REVISIONS), "requested": header[:40]}
        words = f"This protocol revision is not spoken; there are {' and '.join(REVISIONS)}"
        raise NoMessage(UNSUPPORTED_VERSION, words, told)
