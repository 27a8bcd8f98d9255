"""Webhooks end with their makers' membership, or with the right to make them, and say so in the change log."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import select, update
from sqlmodel import col

from contract.scopes import Role, Scope
from identity import directory
from jobs import webhooks
from resolvers.accounts import AccountCreate, create_account
from resolvers.credentials import CredentialCreate, create_organization_key, revoke_organization_key
from resolvers.members import deactivate_member, reactivate_member
from resolvers.webhooks import WebhookCreate, create_webhook, list_webhooks
from storage.base import now
from storage.tables import Event, EventCounter, Membership, WebhookWatch
from tests.identity.test_directory import External, external, settings
from tests.jobs.conftest import Workers
from tests.jobs.test_webhooks import OK, admin, made, ports, rows, soon, told
from tests.support.web import Reply, open_web
from tests.support.world import World

__all__ = ["external", "ports", "settings"]

URL = "https://1.1.1.1/hook"


async def notices(world: World) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (actor, data["reason"], data)
        for kind, actor, data in await rows(world, Event.type, Event.actor, Event.data)
        if kind == "webhook_disabled"
    ]


async def watched(world: World) -> set[str]:
    async with world.database.directory() as session:
        return {row.webhook_id for row in await session.rows(select(col(WebhookWatch.webhook_id)))}


async def change(world: World, role: Role | None, *scopes: Scope) -> None:
    """What `member add` does."""
    granted = role.scopes if role else scopes
    assert await directory.add_member(
        world.database, "org_one", "admin@one", name="A", email="a@a.example", role=role, scopes=granted
    )


async def remove(world: World) -> None:
    assert await directory.remove_member(world.database, "org_one", "admin@one")


ENDINGS: dict[str, tuple[Callable[[World], Any], str]] = {
    "removed": (remove, "maker_removed"),
    "made a member": (lambda world: change(world, Role.MEMBER), "maker_lost_scope"),
    "made a viewer": (lambda world: change(world, Role.VIEWER), "maker_lost_scope"),
    "given other scopes": (lambda world: change(world, None, Scope.API_MANAGE), "maker_lost_scope"),
}


@pytest.mark.parametrize("ending", ENDINGS)
async def test_a_maker_s_webhooks_are_switched_off_with_a_notice(world: World, ports: Any, ending: str) -> None:
    await world.join("other@one", world.one, role=Role.ADMIN)
    await world.join("admin@one", world.two, role=Role.ADMIN)
    ctx = await admin(world, ports.outbound)
    own = [(await made(ctx, URL))[0] for _ in range(2)]
    other = await world.context("other@one", world.one)
    kept = (await create_webhook(other, WebhookCreate(url=URL))).webhook.id
    elsewhere = await world.context("admin@one", world.two)
    far = (await create_webhook(elsewhere, WebhookCreate(url=URL))).webhook.id
    end, reason = ENDINGS[ending]
    await end(world)
    assert {w.id: w.active for w in await list_webhooks(other)} == {**dict.fromkeys(own, False), kept: True}
    assert [w.active for w in await list_webhooks(elsewhere)] == [True]
    assert await watched(world) == {kept, far}
    expected = [("system", reason, {"webhook_id": w, "reason": reason}) for w in sorted(own)]
    assert await notices(world) == expected
    await change(world, Role.ADMIN)  # and back again, which switches nothing on
    assert {w.id: w.active for w in await list_webhooks(other)} == {**dict.fromkeys(own, False), kept: True}
    assert await notices(world) == expected


async def test_who_stays_an_administrator_keeps_the_webhooks(world: World, ports: Any) -> None:
    ctx = await admin(world, ports.outbound)
    await made(ctx, URL)
    await change(world, Role.ADMIN)
    await change(world, None, Scope.ORGANIZATIONS_MANAGE)
    assert [w.active for w in await list_webhooks(ctx)] == [True]
    assert await notices(world) == []


@pytest.mark.parametrize("ending", ENDINGS)
async def test_deliveries_under_way_stop(world: World, ports: Any, workers: Workers, ending: str) -> None:
    """The receiver has the first of many events when its maker goes; it gets no other one."""
    ctx = await admin(world, ports.outbound)
    async with open_web({"/hook": Reply(b"", 200, wait_first=2)}) as web:
        await made(ctx, f"{web.url}/hook", "account_created")
        for name in "abcdef":
            await create_account(ctx, AccountCreate(name=name))
        workers.start()
        await soon(lambda: len(told(web)) == 1)
        await ENDINGS[ending][0](world)
        await soon(lambda: ("webhook_delivery", "succeeded") in workers.counted)
        assert len(told(web)) == 1


async def test_one_that_waits_for_another_attempt_is_never_called_again(
    world: World, ports: Any, workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "PAUSES", (timedelta(seconds=1),))
    ctx = await admin(world, ports.outbound)
    async with open_web({"/hook": Reply(b"", 500)}) as web:
        await made(ctx, f"{web.url}/hook", "account_created")
        await create_account(ctx, AccountCreate(name="a"))
        workers.start()
        await soon(lambda: ("webhook_delivery", "retried") in workers.counted)
        await remove(world)
        number = len(told(web))
        await soon(lambda: ("webhook_delivery", "succeeded") in workers.counted)
        assert len(told(web)) == number


@pytest.mark.parametrize(("scopes", "reason"), [(None, "maker_removed"), (["crm:none"], "maker_lost_scope")])
async def test_what_no_command_said_is_found_before_a_delivery(
    world: World, ports: Any, workers: Workers, scopes: list[str] | None, reason: str
) -> None:
    """The directory changed beside the service: a process that died in between, or another version."""
    ctx = await admin(world, ports.outbound)
    async with open_web({"/hook": OK}) as web:
        identifier, _ = await made(ctx, f"{web.url}/hook")
        async with world.database.directory(writing=True) as session:
            values = {"ended_at": now(), "scopes": []} if scopes is None else {"scopes": scopes}
            await session.execute(update(Membership).where(col(Membership.subject) == "admin@one").values(values))
        await create_account(ctx, AccountCreate(name="a"))
        workers.start()
        await soon(lambda: ("webhook_delivery", "succeeded") in workers.counted)
        assert told(web) == []
    assert await notices(world) == [("system", reason, {"webhook_id": identifier, "reason": reason})]
    assert await watched(world) == set()


async def test_a_maker_who_sees_less_tells_less(world: World, ports: Any, workers: Workers) -> None:
    ctx = await admin(world, ports.outbound)
    async with open_web({"/hook": OK, "/last": OK}) as web:
        await made(ctx, f"{web.url}/hook")
        async with world.database.writing(world.one.id) as session:
            for area in ("outreach", "admin"):
                await session.insert(
                    Event(sequence=100 + (area == "admin"), type="x", area=area, actor="a", data={"of": area})
                )
            await session.execute(update(EventCounter).where(col(EventCounter.org_id) == world.one.id).values(last=101))
        await change(world, None, Scope.ORGANIZATIONS_MANAGE)  # which is no scope of outreach
        workers.start()
        await soon(lambda: told(web))
        await soon(lambda: ("webhook_delivery", "succeeded") in workers.counted)
        known = [event["data"] for event in told(web) if event["type"] == "x"]  # besides the change of the maker
        assert known == [{"of": "admin"}]


async def test_a_webhook_belongs_to_its_maker_and_to_no_key(world: World, ports: Any) -> None:
    """A key is changed without a webhook being lost."""
    ctx = await admin(world, ports.outbound)
    created = await create_organization_key(ctx, CredentialCreate(name="N"))
    principal = await world.services.identity.authenticate(f"Bearer {created.pat_key}", None)
    by_key = type(ctx)(ctx.services, principal, "request")
    await made(by_key, URL)
    await revoke_organization_key(ctx, created.credential.id)
    assert [w.active for w in await list_webhooks(ctx)] == [True]
    await remove(world)
    assert [data["reason"] for *_, data in await notices(world)] == ["maker_removed"]


async def test_sessions_of_an_external_provider_say_it_too(external: External) -> None:
    admin_of = "organizations:manage api:read"
    document = f'mutation {{ webhookCreate(input: {{url: "{URL}"}}) {{ webhook {{ id }} userErrors {{ message }} }} }}'
    question = "{ webhooks { active } events(first: 50) { nodes { type data } } }"
    for number, (name, later) in enumerate(
        {
            "fewer scopes": {"org_id": "fewer scopes", "scope": "api:read"},
            "not in the list": {"org_id": ["another"], "scope": admin_of},
        }.items()
    ):
        ada = f"ada-{number}"
        first = external.session(ada, 1, org_id=name, scope=admin_of)
        made = (await external.gateway.graphql(document, first)).json()
        assert made["data"]["webhookCreate"]["userErrors"] == []
        watcher = external.session("watcher", 1, org_id=name, scope=admin_of)
        for older in ({"issued": 0}, {"issued": None}):
            await external.status(external.session(ada, org_id=name, scope="api:read", **older))
        assert (await external.gateway.graphql(question, watcher)).json()["data"]["webhooks"] == [{"active": True}]
        await external.status(external.session(ada, 2, **later))
        shown = (await external.gateway.graphql(question, watcher)).json()["data"]
        assert shown["webhooks"] == [{"active": False}], name
        reasons = [n["data"]["reason"] for n in shown["events"]["nodes"] if n["type"] == "webhook_disabled"]
        assert reasons == ["maker_lost_scope" if number == 0 else "maker_removed"]


async def test_a_suspended_maker_s_webhooks_wait_and_miss_nothing(
    world: World, ports: Any, workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decision 224."""
    monkeypatch.setattr(webhooks, "_SUSPENDED", timedelta(seconds=0.2))
    await world.join("other@one", world.one, role=Role.ADMIN)
    other = await world.context("other@one", world.one)
    ctx = await admin(world, ports.outbound)
    async with open_web({"/hook": OK}) as web:
        await made(ctx, f"{web.url}/hook", "account_created")
        await deactivate_member(other, "admin@one")
        for name in "ab":
            await create_account(other, AccountCreate(name=name))
        workers.start()
        await soon(lambda: ("webhook_delivery", "retried") in workers.counted)
        assert told(web) == []
        await reactivate_member(other, "admin@one")
        await soon(lambda: len(told(web)) == 2)
    assert await notices(world) == []
