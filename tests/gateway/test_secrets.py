"""No secret is found in a dump, a log line, a metric, an error, an answer or a file.

Every secret that the service is given, and every one that it makes, is looked for in all that it leaves behind after
every operation, done and refused, through both surfaces, with providers that repeat what they were told.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import StringIO
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed

from contract.vocabulary import CredentialKind
from gateway.observability import logs
from gateway.runtime import Runtime
from gateway.settings import Settings
from identity import secrets
from identity.key_names import PEPPER_FILE, SIGNING_KEY_FILE
from identity.keyfiles import signing_key
from jobs.webhooks import KIND
from storage.base import now
from storage.queries import jobs
from tests.gateway.test_forged_tokens import _at_the_socket
from tests.isolation.canaries import Side, new_side
from tests.isolation.cases import CASES, Graph, Rest
from tests.isolation.records import send
from tests.support.gateway import Gateway, application_of, open_gateway
from tests.support.live import going
from tests.support.loopback import Asked, Reply, serving
from tests.support.planted import Planted
from tests.support.postgresql import Server
from tests.support.schemas import built
from tests.support.service import Outcome
from tests.support.streams import begun, events
from tests.support.world import Headers, bearer

Command = Callable[..., Outcome]

PAGES = ["/", "/docs", "/llms.txt", "/openapi.json", "/graphql/schema.graphql", "/metrics", "/ready", "/health"]
DOCUMENTS = ["/.well-known/jwks.json", "/.well-known/openid-configuration"]


@pytest.fixture(params=["json", "text"])
def log(request: pytest.FixtureRequest) -> Iterator[StringIO]:
    """What is logged, at the level that says most."""
    root = logging.getLogger()
    before = (root.handlers, root.level)
    logs.configure(Settings(_env_file=None, log_level="DEBUG", log_format=request.param).logs)
    written = StringIO()
    [handler] = root.handlers
    assert isinstance(handler, logging.StreamHandler)
    handler.setStream(written)
    yield written
    root.handlers, level = before
    root.setLevel(level)
    logs.access.configure(Settings(_env_file=None, log_level="ERROR").logs, handler)


def repeating(asked: Asked) -> Reply:
    """A provider that refuses, and says what it was told, credentials included."""
    return Reply({"error": repr(asked.headers), "message": asked.path, "detail": asked.query}, 500)


class Everything:
    """The service at work, and all that it said."""

    def __init__(self, gateway: Gateway, planted: Planted) -> None:
        self.gateway = gateway
        self.planted = planted
        self.said: dict[str, bytes] = {}

    async def ask(self, request: Rest | Graph, headers: Headers) -> Any:
        """An answer in which no secret may be found; its body."""
        response = await send(self.gateway, request, headers)
        heads = repr(response.headers.raw).encode()
        self.said[f"answer {len(self.said)} to {request}"] = heads + response.content
        return response.json() if response.content.startswith((b"{", b"[")) else None

    async def made(self, name: str, path: str, headers: Headers) -> Any:
        """A new credential: the one answer with a secret."""
        response = await self.gateway.rest("POST", path, headers, {"name": name})
        assert response.status_code == 201
        text = response.json()["pat_key"]
        self.planted.plant(name, text)
        self.planted.plant(f"secret of {name}", text.partition(".")[2])
        return response.json()

    async def operations(self, side: Side) -> None:
        """Every operation with what is the side's own, by callers of every kind in turn."""
        callers = list(side.callers.values())
        requests = [request for case in CASES.values() for request in case.requests]
        for number, request in enumerate(requests):
            own = {f"own {key}": value for key, value in side.ids.items()}
            if request.writes and number % 8 == 0:
                await side.fill()
            asked = request.filled(side.ids | own | {"name": side.fresh()})
            if isinstance(asked, Graph) and asked.document.startswith("mutation") and "secret" in asked.document:
                body = (await send(self.gateway, asked, callers[number % 3])).json()
                self.planted.plant("webhook secret", body["data"]["webhookCreate"]["secret"])
                continue
            if isinstance(asked, Rest) and asked.method == "POST" and asked.path.endswith("-pats"):
                continue  # they are made elsewhere
            await self.ask(asked, callers[number % 3])

    async def refusals(self, texts: list[str]) -> None:
        """Credentials that are nearly right, at both surfaces and at the socket."""
        wrong = [f"{text[:-1]}{'A' if text[-1] != 'A' else 'B'}" for text in texts]
        wrong += [text.swapcase() for text in texts] + [f"{text} " * 2 for text in texts]
        wrong += [f"{text}x" for text in texts]
        for text in wrong:
            for number, request in enumerate((Rest("GET", "/deals"), Graph("{ viewer { subject } }"))):
                response = await send(self.gateway, request, bearer(text))
                assert response.status_code == 401
                self.said[f"refusal {number} of {text}"] = repr(response.headers.raw).encode() + response.content
            self.said[f"close for {text}"] = repr(await _at_the_socket(self.gateway, text)).encode()

    async def work(self) -> None:
        """Jobs, some of which fail at their providers."""
        runtime = self.gateway.runtime
        async with runtime.working():
            for _ in range(30):
                await asyncio.sleep(0.1)
                async with runtime.database.directory() as session:
                    if not await jobs.any_due(session):
                        break

    async def pages(self) -> None:
        for path in PAGES + DOCUMENTS:
            response = await self.gateway.http.get(path)
            assert response.status_code in (200, 503), path
            self.said[path] = repr(response.headers.raw).encode() + response.content


