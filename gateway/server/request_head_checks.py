"""Checks what a request's head must be besides well formed, so that nobody before the gateway reads it otherwise.

The parser has refused the rest by then: lengths given twice or beside a transfer coding, line ends of another kind,
folded lines, blanks before a colon, control characters.
"""

import re
from functools import lru_cache

from contract.errors import BadRequest
from contract.integrations import FEED_BYTES_MAX, HOOK_BYTES_MAX
from contract.limits import BODY_MAX_BYTES

_TARGET = re.compile(rb"/[!-~]*")
_ABSOLUTE = re.compile(rb"https?://([^/?#]*)([/?].*)?", re.IGNORECASE)
_HOST = re.compile(rb"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")
_READ = frozenset({b"host", b"transfer-encoding", b"content-length", b"upgrade"})

Head = list[tuple[bytes, bytes]]


def declared_length(version: str, method: bytes, target: bytes, headers: Head) -> int:
    """The length that the body is said to have, 0 if nothing is said. Raises BadRequest for what is refused."""
    host = coding = None
    length, upgrades = 0, False
    for name, value in headers:
        if name not in _READ:
            continue
        if name == b"host":
            if host is not None:
                raise BadRequest("More than one Host")
            host = value
        elif name == b"content-length":
            length = int(value)
        elif name == b"transfer-encoding":
            coding = value
        else:
            upgrades = True
    if version not in ("1.1", "1.0"):
        raise BadRequest("Another version of HTTP than 1.1 or 1.0")
    if host is None:
        if version == "1.1":
            raise BadRequest("No Host")
    elif not _is_host(host):
        raise BadRequest("No valid Host")
    if coding is not None and (version == "1.0" or coding.lower() != b"chunked"):
        raise BadRequest("A Transfer-Encoding other than chunked")
    has_body = coding is not None or length > 0
    if upgrades and is_upgrade(headers) and (version != "1.1" or method != b"GET" or has_body):
        raise BadRequest("An upgrade by another request than a GET of HTTP/1.1, without a body")
    if method == b"CONNECT":
        raise BadRequest("The gateway is no proxy")
    if b"#" in target:
        raise BadRequest("A fragment in the address")
    if not _TARGET.fullmatch(target):
        _check_absolute(target, host)
    return length


@lru_cache(maxsize=100)
def _is_host(host: bytes) -> bool:
    return _HOST.fullmatch(host) is not None


def _check_absolute(target: bytes, host: bytes | None) -> None:
    absolute = _ABSOLUTE.fullmatch(target)
    if absolute is None or not absolute[2] or not absolute[2].startswith(b"/"):
        raise BadRequest("No address of this host")
    if host is None or absolute[1].lower() != host.lower():
        raise BadRequest("An address of another host than Host says")


def is_upgrade(headers: Head) -> bool:
    """Says whether the request asks for a WebSocket: one Upgrade, which says so, and a Connection that names it."""
    upgrades = [value for name, value in headers if name == b"upgrade"]
    if not upgrades:
        return False
    tokens = {token.strip().lower() for name, value in headers if name == b"connection" for token in value.split(b",")}
    return [value.lower() for value in upgrades] == [b"websocket"] and b"upgrade" in tokens


def body_limit_at(method: bytes, url: bytes) -> int:
    """The bytes that a body may have: of an uploaded feed more than of others, of a provider's notice less."""
    path = url.partition(b"?")[0]
    if path.startswith(b"/integrations/hooks/"):
        return HOOK_BYTES_MAX
    is_feed = method == b"PUT" and path.startswith(b"/integrations/") and path.endswith(b"/feed")
    return FEED_BYTES_MAX if is_feed else BODY_MAX_BYTES
