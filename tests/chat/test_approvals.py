"""Writes that a chat proposes: shown, decided on by their member, made once or not at all (decisions 500 to 507)."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from hashlib import sha256
from typing import Any

import httpx
import pytest
from sqlalchemy import update
from sqlmodel import col

from contract.scopes import Role
from contract.tools import TOOLS, Effect
from contract.vocabulary import CredentialKind
from providers.chat_models import Conversation, Delta, Text
from providers.embedded.answerer import Embedded
from resolvers import chat_approvals
from resolvers.chat_previews import PREVIEWED
from resolvers.chat_taking import take
from storage.base import new_id, now
from storage.queries.records import lock_organization
from storage.tables import (
    Account,
    Activity,
    ChatApproval,
    ChatRun,
    ChatWatch,
    Contact,
    Credential,
    Deal,
    Event,
    Lead,
    PipelineStage,
)
from tests.chat.chatting import Chatter, another_process, text_of
from tests.support.chat_model import ScriptedModel, calls, says
from tests.support.tenants import Tenant
from tests.support.waiting import meets_writer

pytestmark = pytest.mark.asyncio(loop_scope="session")
Approval = dict[str, Any]
_KEY = CredentialKind.ORGANIZATION_KEY
_DECIDE = (
    "mutation($i: ChatApprovalInput!) { chatApprovalDecide(input: $i) { approval { id status } userErrors { code "
    "message field } } }"
)


async def pending(chat: Chatter, run_id: str, number: int = 1) -> list[Approval]:
    """What the run proposes, once it waits."""
    async with asyncio.timeout(60):
        while True:
            found = (await chat.call("GET", "/chat/approvals?status=pending")).json()
            mine = [approval for approval in found if approval["run_id"] == run_id]
            if len(mine) >= number:
                assert (await chat.run(run_id))["status"] == "waiting"
                return sorted(mine, key=lambda approval: str(approval["id"]))
            await asyncio.sleep(0.02)


async def proposed(chat: Chatter, model: ScriptedModel, tool: str, **arguments: Any) -> Approval:
    """One proposed write."""
    model.plays(calls((tool, arguments), text="Let me."), says("Then."))
    run = await chat.begin(await chat.thread())
    [approval] = await pending(chat, run["id"])
    return approval


async def decide(chat: Chatter, approval: Approval, decision: str = "approve", **more: Any) -> httpx.Response:
    body = {"decision": decision, "arguments_sha256": approval["arguments_sha256"], **more}
    return await chat.call("POST", f"/chat/approvals/{approval['id']}", body)


async def state(chat: Chatter, approval: Approval) -> str:
    return str((await chat.call("GET", f"/chat/approvals/{approval['id']}")).json()["status"])


async def noted(one: Tenant) -> tuple[int, list[dict[str, Any]]]:
    """How many notes there are, and what the change log says of them."""
    notes = [type for (type,) in await one.rows(col(Activity.type)) if type == "note"]
    events = [data for type, data in await one.rows(col(Event.type), col(Event.data)) if type == "note_created"]
    return len(notes), events


async def deal_of(one: Tenant) -> Deal:
    deal = Deal(name="Renewal")
    await one.add(deal)
    return deal


async def note_on(one: Tenant, chat: Chatter, model: ScriptedModel) -> Approval:
    deal = await deal_of(one)
    return await proposed(chat, model, "log_note", kind="deal", id=deal.id, text="They sign in May")


async def test_a_write_is_shown_and_made_by_its_member(one: Tenant, chat: Chatter, model: ScriptedModel) -> None:
    deal = await deal_of(one)
    approval = await proposed(chat, model, "log_note", kind="deal", id=deal.id, text="They sign in May")
    assert await noted(one) == (0, [])
    bound = {name: approval[name] for name in ("arguments", "record_version", "tool")}
    text = json.dumps(bound, sort_keys=True, separators=(",", ":"))
    assert approval["arguments_sha256"] == sha256(text.encode()).hexdigest()
    assert approval["arguments"] == {"kind": "deal", "id": deal.id, "text": "They sign in May"}
    assert approval["preview"] == {
        **{"kind": "deal", "id": deal.id, "label": "Renewal"},
        **{"before": {"note": None}, "after": {"note": "They sign in May"}},
    }
    assert (approval["operation"], approval["record_version"], approval["decided_at"]) == ("noteCreate", 1, None)
    answer = await decide(chat, approval)
    assert (answer.status_code, answer.json()["status"]) == (200, "approved")
    events = await chat.follow(approval["run_id"])
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    told = [event for event in events if event.event != "text_delta"]
    assert [event.event for event in told] == [
        *("run_started", "tool_call", "approval_required", "approval_decided", "tool_result", "usage"),
        "run_finished",
    ]
    required, was_decided, result = (event.data for event in told[2:5])
    shown = {"arguments", "arguments_sha256", "record_version", "preview", "tool", "operation", "expires_at"}
    assert {name: required[name] for name in shown} == {name: approval[name] for name in shown}
    assert was_decided == {"approval_id": approval["id"], "call_id": required["call_id"], "status": "approved"}
    assert (result["call_id"], result["ok"]) == (required["call_id"], True)
    assert text_of(events) == "Let me.\n\nThen."
    number, [logged] = await noted(one)
    assert number == 1
    assert (logged["via"], logged["run_id"], logged["approval_id"]) == ("chat", approval["run_id"], approval["id"])
    made = (await chat.call("GET", f"/chat/approvals/{approval['id']}")).json()
    assert (made["status"], made["result"]) == ("executed", {"kind": "note", "id": logged["note_id"]})
    [result_read] = model.results()
    assert result_read.ok
    assert (await chat.run(approval["run_id"]))["status"] == "succeeded"


async def test_approved_by_many_at_once_it_is_made_once(one: Tenant, chat: Chatter, model: ScriptedModel) -> None:
    approval = await note_on(one, chat, model)
    async with another_process(one.gateway, model) as other:
        there = Chatter(other.http, other.app, chat.headers)
        answers = await asyncio.gather(*(decide(caller, approval) for caller in (chat, there) for _ in range(16)))
        assert {answer.status_code for answer in answers} == {200}
        events = await chat.follow(approval["run_id"])
    counted = Counter(event.event for event in events)
    assert (counted["tool_result"], counted["approval_decided"]) == (1, 1)
    number, logged = await noted(one)
    assert (number, len(logged)) == (1, 1)
    again = await decide(chat, approval)
    assert (again.status_code, again.json()["status"]) == (200, "executed")


@pytest.mark.parametrize("end", ["rejected", "cancelled", "expired", "deleted"])
async def test_what_is_not_approved_is_never_written(
    one: Tenant, chat: Chatter, model: ScriptedModel, end: str
) -> None:
    approval = await note_on(one, chat, model)
    run_id = approval["run_id"]
    if end == "deleted":
        assert (await chat.call("DELETE", f"/chat/threads/{approval['thread_id']}")).status_code == 204
        assert (await decide(chat, approval)).status_code == 404
        assert await noted(one) == (0, [])
        assert await one.rows(col(ChatApproval.id)) == []
        return
    if end == "rejected":
        assert (await decide(chat, approval, "reject")).json()["status"] == "rejected"
    elif end == "cancelled":
        assert (await chat.call("POST", f"/chat/runs/{run_id}/cancel")).status_code == 202
    else:
        await _late(one, approval)
        late = await decide(chat, approval)
        assert (late.status_code, late.json()["code"]) == (409, "invalid_state")
        await take(one.gateway.runtime.services)
    events = await chat.follow(run_id)
    told = [event.event for event in events if event.event != "text_delta"]
    assert "tool_result" not in told
    [was_decided] = [event.data["status"] for event in events if event.event == "approval_decided"]
    assert was_decided == ("rejected" if end == "rejected" else "expired") == await state(chat, approval)
    status = {"rejected": "succeeded", "cancelled": "cancelled", "expired": "failed"}[end]
    assert events[-1].data["status"] == status
    assert events[-1].data["error_code"] == ("approval_expired" if end == "expired" else None)
    refused = await decide(chat, approval)
    assert (refused.status_code, refused.json()["code"]) == (409, "invalid_state")
    again = await decide(chat, approval, "reject")
    assert again.status_code == (200 if end == "rejected" else 409)
    assert await noted(one) == (0, [])
    if end == "rejected":
        [result] = model.results()
        assert (result.ok, json.loads(result.content)["errors"][0]["code"]) == (False, "REJECTED")


async def _late(one: Tenant, approval: Approval) -> None:
    """Has its time be over, and the processes look."""
    before = now() - timedelta(seconds=1)
    async with one.gateway.world.database.writing(one.id) as session:
        mine = col(ChatApproval.org_id) == one.id, col(ChatApproval.id) == approval["id"]
        await session.execute(update(ChatApproval).where(*mine).values(expires_at=before))
        run = col(ChatRun.org_id) == one.id, col(ChatRun.id) == approval["run_id"]
        await session.execute(update(ChatRun).where(*run).values(leased_until=before))
        await session.execute(update(ChatWatch).where(col(ChatWatch.org_id) == one.id).values(next_at=before))


async def test_it_expires_by_itself(one: Tenant, chat: Chatter, model: ScriptedModel) -> None:
    async with another_process(one.gateway, model, chat_approval_seconds=1.0) as other:
        there = Chatter(other.http, other.app, chat.headers)
        approval = await note_on(one, there, model)
        await asyncio.sleep(1.1)
        await take(other.runtime.services)
        events = await there.follow(approval["run_id"])
    assert events[-1].data["error_code"] == "approval_expired"
    assert await state(chat, approval) == "expired"


@pytest.mark.parametrize("change", ["changed", "gone"])
@pytest.mark.parametrize("moment", ["before the decision", "before the write"])
async def test_a_record_that_changed_is_not_written_to(
    one: Tenant, chat: Chatter, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch, change: str, moment: str
) -> None:
    approval = await note_on(one, chat, model)
    path = f"/deals/{approval['arguments']['id']}"
    if change == "gone":
        deleted = await one.ask("mutation($id: ID!) { dealDelete(id: $id) { deletedId } }", id=path.rpartition("/")[2])
        assert deleted["deletedId"]
    else:
        assert (await chat.call("PATCH", path, {"name": "Another"})).status_code == 200
    if moment == "before the write":

        async def unseen(*_: Any) -> bool:
            return True

        monkeypatch.setattr(chat_approvals, "_is_unchanged", unseen)
        assert (await decide(chat, approval)).status_code == 200
    else:
        for _ in range(2):
            stale = await decide(chat, approval)
            assert (stale.status_code, stale.json()["code"]) == (412, "precondition_failed")
        assert (await decide(chat, approval, "reject")).status_code == 409
    events = await chat.follow(approval["run_id"])
    decisions = [event.data["status"] for event in events if event.event == "approval_decided"]
    assert decisions == (["stale"] if moment == "before the decision" else ["approved", "stale"])
    assert "tool_result" not in {event.event for event in events}
    assert events[-1].data["status"] == "succeeded"
    assert await state(chat, approval) == "stale"
    assert await noted(one) == (0, [])
    assert json.loads(model.results()[0].content)["errors"][0]["code"] == "STALE"


async def test_who_may_not_decide_changes_nothing(
    one: Tenant, two: Tenant, chat: Chatter, model: ScriptedModel
) -> None:
    approval = await note_on(one, chat, model)
    path = f"/chat/approvals/{approval['id']}"
    hash_ = approval["arguments_sha256"]
    wrong = await decide(chat, approval | {"arguments_sha256": "0" * 64})
    assert (wrong.status_code, wrong.json()["code"]) == (409, "conflict")
    for body, at in (
        ({"decision": "approve"}, "arguments_sha256"),
        ({"decision": "approve", "arguments_sha256": hash_[1:]}, "arguments_sha256"),
        ({"decision": "approve", "arguments_sha256": f"g{hash_[1:]}"}, "arguments_sha256"),
        ({"decision": "yes", "arguments_sha256": hash_}, "decision"),
        ({"decision": "approve", "arguments_sha256": hash_, "arguments": {}}, "arguments"),
    ):
        refused = await chat.call("POST", path, body)
        assert refused.status_code == 422, body
        assert [each["loc"] for each in refused.json()["detail"]] == [["body", at]]
    strangers = [one.headers("admin"), two.headers(), await two.scoped(*sorted(Role.MEMBER.scopes), name="else")]
    for headers in strangers:
        other = Chatter(chat.http, chat.app, headers)
        for decision in ("approve", "reject"):
            assert (await decide(other, approval, decision)).status_code == 404
        assert (await other.call("GET", path)).status_code == 404
        assert (await other.call("GET", "/chat/approvals")).json() == []
        assert (await one.ask("query($id: ID!) { node(id: $id) { id } }", headers, id=approval["id"])) is None
        asked = {"id": approval["id"], "decision": "APPROVE", "argumentsSha256": hash_}
        told = await one.ask(_DECIDE, headers, i=asked)
        assert [each["code"] for each in told["userErrors"]] == ["NOT_FOUND"]
    assert await chat.call("POST", f"/chat/approvals/{new_id()}", {"decision": "reject", "arguments_sha256": hash_})
    assert (await state(chat, approval), await noted(one)) == ("pending", (0, []))


async def test_to_approve_takes_the_scopes_of_the_tool(one: Tenant, chat: Chatter, model: ScriptedModel) -> None:
    headers = await one.scoped("api:read", "api:manage", name="narrowed")
    subject, world = one.subject("narrowed"), one.gateway.world
    theirs = Chatter(chat.http, chat.app, headers)
    approval = await note_on(one, theirs, model)
    await world.join(subject, one.organization, scopes=["api:read"])
    for caller in (theirs, Chatter(chat.http, chat.app, await world.headers(subject, one.organization, _KEY))):
        refused = await decide(caller, approval)
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
        assert "api:manage" in refused.json()["required_scopes"]
        asked = {"id": approval["id"], "decision": "APPROVE", "argumentsSha256": approval["arguments_sha256"]}
        body = (await one.post(_DECIDE, caller.headers, i=asked)).json()
        assert [each["extensions"]["code"] for each in body["errors"]] == ["FORBIDDEN"]
        assert await state(caller, approval) == "pending"
    assert (await decide(theirs, approval, "reject")).status_code == 200
    events = await theirs.follow(approval["run_id"])
    assert events[-1].data["status"] == "succeeded"
    assert {tool.name for tool in model.asked[0].tools} > {tool.name for tool in model.asked[-1].tools}
    assert await noted(one) == (0, [])


async def test_the_credential_that_decided_carries_on(one: Tenant, chat: Chatter, model: ScriptedModel) -> None:
    """Decision 505."""
    subject, world = one.subject(), one.gateway.world
    deal = await deal_of(one)
    first = await world.headers(subject, one.organization, CredentialKind.ORGANIZATION_KEY)
    begun = Chatter(chat.http, chat.app, first)
    approval = await proposed(begun, model, "log_note", kind="deal", id=deal.id, text="They sign in May")
    async with world.database.directory(writing=True) as session:
        mine = col(Credential.owner_subject) == subject
        await session.execute(update(Credential).where(mine).values(revoked_at=now()))
    assert (await decide(begun, approval)).status_code == 401
    assert (await decide(chat, approval)).status_code == 200
    assert (await chat.follow(approval["run_id"]))[-1].data["status"] == "succeeded"
    assert (await noted(one))[0] == 1


async def _killed(one: Tenant, run_id: str) -> None:
    """The run's process is no more, as far as anybody can tell."""
    async with one.gateway.world.database.writing(one.id) as session:
        own = col(ChatRun.org_id) == one.id, col(ChatRun.id) == run_id
        await session.execute(update(ChatRun).where(*own).values(holder=new_id(), leased_until=now()))
        await session.execute(update(ChatWatch).where(col(ChatWatch.org_id) == one.id).values(next_at=now()))