def dumped(database_url: str, dialect: str, request: pytest.FixtureRequest) -> dict[str, bytes]:
    """All that lies in the database: pg_dump's text, or the bytes of SQLite's files."""
    if dialect == "postgresql":
        server: Server = request.getfixturevalue("postgresql")
        return {"pg_dump": server.dump(database_url)}
    file = Path(database_url.partition("///")[2])
    with sqlite3.connect(file) as connection:
        script = "\n".join(connection.iterdump()).encode()
    connection.close()
    return {"dump": script} | {each.name: each.read_bytes() for each in file.parent.glob(f"{file.name}*")}


def with_password(database_url: str, password: str) -> str:
    """The same address with a password, which a server that trusts its socket does not ask for."""
    return database_url.replace("://crm@", f"://crm:{password}@")


@pytest.mark.long_on("postgresql")
@pytest.mark.parametrize("log", ["json"], indirect=True)
async def test_no_secret_is_found(
    database_url: str, dialect: str, tmp_path: Path, log: StringIO, request: pytest.FixtureRequest
) -> None:
    built()
    planted, folder = Planted(), tmp_path / "data"
    async with serving(repeating) as provider:
        host = provider.url.removeprefix("http://")
        address = with_password(database_url, planted.plant("database password", "CanaryOfTheDatabase"))
        note, token = (planted.plant(name, f"CanaryOfThe{name}") for name in ("Notifications", "NotificationToken"))
        async with open_gateway(
            address,
            folder,
            sequencing_provider="instantly",
            sequencing_url=provider.url,
            sequencing_api_key=planted.plant("sequencing key", "CanaryOfTheSequencingProvider"),
            model_url=f"{provider.url}/v1",
            model_name="canary",
            model_api_key=planted.plant("model key", "CanaryOfTheModel"),
            notifications_url=f"http://someone:{note}@{host}/events?token={token}",
            outbound_allow_loopback=True,
        ) as gateway:
            planted.plant("pepper", gateway.runtime.services.identity.pepper)
            planted.plant("pepper as it is kept", (folder / PEPPER_FILE).read_text().strip())
            planted.plant("signing key", "".join((folder / SIGNING_KEY_FILE).read_text().splitlines()[1:-1]))
            planted.plant("signing key's number", str(signing_key(folder).as_dict(private=True)["d"]))
            everything = Everything(gateway, planted)
            side = await new_side(gateway.world)
            for kind, headers in side.callers.items():
                planted.plant(f"credential of {kind}", headers["Authorization"].removeprefix("Bearer "))
            administrator = side.callers[CredentialKind.SESSION]
            key = await everything.made("organization key", "/organization-pats", administrator)
            pat = await everything.made("user token", "/user-pats", administrator)
            exchanged = await gateway.rest("POST", "/pat/exchange", bearer(key["pat_key"]))
            access = planted.plant("access token", exchanged.json()["access_token"])
            await everything.ask(Rest("GET", "/deals"), bearer(access))
            revoked = await side.world.credential(side.member, side.organization, revoked_at=now())
            unknown = secrets.mint("ak").text
            for name, text in (("revoked key", revoked), ("unknown key", unknown)):
                planted.plant(name, text)
                planted.plant(f"secret of {name}", text.partition(".")[2])
            await everything.operations(side)
            await everything.refusals([key["pat_key"], pat["pat_key"], revoked, unknown, access])
            await side.hear(f"{provider.url}/hook")
            await everything.work()
            await everything.pages()
            everything.said |= dumped(database_url, dialect, request)
        everything.said |= {f"{name}, closed": data for name, data in dumped(database_url, dialect, request).items()}
        told = {asked.headers.get("authorization", "") for asked in provider.asked}
    everything.said["log"] = log.getvalue().encode()
    for file in filter(Path.is_file, folder.rglob("*")):
        if file.name not in (PEPPER_FILE, SIGNING_KEY_FILE):
            everything.said[f"file {file.name}"] = file.read_bytes()
    # What is looked through is the right thing: it has what is no secret.
    assert any("CanaryOfTheSequencingProvider" in header for header in told)
    assert len(everything.said) > len(CASES)
    dump = next(data for name, data in everything.said.items() if name in ("dump", "pg_dump"))
    assert key["key_id"].encode() in dump
    assert side.canary(1).encode() in dump
    assert KIND.encode() in dump
    assert b"/graphql" in everything.said["log"]
    assert {file.suffix for file in folder.rglob("*.*")} >= {".pdf", ".pptx", ".xlsx"}
    found = {place: names for place, content in everything.said.items() if (names := planted.found(content))}
    assert found == {}


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
async def test_no_secret_is_told_where_the_database_is_away(tmp_path: Path, log: StringIO, dialect: str) -> None:
    planted = Planted()
    password = planted.plant("database password", "CanaryOfTheDatabase")
    settings = Settings(
        _env_file=None,
        database_url=f"postgresql+asyncpg://crm:{password}@127.0.0.1:9/crm",
        data_dir=tmp_path / "data",
        worker=True,
    )
    runtime = Runtime(settings)
    said = {}
    async with runtime.running(), runtime.working():
        transport = httpx.ASGITransport(app=application_of(runtime))
        async with httpx.AsyncClient(transport=transport, base_url="http://gateway") as http:
            text = planted.plant("key", secrets.mint("ak").text)
            for path, status in (("/deals", 503), ("/ready", 503), ("/metrics", 200)):
                response = await http.get(path, headers=bearer(text))
                assert response.status_code == status
                said[path] = response.content
            response = await http.post("/graphql", json={"query": "{ viewer { subject } }"}, headers=bearer(text))
            assert response.status_code == 503
            said["/graphql"] = response.content
            await asyncio.sleep(0.1)  # the worker's first attempt, which is logged
    said["log"] = log.getvalue().encode()
    assert b"worker cannot go on" in said["log"]
    assert {place: names for place, content in said.items() if (names := planted.found(content))} == {}


