"""Nothing that a provider gave out, and nothing that a consent is known by, lies in a database, a log or a metric."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from sqlalchemy import make_url

from tests.integrations.test_refresh import ended, sync
from tests.support.consents import begin, come_back, complete
from tests.support.feeds import at, work
from tests.support.google import ALL, CLIENT_SECRET, Fault, Google, meeting
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_no_secret_lies_about(one: Tenant, google: Google, caplog: pytest.LogCaptureFixture) -> None:
    before = set(google.secrets)
    account = google.account()
    bob = {"email": "bob@out.example"}
    private = meeting("p", at(3), subject="CanaryOfADentist", visibility="private")
    google.put(account, meeting("a", at(3), organizer=bob), private)
    told: list[str] = []
    with caplog.at_level(logging.INFO):
        for error, scopes in (("access_denied", ALL), (None, ALL[:2]), (None, ALL)):
            begun = await begin(one)
            asked = google.consent(begun["authorization_url"], account, scopes, error)
            back = (await come_back(one, asked)).json()
            told += [asked["state"], back.get("completion_code", "")]
            if error is None:
                answer = await complete(one, back)
        mine = answer.json()["id"]
        await work(one)
        await ended(one, google, mine)
        google.faults += [Fault("/token", 500), Fault("/events", 429)]
        for _ in range(3):
            await sync(one, mine)
            await work(one, anyway=True)
        told.append((await begin(one))["authorization_url"].partition("state=")[2].partition("&")[0])
        metrics = (await one.gateway.http.get("/metrics")).text
        shown = await one.gateway.rest("GET", "/integrations?all=true", one.headers("admin"))
        hidden = {CLIENT_SECRET, "CanaryOfADentist", *(google.secrets - before), *filter(None, told)}
        assert len(hidden) > 10
        url = make_url(str(one.gateway.world.database.url.render_as_string(hide_password=False)))
        places = {"metrics": metrics, "dump": str(await one.gateway.world.dump(one.organization))}
        if url.database and url.get_backend_name() == "sqlite":
            file = Path(url.database)
            stored = [each.read_bytes() for each in file.parent.glob(f"{file.name}*")]
            places |= {f"file {number}": content.decode("latin-1") for number, content in enumerate(stored)}
    own = [record for record in caplog.records if not record.name.startswith(("httpx", "httpcore"))]
    places["log"] = "\n".join(record.getMessage() for record in own)
    places["answer"] = shown.text.replace(account.email, "")  # which is its owner's and the administrator's to see
    for place, text in places.items():
        assert {secret for secret in hidden if secret in text} == set(), place
