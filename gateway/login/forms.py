"""Reads what comes to the pages and endpoints of a login: parameters, cookies, and whether a form is its own."""

import hmac
import secrets
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import Request
from starlette.responses import Response

from contract.errors import BadRequest
from contract.http_errors import UnsupportedMedia
from contract.login import SESSION_SECONDS
from gateway.addresses import is_loopback
from transport.bodies import read_body

FORM: Final = "application/x-www-form-urlencoded"
_BODY_MAX: Final = 16_384
_FIELDS_MAX: Final = 20
_SESSION: Final = "crm_session"
_BROWSER: Final = "crm_browser"
_OWN_SITES: Final = frozenset({"same-origin", "none"})


def parameters(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The parameters by name. Raises BadRequest for one that is there twice (RFC 6749 part 3.1)."""
    found: dict[str, str] = {}
    for name, value in pairs:
        if name in found:
            raise BadRequest(f"{name[:64]} is there twice")
        found[name] = value
    return found


async def form_body(request: Request) -> bytes:
    """The form that was sent, as it came. Raises UnsupportedMedia, BodyTooLarge."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM:
        raise UnsupportedMedia(f"The body must be {FORM}")
    return await read_body(request.receive, request.headers.get("content-length"), _BODY_MAX)


def fields_of(body: bytes) -> dict[str, str]:
    """The fields of a form. Raises BadRequest."""
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_FIELDS_MAX, errors="strict")
    except ValueError:
        raise BadRequest("The form cannot be read") from None
    return parameters(pairs)


async def form_of(request: Request) -> dict[str, str]:
    """The fields of the form that was sent. Raises UnsupportedMedia, BadRequest, BodyTooLarge."""
    return fields_of(await form_body(request))


class Cookies:
    """The two cookies of a browser: who is signed in, and the browser itself, to which forms are bound.

    Neither is read anywhere else, so that no page of another origin can call an API by them. Over https their names say
    that no other host has set them.
    """

    def __init__(self, public_url: str | None, pepper: bytes) -> None:
        self._is_https = (public_url or "").startswith("https://")
        self._pepper = pepper

    def session(self, request: Request) -> str | None:
        """The secret of the browser's session."""
        return request.cookies.get(self._name(request, _SESSION))

    def keep_session(self, request: Request, response: Response, secret: str) -> None:
        """Have the browser keep the secret of a new session, in place of any other."""
        self._set(request, response, _SESSION, secret)

    def forget_session(self, request: Request, response: Response) -> None:
        response.delete_cookie(
            self._name(request, _SESSION),
            path="/",
            secure=self._is_secure(request),
            httponly=True,
            samesite="lax",
        )

    def browser(self, request: Request) -> str:
        """Gives what the browser is known by; new for one that has nothing yet."""
        kept = request.cookies.get(self._name(request, _BROWSER), "")
        return kept if 0 < len(kept) <= 64 else secrets.token_urlsafe(32)

    def keep_browser(self, request: Request, response: Response, browser: str) -> None:
        self._set(request, response, _BROWSER, browser)

    def mark(self, browser: str) -> str:
        """Gives what forms of this browser hold, and no other page knows."""
        return hmac.digest(self._pepper, f"form {browser}".encode(errors="surrogatepass"), "sha256").hex()

    def sent_by_us(self, request: Request, form: Mapping[str, str]) -> bool:
        """Says whether a form is one that this service gave this browser (decision 894)."""
        site = request.headers.get("sec-fetch-site")
        origin = request.headers.get("origin")
        if (site is not None and site not in _OWN_SITES) or (origin is not None and not _is_own(origin, request)):
            return False
        given = form.get("form", "").encode(errors="surrogatepass")
        kept = request.cookies.get(self._name(request, _BROWSER), "")
        return kept != "" and hmac.compare_digest(given, self.mark(kept).encode())

    def _set(self, request: Request, response: Response, name: str, value: str) -> None:
        response.set_cookie(
            self._name(request, name),
            value,
            max_age=SESSION_SECONDS,
            path="/",
            secure=self._is_secure(request),
            httponly=True,
            samesite="lax",
        )

    def _name(self, request: Request, name: str) -> str:
        return f"__Host-{name}" if self._is_secure(request) else name

    def _is_secure(self, request: Request) -> bool:
        return request.url.scheme == "https" or (self._is_https and not is_loopback(request.headers.get("host", "")))


def _is_own(origin: str, request: Request) -> bool:
    try:
        return urlsplit(origin).netloc.lower() == request.headers.get("host", "").lower() != ""
    except ValueError:
        return False