def test_no_secret_is_shown_by_a_command(command: Command, tmp_path: Path) -> None:
    """What is set, what is wrong, and what keeps a command from working: with every setting that can hold a secret."""
    planted = Planted()
    password, key, note, token, issuer, jwks = (
        planted.plant(name, f"CanaryOf{name}")
        for name in ("TheDatabase", "TheSequencing", "TheNotifications", "TheToken", "TheIssuer", "TheKeySet")
    )
    signing = planted.plant("TheSignature", "CanaryOfTheSignature" + "A" * 12)
    settings = {
        "CRM_SEQUENCING_PROVIDER": "smartlead",
        "CRM_SEQUENCING_API_KEY": key,
        "CRM_SEQUENCING_URL": f"http://someone:{key}@127.0.0.1:9/api?api_key={key}",
        "CRM_NOTIFICATIONS_URL": f"http://someone:{note}@127.0.0.1:9/events?token={token}",
        "CRM_NOTIFICATIONS_SECRET": f"whsec_{signing}",
        "CRM_OIDC_ISSUER": "http://127.0.0.1:9",
        "CRM_OIDC_JWKS_URL": f"http://127.0.0.1:9/keys?token={jwks}",
        "LOG_LEVEL": "DEBUG",
    }
    away = {"CRM_DATABASE_URL": f"postgresql://crm:{password}@127.0.0.1:9/crm?password={password}"}
    wrong = {
        "CRM_DATABASE_URL": f"mysql://crm:{password}@127.0.0.1:9/crm",
        "CRM_SEQUENCING_URL": key,
        "CRM_NOTIFICATIONS_SECRET": f"{signing}!",
        "CRM_OIDC_ISSUER": f"http://someone:{issuer}@127.0.0.1:9",
        "CRM_PUBLIC_URL": f"http://someone:{issuer}@127.0.0.1:9",
    }
    said = {}
    for arguments in (["config", "show"], ["config", "show", "--json"], ["doctor"], ["doctor", "--json"], ["migrate"]):
        for which, more in {"well": {}, "away": away, "wrong": wrong}.items():
            outcome = command(*arguments, **{**settings, **more})
            said[f"{which}: {arguments}"] = (outcome.out + outcome.err).encode()
    assert all(said.values()), [name for name, text in said.items() if not text]
    planted.plant("pepper", (tmp_path / "data" / PEPPER_FILE).read_text().strip())
    assert {place: names for place, text in said.items() if (names := planted.found(text))} == {}


