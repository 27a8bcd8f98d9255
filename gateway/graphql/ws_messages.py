"""The form of what comes over a WebSocket, and how one says that the connection is to be closed (decision 81)."""

import orjson
from starlette.types import Message

from contract.limits import STREAM_ID_MAX

_REASON_BYTES_MAX = 120  # a close frame has 125 bytes, two of them the code


class Closed(Exception):
    """The connection is to be closed, with a code and the reason in words."""

    def __init__(self, code: int, reason: str) -> None:
        self.code = code
        self.reason = reason.encode()[:_REASON_BYTES_MAX].decode(errors="ignore")
        super().__init__(reason)


def read_message(message: Message) -> dict[str, object]:
    """The message as an object. Raises Closed."""
    text = message.get("text")
    if text is None:
        raise Closed(4400, "Invalid message: binary frames are not taken")
    try:
        parsed = orjson.loads(text)
    except (orjson.JSONDecodeError, RecursionError):
        raise Closed(4400, "Invalid message: no JSON") from None
    if not isinstance(parsed, dict):
        raise Closed(4400, "Invalid message: no object")
    return parsed


def payload_of(message: dict[str, object]) -> dict[str, object]:
    """The payload of a message that may have one, empty where it has none. Raises Closed."""
    payload = message.get("payload")
    if payload is None:
        return {}
    if not isinstance(payload, dict):
        raise Closed(4400, "Invalid message: payload must be an object")
    return payload


def identifier_of(message: dict[str, object]) -> str:
    """The operation that the message is about. Raises Closed."""
    identifier = message.get("id")
    if not isinstance(identifier, str) or not 0 < len(identifier) <= STREAM_ID_MAX:
        raise Closed(4400, f"Invalid message: id must be a text of 1 to {STREAM_ID_MAX} characters")
    return identifier
