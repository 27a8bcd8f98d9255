"""The pages of a login. They need no script, and name their files relative to themselves, as the other pages do."""

from collections.abc import Mapping
from html import escape
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from contract.login import PASSWORD_MAX, PASSWORD_MIN
from gateway.middleware.paths import had_slash
from gateway.pages import placed

# Browsers hold the redirect behind a form against form-action, too, so that it has to name the application's origin.
_POLICY: Final = (
    "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'self'{origin}; "
    "frame-ancestors 'none'"
)
_PAGE: Final = """<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>{title} · CRM gateway</title>
    <link rel="icon" href="data:," />
    <link rel="stylesheet" href="{up}static/login.css" />
  </head>
  <body>
    <main>
      <p class="name"><a href="{up}.">CRM gateway</a></p>
      <h1>{title}</h1>
{body}
    </main>
  </body>
</html>
"""
_SIGN_IN: Final = """{problem}
      <form method="post" action="{action}">
        {hidden}
        <label for="email">E-mail address</label>
        <input id="email" name="email" value="{email}" autocomplete="username" inputmode="email" autocapitalize="off"
          spellcheck="false" maxlength="320" required{described}{focus} />
        <label for="password">Password</label>
        <input id="password" name="password" type="password" autocomplete="current-password" maxlength="{most}"
          required{described} />
        <button>Sign in</button>
      </form>
      <p class="soft">No password, or forgotten? Ask whoever runs the service for a link.</p>"""
_NEW_PASSWORD: Final = """      <p>{who}</p>
{problem}
      <form method="post" action="link">
        {hidden}
        <input type="hidden" name="username" value="{username}" autocomplete="username" />
        <label for="password">New password</label>
        <input id="password" name="password" type="password" autocomplete="new-password" minlength="{least}"
          maxlength="{most}" required autofocus aria-describedby="rule{described}" />
        <p id="rule" class="soft">{least} to {most} characters. Nothing else is asked of it: several words are fine.</p>
        <label for="again">The same again</label>
        <input id="again" name="again" type="password" autocomplete="new-password" minlength="{least}"
          maxlength="{most}" required{again} />
        <button>Set the password and sign in</button>
      </form>
      <p class="soft">Wherever you are signed in now, you are signed out.</p>"""
_FOLLOW: Final = """      <p>{who}</p>
      <form method="post" action="link">
        {hidden}
        <button autofocus>Sign in</button>
      </form>
      <p class="soft">The link is good once. It came to you by mistake? Close this page, and nothing happens.</p>"""
_ACCOUNT: Final = """      <p>Signed in as <b>{who}</b>, in this browser, until {until} UTC at the latest.</p>
      <p class="doors"><a href="graphql">GraphiQL</a> <a href="docs">The REST paths</a></p>
      <form method="post" action="oauth/logout">
        {hidden}
        <button>Sign out</button>
      </form>"""
_LEAVE: Final = """      <p>Signed in as <b>{who}</b>. Signing out ends every session token that applications were given
        in this browser.</p>
      <form method="post" action="logout">
        {hidden}
        <button autofocus>Sign out</button>
      </form>"""


def page(
    request: Request, title: str, body: str, *, status: int = 200, origin: str = "", headers: Mapping[str, str] = {}
) -> Response:
    """A page; a form on it may lead to `origin` besides the service itself."""
    up = "../" * (request.url.path.removeprefix(request.scope.get("root_path", "")).strip("/").count("/"))
    content = _PAGE.format(title=escape(title), body=body, up=up or "./")
    policy = _POLICY.format(origin=f" {origin}" if origin else "")
    # The browser has to say which origin a form comes from, which it keeps to itself under `no-referrer`.
    own = {"Content-Security-Policy": policy, "Referrer-Policy": "same-origin", "Cache-Control": "no-store"}
    answer = Response(content, status, {**own, **headers}, "text/html")
    return placed(answer, has_slash=had_slash(request.scope))


def sign_in(action: str, kept: Mapping[str, str], *, email: str = "", problem: str = "") -> str:
    """The form of e-mail address and password; `kept` comes back with it."""
    return _SIGN_IN.format(
        action=action,
        hidden=_hidden(kept),
        problem=_problem(problem),
        email=escape(email),
        described=_described(problem),
        focus=" autofocus",
        most=2 * PASSWORD_MAX,
    )


def new_password(kept: Mapping[str, str], who: str, username: str, *, problem: str = "") -> str:
    """The form of a new password."""
    return _NEW_PASSWORD.format(
        who=escape(who),
        username=escape(username),
        hidden=_hidden(kept),
        problem=_problem(problem),
        described=" problem" if problem else "",
        again=_described(problem),
        least=PASSWORD_MIN,
        most=PASSWORD_MAX,
    )


def follow(kept: Mapping[str, str], who: str) -> str:
    """The form behind a link that signs in: opening the link alone does nothing, as mail programs open links."""
    return _FOLLOW.format(who=escape(who), hidden=_hidden(kept))


def account(kept: Mapping[str, str], who: str, until: str) -> str:
    """Says who is signed in."""
    return _ACCOUNT.format(who=escape(who), until=until, hidden=_hidden(kept))


def leave(kept: Mapping[str, str], who: str) -> str:
    """The form that signs out."""
    return _LEAVE.format(who=escape(who), hidden=_hidden(kept))


def told(text: str) -> str:
    """A page's only sentence."""
    return f"      <p>{escape(text)}</p>"


def alert(text: str) -> str:
    """The same where something is wrong."""
    return _problem(text)


def _hidden(kept: Mapping[str, str]) -> str:
    return "\n        ".join(
        f'<input type="hidden" name="{escape(name)}" value="{escape(value)}" />' for name, value in kept.items()
    )


def _problem(text: str) -> str:
    return f'      <p id="problem" class="problem" role="alert">{escape(text)}</p>' if text else ""


def _described(problem: str) -> str:
    return ' aria-invalid="true" aria-describedby="problem"' if problem else ""
