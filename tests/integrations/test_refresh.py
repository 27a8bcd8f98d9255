"""Tokens are renewed by one at a time over all processes, and what a provider rotates is kept before anything else."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from jobs.sync import sources
from jobs.sync.refresh import Renewal
from storage.tables import Event, Integration
from tests.integrations.sides import NAMES, side
from tests.support.consents import come_back, complete, connected
from tests.support.feeds import at, connection, meetings, work
from tests.support.google import Google, meeting
from tests.support.provider_server import Provider
from tests.support.slack import Slack
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def secret(tenant: Tenant, identifier: str) -> sources.Account:
    sealed = dict(await tenant.rows(Integration.id, Integration.sealed))[identifier]
    account = sources.opened_secret(tenant.gateway.runtime.ports.pepper, identifier, sealed).account
    assert account is not None
    return account


async def ended(tenant: Tenant, provider: Provider | Slack, identifier: str) -> None:
    """The token that is kept ends now, by the service's word and by the provider's."""
    account = await secret(tenant, identifier)
    sealed = sources.sealed_secret(
        tenant.gateway.runtime.ports.pepper,
        identifier,
        sources.Secret(account=replace(account, expires_at=account.expires_at - timedelta(days=1))),
    )
    async with tenant.gateway.world.database.writing(tenant.id) as session:
        found = await session.find(Integration, id=identifier, lock=True)
        assert found is not None
        await session.update(found, sealed=sealed)
    provider.expire()


async def sync(tenant: Tenant, identifier: str, **body: Any) -> list[str]:
    response = await tenant.gateway.rest("POST", f"/integrations/{identifier}/sync", tenant.headers(), body)
    assert response.status_code == 202, response.text
    return await work(tenant)


async def test_twenty_runs_in_two_processes_make_one_call(one: Tenant, request: pytest.FixtureRequest) -> None:
    sides = {await each.connect(one): each for each in (side(name, request) for name in NAMES)}
    before = {}
    for mine, each in sides.items():
        await ended(one, each.fake, mine)
        before[mine] = await secret(one, mine)
        each.fake.slow = 0.3
    calls = {mine: each.fake.count(each.token) for mine, each in sides.items()}
    told = {
        "database": one.gateway.world.database.url.render_as_string(hide_password=False),
        "settings": {name: value for each in sides.values() for name, value in each.settings.items()},
        "connections": [(each.name, mine) for mine, each in sides.items()],
        "org_id": one.id,
        "pepper": bytes(one.gateway.runtime.ports.pepper).hex(),
    }
    program = [sys.executable, "-m", "tests.integrations.renewing"]
    pipe = asyncio.subprocess.PIPE
    folder = Path(__file__).parents[2]
    running = [await asyncio.create_subprocess_exec(*program, stdin=pipe, stdout=pipe, cwd=folder) for _ in range(2)]
    found: list[list[list[str]]] = []
    try:
        for process in running:
            process.stdin.write(json.dumps(told).encode() + b"\n")  # type: ignore[union-attr]
        for _ in sides:
            for process in running:
                assert await process.stdout.readline() == b"ready\n"  # type: ignore[union-attr]
            for process in running:
                process.stdin.write(b"go\n")  # type: ignore[union-attr]
        for process in running:
            out, _ = await asyncio.wait_for(process.communicate(), 60)
            found.append(json.loads(out))
    finally:
        for process in running:
            if process.returncode is None:
                process.kill()
    for place, (mine, each) in enumerate(sides.items()):
        after = await secret(one, mine)
        assert each.fake.count(each.token) == calls[mine] + 1, each.name
        assert found[0][place] + found[1][place] == [after.access] * 20, each.name
        assert (after.access != before[mine].access, after.refresh != before[mine].refresh) == (True, True), each.name


async def test_a_token_that_ends_is_renewed_before_it_is_used(one: Tenant, google: Google) -> None:
    account = google.account()
    mine = await connected(one, google, account)
    google.lasts = 60  # which is less than is left
    calls = google.count("/token")
    for number in range(3):
        google.put(account, meeting(f"m{number}", at(3 + number), subject=f"M {number}"))
        await ended(one, google, mine)
        await sync(one, mine)
    assert google.count("/token") == calls + 3
    assert set(await meetings(one)) == {"M 0", "M 1", "M 2"}


async def test_a_token_that_is_refused_is_renewed_once(one: Tenant, google: Google) -> None:
    account = google.account()
    mine = await connected(one, google, account)
    google.put(account, meeting("a", at(3), subject="Seen"))
    google.expire()  # before its time
    calls = google.count("/token")
    await sync(one, mine)
    assert (google.count("/token"), set(await meetings(one))) == (calls + 1, {"Seen"})


async def test_a_consent_that_is_withdrawn_asks_for_another(
    one: Tenant, google: Google, caplog: pytest.LogCaptureFixture
) -> None:
    account = google.account()
    google.put(account, meeting("a", at(3), subject="Kept"))
    mine = await connected(one, google, account)
    before = (await meetings(one))["Kept"]["id"]
    google.refresh.clear()
    await ended(one, google, mine)
    with caplog.at_level(logging.WARNING):
        await sync(one, mine)
        await work(one, anyway=True)
    lines = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert [line.getMessage() for line in lines] == [f"integration {mine} needs a new consent"]
    shown = await connection(one, mine)
    assert (shown["status"], shown["problem"]["code"]) == ("action_required", "reauthorize")
    assert ("connect again" in shown["problem"]["message"], shown["problem"]["retry_at"]) == (True, None)
    failed = [data for type, data in await one.rows(Event.type, Event.data) if type == "integration_failed"]
    assert [each["problem"] for each in failed] == ["reauthorize"]
    resumed = await one.gateway.rest("POST", f"/integrations/{mine}/resume", one.headers())
    assert resumed.status_code == 409

    begun = await one.gateway.rest("POST", f"/integrations/{mine}/reconnect", one.headers())
    asked = google.consent(begun.json()["authorization_url"], account)
    done = await complete(one, (await come_back(one, asked)).json())
    assert (done.json()["status"], done.json()["problem"]) == ("active", None)
    google.put(account, meeting("b", at(4), subject="New"))
    await work(one)
    found = await meetings(one)
    assert (set(found), found["Kept"]["id"]) == ({"Kept", "New"}, before)
    assert len((await connection(one, mine))["streams"]) == 1


async def test_who_gave_up_waiting_loses_no_token(one: Tenant, google: Google) -> None:
    mine = await connected(one, google, google.account())
    await ended(one, google, mine)
    google.slow = 0.5
    database, ports = one.gateway.world.database, one.gateway.runtime.ports
    oauth = next(iter(ports.accounts.providers.values())).oauth
    renewal = Renewal(partial(database.reading, one.id), partial(database.writing, one.id), ports.pepper, oauth, mine)
    before = await secret(one, mine)
    impatient = asyncio.create_task(renewal.token())
    await asyncio.sleep(0.2)
    impatient.cancel()
    await asyncio.gather(impatient, return_exceptions=True)
    google.slow = 0.0
    assert await renewal.token() != before.access
    assert (await secret(one, mine)).refresh in google.refresh