async def test_no_secret_is_logged_by_the_server(database_url: str, tmp_path: Path) -> None:
    """A started service at the level that says most, with real sockets: what its libraries write counts too."""
    planted = Planted()
    async with going(tmp_path, database_url, LOG_LEVEL="DEBUG", CRM_OUTBOUND_ALLOW_LOOPBACK="true") as live:
        async with httpx.AsyncClient(base_url=live.service.address) as http:
            session = live.token()
            key = (await http.post("/organization-pats", headers=session, json={"name": "Key"})).json()["pat_key"]
            texts = [session["authorization"].removeprefix("Bearer "), key, f"{key[:-1]}-"]
            for number, text in enumerate(texts):
                planted.plant(f"credential {number}", text)
                planted.plant(f"end of credential {number}", text[-16:])
                for path in ("/deals", f"/deals?token={text}", f"/{text}", "/metrics"):
                    await http.get(path, headers=bearer(text))
                await http.post("/pat/exchange", data={"subject_token": text, "grant_type": "x"})
                await http.post("/graphql", headers=bearer(text), content=f'{{"query": "{{ {text}')
                with suppress(ConnectionClosed):
                    async with begun(live.service.address, bearer(text)) as socket:
                        await socket.subscribe("1", "{ viewer { subject } }", token=text)
                        await socket.hear()
            async with httpx.AsyncClient(base_url=live.service.address, headers=bearer(key)) as reader:
                stream = events(reader)
                await anext(stream)
                await live.create("Deal")
                await anext(stream)
                await stream.aclose()
        planted.plant("pepper", (tmp_path / "data" / PEPPER_FILE).read_text().strip())
        process = await asyncio.to_thread(Path(f"/proc/{live.service.pid}/cmdline").read_bytes)
        live.service.end()
        said = {"log": live.service.log.read_bytes(), "banner": "".join(live.service.banner).encode()}
    assert said["log"].count(b"logger='gateway.access'") > 20
    assert b"level='debug'" in said["log"]
    assert b"aiosqlite" not in said["log"]  # which would write the values of every statement
    assert {p: names for p, content in {**said, "process": process}.items() if (names := planted.found(content))} == {}