@pytest.mark.parametrize("moment", ["before", "before the commit", "after the commit", "after it was told"])
async def test_a_process_that_dies_around_the_write_leaves_one(
    one: Tenant, chat: Chatter, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    approval = await note_on(one, chat, model)
    services, reached, forever = one.gateway.runtime.services, asyncio.Event(), asyncio.Event()
    tools = type(services.tools)
    call = tools.call

    async def dies(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self is services.tools and moment != "after it was told":
            if moment == "after the commit":
                await call(self, *args, **kwargs)
            elif moment == "before the commit":
                with pytest.raises(asyncio.CancelledError):
                    await call(self, *args, **kwargs)
            reached.set()
            await forever.wait()
        return await call(self, *args, **kwargs)

    async def hangs(_: Conversation) -> AsyncIterator[Delta]:
        yield Text("Cut")
        reached.set()
        await forever.wait()

    monkeypatch.setattr(tools, "call", dies)
    if moment == "after it was told":
        model.steps = [hangs, says("Then.")]
    if moment == "before the commit":
        _dies_before_its_commit(monkeypatch)
    assert (await decide(chat, approval)).status_code == 200
    async with asyncio.timeout(60):
        await reached.wait()
    assert (await noted(one))[0] == (1 if moment.startswith("after") else 0)
    await _killed(one, approval["run_id"])
    async with another_process(one.gateway, model) as other:
        await take(other.runtime.services)
        there = Chatter(other.http, other.app, chat.headers)
        events = await there.follow(approval["run_id"])
    counted = Counter(event.event for event in events)
    assert (counted["approval_decided"], counted["tool_result"], counted["run_resumed"]) == (1, 1, 1)
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    assert text_of(events) == "Let me.\n\nThen."
    number, logged = await noted(one)
    assert (number, len(logged), await state(chat, approval)) == (1, 1, "executed")
    forever.set()


def _dies_before_its_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has the first write end between its statements and its commit, as where a connection is cut."""
    from resolvers.shared import idempotency

    settle, died = idempotency.statements.settle, False

    async def cut(*args: Any) -> bool:
        nonlocal died
        if not died:
            died = True
            raise asyncio.CancelledError
        return await settle(*args)

    monkeypatch.setattr(idempotency.statements, "settle", cut)


async def test_a_decision_whose_process_dies_at_once_is_kept(
    one: Tenant, chat: Chatter, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    approval = await note_on(one, chat, model)
    monkeypatch.setattr(one.gateway.runtime.services.chat_runs, "start", lambda work, _called: work.close())
    assert (await decide(chat, approval)).json()["status"] == "approved"
    await _killed(one, approval["run_id"])
    async with another_process(one.gateway, model) as other:
        await take(other.runtime.services)
        await Chatter(other.http, other.app, chat.headers).follow(approval["run_id"])
    assert (await noted(one))[0] == 1


async def test_what_was_approved_too_long_ago_is_not_tried(
    one: Tenant, chat: Chatter, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    approval = await note_on(one, chat, model)
    with monkeypatch.context() as patched:
        patched.setattr(one.gateway.runtime.services.chat_runs, "start", lambda work, _called: work.close())
        assert (await decide(chat, approval)).status_code == 200
    async with one.gateway.world.database.writing(one.id) as session:
        mine = col(ChatApproval.org_id) == one.id, col(ChatApproval.id) == approval["id"]
        await session.execute(update(ChatApproval).where(*mine).values(decided_at=now() - timedelta(hours=23)))
    await _killed(one, approval["run_id"])
    await take(one.gateway.runtime.services)
    events = await chat.follow(approval["run_id"])
    [result] = [event.data for event in events if event.event == "tool_result"]
    assert (result["ok"], result["error"]["code"]) == (False, "expired")
    assert (await state(chat, approval), await noted(one)) == ("failed", (0, []))


async def _waits_again(chat: Chatter, made: Approval) -> None:
    """Wait until one was made, and the run waits for the others."""
    async with asyncio.timeout(60):
        while True:
            if await state(chat, made) == "executed" and (await chat.run(made["run_id"]))["status"] == "waiting":
                return
            await asyncio.sleep(0.02)


async def test_of_several_each_is_decided_alone_and_five_are_open(
    one: Tenant, chat: Chatter, model: ScriptedModel
) -> None:
    deal = await deal_of(one)
    notes = [("log_note", {"kind": "deal", "id": deal.id, "text": f"Note {n}"}) for n in range(6)]
    model.plays(calls(("describe", {}), *notes), says("Then."))
    run = await chat.begin(await chat.thread())
    approvals = await pending(chat, run["id"], 5)
    assert len(approvals) == 5
    first, second, *others = approvals
    assert (await decide(chat, second)).status_code == 200
    await _waits_again(chat, second)
    assert (await noted(one))[0] == 1
    assert len(model.asked) == 1
    answers = await asyncio.gather(decide(chat, first, "reject"), *(decide(chat, each) for each in others))
    assert {answer.status_code for answer in answers} == {200}
    events = await chat.follow(run["id"])
    assert (await noted(one))[0] == 4
    counted = Counter(event.event for event in events)
    assert (counted["approval_required"], counted["approval_decided"], counted["tool_call"]) == (5, 5, 7)
    results = {event.data["call_id"]: event.data for event in events if event.event == "tool_result"}
    refused = [result["error"]["code"] for result in results.values() if not result["ok"]]
    assert (len(results), refused) == (6, ["too_many_approvals"])
    assert len(model.asked) == 2
    assert len(model.results()) == 7


async def test_who_decides_and_who_writes_the_record_do_not_wait_for_each_other(
    one: Tenant, chat: Chatter, model: ScriptedModel
) -> None:
    """A writer locks its record and then the organization, whose lock a decision begins with (decision 1200)."""
    approval = await note_on(one, chat, model)
    deal = approval["arguments"]["id"]
    answer = await meets_writer(
        one, lambda s: s.find(Deal, id=deal, lock=True), lock_organization, decide(chat, approval)
    )
    assert (answer.status_code, answer.json()["status"]) == (200, "approved")
    await chat.follow(approval["run_id"])
    assert (await noted(one))[0] == 1


async def test_what_cannot_be_written_is_not_proposed(one: Tenant, chat: Chatter, model: ScriptedModel) -> None:
    deal = await deal_of(one)
    model.plays(
        calls(
            ("log_note", {"kind": "deal", "id": new_id(), "text": "x"}),
            ("update_record", {"kind": "deal", "id": deal.id, "fields": {"accountId": new_id()}}),
            ("update_record", {"kind": "deal", "id": deal.id, "fields": {"name": "N"}, "expected_version": 7}),
            ("create_record", {"kind": "deal", "fields": {"name": "N", "currency": "QQQ"}}),
        ),
        says("Then."),
    )
    events = await chat.send(await chat.thread())
    results = [event.data["error"]["code"] for event in events if event.event == "tool_result"]
    assert results == ["not_found", "validation", "precondition_failed", "validation"]
    assert await one.rows(col(ChatApproval.id)) == []
    assert events[-1].data["status"] == "succeeded"


Made = Callable[[Tenant], Awaitable[tuple[dict[str, Any], dict[str, Any] | None, dict[str, Any], str]]]


async def _created(one: Tenant) -> Any:
    account = Account(name="Acme")
    await one.add(account)
    fields = {"name": "New", "value": 12.5, "accountId": account.id}
    after = {"name": "New", "value": "12.5", "account": "Acme", "currency": "USD"}
    return {"kind": "deal", "fields": fields}, None, after, "deal"


async def _updated(one: Tenant) -> Any:
    account, stage = Account(name="Acme"), PipelineStage(name="Won", position=1, type="won")
    await one.add(account, stage)
    deal = Deal(name="D", close_date=None)
    await one.add(deal)
    admin = one.subject("admin")
    owner = (await one.ask("{ viewer { name } }", one.headers("admin")))["name"] or admin
    fields = {"accountId": account.id, "closeDate": "2026-12-31", "stageId": stage.id, "ownerId": admin}
    before = {"account": None, "closeDate": None, "stage": None, "status": "OPEN", "owner": None}
    after = {"account": "Acme", "closeDate": "2026-12-31", "stage": "Won", "status": "WON", "owner": owner}
    return {"kind": "deal", "id": deal.id, "fields": fields, "expected_version": 1}, before, after, "deal"


async def _lead(one: Tenant) -> Any:
    lead = Lead(name="Lia Lead", company="Initech", source="manual")
    await one.add(lead)
    fields = {"status": "WORKING", "title": "Boss"}
    return (
        {"kind": "lead", "id": lead.id, "fields": fields},
        {"status": "NEW", "title": None},
        {"status": "WORKING", "title": "Boss"},
        "lead",
    )


async def _meeting(one: Tenant) -> Any:
    meeting = Activity(subject="Kickoff", type="meeting")
    await one.add(meeting)
    return (
        {"kind": "meeting", "id": meeting.id, "fields": {"subject": "Start"}},
        {"subject": "Kickoff"},
        {"subject": "Start"},
        "meeting",
    )


async def _moved(one: Tenant) -> Any:
    stage = PipelineStage(name="Negotiation", position=1, type="open")
    deal = Deal(name="D")
    await one.add(stage, deal)
    return {"id": deal.id, "stage": "Negotiation"}, {"stage": None}, {"stage": "Negotiation"}, "deal"


async def _converted(one: Tenant) -> Any:
    lead, account = Lead(name="Lia Lead", company="Initech", source="manual"), Account(name="Acme")
    await one.add(lead, account)
    before = {"status": "NEW", "account": None, "contact": None, "deal": None}
    after = {"status": "CONVERTED", "account": "Acme", "contact": "Lia Lead (new)", "deal": "Big (new)"}
    return {"id": lead.id, "account_id": account.id, "deal_name": "Big"}, before, after, "lead"


async def _linked(one: Tenant) -> Any:
    contact, deal = Contact(first_name="Jo", last_name="Ito"), Deal(name="D")
    await one.add(contact, deal)
    before = {"contact": None, "role": None, "isPrimary": None}
    after = {"contact": "Jo Ito", "role": "buyer", "isPrimary": True}
    return {"deal_id": deal.id, "contact_id": contact.id, "role": "buyer", "is_primary": True}, before, after, "deal"


@pytest.mark.parametrize(
    ("tool", "made"),
    [
        ("create_record", _created),
        *(("update_record", made) for made in (_updated, _lead, _meeting)),
        ("move_deal", _moved),
        ("convert_lead", _converted),
        ("link_contact", _linked),
    ],
    ids=lambda each: getattr(each, "__name__", each),
)
async def test_every_tool_that_writes_is_shown_before_and_after(
    one: Tenant, chat: Chatter, model: ScriptedModel, tool: str, made: Made
) -> None:
    arguments, before, after, kind = await made(one)
    approval = await proposed(chat, model, tool, **arguments)
    preview = approval["preview"]
    assert (preview["kind"], preview["before"], preview["after"]) == (kind, before, after)
    assert approval["record_version"] == (None if before is None else 1)
    assert (preview["id"] is None) == (before is None)
    await decide(chat, approval)
    events = await chat.follow(approval["run_id"])
    assert [event.data["error"] for event in events if event.event == "tool_result"] == [None]
    done = (await chat.call("GET", f"/chat/approvals/{approval['id']}")).json()
    assert (done["status"], done["result"]["kind"]) == ("executed", kind)


async def test_every_kind_that_a_tool_writes_can_be_shown() -> None:
    kinds = {tool.name: [*tool.documents] for tool in TOOLS if tool.effect is Effect.WRITE}
    named = {f"{kind}s.create_{kind}" for kind in kinds["create_record"]}
    named |= {f"{kind}s.update_{kind}" for kind in kinds["update_record"]}
    assert named | {"notes.create_note", "deals.link_contact", "lead_conversion.convert_lead"} == PREVIEWED


async def test_a_write_that_is_refused_after_all_is_told(one: Tenant, chat: Chatter, model: ScriptedModel) -> None:
    await one.add(lead := Lead(name="Lia", source="manual", status="disqualified"))
    approval = await proposed(chat, model, "convert_lead", id=lead.id)
    assert (await decide(chat, approval)).status_code == 200
    events = await chat.follow(approval["run_id"])
    [result] = [event.data for event in events if event.event == "tool_result"]
    assert (result["ok"], result["error"]["code"], await state(chat, approval)) == (False, "invalid_state", "failed")
    assert events[-1].data["status"] == "succeeded"


@pytest.mark.parametrize(
    ("text", "tool", "said"),
    [
        ("log a note on Renewal: they will sign in May", "log_note", "The note is on Renewal now."),
        ("move Renewal to Negotiation", "move_deal", "Renewal is in Negotiation now."),
    ],
)
async def test_the_embedded_answerer_proposes_what_it_writes(
    one: Tenant, model: ScriptedModel, text: str, tool: str, said: str
) -> None:
    deal = await deal_of(one)
    await one.add(PipelineStage(name="Negotiation", position=1, type="open"))
    async with another_process(one.gateway, Embedded()) as other:
        chat = Chatter(other.http, other.app, one.headers())
        thread = await chat.thread()
        for decision in ("reject", "approve"):
            run = await chat.begin(thread, text)
            [approval] = await pending(chat, run["id"])
            assert (approval["tool"], approval["preview"]["id"]) == (tool, deal.id)
            assert (await decide(chat, approval, decision)).status_code == 200
            answer = text_of(await chat.follow(run["id"]))
            assert (said in answer, "Nothing was written." in answer) == (decision == "approve", decision == "reject")


async def test_both_surfaces_list_and_decide_alike(one: Tenant, chat: Chatter, model: ScriptedModel) -> None:
    approval = await note_on(one, chat, model)
    query = (
        "{ chatApprovals(status: PENDING) { totalCount nodes { id runId threadId tool operation arguments "
        "argumentsSha256 recordVersion preview status decidedAt result { id } } } }"
    )
    page = await one.ask(query)
    [node] = page["nodes"]
    same = ("arguments", "preview", "tool", "operation")
    assert {name: node[name] for name in same} == {name: approval[name] for name in same}
    assert (node["status"], node["argumentsSha256"]) == ("PENDING", approval["arguments_sha256"])
    below = await one.ask("query($id: ID!) { chatRun(id: $id) { approvals { id } } }", id=approval["run_id"])
    assert below == {"approvals": [{"id": approval["id"]}]}
    asked = {"id": approval["id"], "decision": "APPROVE", "argumentsSha256": "0" * 64}
    told = await one.ask(_DECIDE, i=asked)
    assert told["userErrors"][0] | {"message": ""} == {
        **{"code": "CONFLICT", "message": ""},
        "field": ["input", "argumentsSha256"],
    }
    told = await one.ask(_DECIDE, i=asked | {"argumentsSha256": approval["arguments_sha256"]})
    assert told == {"approval": {"id": approval["id"], "status": "APPROVED"}, "userErrors": []}
    await chat.follow(approval["run_id"])
    told = await one.ask(_DECIDE, i=asked | {"decision": "REJECT", "argumentsSha256": approval["arguments_sha256"]})
    assert [each["code"] for each in told["userErrors"]] == ["INVALID_STATE"]
    found = await one.ask(
        "query($id: ID!) { node(id: $id) { ... on ChatApproval { result { __typename } } } }", id=approval["id"]
    )
    assert found == {"result": {"__typename": "Note"}}
