"""Two processes over one database, as users reach them, with members of two organizations."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest

from tests.support.login import BOARD, PASSWORD, Person
from tests.support.postgresql import Server
from tests.support.service import Commands, Outcome, Service

_numbers = count()


@dataclass
class Site:
    """The service, the commands beside it, and its members."""

    folder: Path
    settings: dict[str, str]
    first: Service
    second: Service
    commands: Commands
    people: list[Person] = field(default_factory=list)

    def run(self, *arguments: str, code: int = 0) -> Outcome:
        """Run a command beside the service."""
        outcome = self.commands.run(
            self.folder, *arguments, **self.settings, PORT=self.first.address.rpartition(":")[2]
        )
        assert outcome.code == code, outcome.err
        return outcome

    def join(self, org: str = "acme", **changes: str) -> str:
        """Make somebody a member; the subject, whose address is the same with @crm.example."""
        subject = changes.get("user") or f"user{next(_numbers)}"
        given = {
            "user": subject,
            "email": f"{subject}@crm.example",
            "name": subject.title(),
            "role": "member",
        } | changes
        options = [part for name, value in given.items() for part in (f"--{name}", value)]
        self.run("member", "add", "--org", org, *options)
        return subject

    def link(self, subject: str, kind: str = "password", *options: str) -> str:
        return self.run("member", f"{kind}-link", "--user", subject, *options).out.strip()

    def member(self, password: str = PASSWORD) -> tuple[str, str]:
        """A new member who has a password; subject and address."""
        subject = self.join()
        assert self.person().set_password(self.link(subject), password).status_code == 303
        return subject, f"{subject}@crm.example"

    def person(self, *, elsewhere: bool = False, place: str | None = None) -> Person:
        """Somebody with a browser of their own; `elsewhere` is at the other process."""
        self.people.append(Person((self.second if elsewhere else self.first).address, place))
        return self.people[-1]

    @property
    def log(self) -> str:
        return self.first.log.read_text() + self.second.log.read_text()

    def events(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.log.splitlines() if line.startswith("{")]


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("login")
    if request.param == "sqlite":
        file = folder / "crm.db"
        shutil.copyfile(request.getfixturevalue("sqlite_template"), file)
        file.chmod(0o600)
        url = f"sqlite+aiosqlite:///{file}"
    else:
        server: Server = request.getfixturevalue("postgresql")
        name = f"login_{next(_numbers)}"
        server.create(name, template=request.getfixturevalue("postgresql_template"))
        url = server.url(name)
    clients = f"board={BOARD},board=http://localhost:5173/,desk=https://desk.example/"
    settings = {"CRM_DATABASE_URL": url, "CRM_LOGIN_CLIENTS": clients, "LOG_FORMAT": "json", "LOG_LEVEL": "DEBUG"}
    with Service(folder, **settings) as first, Service(folder, "--no-worker", **settings) as second:
        site = Site(folder, settings, first, second, Commands())
        for org in ("acme", "beta"):
            site.run("org", "create", org.title(), "--id", org)
        yield site


@pytest.fixture(autouse=True)
def _closed(site: Site) -> Iterator[None]:
    """Close the browsers of a test behind it."""
    yield
    while site.people:
        site.people.pop().http.close()
