"""Reads what an application asks a code with (RFC 6749, 7636, 9700), and answers it at its own address."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from starlette.requests import Request
from starlette.responses import RedirectResponse

from gateway.login_settings import OWN_CLIENTS
from identity.login_grants import CHALLENGE, Asked

_STATE: Final = re.compile(r"[\x20-\x7e]{1,1024}")
KEPT: Final = ("response_type", "client_id", "redirect_uri", "code_challenge", "code_challenge_method", "state")
"""The parameters that come back with the form of the page."""


class NoApplication(Exception):
    """Nobody can be answered: the application is not known, or not at this address. The text is for the person."""


class AskedWrongly(Exception):
    """The application is told, at its own address, what is wrong with what it asked."""

    def __init__(self, address: str, error: str, description: str, state: str | None) -> None:
        super().__init__(description)
        self.address, self.error, self.description, self.state = address, error, description, state


@dataclass(frozen=True, slots=True)
class CodeRequest:
    """A request for a code that is in order."""

    asked: Asked
    state: str
    prompt: str

    @property
    def origin(self) -> str:
        """The origin that the answer goes to."""
        parts = urlsplit(self.asked.redirect_uri)
        return f"{parts.scheme}://{parts.netloc}"


class Applications:
    """The applications that members sign in to: those of the settings, and the service's own pages where they are."""

    def __init__(self, registered: Mapping[str, frozenset[str]], public_url: str | None, issuer: str) -> None:
        self._registered = registered
        self._public_url = public_url
        self._issuer = issuer

    def addresses(self, request: Request, client_id: str) -> frozenset[str]:
        """Says where codes of an application may be sent; nowhere for one that is not known."""
        path = OWN_CLIENTS.get(client_id)
        if path is None:
            return self._registered.get(client_id, frozenset())
        places = {str(request.base_url), self._public_url or str(request.base_url)}
        return frozenset(f"{place.rstrip('/')}/{path}" for place in places)

    def is_own(self, client_id: str) -> bool:
        """Says whether it is a page of the service, which keeps no refresh token (decision 895)."""
        return client_id in OWN_CLIENTS

    def read(self, request: Request, given: Mapping[str, str]) -> CodeRequest:
        """Reads what is asked. Raises NoApplication, or AskedWrongly once it is known who may hear of it."""
        client_id, address = given.get("client_id", ""), given.get("redirect_uri", "")
        addresses = self.addresses(request, client_id)
        if not addresses:
            raise NoApplication("No application of this name is registered here.")
        if address not in addresses:
            raise NoApplication("The application is not registered with the address that it wants you to be sent to.")
        state = given.get("state")
        if state is not None and not _STATE.fullmatch(state):
            raise AskedWrongly(address, "invalid_request", "state: 1 to 1024 visible characters", None)
        if wrong := _fault_of(given):
            raise AskedWrongly(address, *wrong, state)
        if state is None:
            raise AskedWrongly(address, "invalid_request", "state: is needed", None)
        return CodeRequest(Asked(client_id, address, given["code_challenge"]), state, given.get("prompt", ""))

    def code(self, wanted: CodeRequest, code: str) -> RedirectResponse:
        """Send the browser back with a code."""
        return self._sent(wanted.asked.redirect_uri, {"code": code, "state": wanted.state})

    def refused(self, error: AskedWrongly) -> RedirectResponse:
        """Send the browser back with an error."""
        state = {} if error.state is None else {"state": error.state}
        told = {"error": error.error, "error_description": error.description}
        return self._sent(error.address, told | state)

    def _sent(self, address: str, told: Mapping[str, str]) -> RedirectResponse:
        parts = urlsplit(address)
        query = [*parse_qsl(parts.query, keep_blank_values=True), *told.items(), ("iss", self._issuer)]
        # 303, so that no browser sends the password on to the application.
        return RedirectResponse(urlunsplit(parts._replace(query=urlencode(query))), 303)


def _fault_of(given: Mapping[str, str]) -> tuple[str, str] | None:
    """The error of a request whose application is known, and what it is; None where there is none."""
    if given.get("response_type") != "code":
        return "unsupported_response_type", "response_type: must be code"
    if given.get("code_challenge_method") != "S256":
        return "invalid_request", "code_challenge_method: must be S256"
    if not CHALLENGE.fullmatch(given.get("code_challenge", "")):
        return "invalid_request", "code_challenge: must be 43 characters of base64url"
    if given.get("prompt", "") not in ("", "none", "login"):
        return "invalid_request", "prompt: must be none or login"
    if "request" in given or "request_uri" in given:
        return "request_not_supported", "request: is not taken"
    return None
