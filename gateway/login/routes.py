"""The addresses of a login, which are there with the embedded identity provider alone."""

from collections.abc import Mapping
from typing import Final

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from contract.errors import AuthenticationLimited, GatewayError, Unauthenticated
from gateway.login.browser import Browser
from gateway.login.counting import Way, attempt
from gateway.login.forms import Cookies, fields_of, form_body, form_of
from gateway.login.requests import Applications
from gateway.login_settings import registered
from gateway.runtime import Runtime
from identity.login_grants import Asked, GrantRefused, LoginGrants
from identity.logins import Logins
from identity.tokens import AUTHORIZATION_PATH, LOGOUT_PATH, REVOCATION_PATH, TOKEN_EXCHANGE, TOKEN_PATH
from transport.headers import address_of

CODE: Final = "authorization_code"
REFRESH: Final = "refresh_token"


def login_routes(runtime: Runtime, exchange: ASGIApp) -> list[BaseRoute]:
    """The routes; none with an external identity provider. `exchange` takes the forms of RFC 8693."""
    if runtime.keys is not None:
        return []
    limits = runtime.limiting.logins
    settings, database = runtime.settings, runtime.database
    applications = Applications(registered(settings), settings.public_url, runtime.issuer.issuer)
    grants = LoginGrants(database, runtime.issuer, limits)
    browser = Browser(
        Logins(database, limits), grants, applications, Cookies(settings.public_url, runtime.ports.pepper)
    )
    tokens = TokenEndpoint(grants, applications, exchange)
    return [
        Route(AUTHORIZATION_PATH, browser.authorize, methods=["GET", "POST"]),
        Route(TOKEN_PATH, tokens.token, methods=["POST"]),
        Route(REVOCATION_PATH, tokens.revoke, methods=["POST"]),
        Route(LOGOUT_PATH, browser.logout, methods=["GET", "POST"]),
        Route("/login", browser.login, methods=["GET", "POST"]),
        Route("/login/link", browser.link, methods=["GET", "POST"]),
    ]


class TokenEndpoint:
    """Serves applications without a browser. They have no secret: a code is worth nothing without its verifier."""

    def __init__(self, grants: LoginGrants, applications: Applications, exchange: ASGIApp) -> None:
        self._grants = grants
        self._applications = applications
        self._exchange = exchange

    async def token(self, request: Request) -> Response:
        """POST /oauth/token (RFC 6749 parts 4.1.3 and 6), and what the exchange takes, which is a grant type too."""
        try:
            body = await form_body(request)
            form = fields_of(body)
            if form.get("grant_type") == TOKEN_EXCHANGE:
                return Again(self._exchange, body)
            return await self._given(request, form)
        except GrantRefused:
            return _refused("invalid_grant", "was used already, has run out, or is another's")
        except AuthenticationLimited as error:
            told = {"Retry-After": str(error.retry_after)}
            return _refused("temporarily_unavailable", error.message, error.status, told)
        except GatewayError as error:
            if error.status >= GatewayError.status:
                raise
            return _refused("invalid_request", error.message, error.status)

    async def _given(self, request: Request, form: Mapping[str, str]) -> Response:
        kind, client_id, address = form.get("grant_type"), form.get("client_id", ""), address_of(request.scope)
        if kind not in (CODE, REFRESH):
            return _refused("unsupported_grant_type", f"grant_type: must be {CODE} or {REFRESH}")
        if not self._applications.addresses(request, client_id):
            return _refused("invalid_client", "client_id: is not registered", Unauthenticated.status)
        if kind == REFRESH:
            with attempt(Way.REFRESH) as tried:
                given = await self._grants.refresh(form.get("refresh_token", ""), client_id, address)
                tried.found(given)
        else:
            asked = Asked(client_id, form.get("redirect_uri", ""), "")
            code, verifier = form.get("code", ""), form.get("code_verifier", "")
            refreshing = not self._applications.is_own(client_id)
            with attempt(Way.CODE) as tried:
                given = await self._grants.redeem(code, asked, verifier, address, refreshing=refreshing)
                tried.found(given)
        refresh = {} if given.refresh_token is None else {"refresh_token": given.refresh_token}
        content = {
            "access_token": given.access_token,
            "token_type": "Bearer",
            "expires_in": given.expires_in,
            "scope": given.scope,
        }
        return _json(content | refresh)

    async def revoke(self, request: Request) -> Response:
        """POST /oauth/revoke: end what a refresh token belongs to, session tokens among it (RFC 7009)."""
        try:
            form = await form_of(request)
        except GatewayError as error:
            return _refused("invalid_request", error.message, error.status)
        await self._grants.revoke(form.get("token", ""))
        return _json({})


class Again(Response):
    """The answer of another application to the same request, whose body was read already."""

    def __init__(self, app: ASGIApp, body: bytes) -> None:
        super().__init__()
        self._app = app
        self._read = body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Have it read the body anew."""
        waiting = [{"type": "http.request", "body": self._read, "more_body": False}]

        async def again() -> Message:
            return waiting.pop() if waiting else await receive()

        await self._app(scope, again, send)


def _refused(error: str, description: str, status: int = 400, headers: Mapping[str, str] | None = None) -> Response:
    """An error as RFC 6749 part 5.2 has it."""
    return _json({"error": error, "error_description": description}, status, headers)


def _json(content: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(orjson.dumps(content), status, dict(headers or {}), "application/json")
