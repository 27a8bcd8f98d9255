"""A browser that signs in: httpx with cookies, which follows no redirect by itself and fills in the forms of pages."""

from __future__ import annotations

import secrets
from base64 import urlsafe_b64encode
from dataclasses import dataclass, field
from hashlib import sha256
from html.parser import HTMLParser
from itertools import count
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx

PASSWORD = "correct horse battery staple"
BOARD = "https://board.example/signed-in?from=crm"
_addresses = count(1)


class _Form(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.action = ""
        self.fields: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.action = given["action"]
        elif tag == "input":
            self.fields[given["name"]] = given.get("value", "")


def form_on(page: httpx.Response) -> tuple[str, dict[str, str]]:
    """Where the form of a page leads, and its fields as they stand."""
    form = _Form()
    form.feed(page.text)
    return str(page.url.join(form.action)), form.fields


def words_of(page: httpx.Response) -> str:
    """What a page says is wrong."""
    return page.text.partition('role="alert">')[2].partition("<")[0]


def challenge_of(verifier: str) -> str:
    return urlsafe_b64encode(sha256(verifier.encode()).digest()).decode().rstrip("=")


@dataclass
class Application:
    """What an application keeps while somebody signs in."""

    client_id: str = "board"
    redirect_uri: str = BOARD
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    state: str = field(default_factory=lambda: secrets.token_urlsafe(16))

    def asked(self, **changes: str | None) -> dict[str, str]:
        """What it asks a code with; None leaves something out."""
        asked: dict[str, str | None] = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self.redirect_uri,
            "code_challenge": challenge_of(self.verifier),
            "code_challenge_method": "S256",
            "state": self.state,
        }
        return {name: value for name, value in (asked | changes).items() if value is not None}

    def code_in(self, answer: httpx.Response) -> str:
        """The code that the browser is sent back with."""
        assert answer.status_code == 303, answer.text
        assert answer.headers["location"].startswith(self.redirect_uri.partition("?")[0])
        told = told_in(answer)
        assert told["state"] == self.state
        return told["code"]


def told_in(answer: httpx.Response) -> dict[str, str]:
    """The parameters of the address that an answer leads to."""
    found = parse_qs(urlsplit(answer.headers["location"]).query, strict_parsing=True)
    assert all(len(values) == 1 for values in found.values())
    return {name: values[0] for name, values in found.items()}


class Person:
    """Somebody with a browser, at an address of their own."""

    def __init__(self, address: str, place: str | None = None) -> None:
        number = next(_addresses)
        place = place or f"10.{number // 60_000}.{number // 250 % 240}.{number % 250}"
        self.http = httpx.Client(base_url=address, headers={"X-Forwarded-For": place}, timeout=60)

    def send(self, page: httpx.Response, headers: dict[str, str] | None = None, **fields: str) -> httpx.Response:
        """Fill in the form of a page and send it, as a browser does."""
        assert page.status_code < 300, page.text
        action, kept = form_on(page)
        origin = {"Origin": f"{page.url.scheme}://{page.url.netloc.decode()}", "Sec-Fetch-Site": "same-origin"}
        return self.http.post(action, data=kept | fields, headers=origin | (headers or {}))

    def set_password(self, link: str, password: str = PASSWORD) -> httpx.Response:
        return self.send(self.http.get(link), password=password, again=password)

    def sign_in(self, email: str, password: str = PASSWORD) -> httpx.Response:
        return self.send(self.http.get("/login"), email=email, password=password)

    def authorize(self, application: Application, **changes: str | None) -> httpx.Response:
        return self.http.get("/oauth/authorize", params=application.asked(**changes))

    def code(self, application: Application, email: str, password: str = PASSWORD) -> str:
        """Sign in to an application; the code."""
        return application.code_in(self.send(self.authorize(application), email=email, password=password))

    def redeem(self, application: Application, code: str, **changes: str) -> httpx.Response:
        """What an application gets for a code."""
        form = {
            "grant_type": "authorization_code",
            "client_id": application.client_id,
            "redirect_uri": application.redirect_uri,
            "code": code,
            "code_verifier": application.verifier,
        }
        return self.http.post("/oauth/token", data=form | changes)

    def refresh(self, token: str, client_id: str = "board") -> httpx.Response:
        form = {"grant_type": "refresh_token", "client_id": client_id, "refresh_token": token}
        return self.http.post("/oauth/token", data=form)

    def viewer(self, token: str, organization: str | None = None) -> Any:
        """Who the service takes the bearer of a token for; None for nobody."""
        headers = {"Authorization": f"Bearer {token}"} | ({"X-Service-Org": organization} if organization else {})
        query = "{ viewer { subject name email scopes organization { id } organizations { id } } }"
        answer = self.http.post("/graphql", json={"query": query}, headers=headers)
        return None if answer.status_code == 401 else answer.json()["data"]["viewer"]
