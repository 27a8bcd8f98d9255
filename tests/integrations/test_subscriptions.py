"""Microsoft's subscriptions: asked for, proven, renewed, overlapped and stopped."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest
import pytest_asyncio

from contract.integrations import IntegrationProvider
from storage.tables import Job, StreamWatch, SyncStream
from tests.integrations.test_hooks import MICROSOFT, refused, state
from tests.integrations.test_refresh import sync
from tests.support.consents import connected
from tests.support.feeds import at, connection, meetings, work
from tests.support.google import Fault, Google
from tests.support.microsoft import Account, Microsoft, meeting, tried_by
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest_asyncio.fixture(autouse=True, loop_scope="session")
async def _tried(one: Tenant, microsoft: Microsoft, reached: None) -> None:
    """Microsoft can ask the gateway whether an address is its own."""
    microsoft.tries = tried_by(one.gateway.http)


async def watched(tenant: Tenant, microsoft: Microsoft) -> tuple[str, str, Account]:
    """A connected account, the subscription to its calendar, and the account."""
    account = microsoft.account()
    mine = await connected(tenant, microsoft, account)
    [name] = microsoft.of(account)
    return mine, name, account


async def tell(tenant: Tenant, told: Any) -> httpx.Response:
    return await tenant.gateway.http.post(MICROSOFT, json=told)


async def change(tenant: Tenant, **columns: Any) -> StreamWatch:
    """Change the only subscription that none has replaced, as time does."""
    async with tenant.gateway.world.database.writing(tenant.id) as session:
        [name] = [id for id, ends in await tenant.rows(StreamWatch.id, StreamWatch.ends_at) if ends is None]
        found = await session.find(StreamWatch, id=name, lock=True)
        assert found is not None
        await session.update(found, **columns)
        return found


async def test_a_notice_is_proven_by_what_was_asked_for(one: Tenant, google: Google, microsoft: Microsoft) -> None:
    """All notifications of a body have to be proven (decision 914)."""
    mine, name, account = await watched(one, microsoft)
    asked = microsoft.subscriptions[name]
    assert (asked["resource"], asked["notificationUrl"]) == ("me/events", "http://gateway/integrations/hooks/microsoft")
    assert (await connection(one, mine))["push"] is True
    assert ("integration_sync", 1_800) in await one.rows(Job.kind, Job.repeat_seconds)
    await connected(one, google, google.account())
    token = next(reversed(google.channels.values()))["token"]
    [good] = microsoft.notice(name)["value"]
    before = await state(one)
    for value in (
        *(None, [], [{}], [good, {"clientState": "x"}], [good, good | {"clientState": None}], "x", {"a": 1}),
        *([good | {"clientState": token}], [good | {"clientState": good["clientState"][:-1]}]),
    ):
        assert refused(await tell(one, {"value": value})), value
    for query in (f"validationToken={'x' * 1_001}", "validationToken=", "validationToken=a&validationToken=b"):
        assert refused(await one.gateway.http.post(f"{MICROSOFT}?{query}")), query
    assert await state(one) == before
    microsoft.put(account, meeting("a", at(3), subject="Told of"))
    assert (await tell(one, {"value": [good, good]})).status_code == 204
    assert await work(one) == ["succeeded"]
    assert set(await meetings(one)) == {"Told of"}


async def test_where_nobody_set_it_up_nothing_is_taken(one: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    providers = one.gateway.runtime.services.accounts.providers
    monkeypatch.delitem(providers, IntegrationProvider.MICROSOFT)  # type: ignore[arg-type]
    assert refused(await one.gateway.http.post(f"{MICROSOFT}?validationToken=x"))


async def test_subscriptions_are_renewed_overlapped_and_stopped(one: Tenant, microsoft: Microsoft) -> None:
    """As channels are (decision 912), for 70 hours at a time (decision 983)."""
    mine, first, account = await watched(one, microsoft)
    granted = await change(one)
    lasts = granted.expires_at - datetime.now(UTC)
    assert timedelta(hours=69) < lasts < timedelta(hours=71)  # of a calendar no more than 4,230 minutes are granted
    half = granted.expires_at - granted.renews_at
    assert abs(half - lasts / 2) < timedelta(minutes=1)
    assert await sync(one, mine) == ["succeeded"]
    assert microsoft.of(account) == [first]
    former = await change(one, renews_at=granted.renews_at - half)
    assert await sync(one, mine) == ["succeeded"]
    both = microsoft.of(account)
    assert (len(both), both[0]) == (2, first)
    for name in both:  # while they overlap either one's notices count
        assert (await tell(one, microsoft.notice(name))).status_code == 204
    async with one.gateway.world.database.writing(one.id) as session:
        found = await session.find(StreamWatch, id=former.id, lock=True)
        assert found is not None
        assert found.ends_at is not None
        await session.update(found, ends_at=found.ends_at - half)
    await work(one)
    assert microsoft.of(account) == both[1:]
    assert (await one.gateway.rest("POST", f"/integrations/{mine}/pause", one.headers())).status_code == 200
    await work(one)
    assert (microsoft.of(account), await one.rows(StreamWatch.id)) == ([], [])
    assert (await one.gateway.rest("POST", f"/integrations/{mine}/resume", one.headers())).status_code == 200
    await work(one)
    assert len(microsoft.of(account)) == 1
    assert (await one.gateway.rest("DELETE", f"/integrations/{mine}", one.headers())).status_code == 204
    await work(one)
    assert microsoft.of(account) == []


async def test_what_microsoft_tells_of_a_subscription(one: Tenant, microsoft: Microsoft) -> None:
    """Missed notices are a run; one that ends, or was removed, has another one asked for (decision 914)."""
    _, first, account = await watched(one, microsoft)
    microsoft.put(account, meeting("a", at(3), subject="Missed"))
    assert (await tell(one, microsoft.notice(first, lifecycleEvent="missed"))).status_code == 204
    await work(one)
    assert (set(await meetings(one)), microsoft.of(account)) == ({"Missed"}, [first])
    assert (await tell(one, microsoft.notice(first, lifecycleEvent="reauthorizationRequired"))).status_code == 204
    await work(one)
    second = microsoft.of(account)[-1]
    assert second != first
    removed = microsoft.notice(second, lifecycleEvent="subscriptionRemoved")
    del microsoft.subscriptions[second]
    microsoft.put(account, meeting("b", at(4), subject="Meanwhile"))
    assert (await tell(one, removed)).status_code == 204
    await work(one)
    assert (set(await meetings(one)), second in microsoft.of(account)) == ({"Missed", "Meanwhile"}, False)
    assert len(microsoft.of(account)) == 2  # the first one until its minute is over
    assert await one.rows(SyncStream.noticed_at) == [(None,)]


async def test_without_notices_it_is_asked_now_and_then(one: Tenant, microsoft: Microsoft) -> None:
    microsoft.tries = None  # the address cannot be reached from there
    account = microsoft.account()
    microsoft.put(account, meeting("a", at(3), subject="Polled"))
    mine = await connected(one, microsoft, account)
    shown = await connection(one, mine)
    assert (set(await meetings(one)), shown["push"], shown["problem"]) == ({"Polled"}, False, None)
    assert ("integration_sync", 300) in await one.rows(Job.kind, Job.repeat_seconds)
    asked = microsoft.count("/subscriptions")
    await sync(one, mine)
    assert microsoft.count("/subscriptions") == asked  # for a day
    microsoft.tries = tried_by(one.gateway.http)
    microsoft.faults.append(Fault("/subscriptions", 503))
    other = await connected(one, microsoft, microsoft.account())
    assert (await connection(one, other))["push"] is False
    await sync(one, other)
    assert (await connection(one, other))["push"] is True
    nameless = json.dumps({"expirationDateTime": "soon"}).encode()
    microsoft.faults.append(Fault("/subscriptions", 201, nameless))
    third = await connected(one, microsoft, microsoft.account())
    assert (await connection(one, third))["push"] is False
