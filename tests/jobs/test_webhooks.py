"""Webhooks as their receivers see them: signed, in order, at least once, and nobody waits for somebody else's."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import orjson
import pytest
from sqlalchemy import select
from sqlmodel import col
from standardwebhooks.webhooks import Webhook as Verifier
from standardwebhooks.webhooks import WebhookVerificationError

from contract.errors import Problems
from contract.limits import DELIVERIES_KEPT
from contract.scopes import Role
from contract.vocabulary import JobStatus
from jobs import upkeep, webhooks
from jobs.queue import enqueue
from jobs.upkeep import prune
from providers.outbound import Outbound
from providers.ports import Ports
from resolvers.accounts import AccountCreate, create_account
from resolvers.members import MemberAdd, add_member, deactivate_member
from resolvers.ownership import OwnershipTransfer, transfer_ownership
from resolvers.sales_targets import SalesTargets, put_targets
from resolvers.shared.context import Context, Services
from resolvers.shared.inputs import parse
from resolvers.tags import TagCreate, TagsApply, TagUpdate, apply_tags, create_tag, update_tag
from resolvers.tasks import TaskCreate, create_task
from resolvers.webhooks import (
    WebhookCreate,
    create_webhook,
    delete_webhook,
    deliveries_of_webhook,
    list_webhooks,
    try_webhook,
)
from storage.base import first_id_at, new_id, now
from storage.database import Database
from storage.queries import jobs
from storage.queries import webhooks as statements
from storage.queries.records import insert_missing
from storage.tables import Event, Job, QueuedJob, Webhook, WebhookDelivery, WebhookWatch
from tests.jobs.conftest import Workers
from tests.support.statements import statements as statements_of
from tests.support.web import Asked, Reply, Web, open_web
from tests.support.world import PEPPER, World

OK = Reply(b"", 204)


@pytest.fixture
def ports(ports: Ports) -> Ports:
    return replace(ports, pepper=PEPPER)


async def admin(world: World, outbound: Outbound) -> Context:
    """An administrator of the first organization, whose service may call this machine."""
    context = await world.context("admin@one", world.one)
    services = replace(context.services, outbound=outbound)
    assert isinstance(services, Services)
    return Context(services, context.principal, context.request_id)


async def made(ctx: Context, url: str, *types: str) -> tuple[str, str]:
    created = await create_webhook(ctx, WebhookCreate(url=url, **({"types": list(types)} if types else {})))
    return created.webhook.id, created.secret


async def eventually(condition: Callable[[], Awaitable[Any]]) -> None:
    async with asyncio.timeout(60):
        while True:
            if await condition():
                return
            await asyncio.sleep(0.02)


async def soon(condition: Callable[[], Any]) -> None:
    async def holds() -> Any:
        return condition()

    await eventually(holds)


async def rows(world: World, *columns: Any) -> list[Any]:
    """The columns of a table's rows, in the order in which they were made."""
    model = columns[0].class_
    place = Event.sequence if model is Event else model.id  # identifiers of one millisecond have no order
    async with world.database.reading(world.one.id) as session:
        return list(await session.rows(select(*columns).where(model.org_id == world.one.id).order_by(place)))


async def webhook_of(world: World, identifier: str) -> Any:
    async with world.database.reading(world.one.id) as session:
        return await statements.find(session, identifier)


def told(web: Web, path: str = "/hook") -> list[dict[str, Any]]:
    return [orjson.loads(asked.body) for asked in web.asked if asked.path == path]


async def test_many_are_woken_in_as_many_statements_as_one(world: World, ports: Ports) -> None:
    ctx = await admin(world, ports.outbound)
    counts = []
    for number in (1, 10):
        async with world.database.writing(world.one.id) as session:
            await session.insert(*(Webhook(url="http://127.0.0.1:9/", areas=["crm"], cursor=0) for _ in range(number)))
            watched = await session.rows(select(col(Webhook.id)).where(col(Webhook.org_id) == world.one.id))
        async with world.database.directory(writing=True) as session:
            for row in watched:
                await insert_missing(session, WebhookWatch(org_id=world.one.id, webhook_id=row.id))
        await create_account(ctx, AccountCreate(name="a"))
        with statements_of(world.database) as sent:
            await webhooks.wake(world.database)
        counts.append(len(sent))
        with statements_of(world.database) as sent:
            await webhooks.wake(world.database)
        assert not any("INSERT" in statement for statement in sent), "they are woken already"
    assert counts[0] == counts[1]
    kept = await rows(world, Job.kind, Job.key, Job.arguments)
    assert sorted(job.key for job in kept) == sorted(row.id for row in watched)
    assert all(job.arguments == {"webhook_id": job.key} for job in kept)


