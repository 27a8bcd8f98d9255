"""Reads what a request says besides its body, whichever surface it asks: its headers, and where it came from."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from starlette.types import Scope

Headers = Mapping[bytes, bytes]
"""The values by name, in lower case."""


_READ = "headers"
"""The word under which a request's state has its headers, beside the list that they were read off."""


def headers_of(scope: Scope) -> Headers:
    """The headers; the values of a name that is there twice as one list, which no credential is (decision 127).

    They are read once for a request, whoever asks.
    """
    given = scope["headers"]
    state = scope.setdefault("state", {})
    read: tuple[object, Headers] | None = state.get(_READ)
    if read is not None and read[0] is given:
        return read[1]
    headers = dict(given)
    if len(headers) != len(given):
        headers.clear()
        for name, value in given:
            headers[name] = b"%b, %b" % (headers[name], value) if name in headers else value
    state[_READ] = (given, headers)
    return headers


def text_headers_of(scope: Scope) -> Mapping[str, str]:
    """The same as text."""
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in headers_of(scope).items()}


def header(headers: Headers, name: bytes) -> str | None:
    """One of them as text; None where it is not there."""
    value = headers.get(name)
    return None if value is None else value.decode("latin-1")


def address_of(scope: Scope) -> str:
    """Says where the request came from: the socket's other end, or a trusted proxy's word; empty for a local socket."""
    client = scope.get("client")
    return str(client[0]) if client else ""


def weights_of(header: str | None) -> dict[str, float]:
    """Reads how much the client wants each of what it names; empty where it does not say."""
    weights: dict[str, float] = {}
    for offer in (header or "").lower().split(","):
        name, *parameters = (part.strip() for part in offer.split(";"))
        if name:
            weights[name] = max((_weight(p) for p in parameters if p.startswith("q=")), default=1.0)
    return weights


def _weight(parameter: str) -> float:
    try:
        return min(max(float(parameter.removeprefix("q=")), 0.0), 1.0)
    except ValueError:
        return 0.0


def is_from(origin: str, *hosts: str) -> bool:
    """Says whether the page of an Origin is one of these hosts, each in lower case with its port."""
    try:
        place = urlsplit(origin).netloc.lower()
    except ValueError:  # brackets that do not match
        return False
    return place != "" and place in hosts
