"""What a request's head must be besides well formed, so that nobody before the gateway reads it in another way.

The parser has refused the rest by then: lengths given twice or beside a transfer coding, line ends of another kind,
folded lines, blanks before a colon, control characters.
"""

import re

_TARGET = re.compile(rb"/[!-~]*")
_ABSOLUTE = re.compile(rb"https?://([^/?#]*)([/?].*)?", re.IGNORECASE)
_HOST = re.compile(rb"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")

Head = list[tuple[bytes, bytes]]


def fault_of(version: str, method: bytes, target: bytes, headers: Head) -> str | None:
    """Why the request is refused, in words for its sender; None if it is not."""
    host = coding = length = None
    upgrades = False
    for name, value in headers:
        if name == b"host":
            if host is not None:
                return "More than one Host"
            host = value
        elif name == b"transfer-encoding":
            coding = value
        elif name == b"content-length":
            length = value
        elif name == b"upgrade":
            upgrades = True
    if version not in ("1.1", "1.0"):
        return "Another version of HTTP than 1.1 or 1.0"
    if host is None:
        if version == "1.1":
            return "No Host"
    elif not _HOST.fullmatch(host):
        return "No valid Host"
    if coding is not None and (version == "1.0" or coding.lower() != b"chunked"):
        return "A Transfer-Encoding other than chunked"
    has_body = coding is not None or (length or b"0").strip(b"0") != b""
    if upgrades and is_upgrade(headers) and (version != "1.1" or method != b"GET" or has_body):
        return "An upgrade by another request than a GET of HTTP/1.1, without a body"
    return _fault_of_target(method, target, host)


def _fault_of_target(method: bytes, target: bytes, host: bytes | None) -> str | None:
    if method == b"CONNECT":
        return "The gateway is no proxy"
    if b"#" in target:
        return "A fragment in the address"
    if _TARGET.fullmatch(target):
        return None
    absolute = _ABSOLUTE.fullmatch(target)
    if absolute is None or not absolute[2] or not absolute[2].startswith(b"/"):
        return "No address of this host"
    if host is None or absolute[1].lower() != host.lower():
        return "An address of another host than Host says"
    return None


def is_upgrade(headers: Head) -> bool:
    """Whether the request asks for a WebSocket: exactly one Upgrade, which says so, and a Connection that names it."""
    upgrades = [value for name, value in headers if name == b"upgrade"]
    if not upgrades:
        return False
    tokens = {token.strip().lower() for name, value in headers if name == b"connection" for token in value.split(b",")}
    return [value.lower() for value in upgrades] == [b"websocket"] and b"upgrade" in tokens