async def test_events_arrive_signed_in_order_with_their_sequence(world: World, ports: Ports, workers: Workers) -> None:
    ctx = await admin(world, ports.outbound)
    await create_account(ctx, AccountCreate(name="before"))
    async with open_web({"/hook": OK, "/chosen": OK}) as web:
        identifier, secret = await made(ctx, f"{web.url}/hook")
        await made(ctx, f"{web.url}/chosen", "account_deleted", "account_created")
        for name in ("a", "b", "c"):
            await create_account(ctx, AccountCreate(name=name))
        workers.start()
        await soon(lambda: len(told(web)) >= 4 and len(told(web, "/chosen")) >= 3)
        assert secret.startswith("whsec_")
        assert len(secret) == 50
        for asked in [a for a in web.asked if a.path == "/hook"]:
            body = orjson.loads(asked.body)
            assert Verifier(secret).verify(asked.body.decode(), asked.headers) == body
            assert asked.headers["webhook-id"] == body["id"]
            assert asked.headers["content-type"] == "application/json"
            with pytest.raises(WebhookVerificationError):
                Verifier(secret).verify(asked.body.decode() + " ", asked.headers)
        # The first is that of the second webhook, which was made after the first.
        assert [event["type"] for event in told(web)] == ["webhook_created", *["account_created"] * 3]
        assert [event["sequence"] for event in told(web)] == [3, 4, 5, 6]
        assert [event["data"]["name"] for event in told(web, "/chosen")] == ["a", "b", "c"]
        assert set(told(web)[1]) == {"type", "timestamp", "id", "sequence", "actor", "request_id", "data"}
        await soon(lambda: ("webhook_delivery", "succeeded") in workers.counted)

        async def is_there() -> bool:
            return bool((await webhook_of(world, identifier)).cursor == 6)

        await eventually(is_there)
        shown = await deliveries_of_webhook(ctx, identifier, 2)
        assert [(d.attempt, d.status_code, d.error, d.delivered) for d in shown] == [(1, 204, None, True)] * 2
        assert [d.event_id for d in shown] == [event["id"] for event in reversed(told(web)[2:])]


async def test_what_people_do_reaches_webhooks(world: World, ports: Ports, workers: Workers) -> None:
    """Reminders, tags, targets, members and transfers: each under its type, with what the change log says of it."""
    ctx = await admin(world, ports.outbound)
    types = ["task_created", "task_reminded", "tag_created", "tag_updated", "records_tagged", "sales_targets_set"]
    types += ["member_added", "member_deactivated", "ownership_transferred"]
    async with open_web({"/hook": OK}) as web:
        await made(ctx, f"{web.url}/hook", *types)
        account = await create_account(ctx, AccountCreate(name="a"))
        task = await create_task(ctx, TaskCreate(subject="Call", account_id=account.id, remind_at=now()))
        tag = await create_tag(ctx, TagCreate(name="vip"))
        await update_tag(ctx, tag.id, TagUpdate(name="key"))
        await apply_tags(ctx, TagsApply(ids=[account.id], add=["key"]))
        target = {"metric": "won_deals", "period": "year", "starts_on": date(2026, 1, 1), "amount": 5}
        await put_targets(ctx, parse(SalesTargets, {"inputs": [target]}))
        member = await add_member(ctx, MemberAdd(name="New", email="new@example.com", role=Role.MEMBER))
        await deactivate_member(ctx, "viewer@one")
        await transfer_ownership(
            ctx, OwnershipTransfer.model_validate({"from": "admin@one", "to": member.id, "kinds": ["account"]})
        )
        workers.start()
        await soon(lambda: set(types) <= {event["type"] for event in told(web)})
        arrived = {event["type"]: event for event in told(web)}
        sequences = [event["sequence"] for event in told(web)]
    assert sequences == sorted(set(sequences))
    assert task is not None
    assert arrived["member_added"]["data"]["member_id"] == member.id
    assert arrived["ownership_transferred"]["data"]["ids"] == [account.id]
    assert arrived["task_reminded"]["data"]["task_id"] == task.id
    assert arrived["tag_updated"]["data"] == {"tag_id": tag.id, "changed": ["name"]}
    assert arrived["records_tagged"]["data"] == {"ids": [account.id], "added": 1, "removed": 0}


