"""Reads the addresses by which the mail server and the sender are set."""

from dataclasses import dataclass, field
from email.errors import HeaderParseError
from email.utils import parseaddr
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

PROVIDER = "mail"
"""The name under which calls to a mail server are counted."""
_PORTS = {"smtp": 587, "smtps": 465}
_FORMS = "must be file:///FOLDER, smtp://USER:PASSWORD@HOST:587 or smtps://USER:PASSWORD@HOST:465"


@dataclass(frozen=True, slots=True)
class MailServer:
    """A mail server, and how to speak to it."""

    host: str
    port: int
    is_tls: bool
    """Whether it speaks TLS from the first byte."""
    is_plain: bool
    """Whether it is spoken to without TLS, which only one on this machine may be."""
    user: str = ""
    password: str = field(default="", repr=False)


def mail_server(address: str) -> MailServer | None:
    """The mail server of an address; None for a folder, or nothing. Raises ValueError for any other address."""
    if not address or outbox_folder(address) is not None:
        return None
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port
    except ValueError:  # brackets that do not match, or no number
        raise ValueError(_FORMS) from None
    if parts.scheme not in _PORTS or not host or parts.path not in ("", "/") or parts.fragment:
        raise ValueError(_FORMS)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    is_plain = parts.scheme == "smtp" and options == {"starttls": "off"}
    if options and not is_plain:
        raise ValueError("may end with ?starttls=off alone, and only after smtp://")
    if is_plain and not _is_here(host):
        raise ValueError("may turn STARTTLS off for a server on this machine alone")
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    if bool(user) != bool(password):
        raise ValueError("must have both a user and a password, or neither")
    return MailServer(host, port or _PORTS[parts.scheme], parts.scheme == "smtps", is_plain, user, password)


def outbox_folder(address: str) -> Path | None:
    """The folder of a `file:` address; None for another. Raises ValueError for one that names no folder."""
    if not address.startswith("file:"):
        return None
    parts = urlsplit(address)
    if parts.netloc not in ("", "localhost") or parts.path in ("", "/") or parts.query:
        raise ValueError(_FORMS)
    return Path(unquote(parts.path))


def _is_here(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def check_sender(text: str) -> None:
    """Raise ValueError for what can be no sender: an address, or a name with an address in angle brackets."""
    from email.headerregistry import Address  # as in providers/mail.py

    name, address = parseaddr(text)
    words = "must be an address in ASCII, such as crm@example.com or CRM <crm@example.com>"
    try:
        parsed = Address(name, addr_spec=address)
    except (ValueError, IndexError, HeaderParseError):
        raise ValueError(words) from None
    if not (parsed.username and parsed.domain and address.isascii()) or any(c in text for c in "\r\n\0"):
        raise ValueError(words)
