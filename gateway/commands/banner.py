"""Words what `serve` prints once it listens: where, and with the demo what to open, to set and to try."""

from __future__ import annotations

import socket
import sys
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit

from gateway.addresses import is_loopback
from gateway.commands.sockets import authority
from gateway.settings import Settings

if TYPE_CHECKING:
    from gateway.demo import data as demo

_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  # read here, and bound by nobody
"""The loopback address of those that stand for all."""


def banner(configuration: Settings, listening: socket.socket, ready: demo.Ready | None) -> str:
    """Word what is printed: for a terminal what a person needs next, elsewhere everything by its name, besides."""
    base = (configuration.public_url or f"http://{authority(listening.getsockname())}").rstrip("/")
    link = None if ready is None else _link(configuration, base, listening.getsockname()[:2], ready)
    is_watched = sys.stdout.isatty()
    lines = [] if is_watched and link else [f"CRM gateway on {base}"]
    if not is_watched or ready is None:
        lines += [f"  GraphiQL   {base}/graphql", f"  REST       {base}/docs"]
    if configuration.metrics_port is not None:
        lines.append(f"  Metrics    http://{authority((configuration.host, configuration.metrics_port))}/metrics")
    if ready is not None:
        lines += [] if is_watched else _named(ready, link)
        lines += _to_try(base, link if is_watched else None, ready)
    return "\n".join(lines)


def _named(ready: demo.Ready, link: str | None) -> list[str]:
    """List what programs look for, by its name."""
    return [
        "",
        "Demo: paste these, or open the link, which fills them in, once" if link else "Demo: paste these",
        f"  Organization   {ready.organization}",
        f"  Token          {ready.token}",
        *([f"  Link           {link}"] if link else ()),
        "",
    ]


def _to_try(base: str, link: str | None, ready: demo.Ready) -> list[str]:
    """The link, what to set in a shell, and a command for each surface."""
    query = '{"query":"{ deals(first: 3) { nodes { name } } }"}'
    who = "--oauth2-bearer $TOKEN"
    return [
        *([f"Open {link}"] if link else ()),
        f"export TOKEN={ready.key}",
        f"export ORG={ready.organization}",
        f'curl {who} "{base}/deals?limit=3"',
        f"curl {who} {base}/graphql --json '{query}'",
    ]


def _link(configuration: Settings, base: str, address: tuple[str, int], ready: demo.Ready) -> str | None:
    """The page with a one-time code, at an address of this machine, which is where it is good; None without one."""
    if configuration.public_url is None and address[0] in _EVERYWHERE:
        base = f"http://{authority((_EVERYWHERE[address[0]], address[1]))}"
    if not is_loopback(urlsplit(base).netloc):
        return None
    from gateway.demo.data import code_for  # a demo's alone

    return f"{base}/graphql#{urlencode({'code': code_for(configuration, ready)})}"
