"""Streams that end before their run does, and members who are removed while theirs waits for them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
from sqlalchemy import update
from sqlmodel import col

from contract.scopes import Role
from contract.vocabulary import CredentialKind
from resolvers.chat_taking import take
from storage.base import new_id, now
from storage.tables import Activity, ChatApproval, ChatRun, ChatWatch, Credential, Deal
from tests.chat.chatting import Chatter, another_process, events_of
from tests.support.chat_model import ScriptedModel, calls, says
from tests.support.tenants import Tenant

pytestmark = pytest.mark.asyncio(loop_scope="session")


@asynccontextmanager
async def following(chat: Chatter, model: ScriptedModel) -> AsyncIterator[tuple[str, asyncio.Task[httpx.Response]]]:
    """A run that does not end by itself, and its stream."""
    model.plays(says("a", "b")).going.clear()
    run = await chat.begin(await chat.thread())
    stream = asyncio.create_task(chat.call("GET", f"/chat/runs/{run['id']}/events"))
    try:
        async with asyncio.timeout(60):
            await model.asking.wait()  # before that the run itself would end with the credential
        await asyncio.sleep(0.2)
        assert not stream.done()
        yield run["id"], stream
    finally:
        model.going.set()
        await asyncio.gather(stream, return_exceptions=True)


@pytest.mark.parametrize("how", ["revoked", "left", "narrowed"])
async def test_a_stream_ends_with_what_its_credential_may(one: Tenant, model: ScriptedModel, how: str) -> None:
    world, subject = one.gateway.world, one.subject(how)
    await world.join(subject, one.organization, scopes=sorted(Role.MEMBER.scopes))
    headers = await world.headers(subject, one.organization, CredentialKind.ORGANIZATION_KEY)
    chat = Chatter(one.gateway.http, one.gateway.app, headers)
    async with following(chat, model) as (_, stream):
        if how == "revoked":
            async with world.database.directory(writing=True) as session:
                mine = col(Credential.owner_subject) == subject
                await session.execute(update(Credential).where(mine).values(revoked_at=now()))
        elif how == "left":
            await world.leave(subject, one.organization)
        else:
            await world.join(subject, one.organization, scopes=["outreach:read"])
        async with asyncio.timeout(20):
            answer = await stream
        assert answer.text.endswith(": closed\n\n")
        assert [event.event for event in events_of(answer.text)][-1] != "run_finished"


async def test_a_scope_less_that_is_no_need_of_it_ends_no_stream(one: Tenant, model: ScriptedModel) -> None:
    world, subject = one.gateway.world, one.subject("less")
    await world.join(subject, one.organization, scopes=sorted(Role.MEMBER.scopes))
    headers = await world.headers(subject, one.organization, CredentialKind.ORGANIZATION_KEY)
    async with following(Chatter(one.gateway.http, one.gateway.app, headers), model) as (_, stream):
        await world.join(subject, one.organization, scopes=["api:read"])
        await asyncio.sleep(3)
        assert not stream.done()
        model.going.set()
        assert events_of((await stream).text)[-1].event == "run_finished"


async def test_the_end_of_the_service_ends_its_streams_and_another_goes_on(
    one: Tenant, chat: Chatter, model: ScriptedModel
) -> None:
    own = ScriptedModel()
    async with another_process(one.gateway, own) as ending:
        there = Chatter(ending.http, ending.app, chat.headers)
        async with following(there, own) as (run_id, stream):
            ending.runtime.stopping.set()
            async with asyncio.timeout(20):
                answer = await stream
            read = events_of(answer.text)
            assert answer.text.endswith(": closed\n\n")
            assert read[-1].event != "run_finished"
    await take(one.gateway.runtime.services)
    rest = await chat.follow(run_id, read[-1].id)
    assert [event.sequence for event in (*read, *rest)] == list(range(1, len(read) + len(rest) + 1))
    assert rest[-1].data["status"] == "succeeded"


@pytest.mark.parametrize("moment", ["before the decision", "after it"])
async def test_a_member_who_is_removed_while_the_run_waits_writes_nothing(
    one: Tenant, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    world = one.gateway.world
    subject = await world.join(one.subject(f"removed {moment}"), one.organization, role=Role.MEMBER)
    chat = Chatter(one.gateway.http, one.gateway.app, world.session(subject, one.organization))
    deal = Deal(name="Renewal")
    await one.add(deal)
    model.plays(calls(("log_note", {"kind": "deal", "id": deal.id, "text": "x"})), says("Then."))
    run_id = (await chat.begin(await chat.thread()))["id"]
    async with asyncio.timeout(60):
        while not (open_ := (await chat.call("GET", "/chat/approvals?status=pending")).json()):  # noqa: ASYNC110 # tells nobody
            await asyncio.sleep(0.02)
    [approval] = open_
    body = {"decision": "approve", "arguments_sha256": approval["arguments_sha256"]}
    path = f"/chat/approvals/{approval['id']}"
    if moment == "after it":
        with monkeypatch.context() as patched:  # nobody goes on before the member is gone
            patched.setattr(one.gateway.runtime.services.chat_runs, "start", lambda work, _called: work.close())
            assert (await chat.call("POST", path, body)).json()["status"] == "approved"
    await world.leave(subject, one.organization)
    refused = await chat.call("POST", path, body)
    assert (refused.status_code, refused.json()["code"]) == (401, "unauthenticated")
    await _looked_for(one, run_id)
    await take(one.gateway.runtime.services)
    async with asyncio.timeout(60):
        while (found := await _run(one, run_id))[0] is None:  # noqa: ASYNC110 # tells nobody
            await asyncio.sleep(0.02)
    assert found[1] == ("unauthenticated" if moment == "after it" else "approval_expired")
    assert (await one.rows(col(ChatApproval.status)))[0] == (("failed",) if moment == "after it" else ("expired",))
    assert await one.rows(col(Activity.id)) == []


async def _looked_for(one: Tenant, run_id: str) -> None:
    """Has the time of what waits be over, and the processes look."""
    before = now()
    async with one.gateway.world.database.writing(one.id) as session:
        await session.execute(update(ChatApproval).where(col(ChatApproval.org_id) == one.id).values(expires_at=before))
        mine = col(ChatRun.org_id) == one.id, col(ChatRun.id) == run_id
        await session.execute(update(ChatRun).where(*mine).values(holder=new_id(), leased_until=before))
        await session.execute(update(ChatWatch).where(col(ChatWatch.org_id) == one.id).values(next_at=before))


async def _run(one: Tenant, run_id: str) -> tuple[object, object]:
    [found] = [
        (ended, code)
        for each, ended, code in await one.rows(col(ChatRun.id), col(ChatRun.finished_at), col(ChatRun.error_code))
        if each == run_id
    ]
    return found
