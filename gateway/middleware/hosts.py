"""Says whom a request may be meant for: a page whose name leads to this machine is not this service (decision 161).

A site's own name may be made to lead to 127.0.0.1 once a browser has its page (DNS rebinding); to the browser the
service is of the same origin then, and only the name in `Host` differs. `X-Forwarded-Host` is never looked
at: such a page may send it.
"""

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from contract.http_errors import Misdirected
from gateway.addresses import is_loopback_name
from gateway.middleware.error_responses import refused
from gateway.settings import Settings

_PROBES = frozenset({"/health", "/ready", "/metrics"})
_HOST = b"host"


def hosts_of(settings: Settings) -> frozenset[str] | None:
    """The names besides those of the machine itself that requests may be sent to; None for any name."""
    if settings.public_url is None and not is_loopback_name(settings.host):
        return None
    public = [] if settings.public_url is None else [urlsplit(settings.public_url).hostname or ""]
    return frozenset(map(_plain, [*public, *settings.allowed_hosts]))


class Hosts:
    """Refuses requests and WebSockets that are sent to another name, in the shape of the surface that was asked.

    Whatever asks by an address whether the process lives is answered: that is how probes and collectors ask.
    """

    def __init__(self, app: ASGIApp, names: Iterable[str]) -> None:
        self.app = app
        self.names = frozenset(names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan" and not self._admits(scope):
            if scope["type"] == "websocket":
                await receive()  # the upgrade
            await refused(Misdirected(), scope["path"], scope["state"]["request_id"])(scope, receive, send)
            return
        await self.app(scope, receive, send)

    def _admits(self, scope: Scope) -> bool:
        """Says whether all that the request says of its host is right; no browser leaves it out."""
        for name, value in scope["headers"]:
            if name == _HOST:
                host, is_loopback = _named(value)
                is_ours = is_loopback or host in self.names
                if not is_ours and not (scope["path"] in _PROBES and _is_address(host)):
                    return False
        return True


def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=256)
def _named(value: bytes) -> tuple[str, bool]:
    """The host of a Host header, without port and brackets, and whether it is the machine itself."""
    text = value.decode("latin-1")
    bracketed = text.startswith("[")
    host = text[1:].partition("]")[0].lower() if bracketed else _plain(text.partition(":")[0])
    return host, is_loopback_name(host)


def _plain(name: str) -> str:
    """The name in the one way that it is compared in: `Example.COM.` is `example.com`."""
    return name.lower().removesuffix(".")
