"""Serves what a person sees of a login: the page to sign in at, one-time links, who is signed in, signing out."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import wraps

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from contract.errors import AuthenticationLimited, BadRequest
from contract.login import TicketKind
from gateway.login import pages
from gateway.login.counting import Way, attempt
from gateway.login.forms import Cookies, form_of, parameters
from gateway.login.requests import KEPT, Applications, AskedWrongly, CodeRequest, NoApplication
from gateway.observability.metrics import count_login
from identity import passwords
from identity.login_grants import LoginGrants
from identity.logins import Link, Logins, SignedIn, Visitor
from transport.headers import address_of

_WRONG = "This e-mail address and password do not fit together."
_STALE = "The page had been open for too long, or was not opened here. Please try again."
_NO_LINK = "The link was used already, has run out, or was cut off on its way. Ask for another one."

Answer = Callable[["Browser", Request], Awaitable[Response]]


def _shown(answer: Answer) -> Answer:
    """Have what a person is refused shown on a page."""

    @wraps(answer)
    async def answering(self: "Browser", request: Request) -> Response:
        try:
            return await answer(self, request)
        except NoApplication as error:
            return pages.page(request, "Not signed in", pages.alert(str(error)), status=400)
        except BadRequest as error:
            return pages.page(request, "Not signed in", pages.alert(f"{error.message}."), status=400)
        except AuthenticationLimited as error:
            words = (
                f"Too many attempts. Please wait for {_in_words(error.retry_after or 1)}, then go back and try again."
            )
            told = {"Retry-After": str(error.retry_after)}
            return pages.page(request, "Not signed in", pages.alert(words), status=429, headers=told)
        except AskedWrongly as error:
            return self.applications.refused(error)

    return answering


@dataclass(frozen=True)
class Browser:
    """The pages over what they need."""

    logins: Logins
    grants: LoginGrants
    applications: Applications
    cookies: Cookies

    @_shown
    async def authorize(self, request: Request) -> Response:
        """GET and POST /oauth/authorize: a code for the application, once somebody is signed in."""
        posted = request.method == "POST"
        given = await form_of(request) if posted else parameters(request.query_params.multi_items())
        wanted = self.applications.read(request, given)
        if posted:
            return await self._tried(request, given, wanted)
        visitor = None if wanted.prompt == "login" else await self._visitor(request)
        if visitor is not None:
            return self.applications.code(wanted, await self.grants.code(visitor, wanted.asked))
        if wanted.prompt == "none":
            raise AskedWrongly(wanted.asked.redirect_uri, "login_required", "nobody is signed in", wanted.state)
        return self._form(request, given, wanted)

    @_shown
    async def login(self, request: Request) -> Response:
        """GET and POST /login: who is signed in in this browser, or the page to do so without an application."""
        if request.method == "POST":
            return await self._tried(request, await form_of(request), None)
        visitor = await self._visitor(request)
        return self._form(request, {}, None) if visitor is None else self._account(request, visitor)

    @_shown
    async def link(self, request: Request) -> Response:
        """GET and POST /login/link: a one-time link, which is used by the form behind it and not by opening it."""
        posted = request.method == "POST"
        given = await form_of(request) if posted else parameters(request.query_params.multi_items())
        token = given.get("token", "")
        if posted and not self.cookies.sent_by_us(request, given):
            return self._framed(request, "Not signed in", lambda _: pages.alert(_STALE), status=403)
        link = await self._link(token, request)
        if link is None:
            return self._no_link(request)
        if link.kind is TicketKind.PASSWORD_LINK:
            return await self._password(request, given, link) if posted else self._new_password(request, token, link)
        if not posted:
            return self._framed(
                request, "Sign in", lambda kept: pages.follow({**kept, "token": token}, f"as {_who(link)}")
            )
        with attempt(Way.LINK) as tried:
            signed = await self.logins.follow(token, former=self.cookies.session(request))
            tried.found(signed)
        return self._no_link(request) if signed is None else self._signed_in(request, signed, "../login")

    @_shown
    async def logout(self, request: Request) -> Response:
        """GET and POST /oauth/logout: the page to sign out at, and what it does."""
        visitor = await self._visitor(request)
        if request.method == "POST":
            if not self.cookies.sent_by_us(request, await form_of(request)):
                return self._framed(request, "Not signed out", lambda _: pages.alert(_STALE), status=403)
            if visitor is not None:
                await self.logins.sign_out(visitor)
            visitor = None
        if visitor is not None:
            who = _who(visitor)
            return self._framed(request, "Sign out", lambda kept: pages.leave(kept, who))
        answer = pages.page(request, "Signed out", pages.told("Nobody is signed in in this browser."))
        self.cookies.forget_session(request, answer)
        return answer

    async def _link(self, token: str, request: Request) -> Link | None:
        """The link, if it is one; what is none counts as an attempt, and one that is opened does not yet."""
        address = address_of(request.scope)
        try:
            link = await self.logins.link(token, address)
        except AuthenticationLimited:
            count_login(Way.LINK, "limited")
            raise
        if link is None:
            count_login(Way.LINK, "refused")
        return link

    async def _visitor(self, request: Request) -> Visitor | None:
        return await self.logins.visitor(self.cookies.session(request))

    async def _tried(self, request: Request, form: Mapping[str, str], wanted: CodeRequest | None) -> Response:
        """Somebody has sent the form of e-mail address and password."""
        if not self.cookies.sent_by_us(request, form):
            return self._form(request, form, wanted, problem=_STALE, status=403)
        name = form.get("email", "").strip()
        with attempt(Way.PASSWORD) as tried:
            signed = await self.logins.sign_in(
                name, form.get("password", ""), address_of(request.scope), former=self.cookies.session(request)
            )
            tried.found(signed)
        if signed is None:
            return self._form(request, form, wanted, problem=_WRONG, status=403)
        if wanted is None:
            return self._signed_in(request, signed, "login")
        answer = self.applications.code(wanted, await self.grants.code(signed.visitor, wanted.asked))
        self.cookies.keep_session(request, answer, signed.secret)
        return answer

    def _signed_in(self, request: Request, signed: SignedIn, to: str) -> Response:
        answer = RedirectResponse(to, 303)
        self.cookies.keep_session(request, answer, signed.secret)
        return answer

    def _form(
        self,
        request: Request,
        given: Mapping[str, str],
        wanted: CodeRequest | None,
        *,
        problem: str = "",
        status: int = 200,
    ) -> Response:
        asked = {} if wanted is None else {name: given[name] for name in KEPT if name in given}
        action, origin = ("login", "") if wanted is None else ("authorize", wanted.origin)
        email = given.get("email", "")[:320]

        def body(kept: Mapping[str, str]) -> str:
            return pages.sign_in(action, {**kept, **asked}, email=email, problem=problem)

        return self._framed(request, "Sign in", body, status=status, origin=origin)

    def _account(self, request: Request, visitor: Visitor) -> Response:
        until = f"{visitor.expires_at:%Y-%m-%d %H:%M}"
        return self._framed(request, "Signed in", lambda kept: pages.account(kept, _who(visitor), until))

    async def _password(self, request: Request, form: Mapping[str, str], link: Link) -> Response:
        """Somebody has sent the form of a new password."""
        token, password = form.get("token", ""), form.get("password", "")
        fault = passwords.fault_of(password)
        if fault is not None or password != form.get("again"):
            problem = "The two are not the same." if fault is None else f"The password {fault}."
            return self._new_password(request, token, link, problem=problem)
        with attempt(Way.PASSWORD_LINK) as tried:
            signed = await self.logins.set_password(token, password, former=self.cookies.session(request))
            tried.found(signed)
        return self._no_link(request) if signed is None else self._signed_in(request, signed, "../login")

    def _new_password(self, request: Request, token: str, link: Link, *, problem: str = "") -> Response:
        name = link.signs_in_with
        who = f"for {_who(link)}, who signs in with {name}"

        def body(kept: Mapping[str, str]) -> str:
            return pages.new_password({**kept, "token": token}, who, name, problem=problem)

        return self._framed(request, "New password", body, status=422 if problem else 200)

    def _no_link(self, request: Request) -> Response:
        return pages.page(request, "Not signed in", pages.alert(_NO_LINK), status=410)

    def _framed(
        self,
        request: Request,
        title: str,
        body: Callable[[Mapping[str, str]], str],
        *,
        status: int = 200,
        origin: str = "",
    ) -> Response:
        """A page with a form that is bound to this browser."""
        browser = self.cookies.browser(request)
        content = body({"form": self.cookies.mark(browser)})
        answer = pages.page(request, title, content, status=status, origin=origin)
        self.cookies.keep_browser(request, answer, browser)
        return answer


def _who(person: Visitor | Link) -> str:
    return person.name or person.email or person.subject


def _in_words(seconds: int) -> str:
    return f"{seconds} seconds" if seconds < 120 else f"{-(-seconds // 60)} minutes"