async def test_no_secret_lies_in_the_database(world: World, ports: Ports) -> None:
    ctx = await admin(world, ports.outbound)
    _, secret = await made(ctx, "https://1.1.1.1/hook")
    kept = repr(await world.dump())
    assert secret not in kept
    assert secret.removeprefix("whsec_") not in kept


async def test_a_failing_and_a_slow_receiver_delay_nobody_else(
    world: World, ports: Ports, workers: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "PAUSES", (timedelta(seconds=1),))
    monkeypatch.setattr(webhooks, "LIMITS", replace(webhooks.LIMITS, seconds=300, read_seconds=300))
    ctx = await admin(world, ports.outbound)
    answers = iter([Reply(b"secret words", 500), Reply(b"", 302, {"Location": "/elsewhere"})])

    def failing(_: Asked) -> Reply:
        return next(answers, OK)

    slow = Reply(b"", 200, wait_first=300)
    async with open_web({"/failing": failing, "/slow": slow, "/hook": OK, "/elsewhere": OK}) as web:
        broken, _ = await made(ctx, f"{web.url}/failing", "account_created")
        await made(ctx, f"{web.url}/slow", "account_created")
        await made(ctx, f"{web.url}/hook", "account_created")
        workers.start()
        for name in ("a", "b"):
            await create_account(ctx, AccountCreate(name=name))
        await soon(lambda: len(told(web)) == 2)  # before the slow one has answered
        await soon(lambda: len(told(web, "/failing")) == 4)
        first, again, taken, second = told(web, "/failing")
        assert first == again == taken
        assert [first["data"]["name"], second["data"]["name"]] == ["a", "b"]
        assert "/elsewhere" not in web.paths

        async def are_kept() -> bool:
            ctx.forget()
            return len(await deliveries_of_webhook(ctx, broken, 20)) == 4

        await eventually(are_kept)
    found = await deliveries_of_webhook(ctx, broken, 20)
    assert [(d.attempt, d.status_code, d.error) for d in reversed(found)] == [
        (1, 500, "the receiver answered 500; anything but 2xx counts as a failure"),
        (2, 302, "the receiver answered 302; redirects are not followed"),
        (3, 204, None),
        (1, 204, None),
    ]


async def test_after_three_days_of_failure_it_is_off_and_that_is_an_event(
    world: World, ports: Ports, workers: Workers
) -> None:
    ctx = await admin(world, ports.outbound)
    async with open_web({"/hook": Reply(b"", 503)}) as web:
        identifier, _ = await made(ctx, f"{web.url}/hook")
        async with world.database.writing(world.one.id) as session:
            webhook = await statements.find(session, identifier, lock=True)
            assert webhook is not None
            await session.update(webhook, failing_since=now() - webhooks.GIVE_UP, failures=30)
        await create_account(ctx, AccountCreate(name="a"))
        workers.start()

        async def is_off() -> bool:
            return not (await webhook_of(world, identifier)).active

        await eventually(is_off)
        await create_account(ctx, AccountCreate(name="b"))
        await asyncio.sleep(1.5)
        assert len(web.asked) == 1
    [notice] = [e for e in await rows(world, Event.type, Event.area, Event.actor, Event.data) if "disabled" in e.type]
    assert notice[:3] == ("webhook_disabled", "admin", "system")
    assert notice.data["webhook_id"] == identifier
    assert [w.active for w in await list_webhooks(ctx)] == [False]
    async with world.database.directory() as session:
        assert await session.rows(select(col(WebhookWatch.org_id))) == []


