"""What operators see of connections: metrics without anybody's account, and the doctor's word on those that wait."""

from __future__ import annotations

import re

import pytest

from gateway.observability.doctor import examine
from identity.secrets import Pepper
from tests.integrations.test_refresh import ended, sync
from tests.support.consents import come_back, complete, connected
from tests.support.feeds import at, connection, meetings, work
from tests.support.google import Google, meeting
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def metrics(tenant: Tenant) -> tuple[str, dict[str, float]]:
    """What is told of connections: the text, and the samples by name and labels."""
    text = (await tenant.gateway.http.get("/metrics")).text
    found = re.findall(r"^crm_(integrations?[a-z_]*(?:\{.*\})?) (\S+)$", text, re.MULTILINE)
    return text, {name: float(value) for name, value in found}


async def test_the_metrics_and_the_doctor_tell_of_connections(
    one: Tenant, google: Google, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.observability.in_turns._SECONDS", 0.0)
    account = google.account()
    google.put(account, *(meeting(f"m{n}", at(2), subject=f"M {n}") for n in range(3)))
    _, before = await metrics(one)
    mine = await connected(one, google, account)
    await ended(one, google, mine)
    await sync(one, mine)
    google.refresh.clear()
    await ended(one, google, mine)
    await sync(one, mine)
    text, after = await metrics(one)
    more = {name: after[name] - before.get(name, 0.0) for name in after if name.partition("{")[0].endswith("_total")}
    assert {name: number for name, number in more.items() if number} == {
        'integration_runs_total{outcome="succeeded",provider="google"}': 2,
        'integration_runs_total{outcome="reauthorize",provider="google"}': 1,
        'integration_items_total{provider="google"}': 3,
        'integration_renewals_total{outcome="succeeded",provider="google"}': 1,
        'integration_renewals_total{outcome="reauthorize",provider="google"}': 1,
    }
    waiting = 'integrations{status="action_required"}'
    assert after[waiting] == before[waiting] + 1
    assert after["integrations_behind_seconds"] >= 0
    assert not [each for each in (one.id, mine, account.email, account.sub) if each in text]
    [found] = [each for each in await examine(one.gateway.runtime) if each.name == "connections"]
    assert (found.ok, f"1 of {one.id}" in found.message, "connect again" in found.advice) == (False, True, True)


async def test_connections_live_through_a_change_of_the_pepper(one: Tenant, google: Google, reached: None) -> None:
    """Tokens, cursors and channels that were sealed under the former one, which lies beside the new one."""
    account = google.account()
    google.put(account, meeting("a", at(3), subject="Before"))
    mine = await connected(one, google, account)
    [channel] = [name for name, each in google.channels.items() if each["account"] == account]
    runtime = one.gateway.runtime
    ports, identity, former = runtime.ports, runtime.services.identity, runtime.ports.pepper
    changed = Pepper(b"another pepper of 32 bytes or so").before(bytes(former))
    try:
        object.__setattr__(ports, "pepper", changed)
        identity.pepper = changed
        google.put(account, meeting("b", at(4), subject="After"))
        told = await one.gateway.http.post("/integrations/hooks/google", headers=google.notice(channel))
        assert told.status_code == 204
        google.expire()
        await work(one)
        assert set(await meetings(one)) == {"Before", "After"}
        begun = await one.gateway.rest("POST", f"/integrations/{mine}/reconnect", one.headers())
        asked = google.consent(begun.json()["authorization_url"], account)
        done = await complete(one, (await come_back(one, asked)).json())
        assert (done.status_code, done.json()["status"], done.json()["id"]) == (200, "active", mine)
        await work(one)
        shown = await connection(one, mine)
        assert (shown["problem"], len(shown["streams"]), shown["counts"]["meetings"]) == (None, 1, 2)
    finally:
        object.__setattr__(ports, "pepper", former)
        identity.pepper = former
