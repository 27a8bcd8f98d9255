"""Nothing that a provider gave out, and nothing that a consent is known by, lies in a database, a log or a metric."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

import pytest
from sqlalchemy import make_url

from tests.integrations.sides import NAMES, side
from tests.integrations.test_refresh import ended
from tests.support.consents import begin
from tests.support.feeds import work
from tests.support.google import Fault
from tests.support.postgresql import Server
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.mark.parametrize("name", NAMES)
async def test_no_secret_lies_about(
    one: Tenant,
    name: str,
    reached: None,
    surface_url: str,
    request: pytest.FixtureRequest,
    caplog: pytest.LogCaptureFixture,
) -> None:
    before = set(request.getfixturevalue(name).secrets)
    it = side(name, request)
    told: list[str] = []
    with caplog.at_level(logging.INFO):
        for error, scopes in (("access_denied", None), (None, it.partial), (None, None)):
            asked, back = await it.come_back(one, scopes, error)
            told += [asked["state"], back.get("completion_code", "")]
            answer = await it.completed(one, back) if error is None else None
        assert answer is not None, name
        mine = answer.json()["id"]
        await work(one)
        await it.ready(one, mine)
        await work(one)
        await ended(one, it.fake, mine)
        it.fake.faults += [Fault(it.token, 500), Fault(it.reads, 429)]
        for _ in range(3):
            await it.sync(one, mine)
            await work(one, anyway=True)
        begun = await begin(one, it.role, provider=name)
        told.append(begun["authorization_url"].partition("state=")[2].partition("&")[0])
        metrics = (await one.gateway.http.get("/metrics")).text
        shown = await one.gateway.rest("GET", "/integrations?all=true", one.headers("admin"))
    hidden = {*it.told, *(it.fake.secrets - before), *getattr(it.fake, "views", ()), *filter(None, told)}
    assert len(hidden) > 10
    places = await _stored(one, surface_url, request)
    places |= {"metrics": metrics, "log": _logged(caplog)}
    places["answer"] = shown.text.replace(it.seen, "")  # which is its owner's and the administrator's to see
    assert found_in(places, hidden) == {}


async def test_what_is_hidden_would_be_found(one: Tenant, surface_url: str, request: pytest.FixtureRequest) -> None:
    places = await _stored(one, surface_url, request)
    name = one.organization.name
    assert set(found_in(places, {name})) == set(places)
    assert found_in({"hexadecimal": name.encode().hex()}, {name}) == {"hexadecimal": {name}}


def found_in(places: Mapping[str, str], hidden: set[str]) -> dict[str, set[str]]:
    """The places that have something hidden, as it is or in hexadecimal, with what each has."""
    found = {
        place: {each for each in hidden if each in text or each.encode().hex() in text}
        for place, text in places.items()
    }
    return {place: secrets for place, secrets in found.items() if secrets}


async def _stored(tenant: Tenant, url: str, request: pytest.FixtureRequest) -> dict[str, str]:
    """All that the database holds: the rows of the organization, and the files or what `pg_dump` writes."""
    places = {"rows": str(await tenant.gateway.world.dump(tenant.organization))}
    if make_url(url).get_backend_name() != "sqlite":
        server: Server = request.getfixturevalue("postgresql")
        return places | {"dump": server.dump(url).decode()}
    file = Path(make_url(url).database or "")
    contents = b"".join(each.read_bytes() for each in file.parent.glob(f"{file.name}*"))
    return places | {"files": contents.decode("latin-1")}


def _logged(caplog: pytest.LogCaptureFixture) -> str:
    """What the service itself wrote into the log."""
    own = [record for record in caplog.records if not record.name.startswith(("httpx", "httpcore"))]
    return "\n".join(record.getMessage() for record in own)