@pytest.mark.parametrize(
    ("failures", "failing_for", "expected"),
    [
        (1, timedelta(), timedelta(seconds=5)),
        (3, timedelta(minutes=3), timedelta(minutes=2)),
        (50, timedelta(days=1), timedelta(hours=6)),
        (50, timedelta(days=2, hours=23), timedelta(hours=1)),
        (50, timedelta(days=4), timedelta(seconds=1)),
    ],
)
def test_pauses_grow_and_the_last_attempt_comes_after_three_days(
    failures: int, failing_for: timedelta, expected: timedelta
) -> None:
    moment = now()
    assert webhooks.pause(failures, moment - failing_for, moment) == expected


@pytest.mark.parametrize(
    ("asked", "failing_for", "expected"),
    [
        (timedelta(seconds=1), timedelta(), timedelta(seconds=5)),
        (timedelta(minutes=3), timedelta(), timedelta(minutes=3)),
        (timedelta(days=300), timedelta(), timedelta(hours=6)),
        (timedelta(hours=5), timedelta(days=2, hours=23), timedelta(hours=1)),
    ],
)
def test_a_receiver_may_ask_for_a_longer_pause(asked: timedelta, failing_for: timedelta, expected: timedelta) -> None:
    moment = now()
    assert webhooks.pause(1, moment - failing_for, moment, asked) == expected


@pytest.mark.parametrize(("header", "seconds"), [("600", 600), ("Wed, 21 Oct 2026 07:28:00 GMT", 5), ("-1", 5)])
async def test_a_busy_receiver_is_left_alone_as_it_asks(
    world: World, ports: Ports, workers: Workers, header: str, seconds: int
) -> None:
    ctx = await admin(world, ports.outbound)
    async with open_web({"/hook": Reply(b"", 503, {"Retry-After": header})}) as web:
        await made(ctx, f"{web.url}/hook", "account_created")
        await create_account(ctx, AccountCreate(name="a"))
        workers.start()
        await soon(lambda: ("webhook_delivery", "retried") in workers.counted)
        [[attempted]] = await rows(world, WebhookDelivery.at)
        async with world.database.directory() as session:
            [[due]] = await session.rows(select(col(QueuedJob.due_at)))
    assert timedelta(seconds=seconds) <= due - attempted < timedelta(seconds=seconds + 20)


async def test_a_deletion_ends_what_was_to_come(world: World, ports: Ports, workers: Workers) -> None:
    ctx = await admin(world, ports.outbound)
    async with open_web({"/hook": Reply(b"", 500)}) as web:
        identifier, _ = await made(ctx, f"{web.url}/hook", "account_created")
        await create_account(ctx, AccountCreate(name="a"))
        workers.start()
        await soon(lambda: ("webhook_delivery", "retried") in workers.counted)
        assert await delete_webhook(ctx, identifier.upper()) == identifier
        await create_account(ctx, AccountCreate(name="b"))
        await asyncio.sleep(1.5)
        assert len(web.asked) == 1
    assert [s for (s,) in await rows(world, Job.status)] == [JobStatus.SUPERSEDED]
    assert await rows(world, WebhookDelivery.id) == await rows(world, Webhook.id) == []
    async with world.database.directory() as session:
        assert await session.rows(select(col(WebhookWatch.org_id))) == []
        assert await session.rows(select(col(QueuedJob.org_id))) == []


async def test_a_test_is_sent_at_once_and_to_its_webhook_alone(world: World, ports: Ports, workers: Workers) -> None:
    ctx = await admin(world, ports.outbound)
    async with open_web({"/hook": OK, "/other": OK}) as web:
        identifier, secret = await made(ctx, f"{web.url}/hook", "deal_created")
        await made(ctx, f"{web.url}/other")
        delivery = await try_webhook(ctx, identifier)
        assert (delivery.delivered, delivery.status_code, delivery.error, delivery.attempt) == (True, 204, None, 1)
        [asked] = web.asked
        body = Verifier(secret).verify(asked.body.decode(), asked.headers)
        assert (body["type"], body["id"], body["data"]) == (
            "webhook_tested",
            delivery.event_id,
            {"webhook_id": identifier},
        )
        workers.start()
        await create_account(ctx, AccountCreate(name="a"))
        await soon(lambda: told(web, "/other"))
        assert [event["type"] for event in told(web, "/other")] == ["account_created"]
        assert len(told(web)) == 1


