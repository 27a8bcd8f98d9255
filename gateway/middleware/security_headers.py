"""The headers that keep browsers from making more of an answer than it is (decision 108)."""

from collections.abc import Iterable

Headers = list[tuple[bytes, bytes]]

_API_POLICY = b"default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
_HTML = b"text/html"
_SHOWN_ANYWHERE = (b"cross-origin-resource-policy", b"cross-origin")
_NO_FRAMES = (b"x-frame-options", b"DENY")
# Also those of the pages, which use nothing of the sort.
_OF_PAGES = (
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
)
_YEAR = 31_536_000


class SecurityHeaders:
    """Adds the headers that every answer has; what an endpoint has set itself stays as it is."""

    def __init__(self, public_url: str | None) -> None:
        """Browsers have to keep to https where the public address begins with it."""
        strict = (public_url or "").startswith("https://")
        self._always: tuple[tuple[bytes, bytes], ...] = (
            (b"x-content-type-options", b"nosniff"),
            _NO_FRAMES,
            (b"referrer-policy", b"no-referrer"),
            (b"content-security-policy", _API_POLICY),
            (b"cache-control", b"no-store"),
            (b"cross-origin-resource-policy", b"same-origin"),
            *([(b"strict-transport-security", f"max-age={_YEAR}".encode())] if strict else ()),
        )

        self._names = frozenset(name for name, _ in self._always)

    def around(self, given: Iterable[tuple[bytes, bytes]]) -> Headers:
        """These headers of an answer, and all that it lacks; frames are no matter where it may be shown anywhere."""
        headers = list(given)
        names = set()
        page = False
        for name, value in headers:
            names.add(name)
            page = page or (name == b"content-type" and value.startswith(_HTML))
        if _SHOWN_ANYWHERE in headers:
            names.add(_NO_FRAMES[0])
        if names.isdisjoint(self._names):
            headers += self._always
        else:
            headers += [header for header in self._always if header[0] not in names]
        if page:
            headers += _OF_PAGES
        return headers
