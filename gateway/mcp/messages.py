"""Reads the one JSON-RPC message of a request, and refuses in our own words what is none (decision 317).

The library's words would quote what was sent, and its own parts.
"""

import re
from base64 import b64decode
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
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
HEADER_MISMATCH: Final = -32020
UNSUPPORTED_VERSION: Final = -32022
REVISIONS: Final = ("2026-07-28", "2025-11-25")
"""The protocol revisions that are spoken; what asks for none is taken for the last."""
CALL: Final = "tools/call"
READ: Final = "resources/read"
GET_PROMPT: Final = "prompts/get"
INITIALIZE: Final = "initialize"
METHODS: Final = frozenset(
    {
        *(INITIALIZE, "ping", "server/discover", "tools/list", CALL, "prompts/list", GET_PROMPT),
        *("resources/list", READ, "resources/templates/list"),
    }
)
"""The methods that are answered. The library knows more, some of which would never end (decision 930)."""


class NoMessage(BadRequest):
    """Refuses what is no message that is answered: the JSON-RPC code, what is wrong, and the status of HTTP."""

    def __init__(
        self,
        rpc: int,
        message: str,
        data: object = None,
        identifier: str | int | None = None,
        http_status: int = 400,
    ) -> None:
        super().__init__(message)
        self.http_status = http_status
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
    def runs_document(self) -> bool:
        """Says whether what it costs is charged by the document that it runs."""
        return self.id is not None and self.method in (CALL, READ)

    @property
    def is_call(self) -> bool:
        """Says whether it calls a tool, and waits for what that gives."""
        return self.method == CALL and self.id is not None


def read_message(body: bytes) -> Message:
    """The message. Raises NoMessage."""
    if not body.strip():
        raise NoMessage(PARSE_ERROR, "The body is empty; it must be one JSON-RPC message")
    try:
        whole = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        if "depth limit" in error.msg:  # the reader's own, of a thousand and more
            raise _too_deep() from None
        raise NoMessage(PARSE_ERROR, f"The body is no JSON: {error.msg} at character {error.pos}") from None
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
    wrong = _wrong_of(message.method, params)
    if wrong is not None:
        raise NoMessage(INVALID_PARAMS, wrong, identifier=identifier)
    return message


def _too_deep() -> NoMessage:
    return NoMessage(INVALID_REQUEST, f"The body is nested deeper than {JSON_DEPTH_MAX} levels")


def _wrong_of(method: str, params: JsonObject) -> str | None:
    """Says what is wrong with the parameters of a method, by the field."""
    meta, client = params.get("_meta", {}), params.get("clientInfo")
    token = meta.get("progressToken", "") if isinstance(meta, dict) else ""
    needed: dict[str, bool] = {"params._meta must be an object": isinstance(meta, dict)}
    needed["params._meta.progressToken must be a text or an integer"] = type(token) in (str, int)
    needed["params.cursor must be a text"] = isinstance(params.get("cursor") or "", str)
    if method == INITIALIZE:
        needed["params.protocolVersion must be a text"] = isinstance(params.get("protocolVersion"), str)
        needed["params.capabilities must be an object"] = isinstance(params.get("capabilities"), dict)
        texts = isinstance(client, dict) and all(isinstance(client.get(name), str) for name in ("name", "version"))
        needed["params.clientInfo must be an object with the texts name and version"] = texts
    if method == READ:
        needed["params.uri must be the address of a resource"] = isinstance(params.get("uri"), str)
    if method in _NAMED:
        arguments = params.get("arguments", {})
        needed[f"params.name must be the name of {_NAMED[method]}"] = isinstance(params.get("name"), str)
        needed["params.arguments must be an object"] = isinstance(arguments, dict)
        if method == GET_PROMPT and isinstance(arguments, dict):
            wrong = next((name for name, value in arguments.items() if not isinstance(value, str)), "")
            needed[f"params.arguments.{wrong[:60]} must be a text"] = not wrong and "" not in arguments
    return next((words for words, holds in needed.items() if not holds), None)


_NAMED: Final = {CALL: "a tool", GET_PROMPT: "a prompt"}


def refusal(code: int, words: str, data: object = None, identifier: str | int | None = None) -> bytes:
    """A JSON-RPC error."""
    error: dict[str, object] = {"code": code, "message": words}
    return orjson.dumps({"jsonrpc": "2.0", "id": identifier, "error": error | ({} if data is None else {"data": data})})


def answered(identifier: str | int | None, result: JsonObject) -> bytes:
    """A JSON-RPC result."""
    return orjson.dumps({"jsonrpc": "2.0", "id": identifier, "result": result})


def check_envelope(message: Message, told: Mapping[str, str | None]) -> None:
    """Look whether a request of the newer revision says of itself what its headers say.

    Raises NoMessage.
    """
    meta, named = message.params.get("_meta", {}), {**dict.fromkeys(_NAMED, "name"), READ: "uri"}.get(message.method)
    if missing := [key for key in (_VERSION_IN_META, _CAPABILITIES_IN_META) if key not in meta]:
        raise NoMessage(INVALID_PARAMS, f"params._meta needs {' and '.join(missing)}", identifier=message.id)
    said = {"MCP-Protocol-Version": meta[_VERSION_IN_META], "Mcp-Method": message.method}
    for header, value in (said if named is None else said | {"Mcp-Name": message.params[named]}).items():
        if _plain(told[header.lower()]) != value:
            words = f"The header {header} does not match the message"
            raise NoMessage(HEADER_MISMATCH, words, identifier=message.id)


def _plain(header: str | None) -> str | None:
    """The text of a header, which stands in base64 where it is none that a header may have."""
    wrapped = _WRAPPED.fullmatch(header or "")
    if wrapped is None:
        return header
    try:
        return b64decode(wrapped[1], validate=True).decode()
    except ValueError:
        return None


_WRAPPED: Final = re.compile(r"=\?base64\?(.*)\?=")
_VERSION_IN_META: Final = "io.modelcontextprotocol/protocolVersion"
_CAPABILITIES_IN_META: Final = "io.modelcontextprotocol/clientCapabilities"


def check_revision(header: str | None) -> None:
    """Raises NoMessage for a protocol revision that is not spoken."""
    if header is not None and header not in REVISIONS:
        told = {"supported": list(REVISIONS), "requested": header[:40]}
        words = f"This protocol revision is not spoken; there are {' and '.join(REVISIONS)}"
        raise NoMessage(UNSUPPORTED_VERSION, words, told)


def check_method(message: Message, revision: str | None) -> None:
    """Raises NoMessage for a request that nobody here answers."""
    is_modern = revision == REVISIONS[0]
    if message.id is not None and (message.method not in METHODS or (is_modern and message.method == "ping")):
        status = 404 if is_modern else 200
        words = "There is no method of this name here"
        raise NoMessage(METHOD_NOT_FOUND, words, identifier=message.id, http_status=status)