async def test_addresses_that_are_refused(world: World, ports: Ports) -> None:
    closed = Outbound()
    ctx = await admin(world, closed)
    for url, words in [
        ("http://1.1.1.1/", "must start with https://"),
        ("https://127.0.0.1/", "127.0.0.1 is not on the public internet"),
        ("https://[::1]/", "::1 is not on the public internet"),
        ("https://169.254.169.254/latest", "169.254.169.254 is not on the public internet"),
        ("https://10.0.0.1/", "10.0.0.1 is not on the public internet"),
        ("https://user:word@1.1.1.1/", "the address must not hold a credential"),
        ("ftp://1.1.1.1/", "the address must start with http:// or https://"),
        ("nothing", "the address must start with http:// or https://"),
    ]:
        with pytest.raises(Problems) as refused:
            await create_webhook(ctx, WebhookCreate(url=url))
        [problem] = refused.value.problems
        assert (problem.path, problem.message) == (("input", "url"), words)
    assert await list_webhooks(ctx) == []
    # One that turned to a private address after it was made is not called either.
    async with open_web({"/hook": OK}) as web:
        identifier, _ = await made(await admin(world, ports.outbound), f"{web.url}/hook")
        delivery = await try_webhook(ctx, identifier)
        assert (delivery.delivered, delivery.status_code) == (False, None)
        assert delivery.error == "127.0.0.1 is not on the public internet"
        assert web.asked == []
    await closed.close()


async def test_the_delivery_log_is_bounded(world: World, ports: Ports) -> None:
    ctx = await admin(world, ports.outbound)
    identifier, _ = await made(ctx, "https://1.1.1.1/")
    async with world.database.writing(world.one.id) as session:
        for i in range(DELIVERIES_KEPT + 3):
            entry = WebhookDelivery(
                id=f"{i:08d}-0000-7000-8000-000000000000",
                webhook_id=identifier,
                event_id=identifier,
                sequence=i,
                attempt=1,
                delivered=True,
            )
            await statements.log(session, entry)
    assert sorted(s for (s,) in await rows(world, WebhookDelivery.sequence)) == list(range(3, DELIVERIES_KEPT + 3))
    with pytest.raises(Problems):
        await deliveries_of_webhook(ctx, identifier, DELIVERIES_KEPT + 1)


async def test_jobs_that_ended_long_ago_are_forgotten(world: World) -> None:
    old, recent = now() - upkeep.KEPT - timedelta(days=1), now()
    before = f"{first_id_at(old)[:-12]}000000000000"
    ended = Job(id=before, kind="k", arguments={}, status="failed", finished_at=old)
    late = Job(id=f"{before[:-1]}1", kind="k", arguments={}, status="succeeded", finished_at=recent)
    fresh = Job(id=new_id(), kind="k", arguments={}, status="succeeded", finished_at=recent)
    await world.add(world.one, ended, late, fresh)
    async with world.database.writing(world.one.id) as session:
        waiting = await enqueue(session, "k", {})
    assert await prune(world.database, world.two.id) is False
    assert await prune(world.database, world.one.id) is True
    assert {i for (i,) in await rows(world, Job.id)} == {late.id, fresh.id, waiting.id}
    assert await prune(world.database, world.one.id) is False


async def test_the_upkeep_writes_nothing_while_there_is_nothing_to_do(
    world: World, ports: Ports, open_database: Callable[[], Database]
) -> None:
    ctx = await admin(world, ports.outbound)
    await made(ctx, "https://1.1.1.1/")
    database = open_database()
    texts: list[str] = []
    database.observers.append(texts.append)
    turns = upkeep.Upkeep(database)
    for _ in range(3):
        assert await turns.turn() == upkeep.TURN_SECONDS
    reads = ("select", "with")
    # A transaction that only reads begins so; one that writes, with BEGIN IMMEDIATE.
    assert [text for text in texts if text != "BEGIN" and not text.lstrip().lower().startswith(reads)] == []
    async with database.directory() as session:
        assert await jobs.any_due(session) is False
