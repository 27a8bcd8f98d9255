"""Reads off an address where it leads."""

import re
from ipaddress import IPv6Address, ip_address
from urllib.parse import urlsplit

_NAMED = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?(?::[0-9]{1,5})?", re.ASCII)


def is_loopback(authority: str) -> bool:
    """Says whether a host, with or without a port, is this machine under a name that browsers take to nowhere else."""
    try:
        parts = urlsplit(f"//{authority}")
        return "@" not in parts.netloc and is_loopback_name(parts.hostname or "")
    except ValueError:
        return False


def is_loopback_name(host: str) -> bool:
    """Says whether a name in small letters, or an address without brackets, is of the machine itself."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ip_address(host)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback


def sockets_at(authority: str) -> list[str]:
    """The sources of a Content-Security-Policy for WebSockets of this host; none where a source cannot name it.

    An IPv6 address is such a host. There, as with every newer browser, `'self'` is what lets the socket be opened.
    """
    return [f"ws://{authority}", f"wss://{authority}"] if _NAMED.fullmatch(authority) else []
