"""Says which network addresses the service may call on a caller's word: those of the public internet, and no others."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

Address = IPv4Address | IPv6Address
Resolve = Callable[[str, int], Awaitable[list[str]]]
"""Gives the addresses of a host name, in the order to try them; raises OSError where there are none."""

_CLOSED_V4 = tuple(
    IPv4Network(network)
    for network in (
        "100.64.0.0/10",  # carriers' own networks, and one cloud's metadata
        "168.63.129.16/32",  # another cloud's agent, at a public address
        "192.0.0.0/24",  # protocol assignments
        "192.88.99.0/24",  # 6to4 relays
        "198.18.0.0/15",  # benchmarks
        "224.0.0.0/3",  # multicast, reserved and broadcast
    )
)
_OPEN_V6 = IPv6Network("2000::/3")  # what is given out: the unspecified, mapped, NAT64, local and multicast lie outside
_CLOSED_V6 = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments: Teredo, which carries an IPv4 address, among them
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4, which carries an IPv4 address
        "3fff::/20",  # documentation
    )
)


def is_allowed(address: Address, *, loopback: bool = False) -> bool:
    """Says whether the address is one of the public internet, or, where `loopback` says so, of this machine itself."""
    if isinstance(address, IPv4Address):
        if address in _LOOPBACK_V4:
            return loopback
        return address.is_global and not any(address in network for network in _CLOSED_V4)
    if address == _LOOPBACK_V6:
        return loopback
    if address.scope_id is not None or address not in _OPEN_V6:
        return False
    return address.is_global and not any(address in network for network in _CLOSED_V6)


_LOOPBACK_V4 = IPv4Network("127.0.0.0/8")
_LOOPBACK_V6 = IPv6Address("::1")


async def system_resolve(host: str, port: int) -> list[str]:
    """Asks the machine's resolver."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))
